"""Scans of sessions made by hand, whose numbers can be counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contextecho.api import scan
from contextecho.scoring import Screened
from sessions.claude_code_lines import assistant, line, user

HOSTILE_NAME = '"><img src=x onerror=alert(1)>{{ 7 * 7 }}|[a](b)`\x1b[31m\u202e.jsonl'
HOSTILE_MODEL = "<script>alert(1)</script>|[x](https://evil.example)\x1b[2J"


def write_session(path: Path, texts: Sequence[str], versions: Sequence[str] = ()) -> Path:
    """A final answer a prompt, each said by the client of its own version if any are given."""
    told = versions or ["2.1.50"] * len(texts)
    said = [
        (user("Go on.", version=version), assistant(text, version=version))
        for text, version in zip(texts, told, strict=True)
    ]
    path.write_bytes(b"".join(line(row) for pair in said for row in pair))
    return path


def growing(path: Path) -> Path:
    """40 answers: twenty of 5 characters, then twenty of 119."""
    return write_session(path, ["Done."] * 20 + ["Done. " * 20] * 20)


def steady(path: Path) -> Path:
    """40 answers, all the same."""
    return write_session(path, ["Done."] * 40)


def short(path: Path) -> Path:
    """Six answers."""
    return write_session(path, ["Done."] * 6)


def updated(path: Path) -> Path:
    """48 answers; the client is updated twice, after the 24th, where a window ends, and later."""
    versions = ["2.1.50"] * 24 + ["2.1.60"] * 20 + ["2.1.61"] * 2 + ["2.1.60"] * 2
    return write_session(path, ["Done."] * 48, versions)


def hostile(folder: Path) -> Path:
    """A session that stands out, with a name and a model that would like to be more."""
    path = growing(folder / "plain.jsonl")
    text = path.read_text("utf-8")
    model = HOSTILE_MODEL.replace("\x1b", "\\u001b")
    path.write_text(text.replace("claude-x", model), "utf-8")
    return path.rename(folder / HOSTILE_NAME)


def scan_folder(folder: Path) -> Screened:
    """Two that can be compared, one too short, one that is no session, one of a sub-agent."""
    growing(folder / "growing.jsonl")
    steady(folder / "steady.jsonl")
    short(folder / "short.jsonl")
    (folder / "empty.jsonl").touch()
    aside = line(user("a", isSidechain=True)) + line(assistant("b", isSidechain=True))
    (folder / "agent-1.jsonl").write_bytes(aside)
    return scan(folder)
