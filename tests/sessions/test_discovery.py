"""Finding sessions on a machine, and what the client will delete."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contextecho.sessions import discover, retention_warning, session_roots, sub_agent_files
from sessions.building import assistant, line, user

SESSION = line(user("a")) + line(assistant("b"))


def put(path: Path, data: bytes, modified: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (modified, modified))
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    projects = home / ".claude" / "projects" / "-work"
    put(projects / "old.jsonl", SESSION, 1_000)
    put(projects / "new.jsonl", SESSION, 2_000)
    put(projects / "empty.jsonl", b"", 3_000)
    put(projects / "agent-1.jsonl", SESSION, 4_000)
    put(projects / "new" / "subagents" / "agent-2.jsonl", SESSION, 5_000)
    put(projects / "notes.json", b'{"a": 1}', 6_000)
    put(home / ".config" / "claude" / "projects" / "-x" / "third.jsonl", SESSION, 1_500)
    return home


def test_both_default_roots_are_searched_newest_first(home: Path) -> None:
    found = discover(env={"HOME": str(home)})
    assert [session.path.stem for session in found] == ["new", "third", "old"]
    assert found[0].format == "claude-code"
    assert found[0].bytes == len(SESSION)
    assert found[0].modified == 2_000


def test_what_is_taken_for_a_sub_agents_file_is_told_apart(home: Path) -> None:
    passed_over = sub_agent_files(env={"HOME": str(home)})
    assert {path.name for path in passed_over} == {"agent-1.jsonl", "agent-2.jsonl"}


def test_the_config_variable_may_name_several_folders(home: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path / name / "projects" / "p" / f"{name}.jsonl", SESSION, 9_000)
    env = {"CLAUDE_CONFIG_DIR": f"{tmp_path / 'one'}, {tmp_path / 'two'}", "HOME": str(home)}
    assert session_roots(env) == (
        tmp_path / "one",
        tmp_path / "two",
        home / ".claude",
        home / ".config" / "claude",
    )
    assert {session.path.stem for session in discover(env=env)} >= {"one", "two", "new"}


def test_roots_that_do_not_exist_are_left_out(tmp_path: Path) -> None:
    assert session_roots({"CLAUDE_CONFIG_DIR": "/nowhere"}, home=tmp_path) == ()
    assert retention_warning({}, home=tmp_path) is None


def test_a_folder_reached_twice_is_listed_once(home: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "HOME": str(home)}
    assert len(discover(env=env)) == 3


def test_files_are_told_by_content_and_not_by_name(tmp_path: Path) -> None:
    put(tmp_path / "chat.json", b'[{"role":"user","content":"x"}]', 1)
    put(tmp_path / "other.jsonl", b"not json\n", 1)
    assert [(s.path.name, s.format) for s in discover([tmp_path])] == [("chat.json", "chat")]


def test_the_thirty_days_are_said_unless_the_setting_says_otherwise(home: Path) -> None:
    assert "30 days" in (retention_warning({}, home=home) or "")
    settings = home / ".claude" / "settings.json"
    settings.write_text('{"cleanupPeriodDays": 365}')
    assert "365 days" in (retention_warning({}, home=home) or "")
    settings.write_text("{broken")
    assert "30 days" in (retention_warning({}, home=home) or "")


def test_what_cannot_be_read_is_named_and_hides_nothing_else(home: Path) -> None:
    folder = home / ".claude" / "projects"
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    unread: list[str] = []
    found = discover([folder, home / "gone"], on_unread=lambda error: unread.append(str(error)))
    assert [session.path.stem for session in found] == ["new", "old"]
    assert unread == [f"{folder}/loop.jsonl: cannot be read: too many levels of symbolic links"]


def test_a_client_folder_of_an_unknown_user_is_no_folder(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": "~nobody-of-this-name/x", "HOME": str(tmp_path)}
    assert discover(env=env) == []
