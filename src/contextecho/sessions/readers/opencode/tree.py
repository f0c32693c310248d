"""OpenCode before 1.2: a session's record, and a file for each message and each part.

    storage/session/<project>/<session>.json       the file to give
    storage/message/<session>/<message>.json
    storage/part/<message>/<part>.json

The one thing to know: the first clients had it all below `session/`, as
`session/info/<session>.json`, `session/message/<session>/`, and
`session/part/<session>/<message>/`. Where a file's name and the id inside differ, either
may name the folder of what belongs to it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from contextecho.errors import SessionError
from contextecho.sessions.building.fields import number_in, object_in, text_in
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.building.stamp import Stamp, changed, unreadable
from contextecho.sessions.model import Session, Sidechain, Span
from contextecho.sessions.readers.opencode.pieces import Values
from contextecho.sessions.readers.opencode.rows import NumberedSource
from contextecho.sessions.readers.opencode.thread import Thread, sidechain_of

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")


class _Message(Struct):
    """A message's file, then its parts' files, and each file's stamp."""

    files: list[Path]
    stamps: list[Stamp]


def read_tree(path: Path) -> Session:
    """Index the session whose record is at `path`.

    Raises `SessionError` if there are no messages beside it, or no model speaks in them.
    """
    record, stamp = _read(path)
    info = _object(record)
    messages, parts = _folders(path, info)
    thread = Thread(info)
    source = TreeSource(path)
    source.add(_Message([path], [stamp]))
    for number, file in enumerate(_in_order(messages), 1):
        value, message, broken = _load([file, *_part_files(parts, file)])
        source.add(message)
        for _ in range(broken):
            thread.conversation.tally.add("broken file of a part", number)
        thread.take(Placed(number, Span(number, 0), value))
    sidechains = []
    for sidechain, files in _sidechains(path, thread.children):
        sidechains.append(sidechain)
        source.beside += files
    return thread.session(path, bytes=source.size, source=source, sidechains=sidechains)


def session_file(path: Path, record: Values) -> str:
    """The session's file that a message's or part's file belongs to, or how it is named."""
    storage = next((p for p in path.parents if p.name == "storage"), path.parent.parent.parent)
    found = sorted(storage.glob("session/*/*.json"))
    wanted = text_in(record, "sessionID")
    fitting = [file for file in found if wanted and file.stem.endswith(wanted)]
    if fitting or len(found) == 1:
        return str((fitting or found)[0])
    return str(storage / "session" / "<project>" / f"{wanted or 'ses_...'}.json")


class TreeSource(NumberedSource):
    """Loads messages from their files; message 0 is the session's record."""

    def __init__(self, path: Path) -> None:
        """`path` is the session's record."""
        super().__init__(path)
        self.beside: list[Path] = []  # files of the sub-agents' messages
        self._messages: list[_Message] = []

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self._messages) - 1

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(stamp.size for message in self._messages for stamp in message.stamps)

    @property
    def sha256(self) -> str:
        """SHA-256 of all files, one after the other: the record, each message, its parts."""
        digest = hashlib.sha256()
        for message in self._messages:
            for data in self._unchanged(message):
                digest.update(data)
        return digest.hexdigest()

    @property
    def files(self) -> list[Path]:
        """The record, and the files of the messages and their parts, the sub-agents' too."""
        own = [file for message in self._messages for file in message.files]
        return own + self.beside

    def add(self, message: _Message) -> None:
        """Remember the files of the next message."""
        self._messages.append(message)

    @contextmanager
    def loading(self) -> Iterator[Callable[[int], dict[str, Any]]]:
        """Gives a message for its number. Raises `SessionError` when it is not the same."""
        yield lambda number: self._load(self._messages[number])

    def _load(self, message: _Message) -> dict[str, Any]:
        return _value(message.files[0], list(self._unchanged(message)))[0]

    def _unchanged(self, message: _Message) -> Iterator[bytes]:
        for file, stamp in zip(message.files, message.stamps, strict=True):
            try:
                data, now = _read(file)
            except OSError as error:
                raise unreadable(file, error) from None
            if now != stamp:
                raise changed(self._path)
            yield data


def _folders(path: Path, info: Values) -> tuple[Path, list[Path]]:
    """The folder of the session's messages, and those that may hold a message's parts."""
    ids = [id for id in (text_in(info, "id"), path.stem) if _ID.fullmatch(id)]
    below, storage = path.parent.parent, path.parent.parent.parent
    for root, parts in (
        (storage, [storage / "part"]),
        (below, [below / "part" / id for id in ids]),
    ):
        for id in ids:
            if (root / "message" / id).is_dir():
                return root / "message" / id, parts
    raise SessionError(
        "holds no conversation: there are no messages beside it",
        where=str(path),
        todo=f"they belong in {storage / 'message' / (ids or ['<session>'])[0]}",
    )


def _in_order(folder: Path) -> list[Path]:
    """The messages' files, as they were said; those that tell no time come last."""

    def when(file: Path) -> tuple[float, str]:
        info = _object(_read(file)[0])
        created = number_in(info, "time", "created")
        return (float("inf") if created is None else created, text_in(info, "id") or file.stem)

    return sorted(_json_files(folder), key=when)


def _part_files(folders: Sequence[Path], message: Path) -> list[Path]:
    """The files of a message's parts, in their order."""
    ids = (text_in(_object(_read(message)[0]), "id"), message.stem)
    places = (folder / id for folder in folders for id in ids if _ID.fullmatch(id))
    return next((_json_files(place) for place in places if place.is_dir()), [])


def _sidechains(
    path: Path, children: Mapping[str, str | None]
) -> Iterator[tuple[Sidechain, list[Path]]]:
    """The sub-agents that have messages beside the session's, each with the files of these."""
    for child, call_id in children.items():
        file = path.with_name(f"{child}.json")
        if not _ID.fullmatch(child) or not file.is_file():
            continue
        with suppress(SessionError):  # without messages it tells of no sub-agent
            folder, parts = _folders(file, {"id": child})
            messages = _json_files(folder)
            infos = [_object(_read(message)[0]) for message in messages]
            files = [one for message in messages for one in (message, *_part_files(parts, message))]
            yield sidechain_of(child, file, infos, call_id=call_id), files


def _json_files(folder: Path) -> list[Path]:
    """Regular files only: a pipe could keep us waiting for ever."""
    return sorted(file for file in folder.glob("*.json") if file.is_file())


def _load(files: list[Path]) -> tuple[dict[str, Any], _Message, int]:
    """A message with its parts, its files, and how many parts are broken."""
    read = [_read(file) for file in files]
    value, broken = _value(files[0], [data for data, _ in read])
    return value, _Message(files, [stamp for _, stamp in read]), broken


def _value(file: Path, datas: Sequence[bytes]) -> tuple[dict[str, Any], int]:
    """A message with its parts, as an export has it, and how many parts are broken."""
    info, *parts = (decode_json(data) for data in datas)
    whole = [part for part in parts if isinstance(part, dict)]
    info = {"id": file.stem} | info if isinstance(info, dict) else {}
    return {"info": info, "parts": whole}, len(parts) - len(whole)


def _read(path: Path) -> tuple[bytes, Stamp]:
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        return file.read(stamp.size), stamp


def _object(data: bytes) -> dict[str, Any]:
    return object_in(decode_json(data))
