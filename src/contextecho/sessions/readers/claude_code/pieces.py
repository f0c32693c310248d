"""A file in pieces, which several processes turn into entries when it is large.

The one thing to know: the numbers of the pieces wait in a pipe, and whoever is free takes
the next, this process too when it has nothing to put together. So nobody waits while there
is work, however dear a piece is, and what a helper leaves undone, for any reason, is done
here. A helper is a fork, so it needs no start and its hashes are ours (`Part.said`).
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from struct import Struct as Layout
from typing import BinaryIO, Final, NamedTuple, NoReturn

import msgspec

from contextecho.sessions.readers.claude_code.entries import Entry, entries_in

_PIECE: Final = 1 << 18  # bytes, or the one line that is longer
_MOST_PIECES: Final = 16_384  # their numbers fit into a pipe that nobody reads yet
_LEAST_BYTES: Final = 64 << 20  # below, the work is done before a helper pays
_MOST_HELPERS: Final = 3  # what they make is put together by one
_PATIENCE: Final = 60.0  # seconds for a piece; the slowest line known takes 20
_LOOK: Final = 1 << 14  # bytes to find a line's end in
_NUMBER: Final = Layout("<i")
_NOTE: Final = Layout("<iqq")  # a piece's number; where it lies in the helper's file, how long

Piece = tuple[bytes, list[Entry]]
"""Where the lines begin (an `array` of "Q"), and their entries, numbered from 1."""

_decode: Callable[[bytes], Piece] = msgspec.msgpack.Decoder(Piece).decode


class _Helper(NamedTuple):
    """A process that makes pieces: what it tells of each, and the file that holds them."""

    process: int
    notes: int
    made: BinaryIO


def helpers_for(size: int) -> int:
    """How many helpers pay for a file of `size` bytes; none where this process may not be forked.

    A process with threads may not, ours or a library's: a lock held by one of them
    would stay locked in the copy.
    """
    if size < _LEAST_BYTES or sys.platform != "linux":
        return 0
    if sum(1 for _ in Path("/proc/self/task").iterdir()) > 1:
        return 0
    return min(len(os.sched_getaffinity(0)) - 1, _MOST_HELPERS)


def read_in_pieces(
    file: BinaryIO, size: int, line_offsets: array[int], *, helpers: int
) -> Iterator[Entry]:
    """The entries of the first `size` bytes, with as many helpers as can be had of those wanted.

    Lines are numbered from 1, and where each begins is appended to `line_offsets`. A line that
    reaches beyond `size` is cut there: the client is still writing it.
    """
    pieces = list(pairwise(_borders(file.fileno(), size)))
    # Most files are small and many: alone, nothing need be shared out.
    work = _Work(file.fileno(), pieces, helpers) if helpers else None
    try:
        for number, (begin, end) in enumerate(pieces):
            offsets, entries = work.piece(number) if work else _made(file.fileno(), begin, end)
            lines_before = len(line_offsets)
            line_offsets.frombytes(offsets)
            for entry in entries:
                entry.line += lines_before
                yield entry
    finally:
        if work:
            work.end()


def _made(file: int, begin: int, end: int) -> Piece:
    """The piece between two bytes of an open file."""
    line_offsets = array("Q")
    lines = BytesIO(os.pread(file, end - begin, begin))
    entries = list(entries_in(lines, begin, line_offsets))
    return line_offsets.tobytes(), entries


def _borders(file: int, size: int) -> list[int]:
    """Where the pieces begin and end, each at the start of a line."""
    length = max(_PIECE, size // _MOST_PIECES)
    borders = [0]
    while borders[-1] < size:
        borders.append(_next_line(file, borders[-1] + length, size))
    return borders


def _next_line(file: int, place: int, size: int) -> int:
    """Where the first line begins that begins behind this place; at most `size`."""
    while place < size and (data := os.pread(file, _LOOK, place)):
        if (end := data.find(b"\n")) >= 0:
            return min(place + end + 1, size)
        place += len(data)
    return size


class _Work:
    """The pieces of a file, those that are made and those that nobody has taken yet."""

    def __init__(self, file: int, pieces: Sequence[tuple[int, int]], helpers: int) -> None:
        self._file = file
        self._pieces = pieces
        self._untaken = _filled_pipe(len(pieces))
        self._own: dict[int, Piece] = {}
        self._told: dict[int, tuple[_Helper, int, int]] = {}  # of the helpers' pieces
        self._helpers: list[_Helper] = []
        self._at_work = DefaultSelector()
        with suppress(OSError):  # without a process or a file more there are fewer helpers
            for _ in range(helpers):
                self._helpers.append(self._fork())
        for helper in self._helpers:
            self._at_work.register(helper.notes, EVENT_READ, helper)

    def piece(self, number: int) -> Piece:
        """One piece, whoever made it. Meanwhile others are made here, and notes taken in."""
        while number not in self._own and number not in self._told:
            if self._hear(patience=0) or self._make_next() or self._hear(_PATIENCE):
                continue
            return _made(self._file, *self._pieces[number])  # whoever took it died, or stands still
        if number in self._own:
            return self._own.pop(number)
        helper, place, length = self._told.pop(number)
        return _decode(os.pread(helper.made.fileno(), length, place))

    def end(self) -> None:
        """Let go of everything; helpers that still work are ended."""
        os.close(self._untaken)
        self._at_work.close()
        for helper in self._helpers:
            os.close(helper.notes)
            helper.made.close()
            with suppress(ChildProcessError):  # whoever ignores SIGCHLD has it waited for
                if os.waitpid(helper.process, os.WNOHANG) == (0, 0):
                    os.kill(helper.process, signal.SIGKILL)
                    os.waitpid(helper.process, 0)

    def _make_next(self) -> bool:
        """Make the next piece that nobody has taken; whether there was one."""
        taken = os.read(self._untaken, _NUMBER.size)
        if taken:
            (number,) = _NUMBER.unpack(taken)
            self._own[number] = _made(self._file, *self._pieces[number])
        return bool(taken)

    def _hear(self, patience: float) -> bool:
        """Take in what helpers tell, within so many seconds; whether any did."""
        if not self._at_work.get_map():
            return False
        heard = self._at_work.select(patience)
        for key, _ in heard:
            if note := os.read(key.fd, _NOTE.size):
                number, place, length = _NOTE.unpack(note)
                self._told[number] = key.data, place, length
            else:  # it is done, or died
                self._at_work.unregister(key.fd)
        return bool(heard)

    def _fork(self) -> _Helper:
        with ExitStack() as undo:
            made = undo.enter_context(tempfile.TemporaryFile())
            reading, writing = os.pipe()
            undo.callback(os.close, reading)
            with os.fdopen(writing, "wb") as notes:
                if (process := os.fork()) == 0:
                    os.close(reading)  # so that nobody hears once the parent is gone
                    self._help(made, notes.fileno())
            undo.pop_all()
        return _Helper(process, reading, made)

    def _help(self, made: BinaryIO, notes: int) -> NoReturn:
        """The helper's life. It leaves without the cleaning up that is its parent's to do."""
        try:
            while self._make_next():
                number, piece = self._own.popitem()
                place, data = made.tell(), msgspec.msgpack.encode(piece)
                made.write(data)
                made.flush()
                os.write(notes, _NOTE.pack(number, place, len(data)))
        finally:
            os._exit(0)


def _filled_pipe(pieces: int) -> int:
    """The end of a pipe to read the numbers of all pieces from; at its end nothing is left."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(map(_NUMBER.pack, range(pieces))))
    os.close(writing)
    return reading
