"""`sessions keep`: packed, read back, never overwritten, and read like what it was."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest
from backports import zstd

from commandline import exit_code
from contextecho.cli.main import main
from contextecho.errors import SessionError, UsageError
from contextecho.sessions import (
    Session,
    convert_session,
    keep_session,
    read_session,
    sessions_to_keep,
    walk,
)
from contextecho.sessions.keeping import keep
from contextecho.sessions.keeping.rows import copy_rows
from contextecho.sessions.packing.archive import Manifest, kept_with
from sessions import opencode_building as opencode
from sessions.claude_code_lines import assistant, call, line, record, user, write
from sessions.inspect_logs import sample, write_eval
from sessions.inspect_logs import user as inspect_user
from sessions.readers.test_openhands_sdk import EVENTS, as_folder


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    return exit_code("sessions", "keep", *words), *capsys.readouterr()


def manifest_of(kept: Path) -> Manifest:
    return msgspec.json.decode((kept.parent / "manifest.json").read_bytes(), type=Manifest)


def test_a_kept_session_is_the_file_byte_for_byte(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    os.utime(path, ns=(10**18 + 1, 10**18 + 1))  # 2001-09-09T01:46:40Z
    kept = keep_session(read_session(path), tmp_path / "kept")
    data = path.read_bytes()
    assert zstd.decompress(kept.path.read_bytes()) == data
    place = tmp_path / "kept" / "claude-code" / "s1"
    assert kept.path.parent.parent == place
    assert kept.path.parent.name.startswith("2001-09-09T014640Z-")
    (file,) = kept.manifest.files
    assert (file.name, file.bytes) == ("session.jsonl", len(data))
    assert file.sha256 == hashlib.sha256(data).hexdigest() == read_session(kept.path).sha256
    assert file.packed_bytes == kept.path.stat().st_size
    assert kept.path.stat().st_mtime_ns == file.modified_ns == 10**18 + 1
    assert (kept.manifest.path, kept.manifest.id) == (str(path), "s1")
    assert manifest_of(kept.path) == kept.manifest
    for found in (tmp_path / "kept").rglob("*"):
        assert stat.S_IMODE(found.stat().st_mode) & 0o077 == 0, found


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd is not installed")
def test_zstd_restores_it(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    kept = keep_session(read_session(path), tmp_path / "kept")
    subprocess.run(["zstd", "-dq", kept.path, "-o", tmp_path / "restored"], check=True)
    assert (tmp_path / "restored").read_bytes() == path.read_bytes()


def test_the_same_content_is_kept_once_and_a_session_that_went_on_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, to = write(tmp_path, [user("a"), assistant("b")]), tmp_path / "kept"
    first = keep_session(read_session(path), to)
    os.utime(path, (5, 5))  # touched: still the same content
    second = keep_session(read_session(path), to)
    assert (first.already, second.already, second.path) == (False, True, first.path)
    before = first.path.read_bytes()
    path.write_bytes(path.read_bytes() + line(assistant("c")))
    third = keep_session(read_session(path), to)
    assert (third.already, read_session(third.path).steps) == (False, 2)
    assert third.path.parent.parent == first.path.parent.parent
    assert first.path.read_bytes() == before
    code, out, err = run(capsys, path, "--to", to)
    size, packed = path.stat().st_size, third.path.stat().st_size
    assert code == 0
    assert out == (
        f"kept already: claude-code s1, {size} B in {packed} B\n"
        f"1 session in {to}, 1 of them before: {size} B in {packed} B\n"
    )
    assert err == f"Next: contextecho sessions show {third.path}\n"


def test_sub_agents_go_with_their_session_and_are_found_again(shared: Path, tmp_path: Path) -> None:
    """By `find`: 12 agent files lie beside or below this session and are its own."""
    folder = shared / "sessions/claude-code/daaain/projects/-experiments-worktrees"
    path = folder / "ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl"
    session = read_session(path)
    kept = keep_session(session, tmp_path)
    assert len(kept.manifest.files) == 13
    for file in kept.manifest.files:
        packed = kept.path.parent / f"{file.name}.zst"
        assert zstd.decompress(packed.read_bytes()) == (folder / file.name).read_bytes()
    read = read_session(kept.path)
    assert read.turns == session.turns
    bare = [
        [(s.agent_id, s.records, s.models) for s in each.sidechains] for each in (session, read)
    ]
    assert bare[0] == bare[1]
    for sidechain in read.sidechains:
        assert sidechain.path.is_relative_to(kept.path.parent)
        assert sidechain.path.is_file()


SPREAD: dict[str, Callable[[Path], Path]] = {
    "opencode, a tree": lambda folder: opencode.as_tree(folder, opencode_messages()),
    "opencode, a tree with a sub-agent": lambda folder: with_sub_agent(folder),
    "opencode, the first tree": lambda folder: opencode.as_first_tree(folder, opencode_messages()),
    "openhands, a folder": lambda folder: as_folder(folder, EVENTS),
}


def with_sub_agent(folder: Path) -> Path:
    opencode.as_tree(folder, opencode_messages(), id="ses_2", parentID="ses_1")
    call = opencode.tool("task", metadata={"sessionId": "ses_2"})
    return opencode.as_tree(folder, [opencode.user("Go."), opencode.assistant(call)])


def opencode_messages() -> list[opencode.Message]:
    return [opencode.user("Look."), opencode.assistant("Looking.", opencode.tool())]


@pytest.mark.parametrize("kind", SPREAD)
def test_a_session_of_many_files_is_kept_as_they_lie(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "client"
    folder.mkdir()
    path = SPREAD[kind](folder)
    session = read_session(path)
    kept = keep_session(session, tmp_path / "kept")
    there = {file for file in folder.rglob("*") if file.is_file() and file.stat().st_size}
    assert len(kept.manifest.files) == len(there) > 2
    read = read_session(kept.path)
    assert read.turns == session.turns
    assert read.sha256 == session.sha256
    assert [one.records for one in read.sidechains] == [one.records for one in session.sidechains]
    assert list(read.contents(read.turns)) == list(session.contents(session.turns))
    assert keep_session(session, tmp_path / "kept").already
    assert [file.path for file in walk([tmp_path / "kept"]).files] == [str(kept.path)]


def test_nothing_that_is_kept_is_converted_onto(tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    kept = keep_session(read_session(with_sub_agent(tmp_path / "client")), tmp_path / "kept")
    session = read_session(kept.path)
    packed = list((tmp_path / "kept").rglob("*.zst"))
    assert len(packed) == len(kept.manifest.files) > 2
    for file in packed:
        with pytest.raises(UsageError, match="never written to"):
            convert_session(session, file, to="jsonl", force=True)
    assert keep_session(read_session(Path(kept.manifest.path)), tmp_path / "kept").already


def test_a_session_of_opencodes_database_is_kept_with_its_sub_agent(tmp_path: Path) -> None:
    opencode.as_database(tmp_path, opencode_messages(), id="ses_other")
    child = [opencode.user("Find it."), opencode.assistant("Found.")]
    opencode.as_database(tmp_path, child, id="ses_sub", parentID="ses_own")
    path = opencode.as_database(tmp_path, opencode_messages(), id="ses_own")
    assert len(list(sessions_to_keep(path))) == 2
    session = read_session(f"{path}#ses_own")
    kept = keep_session(session, tmp_path / "kept")
    read = read_session(kept.path)
    assert (read.id, read.turns) == ("ses_own", session.turns)
    assert [sidechain.agent_id for sidechain in read.sidechains] == ["ses_sub"]
    assert list(read.contents(read.turns)) == list(session.contents(session.turns))


def test_a_session_of_a_database_without_an_answer_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opencode.as_database(tmp_path, opencode_messages(), id="ses_1")
    opencode.as_database(tmp_path, [opencode.user("Only asked.")], id="ses_2")
    path = opencode.as_database(tmp_path, opencode_messages(), id="ses_3")
    code, out, err = run(capsys, path, "--to", tmp_path / "kept")
    assert [f"opencode {id}" in out for id in ("ses_1", "ses_2", "ses_3")] == [True, False, True]
    assert "holds no conversation" in err
    assert code == 2


def test_a_folder_of_kept_sessions_is_listed_and_not_kept_again(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projects = shared / "sessions/claude-code/daaain/projects"
    run(capsys, projects, "--to", tmp_path / "kept")
    main(["sessions", "list", str(tmp_path / "kept"), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert {row["error"] for row in document["sessions"]} == {None}
    main(["sessions", "list", str(projects), "--json", "--limit", "99"])
    originals = json.loads(capsys.readouterr().out)["sessions"]
    counts = [
        sorted((row["prompts"], row["steps"]) for row in rows if row["error"] is None)
        for rows in (document["sessions"], originals)
    ]
    assert counts[0] == counts[1]
    code, _, err = run(capsys, tmp_path / "kept", "--to", tmp_path / "again")
    assert (code, "nothing to keep" in err) == (2, True)


def test_a_tools_long_outputs_go_with_the_session(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    outputs = tmp_path / "session" / "tool-results"
    outputs.mkdir(parents=True)
    (outputs / "one.txt").write_text("long")
    (outputs / "link.txt").symlink_to("/etc/passwd")
    kept = keep_session(read_session(path), tmp_path / "kept")
    assert [file.name for file in kept.manifest.files] == [
        "session.jsonl",
        "session/tool-results/one.txt",
    ]


@pytest.mark.parametrize("name", ["s1.jsonl", "backup.jsonl", "a copy (2).jsonl"])
@pytest.mark.parametrize("place", ["", "s1/subagents/", "s1/subagents/more/"])
def test_what_is_known_of_a_sub_agent_is_kept(tmp_path: Path, name: str, place: str) -> None:
    """The folder bears the session's id, whatever the session's file is called."""
    folder = tmp_path / "client"
    (folder / place).mkdir(parents=True)
    (folder / "s1/tool-results").mkdir(parents=True)
    (folder / "s1/tool-results/one.txt").write_text("long")
    path = write(folder, [user("a"), assistant(call("t1", "Task")), assistant("b")])
    path = path.rename(folder / name)
    asked = user("other words", isSidechain=True, agentId="abc")
    (folder / f"{place}agent-abc.jsonl").write_bytes(line(asked))
    meta = '{"agentType": "reviewer", "toolUseId": "t1"}'
    (folder / f"{place}agent-abc.meta.json").write_text(meta)
    session = read_session(path)
    (agent,) = session.sidechains
    assert (agent.agent_id, agent.kind, agent.call_id) == ("abc", "reviewer", "t1")
    kept = keep_session(session, tmp_path / "kept")
    assert len(kept.manifest.files) == 4
    (read,) = read_session(kept.path).sidechains
    assert msgspec.structs.replace(read, path=agent.path) == agent


def test_sub_agents_whose_session_is_gone_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "client"
    (folder / "s1/subagents").mkdir(parents=True)
    (folder / "gone/subagents").mkdir(parents=True)
    write(folder, [user("a"), assistant("b")]).rename(folder / "s1.jsonl")
    for n in range(8):
        place = folder / ("s1/subagents" if n == 0 else "gone/subagents")
        asked = user("words", isSidechain=True, agentId=str(n), sessionId="gone" if n else "s1")
        (place / f"agent-{n}.jsonl").write_bytes(line(asked))
    code, out, err = run(capsys, folder, "--to", tmp_path / "kept")
    assert (code, "kept: claude-code s1 with 1 more file" in out) == (0, True)
    named = ", ".join(f"{folder}/gone/subagents/agent-{n}.jsonl" for n in range(1, 6))
    assert err.splitlines()[0] == (
        f"not kept: 7 files of sub-agents that no session here started: {named} and 2 more"
    )
    _, out, _ = run(capsys, folder, "--to", tmp_path / "kept", "--json")
    document = json.loads(out)
    assert set(document) == {"kept", "unread", "orphans"}
    assert len(document["orphans"]) == 7
    shutil.rmtree(folder / "gone")
    assert "not kept" not in run(capsys, folder, "--to", tmp_path / "kept")[2]


def test_a_sub_agent_that_can_be_read_alone_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of OpenCode each session is whole; with its parent it is kept once, as a part of that."""
    with_sub_agent(tmp_path)
    code, out, err = run(capsys, tmp_path, "--to", tmp_path / "kept")
    assert (code, len(out.splitlines()), "not kept" in err) == (0, 2, False)
    next(tmp_path.glob("**/session/*/ses_1.json")).unlink()
    code, out, err = run(capsys, tmp_path, "--to", tmp_path / "other")
    assert (code, "kept: opencode ses_2" in out, "not kept" in err) == (0, True, False)


