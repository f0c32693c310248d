"""Packed sessions are read as if they were not packed."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from contextecho.cli.main import main
from contextecho.errors import SessionError
from contextecho.sessions import example_session, read_session
from contextecho.sessions.packing import packed
from contextecho.sessions.reading import members_of
from sessions.claude_code_lines import assistant, line, user
from sessions.inspect_logs import sample, write_eval
from sessions.inspect_logs import user as inspect_user
from waiting import wait_until

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".zst": zstd.compress,
    ".gz": gzip.compress,
    ".zst frames": lambda data: zstd.compress(data[:99]) + zstd.compress(data[99:]),
}
SESSION = line(user("a")) + line(assistant("b"))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for copies, so that the test sees what is left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    packed._unpacked.cache_clear()
    return folder


@pytest.mark.parametrize("how", PACKERS)
def test_a_packed_session_is_the_session(tmp_path: Path, how: str) -> None:
    plain = read_session(example_session())
    path = tmp_path / f"session.jsonl{how.split()[0]}"
    path.write_bytes(PACKERS[how](example_session().read_bytes()))
    session = read_session(path)
    assert (session.path, session.name) == (path, str(path))
    assert (session.id, session.format, session.bytes) == (plain.id, plain.format, plain.bytes)
    assert (session.turns, session.compactions) == (plain.turns, plain.compactions)
    assert session.sha256 == plain.sha256
    assert list(session.contents(session.turns)) == list(plain.contents(plain.turns))
    assert list(session.source.records(3, 5)) == list(plain.source.records(3, 5))


def test_what_is_packed_is_told_by_its_bytes_not_its_name(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(zstd.compress(SESSION))
    assert read_session(path).steps == 1
    path = tmp_path / "plain.zst"
    path.write_bytes(SESSION)
    assert (read_session(path).format, read_session(path).steps) == ("claude-code", 1)


def test_a_packed_file_may_hold_several_sessions(tmp_path: Path, temporary: Path) -> None:
    answer = {"id": "a", "role": "assistant", "content": "b"}
    log = write_eval(tmp_path / "x", *(sample(inspect_user(t), answer, id=t) for t in "ab"))
    path = tmp_path / "log.eval.zst"
    path.write_bytes(zstd.compress(log.read_bytes()))
    assert members_of(path) == ["a", "b"]
    session = read_session(f"{path}#b")
    assert (session.name, session.text(session.turns[0])) == (f"{path}#b", "b")
    assert len(list(temporary.iterdir())) == 1, "unpacked once for both"
    with pytest.raises(SessionError, match=r"log\.eval\.zst: holds 2 sessions \(name one .*zst#a;"):
        read_session(path)


def test_the_copy_is_private_and_goes_with_the_session(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "session.jsonl.zst"
    path.write_bytes(zstd.compress(SESSION))
    session = read_session(path)
    (copy,) = temporary.iterdir()
    assert copy.stat().st_mode & 0o077 == 0
    packed._unpacked.cache_clear()
    assert session.text(session.turns[0]) == "a", "the session holds it"
    del session
    assert list(temporary.iterdir()) == []


def test_nothing_is_left_when_the_program_ends(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl.zst"
    path.write_bytes(zstd.compress(SESSION))
    folder = tmp_path / "tmp"
    folder.mkdir()
    words = [sys.executable, "-m", "contextecho", "sessions", "show", str(path)]
    done = subprocess.run(words, env=os.environ | {"TMPDIR": str(folder)}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []


def export(path: Path, data: bytes, name: str = "conversations.json") -> Path:
    """An archive as a chat client sends it: the conversations among other files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr(name, data)
    return path


def chats(*ids: str) -> bytes:
    messages = [{"uuid": s, "sender": s, "text": "hi"} for s in ("human", "assistant")]
    return json.dumps([{"uuid": id, "chat_messages": messages} for id in ids]).encode()


