"""The helper process: what it reads is what one process reads, and losing it loses nothing."""

from __future__ import annotations

import os
import time
from array import array
from pathlib import Path
from threading import Event, Thread

import pytest

from contextecho.sessions import read_session
from contextecho.sessions.readers.claude_code import ahead
from contextecho.sessions.readers.claude_code.entries import Entry, read_entries

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def alone(path: Path) -> tuple[list[Entry], array[int]]:
    offsets = array("Q")
    with path.open("rb") as file:
        return list(read_entries(file, 0, path.stat().st_size, offsets)), offsets


def helped(path: Path) -> tuple[list[Entry], array[int]]:
    offsets = array("Q")
    with path.open("rb") as file:
        size = path.stat().st_size
        return list(ahead.read_entries_helped(path, file, size, offsets)), offsets


def test_every_real_file_gives_the_same_entries(claude_sessions: list[Path]) -> None:
    for path in claude_sessions:
        assert helped(path) == alone(path), path.name


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"type":"user"}',
        b'{"type":"user"}\n{"type":"user"}\n',
        b"[1]\n" * 9 + b'{"type":"x"}{"type":"x","sessionId":"s"}\n{"type":"us',
        b"\n\n\n" + b'{"type":"assistant","message":{"content":"hi"}}\n' * 2000,
    ],
    ids=["empty", "one line", "two lines", "broken lines", "many batches"],
)
def test_odd_files_give_the_same_entries(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    assert helped(path) == alone(path)


def test_a_helper_that_dies_is_done_without(
    monkeypatch: pytest.MonkeyPatch, claude_sessions: list[Path]
) -> None:
    path = claude_sessions[0]
    expected = read_session(path)
    tried = []

    def die_at_once(*_: object) -> None:
        os._exit(1)

    def may_help(size: int) -> bool:
        tried.append(size)
        return True

    monkeypatch.setattr(ahead, "_send_all", die_at_once)
    monkeypatch.setattr("contextecho.sessions.readers.claude_code.may_help", may_help)
    session = read_session(path)
    assert tried == [path.stat().st_size]
    assert (session.turns, session.skipped) == (expected.turns, expected.skipped)
    with path.open("rb") as file, pytest.raises(ahead.HelperLostError):
        list(ahead.read_entries_helped(path, file, tried[0], array("Q")))


def test_no_helper_stays_behind_when_reading_is_given_up(claude_sessions: list[Path]) -> None:
    path = max(claude_sessions, key=lambda p: p.stat().st_size)
    before = children()
    with path.open("rb") as file:
        entries = ahead.read_entries_helped(path, file, path.stat().st_size, array("Q"))
        next(entries)
        assert len(children() - before) == 1
        entries.close()
    assert children() == before


def children() -> set[str]:
    """Of this process; other tests may have left some."""
    lists = Path("/proc/self/task").glob("*/children")
    return {child for one in lists for child in one.read_text().split()}


def test_a_small_file_or_a_process_with_threads_gets_no_helper() -> None:
    assert not ahead.may_help(1_000_000)
    stop = Event()
    thread = Thread(target=stop.wait)
    thread.start()
    try:
        assert not ahead.may_help(1 << 40)
    finally:
        stop.set()
        thread.join()


def refuse(*_: object) -> None:
    raise OSError(11, "Resource temporarily unavailable")


@pytest.mark.parametrize("missing", ["os.fork", "tempfile.TemporaryFile"])
def test_where_no_helper_can_be_had_the_file_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch, claude_sessions: list[Path], missing: str
) -> None:
    path = claude_sessions[0]
    expected = read_session(path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(missing, refuse)
    monkeypatch.setattr("contextecho.sessions.readers.claude_code.may_help", lambda _: True)
    assert read_session(path).turns == expected.turns
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_helper_that_stands_still_is_done_without(
    monkeypatch: pytest.MonkeyPatch, claude_sessions: list[Path]
) -> None:
    path = claude_sessions[0]
    expected = read_session(path)
    monkeypatch.setattr(ahead, "_PATIENCE", 0.2)
    monkeypatch.setattr(ahead, "_send_all", lambda *_: time.sleep(60))
    monkeypatch.setattr("contextecho.sessions.readers.claude_code.may_help", lambda _: True)
    assert read_session(path).turns == expected.turns
