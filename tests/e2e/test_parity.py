"""`snapshot --protocol published` in a pipe is the reference's prefix, to the byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from commandline import run_command
from e2e.terminal import Terminal


def test_the_nine_published_prefixes_have_the_references_hashes(
    shared: Path, terminal: Terminal
) -> None:
    parity = shared / "parity"
    expected = json.loads((parity / "reference_outputs.json").read_text())["prefix_synthetic"]
    assert len(expected["sha256"]) == 9
    found = {}
    for turn in expected["sha256"]:
        session = str(parity / "synthetic_session.jsonl")
        words = ("snapshot", session, "--at", turn, "--protocol", "published", "--format", "text")
        done = run_command(*words, env=terminal.environment)
        assert done.returncode == 0
        found[turn] = hashlib.sha256(done.stdout).hexdigest()
    assert found == expected["sha256"]
