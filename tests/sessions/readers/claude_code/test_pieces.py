"""A file read in pieces: the same entries whoever makes them, and losing a helper loses nothing."""

from __future__ import annotations

import os
import time
from array import array
from pathlib import Path
from threading import Event, Thread

import pytest

from contextecho.sessions import read_session
from contextecho.sessions.readers.claude_code import pieces
from contextecho.sessions.readers.claude_code.entries import Entry, entries_in

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

Read = tuple[list[Entry], "array[int]"]


def alone(path: Path) -> Read:
    offsets = array("Q")
    with path.open("rb") as file:
        return list(entries_in(file, 0, offsets)), offsets


def shared(path: Path, helpers: int) -> Read:
    offsets = array("Q")
    with path.open("rb") as file:
        entries = pieces.read_in_pieces(file, path.stat().st_size, offsets, helpers=helpers)
        return list(entries), offsets


@pytest.fixture
def many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 20 kB and the lines that are longer, so that each real file has many."""
    monkeypatch.setattr(pieces, "_PIECE", 20_000)


@pytest.fixture
def two_helpers(monkeypatch: pytest.MonkeyPatch, many_pieces: None) -> None:
    """Every session is read with two helpers."""
    name = "contextecho.sessions.readers.claude_code.helpers_for"
    monkeypatch.setattr(name, lambda _: 2)


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("helpers", [0, 2])
def test_every_real_file_gives_the_same_entries(claude_sessions: list[Path], helpers: int) -> None:
    for path in claude_sessions:
        assert shared(path, helpers) == alone(path), path.name


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("helpers", [0, 2])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"type":"user"}',
        b'{"type":"user"}\n{"type":"user"}\n',
        b"[1]\n" * 9 + b'{"type":"x"}{"type":"x","sessionId":"s"}\n{"type":"us',
        b"\n\n\n" + b'{"type":"assistant","message":{"content":"hi"}}\n' * 2000,
        b"[1]\n" + b'["' + b"x" * 90_000 + b'"]\n' + b"[1]\n" * 20_000,
        b"x" * 90_000,
        b"\n" * 20_000,
    ],
    ids=[
        *("empty", "one line", "two lines", "broken lines", "many pieces"),
        *("a line of many pieces", "nothing but that", "a border between two lines"),
    ],
)
def test_odd_files_give_the_same_entries(tmp_path: Path, content: bytes, helpers: int) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    assert shared(path, helpers) == alone(path)


def test_a_file_that_grows_is_read_as_far_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line was still being written; what follows later belongs to nobody's piece."""
    monkeypatch.setattr(pieces, "_PIECE", 8)
    path = tmp_path / "grows.jsonl"
    path.write_bytes(b"[1]\n" * 9 + b'{"type":"use')
    expected, offsets = alone(path), array("Q")
    with path.open("rb") as file:
        size = path.stat().st_size
        with path.open("ab") as more:
            more.write(b'r"}\n[2]\n')
        entries = list(pieces.read_in_pieces(file, size, offsets, helpers=1))
    assert (entries, offsets) == expected
    assert entries[-1].length == len(b'{"type":"use')


def test_the_file_that_was_opened_is_read_whatever_its_name_means_by_now(
    tmp_path: Path, claude_sessions: list[Path], many_pieces: None
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(claude_sessions[0].read_bytes())
    expected, offsets = alone(path), array("Q")
    with path.open("rb") as file:
        size = path.stat().st_size
        path.unlink()
        path.write_bytes(b"[1]\n" * (size // 4))
        assert (list(pieces.read_in_pieces(file, size, offsets, helpers=2)), offsets) == expected


@pytest.mark.usefixtures("two_helpers")
@pytest.mark.parametrize("fails", ["at once", "after a piece"])
def test_a_helper_that_dies_is_done_without(
    monkeypatch: pytest.MonkeyPatch, claude_sessions: list[Path], fails: str
) -> None:
    path = max(claude_sessions, key=lambda path: path.stat().st_size)
    expected = read_session(path)
    parent, made, done = os.getpid(), pieces._made, list[int]()

    def dying(file: int, begin: int, end: int) -> pieces.Piece:
        if os.getpid() != parent and (fails == "at once" or done):
            os._exit(1)
        done.append(begin)
        return made(file, begin, end)

    monkeypatch.setattr(pieces, "_made", dying)
    session = read_session(path)
    assert (session.turns, session.skipped) == (expected.turns, expected.skipped)


@pytest.mark.usefixtures("two_helpers")
def test_a_helper_that_stands_still_is_done_without(
    monkeypatch: pytest.MonkeyPatch, claude_sessions: list[Path]
) -> None:
    path = claude_sessions[0]
    expected = read_session(path)
    parent, made = os.getpid(), pieces._made

    def standing_still(file: int, begin: int, end: int) -> pieces.Piece:
        if os.getpid() != parent:
            time.sleep(600)
        return made(file, begin, end)

    monkeypatch.setattr(pieces, "_PATIENCE", 0.2)
    monkeypatch.setattr(pieces, "_made", standing_still)
    before = children()
    assert read_session(path).turns == expected.turns
    assert children() == before


@pytest.mark.usefixtures("many_pieces")
def test_no_helper_stays_behind_when_reading_is_given_up(claude_sessions: list[Path]) -> None:
    path = max(claude_sessions, key=lambda p: p.stat().st_size)
    before = children()
    with path.open("rb") as file:
        size = path.stat().st_size
        entries = pieces.read_in_pieces(file, size, array("Q"), helpers=2)
        next(entries)
        assert len(children() - before) == 2
        entries.close()
    assert children() == before


def children() -> set[str]:
    """Of this process; other tests may have left some."""
    lists = Path("/proc/self/task").glob("*/children")
    return {child for one in lists for child in one.read_text().split()}


def test_a_small_file_or_a_process_with_threads_gets_no_helper() -> None:
    assert not pieces.helpers_for(1_000_000)
    stop = Event()
    thread = Thread(target=stop.wait)
    thread.start()
    try:
        assert not pieces.helpers_for(1 << 40)
    finally:
        stop.set()
        thread.join()


def refuse(*_: object) -> None:
    raise OSError(11, "Resource temporarily unavailable")


@pytest.mark.usefixtures("two_helpers")
@pytest.mark.parametrize("missing", ["os.fork", "tempfile.TemporaryFile"])
def test_where_no_helper_can_be_had_the_file_is_read_all_the_same(
    monkeypatch: pytest.MonkeyPatch, claude_sessions: list[Path], missing: str
) -> None:
    path = claude_sessions[0]
    expected = read_session(path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(missing, refuse)
    assert read_session(path).turns == expected.turns
    assert len(list(Path("/proc/self/fd").iterdir())) == before
