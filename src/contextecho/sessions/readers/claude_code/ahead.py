"""A second process for large files: it makes the entries of the rest while we assemble.

The one thing to know: the helper is a fork of this process, so it needs no start and
its hashes are ours (`Part.said`). It writes batches of entries to a file without a name
and their lengths to a pipe; what it leaves undone, for any reason, is `HelperLostError`.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO, Final, NoReturn

import msgspec

from contextecho.sessions.readers.claude_code.entries import Entry, read_entries

_LEAST_BYTES: Final = 64 << 20  # below, the work is done before a helper pays
_OWN_SHARE: Final = 0.28  # of the file: the helper's entries must be assembled here too
_BATCH: Final = 256  # entries
_PATIENCE: Final = 60.0  # seconds without a batch; the slowest line known takes 20
_LENGTH: Final = Layout("<q")
_DONE: Final = 0  # stands for a length; line offsets follow


class HelperLostError(Exception):
    """The helper ended before its work did."""


def may_help(size: int) -> bool:
    """Whether a helper pays for a file of `size` bytes, and this process may be forked.

    A process with threads may not, ours or a library's: a lock held by one of them
    would stay locked in the copy.
    """
    return (
        size >= _LEAST_BYTES
        and sys.platform == "linux"
        and len(os.sched_getaffinity(0)) > 1
        and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1
    )


def read_entries_helped(
    path: Path, file: BinaryIO, size: int, line_offsets: array[int]
) -> Iterator[Entry]:
    """As `read_entries` of the whole file, the rest of it read by a helper meanwhile.

    Raises `HelperLostError`: then nothing that came is worth anything.
    """
    file.seek(int(size * _OWN_SHARE))
    file.readline()
    middle = min(file.tell(), size)
    with _nameless_file() as entries:
        helper, lengths = _fork(path, middle, size, entries)
        try:
            yield from read_entries(file, 0, middle, line_offsets)
            yield from _received(entries, lengths, line_offsets)
        finally:
            os.close(lengths)
            with suppress(ChildProcessError):  # whoever ignores SIGCHLD has it waited for
                if os.waitpid(helper, os.WNOHANG) == (0, 0):  # at its end, or given up
                    os.kill(helper, signal.SIGKILL)
                    os.waitpid(helper, 0)


def _nameless_file() -> BinaryIO:
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise HelperLostError from error


def _fork(path: Path, begin: int, end: int, entries: BinaryIO) -> tuple[int, int]:
    """Start the helper: its process id, and the pipe that its lengths come from."""
    reading, writing = os.pipe()
    try:
        helper = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise HelperLostError from error
    if helper == 0:
        os.close(reading)
        _help(path, begin, end, entries, writing)
    os.close(writing)
    return helper, reading


def _received(entries: BinaryIO, lengths: int, line_offsets: array[int]) -> Iterator[Entry]:
    """The helper's entries as they come, their lines numbered on from ours."""
    decode = msgspec.msgpack.Decoder(list[Entry]).decode
    lines_before = len(line_offsets)
    place = 0
    while length := _next_length(lengths):
        for entry in decode(os.pread(entries.fileno(), length, place)):
            entry.line += lines_before
            yield entry
        place += length
    entries.seek(place)
    line_offsets.frombytes(entries.read())


def _next_length(lengths: int) -> int:
    data = b""
    while len(data) < _LENGTH.size:
        if not select.select([lengths], [], [], _PATIENCE)[0]:
            raise HelperLostError
        piece = os.read(lengths, _LENGTH.size - len(data))
        if not piece:
            raise HelperLostError
        data += piece
    return int(_LENGTH.unpack(data)[0])


def _help(path: Path, begin: int, end: int, entries: BinaryIO, lengths: int) -> NoReturn:
    """The helper's life. It leaves without the cleaning up that is its parent's to do."""
    status = 1
    try:
        with path.open("rb", buffering=1 << 20) as file:
            _send_all(file, begin, end, entries, lengths)
        status = 0
    finally:
        os._exit(status)


def _send_all(file: BinaryIO, begin: int, end: int, entries: BinaryIO, lengths: int) -> None:
    line_offsets = array("Q")
    batch: list[Entry] = []
    for entry in read_entries(file, begin, end, line_offsets):
        batch.append(entry)
        if len(batch) == _BATCH:
            _send(batch, entries, lengths)
            batch = []
    if batch:
        _send(batch, entries, lengths)
    _write(line_offsets.tobytes(), entries)
    os.write(lengths, _LENGTH.pack(_DONE))


def _send(batch: list[Entry], entries: BinaryIO, lengths: int) -> None:
    data = msgspec.msgpack.encode(batch)
    _write(data, entries)
    os.write(lengths, _LENGTH.pack(len(data)))


def _write(data: bytes, entries: BinaryIO) -> None:
    entries.write(data)
    entries.flush()