@pytest.mark.parametrize("name", ["conversations.json", "data-2026/conversations.json"])
def test_the_archive_of_an_export_is_read_as_its_conversations(
    tmp_path: Path, temporary: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export(tmp_path / "export.zip", chats("a", "b"), name)
    assert members_of(path) == ["a", "b"]
    session = read_session(f"{path}#b")
    assert (session.format, session.path, session.steps) == ("claude-ai", path, 1)
    assert session.text(session.turns[1]) == "hi"
    main(["sessions", "list", str(path)])
    assert f"{path}#a" in capsys.readouterr().out
    del session
    packed._unpacked.cache_clear()
    assert list(temporary.iterdir()) == []


def test_an_archive_that_is_no_export_or_is_damaged_is_refused(tmp_path: Path) -> None:
    path = export(tmp_path / "export.zip", chats("a"), "else.json")
    with pytest.raises(SessionError, match="not a session"):
        read_session(path)
    data = export(path, chats("a" * 99)).read_bytes()
    place = data.index(b"conversations.json") + len("conversations.json") + 4
    path.write_bytes(data[:place] + b"????" + data[place + 4 :])
    with pytest.raises(SessionError, match="is damaged and cannot be unpacked") as refused:
        read_session(path)
    assert str(refused.value).startswith(f"{path}: ")


def test_a_packed_file_that_changed_is_unpacked_again(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl.zst"
    path.write_bytes(zstd.compress(SESSION))
    before = read_session(path)
    path.write_bytes(zstd.compress(SESSION + line(assistant("c"))))
    assert (before.steps, read_session(path).steps) == (1, 2)
    assert before.text(before.turns[0]) == "a"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (zstd.compress(SESSION * 99)[:-9], "it was cut"),
        (gzip.compress(SESSION)[:-9], "it was cut"),
        (zstd.compress(SESSION)[:9] + b"?" * 99, "not as packed"),
        (gzip.compress(SESSION)[:-8] + b"?" * 8, "not as packed"),
        (zstd.compress(b""), "is empty"),
        (zstd.compress(b"no session"), "not a session"),
        (zstd.compress(line(user("a"))), "no message of a model"),
    ],
)
def test_what_is_wrong_is_said_of_the_packed_file(
    tmp_path: Path, temporary: Path, data: bytes, says: str
) -> None:
    path = tmp_path / "session.jsonl.zst"
    path.write_bytes(data)
    with pytest.raises(SessionError, match=says) as refused:
        read_session(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert str(temporary) not in str(refused.value)


@pytest.mark.parametrize("pack", [zstd.compress, gzip.compress])
def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(packed, "_ALWAYS", 1 << 20)
    monkeypatch.setattr(packed, "MOST_TIMES", 10)
    path = tmp_path / "bomb.jsonl.zst"
    path.write_bytes(pack(bytes(1 << 26)))  # of zeros: 2 kB by zstd, 65 kB by gzip
    with pytest.raises(SessionError, match="unpacks to more than 1,048,576 bytes"):
        read_session(path)
    packed._unpacked.cache_clear()
    assert list(temporary.iterdir()) == []


def test_show_says_which_size_it_names_and_list_has_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.jsonl.zst"
    path.write_bytes(zstd.compress(SESSION))
    main(["sessions", "show", str(path)])
    assert f"{path} (claude-code, {len(SESSION)} B unpacked)" in capsys.readouterr().out
    main(["sessions", "show", str(example_session())])
    assert "unpacked" not in capsys.readouterr().out
    main(["sessions", "list", str(path), "--json"])
    assert f'"bytes": {path.stat().st_size},' in capsys.readouterr().out


def test_commands_take_packed_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "session.jsonl.zst"
    path.write_bytes(zstd.compress(example_session().read_bytes()))
    for words in (["sessions", "show"], ["sessions", "check"], ["scan"]):
        main([*words, str(path)])
        assert str(path) in "".join(capsys.readouterr())


@given(st.data())
def test_damaged_packed_files_are_sessions_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    damaged = bytearray(data.draw(st.sampled_from([zstd.compress, gzip.compress]))(SESSION))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged)))
        damaged[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=3))
    path = tmp_path / "session"
    path.write_bytes(damaged)
    try:
        session = read_session(path)
    except SessionError:
        return
    assert len(list(session.contents(session.turns))) == len(session.turns)


def test_a_terminated_command_leaves_no_unpacked_copy(tmp_path: Path) -> None:
    """The copy is looked for while a command reads it, and after the command was ended."""
    file = tmp_path / "s.jsonl.zst"
    lines = b"".join(line(r) for r in [user("a"), assistant("b")] * 40_000)
    file.write_bytes(zstd.compress(lines))
    copies = tmp_path / "copies"
    copies.mkdir()
    words = [sys.executable, "-m", "contextecho", "scan", str(file)]
    with subprocess.Popen(words, env={**os.environ, "TMPDIR": str(copies)}) as process:
        wait_until(lambda: any(copies.rglob("*.jsonl")), process)
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    assert list(copies.iterdir()) == []
