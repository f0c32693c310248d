"""What `contextecho doctor` finds on a machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from contextecho.cli.main import main
from contextecho.sessions import example_session


def test_sub_agents_files_are_counted_beside_the_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    for name in ("one", "two", "agent-1"):
        shutil.copy(example_session(), folder / f"{name}.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    main(["doctor", "--store", str(tmp_path / "store"), "--json"])
    findings = {one["name"]: one["detail"] for one in json.loads(capsys.readouterr().out)}
    assert findings["sessions"] == "2 found, and 1 file of sub-agents"
