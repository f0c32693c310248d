"""A log as a file: where its samples lie, what its header says, and loading one again.

The one thing to know: the two shapes of log differ only here. In a zip file a sample
is an entry; in a document it is an element of `samples`, and its bytes' place is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from contextecho.sessions.building.fields import under
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Document, content_of
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Content, Span, Turn
from contextecho.sessions.packing.zipped import ZIP, open_zip, unpack
from contextecho.sessions.readers.inspect.converted import left_piece
from contextecho.sessions.readers.inspect.pieces import pieces_of
from contextecho.sessions.readers.inspect.samples import Header, Sample, header_of
from contextecho.untrusted import make_visible

if TYPE_CHECKING:
    from zipfile import ZipInfo

_SAMPLE: Final = re.compile(r"samples/(.*)_epoch_(\d+)\.json", re.DOTALL)
_HEADERS: Final = ("header.json", "_journal/start.json")  # the first is written when a run ends


def log_at(path: Path) -> Log:
    """The log in a file. Raises `OSError`."""
    with path.open("rb") as file:
        return _log(path, Stamp.of(file))


@lru_cache(maxsize=2)
def _log(path: Path, stamp: Stamp) -> Log:
    """Kept, since the sessions of a file are read one after the other."""
    return Log(path, stamp)


class Log:
    """One log file, as it was when it was opened first; it holds places, no content."""

    def __init__(self, path: Path, stamp: Stamp) -> None:
        self.stamp = stamp
        self._path = path
        self._where = str(path)

    @cached_property
    def samples(self) -> dict[str, Span | ZipInfo]:
        """Where each sample is, by its name: the id, and the epoch if there are several.

        Raises `SessionError` for a zip file without a directory.
        """
        with self._open() as file:
            found: list[tuple[str, str, Span | ZipInfo]]
            found = [*(self._entries(file) if _is_zip(file) else self._elements(file))]
        several = len({epoch for _, epoch, _ in found}) > 1
        samples: dict[str, Span | ZipInfo] = {}
        times = Counter[str]()
        for id, epoch, place in found:
            name = make_visible(f"{id}/{epoch}" if several else id).replace("#", "%23")
            times[name] += 1
            samples[f"{name} ({times[name]})" if times[name] > 1 else name] = place
        return samples

    def sample(self, name: str) -> Sample:
        """One sample, unpacked and decoded. Raises `SessionError`."""
        place = self.samples[name]
        with self._open() as file:
            if isinstance(place, Span):
                file.seek(place.offset)
                data = file.read(place.length)
            else:
                data = unpack(file, place, self._where)
        return Sample.of(data)

    @cached_property
    def header(self) -> Header:
        """What the log says of the run as a whole. Raises `SessionError`."""
        with self._open() as file:
            if not _is_zip(file):
                return header_of(Document(file.read()).value("eval"))
            entries = open_zip(file, self._where).NameToInfo
            name = next((name for name in _HEADERS if name in entries), None)
            value = decode_json(unpack(file, entries[name], self._where)) if name else None
        return header_of(under(value, "eval"))

    def _open(self) -> BinaryIO:
        return Stamped(self._path, self.stamp).open()

    def _entries(self, file: BinaryIO) -> Iterator[tuple[str, str, ZipInfo]]:
        # An entry that was written again stands there twice; the directory's last one holds.
        for name, entry in open_zip(file, self._where).NameToInfo.items():
            found = _SAMPLE.fullmatch(name)
            if found:
                yield found[1], found[2], entry

    def _elements(self, file: BinaryIO) -> Iterator[tuple[str, str, Span]]:
        document = Document(file.read(self.stamp.size))
        for placed in document.elements("samples", tally=Tally()):
            if isinstance(placed.value, dict):
                id, epoch = placed.value.get("id"), placed.value.get("epoch")
                yield str(placed.line if id is None else id), str(epoch or 1), placed.span


def _is_zip(file: BinaryIO) -> bool:
    begins = file.read(len(ZIP)) == ZIP
    file.seek(0)
    return begins


class InspectSource(Stamped):
    """Loads a sample again, as long as its log stays what it was."""

    def __init__(self, path: Path, log: Log, member: str) -> None:
        super().__init__(path, log.stamp)
        self._log = log
        self._member = member

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        if not turns:
            return
        sample = self._log.sample(self._member)
        count = len(sample.messages)
        for turn in turns:
            number, part = turn.span.offset, turn.span.part
            if number >= count:
                yield content_of(left_piece(sample.metadata, number - count))
            elif (piece := pieces_of(sample.messages[number])[part]) is not None:
                yield content_of(piece)

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, message) for each message of the sample from the first to the last."""
        messages = self._log.sample(self._member).messages
        for number, message in enumerate(messages, 1):
            if first_line <= number <= last_line and isinstance(message, dict):
                yield number, message