def test_what_is_not_read_has_its_path_and_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, [user("a"), assistant("b")])
    (tmp_path / "asked.jsonl").write_bytes(line(user("a")))
    _, out, _ = run(capsys, tmp_path, "--to", tmp_path / "kept", "--json")
    (unread,) = json.loads(out)["unread"]
    assert unread == {
        "path": str(tmp_path / "asked.jsonl"),
        "reason": "holds no conversation: 1 prompt, no message of a model",
    }
    code, out, _ = run(capsys, tmp_path / "asked.jsonl", "--to", tmp_path / "kept", "--json")
    assert (code, json.loads(out)) == (2, {"kept": [], "unread": [unread], "orphans": []})


def test_no_folder_is_not_the_current_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, path, "--to", "")
    assert (code, out, "--to" in err) == (2, "", True)
    assert list(tmp_path.iterdir()) == [path]


def test_every_real_session_of_claude_code_is_kept_as_it_is(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "sessions/claude-code"
    code, out, _ = run(capsys, folder, "--to", tmp_path, "--json")
    assert code == 0
    document = json.loads(out)
    assert len(document["kept"]) >= 30
    for row in document["kept"]:
        original, (file, *_) = Path(row["manifest"]["path"]), row["manifest"]["files"]
        assert zstd.decompress(Path(row["path"]).read_bytes()) == original.read_bytes()
        assert file["sha256"] == hashlib.sha256(original.read_bytes()).hexdigest()
        assert read_session(row["path"]).turns == read_session(original).turns


def test_the_default_folder_is_the_users_data_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = write(tmp_path, [user("a"), assistant("b")])
    code, out, _ = run(capsys, path)
    assert code == 0
    assert f"1 session in {tmp_path}/data/contextecho/sessions: " in out
    assert list((tmp_path / "data/contextecho/sessions/claude-code/s1").glob("*/session.jsonl.zst"))


def test_what_was_kept_is_found_when_the_client_has_deleted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    projects = tmp_path / ".claude/projects/p"
    projects.mkdir(parents=True)
    named = {"sessionId": "0123456789ab"}
    path = write(projects, [user("a", **named), assistant("b", **named)])
    run(capsys, path)
    for there in (True, False):
        main(["sessions", "list", "--json"])
        document = json.loads(capsys.readouterr().out)
        assert (document["found"], document["copies"]) == (1, int(there))
        is_original = document["sessions"][0]["path"] == str(path)
        assert is_original == there
        main(["sessions", "show", document["sessions"][0]["id"][:8], "--json"])
        assert json.loads(capsys.readouterr().out)["prompts"] == 1
        if there:
            path.unlink()


def test_what_is_kept_already_or_is_no_session_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, to = write(tmp_path, [user("a"), assistant("b")]), tmp_path / "kept"
    kept = keep_session(read_session(path), to)
    code, out, err = run(capsys, kept.path, "--to", to)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is packed already, and so kept" in err
    (tmp_path / "x.txt").write_text("hello")
    code, out, err = run(capsys, tmp_path / "x.txt", path, "--to", to)
    assert (code, out.startswith("kept already")) == (2, True)
    assert "x.txt: not a session" in err
    code, out, err = run(capsys, tmp_path / "nowhere", path, "--to", to)
    assert (code, out.startswith("kept already: claude-code s1, ")) == (2, True)
    assert f"contextecho: {tmp_path}/nowhere: " in err
    (tmp_path / "empty").mkdir()
    code, out, err = run(capsys, tmp_path / "empty", "--to", to)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "nothing to keep" in err


def test_a_file_of_several_sessions_is_kept_whole_and_once(tmp_path: Path) -> None:
    answer = {"id": "a", "role": "assistant", "content": "b"}
    path = write_eval(tmp_path / "log.eval", sample(id="no"), sample(inspect_user("x"), answer))
    (session,) = sessions_to_keep(path)
    (same,) = sessions_to_keep(Path(f"{path}#s1"))
    kept = [keep_session(each, tmp_path / "kept") for each in (session, same)]
    assert [one.already for one in kept] == [False, True]
    assert zstd.decompress(kept[0].path.read_bytes()) == path.read_bytes()
    assert read_session(f"{kept[0].path}#s1").steps == 1


def test_a_folder_that_cannot_be_written_is_what_the_error_says(tmp_path: Path) -> None:
    session = read_session(write(tmp_path, [user("a"), assistant("b")]))
    (tmp_path / "file").touch()
    with pytest.raises(SessionError, match="cannot be written: not a directory"):
        keep_session(session, tmp_path / "file" / "kept")


def test_an_archive_may_be_named_by_a_way_that_goes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write(Path(), [user("a"), assistant("b")])
    for words in ("kept:", "kept already:"):
        code, out, _ = run(capsys, ".", "--to", "../kept")
        assert (code, words in out) == (0, True)
    main(["sessions", "list", ".", "../kept", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["found"], document["copies"]) == (1, 1)


@pytest.mark.parametrize("name", ["../outside", "/{}/outside", "missing", "."])
def test_a_manifest_reaches_no_further_than_its_folder(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    kept = keep_session(read_session(path), tmp_path / "kept")
    (tmp_path / "outside.zst").write_bytes(zstd.compress(b"secret"))
    manifest = json.loads((kept.path.parent / "manifest.json").read_bytes())
    other = manifest["files"][0] | {"name": name.format(tmp_path)}
    manifest["files"].append(other)
    (kept.path.parent / "manifest.json").write_text(json.dumps(manifest))
    assert kept_with(kept.path) == (kept.path.parent, ())
    assert read_session(kept.path).steps == 1


@pytest.mark.parametrize("text", ["{}", "[" * 5000, '{"format": "other/1"}', '{"name": "an app"}'])
def test_a_manifest_of_somebody_else_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    (tmp_path / "other.zst").write_bytes(zstd.compress(b"x"))
    path = tmp_path / "session.jsonl.zst"
    path.write_bytes(zstd.compress(line(user("a")) + line(assistant("b"))))
    assert kept_with(path) == (tmp_path, ())
    assert read_session(path).steps == 1


def test_names_that_become_alike_are_all_kept(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    outputs = tmp_path / "session" / "tool-results"
    outputs.mkdir(parents=True)
    for name in ("a?b.txt", "a:b.txt", "a_b.txt", ".env", "env"):
        (outputs / name).write_text(name)
    kept = keep_session(read_session(path), tmp_path / "kept")
    folder = kept.path.parent
    said = {zstd.decompress((folder / f"{f.name}.zst").read_bytes()) for f in kept.manifest.files}
    assert said >= {b"a?b.txt", b"a:b.txt", b"a_b.txt", b".env", b"env"}


@pytest.mark.parametrize("id", ["é" * 300, "a\0b", "..", "../client", "/etc", ""])
def test_an_id_that_is_no_name_of_a_folder_brings_nothing(tmp_path: Path, id: str) -> None:
    (tmp_path / "client/tool-results").mkdir(parents=True)
    (tmp_path / "client/tool-results/one.txt").write_text("of another")
    path = write(tmp_path / "client", [user("a", sessionId=id), assistant("b", sessionId=id)])
    session = read_session(path)
    kept = keep_session(session, tmp_path / "kept")
    assert [file.name for file in kept.manifest.files] == ["session.jsonl"]
    target = tmp_path / "there.jsonl"
    target.touch()
    assert read_session(convert_session(session, target, force=True)).id == session.id


def test_only_what_belongs_to_the_session_goes_with_it(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    for name in ("session/.ssh/id_rsa", "session/main.c", "session/subagents/agent-1.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    kept = keep_session(read_session(path), tmp_path / "kept")
    assert [file.name for file in kept.manifest.files] == [
        "session.jsonl",
        "session/subagents/agent-1.jsonl",
    ]


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_damaged_archive_does_not_count_as_kept(tmp_path: Path, damage: str) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    outputs = tmp_path / "session" / "tool-results"
    outputs.mkdir(parents=True)
    (outputs / "one.txt").write_text("long")
    first = keep_session(read_session(path), tmp_path / "kept")
    if damage == "cut":
        first.path.write_bytes(first.path.read_bytes()[:20])
    else:
        (first.path.parent / "session/tool-results/one.txt.zst").unlink()
    again = keep_session(read_session(path), tmp_path / "kept")
    assert not again.already
    assert zstd.decompress(again.path.read_bytes()) == path.read_bytes()
    assert keep_session(read_session(path), tmp_path / "kept").already


IDS = {
    "0199a213-81c0-7800-8aa1-bbab2a035a53": "0199a213-81c0-7800-8aa1-bbab2a035a53",
    "ses_a1": "ses_a1",
    "ses_A1": "ses_A1-*",  # case does not count everywhere
    "../../etc": "etc-*",
    "con": "con-*",
    "a.": "a-*",
    "a:b": "a_b-*",
    "é": "session-*",
    "x" * 300: "x" * 60 + "-*",
    "": "session-*",
}


def test_the_folder_of_a_session_is_its_own_and_safe(tmp_path: Path) -> None:
    session = read_session(write(tmp_path, [user("a"), assistant("b")]))
    names = [keep.folder_name(msgspec.structs.replace(session, id=id)) for id in IDS]
    for name, pattern in zip(names, IDS.values(), strict=True):
        assert fnmatchcase(name, pattern), name
        assert re.fullmatch(r"[0-9A-Za-z_-]{1,80}", name)
    assert len({name.lower() for name in names}) == len(names)


def test_an_id_that_is_a_files_name_has_its_folder_behind_it(tmp_path: Path) -> None:
    """Two programs' files `session.json` are two sessions; a UUID is one wherever it lies."""
    session = read_session(write(tmp_path, [user("a"), assistant("b")]))

    def name_of(*names: str, id: str) -> str:
        path = tmp_path.joinpath(*names)
        return keep.folder_name(msgspec.structs.replace(session, path=path, id=id))

    one, other = (name_of(folder, "run.json", id="run") for folder in "ab")
    assert one != other
    assert one.startswith("run-")
    uuid = "0199a213-81c0-7800-8aa1-bbab2a035a53"
    assert {name_of(folder, f"{uuid}.jsonl", id=uuid) for folder in "ab"} == {uuid}


def test_what_older_versions_kept_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They named the folders by the file and the folder that it lay in."""
    path = write(tmp_path, [user("a"), assistant("b")])
    kept = keep_session(read_session(path), tmp_path / "new").path
    old = tmp_path / "kept" / "14" / "session.jsonl" / kept.parent.name
    shutil.copytree(kept.parent, old)
    assert read_session(old / kept.name).steps == 1
    main(["sessions", "list", str(tmp_path / "kept"), "--json"])
    (row,) = json.loads(capsys.readouterr().out)["sessions"]
    assert (row["path"], row["error"]) == (str(old / kept.name), None)


def test_several_have_a_short_line_each_and_a_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        write(tmp_path, [user("a", sessionId=id), assistant("b")]).rename(tmp_path / f"{id}.jsonl")
        for id in ("one", "two")
    ]
    code, out, err = run(capsys, *paths, "--to", tmp_path / "kept")
    assert code == 0
    first, second, total = out.splitlines()
    assert [len(first) < 80, len(second) < 80] == [True, True]
    assert first.startswith("kept: claude-code one")
    assert second.startswith("kept: claude-code two")
    assert total.startswith(f"2 sessions in {tmp_path}/kept: ")
    assert err == f"Next: contextecho sessions list {tmp_path}/kept\n"


def test_two_that_keep_the_same_at_once_keep_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = read_session(write(tmp_path, [user("a"), assistant("b")]))
    pack = keep._pack

    def meanwhile(*words: Any) -> Any:
        monkeypatch.setattr(keep, "_pack", pack)
        keep_session(session, tmp_path / "kept")
        return pack(*words)

    monkeypatch.setattr(keep, "_pack", meanwhile)
    kept = keep_session(session, tmp_path / "kept")
    assert kept.already
    assert [found.name for found in kept.path.parent.parent.iterdir()] == [kept.path.parent.name]


def test_what_is_appended_meanwhile_is_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, [user("a"), assistant("b"), record("progress", data="x" * 3000)])
    before = path.read_bytes()
    session = read_session(path)
    monkeypatch.setattr(keep, "_CHUNK", 100)
    read_part = keep._parts

    def appending(*words: Any) -> Any:
        for part in read_part(*words):
            path.write_bytes(path.read_bytes() + b"{}\n")
            yield part

    monkeypatch.setattr(keep, "_parts", appending)
    kept = keep_session(session, tmp_path / "kept")
    assert zstd.decompress(kept.path.read_bytes()) == before


@pytest.mark.parametrize("broken", ["_parts", "unpacked_parts"])
def test_what_cannot_be_kept_as_it_is_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path, to = write(tmp_path, [user("a"), assistant("b")]), tmp_path / "kept"
    session = read_session(path)
    if broken == "_parts":
        path.write_bytes(b"")
        monkeypatch.setattr(keep.Stamp, "of", lambda file: keep.Stamp(session.bytes, 0))
        says = "became shorter while it was read"
    else:
        monkeypatch.setattr(keep, "unpacked_parts", lambda packed: iter([b"other"]))
        says = "was not written as it is"
    with pytest.raises(SessionError, match=says):
        keep_session(session, to)
    assert [found for found in to.rglob("*") if found.is_file()] == []


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    (tmp_path / "file").write_text("")
    with pytest.raises(SessionError, match="not a directory") as refused:
        keep_session(read_session(path), tmp_path / "file")
    assert "\n" not in str(refused.value)


# Databases


SCHEMA = """
CREATE TABLE project (id TEXT PRIMARY KEY, name TEXT);
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT REFERENCES project(id), parent_id TEXT);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT REFERENCES session(id), data BLOB);
CREATE TABLE part (number INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE todo (session_id TEXT, text TEXT, PRIMARY KEY (session_id, text)) WITHOUT ROWID;
CREATE INDEX by_session ON message (session_id);
INSERT INTO project VALUES ('p1', 'mine'), ('p2', 'other');
INSERT INTO session VALUES ('s2', 'p2', NULL), ('s1', 'p1', NULL), ('sub', 'p1', 's1');
INSERT INTO message VALUES ('m3', 's2', x'00'), ('m1', 's1', x'ff00'), ('m2', 'sub', NULL);
INSERT INTO part VALUES (9, 'm1', 's1', 'b'), (4, 'm1', 's1', 'a'), (7, 'm3', 's2', 'not ours');
INSERT INTO todo VALUES ('s1', 'this'), ('s2', 'that');
INSERT INTO setting VALUES ('secret', 's1');
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "client.db"
    with sqlite3.connect(path) as made:
        made.executescript(SCHEMA)
    made.close()
    return path


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    opened = sqlite3.connect(path)
    tables = [
        name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    found = {name: opened.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    opened.close()
    return found


def test_the_rows_of_a_session_its_sub_agents_and_its_project(
    database: Path, tmp_path: Path
) -> None:
    copy_rows(database, tmp_path / "copy.db", {"s1"})
    assert rows(tmp_path / "copy.db") == {
        "message": [("m1", "s1", b"\xff\x00"), ("m2", "sub", None)],
        "part": [(4, "m1", "s1", "a"), (9, "m1", "s1", "b")],
        "project": [("p1", "mine")],
        "session": [("s1", "p1", None), ("sub", "p1", "s1")],
        "setting": [],
        "todo": [("s1", "this")],
    }
    with pytest.raises(SessionError, match="holds no rows of this session"):
        copy_rows(database, tmp_path / "none.db", {"s3"})


def test_a_session_of_a_database_is_kept_as_its_rows(tmp_path: Path) -> None:
    """Two messages, the second of a text and a tool's call; then one more of either."""
    opencode.as_database(tmp_path, opencode_messages(), id="ses_other")
    path = opencode.as_database(tmp_path, opencode_messages(), id="ses_own")
    session = read_session(f"{path}#ses_own")
    kept, again = (keep_session(session, tmp_path / "kept") for _ in range(2))
    assert kept.path.name == "ses_own.db.zst"
    assert (again.path, again.already) == (kept.path, True)
    assert kept.manifest.member == "ses_own"
    (tmp_path / "copy.db").write_bytes(zstd.decompress(kept.path.read_bytes()))
    copied = rows(tmp_path / "copy.db")
    assert [row[0] for row in copied["session"]] == ["ses_own"]
    assert (len(copied["message"]), len(copied["part"])) == (2, 4)  # with the mark of the step
    with sqlite3.connect(path) as changed:
        opencode.add_messages(changed, "ses_own", [opencode.assistant("More.")])
    changed.close()
    third = keep_session(session, tmp_path / "kept")  # as it is now, though it was read before
    assert not third.already
    assert kept.path.is_file()
    (tmp_path / "copy.db").write_bytes(zstd.decompress(third.path.read_bytes()))
    assert len(rows(tmp_path / "copy.db")["message"]) == 3


@pytest.mark.parametrize("newest", [True, False], ids=["session_message", "message and part"])
def test_a_session_in_the_newest_tables_is_kept(tmp_path: Path, newest: bool) -> None:
    """Two prompts and an answer to each, told by the rows that are written here."""
    said = [("m1", "user", "One?"), ("m2", "assistant", "1."), ("m3", "user", "Two?")]
    path = as_newest_database(tmp_path, [*said, ("m4", "assistant", "2.")], whole=newest)
    (session,) = sessions_to_keep(path)
    assert isinstance(session, Session)
    kept = keep_session(session, tmp_path / "kept")
    read = read_session(kept.path)
    assert (read.id, read.prompts, read.steps) == ("ses_new", 2, 2)
    assert [read.text(turn) for turn in read.turns] == ["One?", "1.", "Two?", "2."]


def as_newest_database(folder: Path, messages: list[tuple[str, str, str]], *, whole: bool) -> Path:
    """`session_v2`, with the messages whole or in parts; (id, role, text) of each."""
    path = folder / "opencode.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE session_v2 (id TEXT PRIMARY KEY, time_updated INTEGER)")
    database.execute("INSERT INTO session_v2 VALUES ('ses_new', 9)")
    made = "id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, type TEXT, data TEXT"
    database.execute(f"CREATE TABLE {'session_message' if whole else 'message'} ({made})")
    if not whole:
        database.execute(f"CREATE TABLE part ({made}, message_id TEXT)")
    for number, (id, role, text) in enumerate(messages):
        part = {"type": "text", "text": text}
        if whole:
            data = {"text": text} if role == "user" else {"content": [part], "finish": "stop"}
            row = (id, "ses_new", number, role, json.dumps(data))
            database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?)", row)
            continue
        info = json.dumps({"role": role, "finish": "stop"})
        row = (id, "ses_new", number, role, info)
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
        row = (f"p{id}", "ses_new", number, "text", json.dumps(part))
        database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (*row, id))
    database.commit()
    database.close()
    return path


@pytest.mark.parametrize("lost", ["message", "session"])
def test_rows_that_are_not_the_session_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    path = opencode.as_database(tmp_path, [*opencode_messages(), *opencode_messages()])
    session = read_session(path)

    def copy_fewer(database: Path, target: Path, ids: set[str]) -> None:
        copy_rows(database, target, ids)
        with sqlite3.connect(target) as copy:
            copy.execute(f"DELETE FROM {lost} WHERE id = (SELECT max(id) FROM {lost})")
        copy.close()

    monkeypatch.setattr(keep, "copy_rows", copy_fewer)
    with pytest.raises(SessionError, match="its rows alone are n") as refused:
        keep_session(session, tmp_path / "kept")
    assert refused.value.where == f"{path}#ses_1"
    assert [found for found in (tmp_path / "kept").rglob("*") if found.is_file()] == []


def test_what_is_generated_is_computed_again(database: Path, tmp_path: Path) -> None:
    with sqlite3.connect(database) as made:
        made.execute(
            "CREATE TABLE note (session_id TEXT, size INT AS (length(text)) VIRTUAL, text TEXT,"
            " twice TEXT AS (text || text) STORED, rowid TEXT)"
        )
        values = [("s1", "abc", "x"), ("s1", "d", "x"), ("s2", "e", "y")]
        made.executemany("INSERT INTO note (session_id, text, rowid) VALUES (?, ?, ?)", values)
    made.close()
    copy_rows(database, tmp_path / "copy.db", {"s1"})
    assert rows(tmp_path / "copy.db")["note"] == [
        ("s1", 3, "abc", "abcabc", "x"),
        ("s1", 1, "d", "dd", "x"),
    ]


def test_rows_that_cannot_be_copied_name_their_database(database: Path, tmp_path: Path) -> None:
    with sqlite3.connect(database) as made:
        made.execute("CREATE TABLE note (session_id TEXT, size INT CHECK (size > 0))")
        made.execute("PRAGMA ignore_check_constraints = 1")
        made.execute("INSERT INTO note VALUES ('s1', 0)")
    made.close()
    with pytest.raises(SessionError, match="its rows cannot be copied: CHECK") as refused:
        copy_rows(database, tmp_path / "copy.db", {"s1"})
    assert refused.value.where == str(database)


@pytest.mark.parametrize("name", [b"client.db", b"a\xff?#%41 b.db"])
def test_what_is_no_utf8_is_kept_as_it_is(database: Path, tmp_path: Path, name: bytes) -> None:
    """In a text, and in the name of the database."""
    path = database.rename(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)))
    opened = sqlite3.connect(path)
    opened.execute("UPDATE part SET data = CAST(x'61ff62' AS TEXT) WHERE data = 'a'")
    opened.commit()
    opened.close()
    copy_rows(path, tmp_path / "copy.db", {"s1"})
    copy = sqlite3.connect(tmp_path / "copy.db")
    query = "SELECT typeof(data), CAST(data AS BLOB) FROM part ORDER BY 2"
    assert copy.execute(query).fetchall() == [("text", b"a\xffb"), ("text", b"b")]
    assert copy.execute("SELECT typeof(data) FROM message").fetchall() == [("blob",), ("null",)]
    copy.close()


def test_a_damaged_database_is_refused_in_one_line(database: Path, tmp_path: Path) -> None:
    database.write_bytes(database.read_bytes()[:5000])
    with pytest.raises(SessionError, match="cannot be read as a database"):
        copy_rows(database, tmp_path / "copy.db", {"s1"})
