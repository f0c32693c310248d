"""What `contextecho doctor` finds on a machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from contextecho.cli.main import main
from contextecho.sessions import example_session
from sessions.claude_code_lines import assistant, line, user


def test_sub_agents_files_are_counted_beside_the_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        shutil.copy(example_session(), folder / f"{name}.jsonl")
    said = [user("a", isSidechain=True), assistant("b", isSidechain=True)]
    (folder / "agent-1.jsonl").write_bytes(b"".join(map(line, said)))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    main(["doctor", "--store", str(tmp_path / "store"), "--json"])
    findings = {one["name"]: one["detail"] for one in json.loads(capsys.readouterr().out)}
    assert findings["sessions"] == "2 found (2 claude-code); besides 1 session of sub-agents"
