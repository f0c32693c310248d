"""The bundled example session; `examples/scripted_agent` in the repository recorded it."""

from __future__ import annotations

from pathlib import Path


def example_session() -> Path:
    """The session file that ships with the package, in Claude Code's format."""
    return Path(__file__).with_name("data") / "example-session.jsonl"
