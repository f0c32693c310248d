"""Writing a session in another format, whole or not at all.

The one thing to know: the file is written beside its place and then given its name, so
that what stood there, and was to be replaced, stays until the new file is complete. It
holds private text, so that only its owner can read it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, Final

from contextecho.errors import UsageError
from contextecho.sessions.building.belonging import is_file_of
from contextecho.sessions.converting.inspect_log import write_eval, write_json
from contextecho.sessions.converting.normalised import lines_of
from contextecho.sessions.model import Session

FORMATS: Final = ("jsonl", "inspect")
_BY_SUFFIX: Final = {".jsonl": "jsonl", ".eval": "inspect", ".json": "inspect"}

Write = Callable[[Session, BinaryIO], None]


def convert_session(
    session: Session, path: Path, *, to: str | None = None, force: bool = False
) -> Path:
    """Write the session to `path`; without `to`, the file name decides between the `FORMATS`.

    An Inspect log is one JSON document where the name ends in `.json`, else the zip file
    `.eval`. Raises `UsageError` for a name that says nothing or
    something else than `to`, for a file of the session, for another that is there
    (unless `force`), and for a place that cannot be written; `SessionError` when the
    session's own file changed since it was read.
    """
    write = _writer(path, to)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device
            with path.open("wb") as file:
                write(session, file)
        else:
            _write_whole(session, path, write, force=force)
    except OSError as error:
        raise UsageError(
            f"cannot be written: {(error.strerror or 'unknown reason').lower()}",
            where=str(path),
            todo="name a file in a folder that exists and can be written",
        ) from error
    return path


def write_lines(session: Session, file: BinaryIO) -> None:
    """Write the session as normalised JSON lines. Raises `SessionError` when its file changed."""
    file.writelines(lines_of(session))


def choose_format(path: Path, to: str | None = None) -> str:
    """The format for a file of this name: as `to` says, else by the name's ending.

    Raises `UsageError` where neither says, and where they contradict each other.
    """
    by_name = _BY_SUFFIX.get(path.suffix.lower())
    if to is None and by_name is None:
        raise UsageError(
            "the file name does not say which format to write",
            where=str(path),
            todo=f"end it in {_either(_BY_SUFFIX)}, or say {_either(f'--to {f}' for f in FORMATS)}",
        )
    if to is not None and to not in FORMATS:
        raise UsageError(f"no such format: {to}", todo=f"give {_either(FORMATS)}")
    if to is not None and by_name not in (None, to):
        fitting = (suffix for suffix, format in _BY_SUFFIX.items() if format == to)
        raise UsageError(
            f"its name is that of another format than --to {to}",
            where=str(path),
            todo=f"end it in {_either(fitting)}, or say --to {by_name}",
        )
    return to or by_name or FORMATS[0]


def _either(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _writer(path: Path, to: str | None) -> Write:
    if choose_format(path, to) == "jsonl":
        return write_lines
    return write_json if path.suffix.lower() == ".json" else write_eval


def _write_whole(session: Session, path: Path, write: Write, *, force: bool) -> None:
    target = Path(os.path.realpath(path))
    if target.exists() and is_file_of(session, target):
        is_own = target.samefile(session.path)
        raise UsageError(
            f"is {'the session itself' if is_own else 'a file of the session'}, "
            "which is never written to",
            where=str(path),
            todo="name another file",
        )
    if not force:
        _refuse_existing(target, path)
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    beside = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            write(session, file)
        if not force:
            _refuse_existing(target, path)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _refuse_existing(target: Path, path: Path) -> None:
    if target.exists():
        raise UsageError(
            "is there already, and is not overwritten",
            where=str(path),
            todo="name another file, or give --force",
        )
