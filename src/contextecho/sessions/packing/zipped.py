"""The entries of a zip file, one at a time, packed by deflate or zstd.

The one thing to know: the standard library's `zipfile` learns zstd (method 93) only
in Python 3.14, so packed bytes are taken from the file here and unpacked by us, never
to more than the directory announces and never beyond `LARGEST`, or `MOST_TIMES` the
packed bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import SEEK_END, BytesIO
from operator import attrgetter
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from contextecho.errors import SessionError

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

ZIP: Final = b"PK\x03\x04"
LARGEST: Final = 1 << 30
"""Bytes that one entry may unpack to; it is held while it is read."""

MOST_TIMES: Final = 500
"""How much larger than the packed bytes an entry may be, or all; but `_ALWAYS` are allowed."""

_ALWAYS: Final = 1 << 24
_CONVERSATIONS: Final = "conversations.json"
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_ENCRYPTED: Final = 1
_SLACK: Final = 1 << 20  # packed bytes beyond those that a beginning of an entry unpacks to
_LOCAL_HEADER: Final = 30  # bytes before the name: the lengths of name and extra field end it


def first_entry(head: bytes) -> str:
    """The name of the first entry of a zip file that begins like this."""
    return head[_LOCAL_HEADER:][: _little(head[26:28])].decode("utf-8", "replace")


def open_zip(file: BinaryIO, where: str) -> ZipFile:
    """The directory of a zip file.

    Raises `SessionError` when it has none, or its entries overlap or unpack to too much.
    """
    from zipfile import BadZipFile, ZipFile

    try:
        directory = ZipFile(file)
    except (BadZipFile, ValueError, NotImplementedError, EOFError, OverflowError):
        raise SessionError(
            "the zip file has no directory at its end: it was cut, or is still being written",
            where=where,
        ) from None
    _refuse_overlaps(directory.filelist, where)
    size = sum(entry.file_size for entry in directory.filelist)
    if size > _most(file.seek(0, SEEK_END)):
        raise SessionError(_too_many(size), where=where, todo="unpack it yourself if you trust it")
    return directory


def _refuse_overlaps(entries: Sequence[ZipInfo], where: str) -> None:
    """Raises `SessionError` when two entries share bytes: so few may unpack to any number."""
    end = 0
    for entry in sorted(entries, key=attrgetter("header_offset")):
        if entry.header_offset < end:
            raise SessionError(
                "the zip file is damaged: its entries overlap", where=_named(entry, where)
            )
        end = entry.header_offset + _LOCAL_HEADER + entry.compress_size


def export_in(file: BinaryIO) -> ZipInfo | None:
    """The entry with the conversations in the archive of an export; None in any other zip file.

    Of a chat client, that is: an archive of ChatGPT's or Claude.ai's.
    """
    try:
        entries = open_zip(file, "").filelist
    except SessionError:
        return None
    named = (entry for entry in entries if entry.filename.rpartition("/")[2] == _CONVERSATIONS)
    return next(named, None)


@contextmanager
def open_entry(file: BinaryIO, entry: ZipInfo) -> Iterator[IO[bytes]]:
    """The bytes of an entry, part by part. Raises `ValueError` when it is damaged or encrypted."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(file).open(entry) as content:
            yield content
    except (BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise ValueError from error


def unpack(file: BinaryIO, entry: ZipInfo, where: str) -> bytes:
    """The bytes of one entry. Raises `SessionError` when they are damaged or too many."""
    name = _named(entry, where)
    if entry.file_size > min(LARGEST, _most(entry.compress_size)):
        raise SessionError(_too_many(entry.file_size), where=name)
    data = _unpacked(_packed(file, entry, name), entry.compress_type, entry.file_size, name)
    if zlib.crc32(data) != entry.CRC:
        raise SessionError("is damaged: its checksum does not fit", where=name)
    return data


def beginning_of(file: BinaryIO, entry: ZipInfo, length: int, where: str) -> bytes:
    """The first bytes of one entry, of which no more are unpacked; raises `SessionError`."""
    name = _named(entry, where)
    packed = _packed(file, entry, name, most=length + _SLACK)
    return _unpacked(packed, entry.compress_type, length, name)[:length]


def _packed(file: BinaryIO, entry: ZipInfo, name: str, *, most: int = LARGEST) -> bytes:
    """The packed bytes of one entry, `most` at most. Raises `SessionError`."""
    if entry.flag_bits & _ENCRYPTED:
        raise SessionError("is encrypted", where=name)
    file.seek(entry.header_offset)
    header = file.read(_LOCAL_HEADER)
    if not header.startswith(ZIP):
        raise SessionError("is damaged: it is not where the directory says", where=name)
    file.seek(_little(header[26:28]) + _little(header[28:30]), 1)
    return file.read(min(entry.compress_size, most))


def _unpacked(packed: bytes, method: int, size: int, where: str) -> bytes:
    """At most `size` bytes of what is packed; what is stored as it is."""
    if method == _STORED:
        return packed
    try:
        if method == _DEFLATED:
            return zlib.decompressobj(-15).decompress(packed, size) if size else b""
        if method == _ZSTD:
            return _unzstd(packed, size)
    except (zlib.error, EOFError, ValueError):
        raise SessionError("is damaged and cannot be unpacked", where=where) from None
    raise SessionError(f"is packed by method {method}, which is not read", where=where)


def _unzstd(packed: bytes, size: int) -> bytes:
    from contextecho.sessions.packing.zstandard import zstd

    try:
        with zstd.open(BytesIO(packed)) as file:  # goes on over the frames of a large entry
            return file.read(size)
    except zstd.ZstdError as error:
        raise ValueError from error


def _most(packed: int) -> int:
    """How many bytes so many packed bytes may unpack to."""
    return max(_ALWAYS, MOST_TIMES * packed)


def _too_many(size: int) -> str:
    return f"unpacks to {size:,} bytes, too many to read"


def _named(entry: ZipInfo, where: str) -> str:
    return f"{where}, entry {entry.filename}"


def _little(two: bytes) -> int:
    return int.from_bytes(two, "little")
