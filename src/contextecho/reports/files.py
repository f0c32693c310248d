"""Writing a report to a file, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from contextecho.errors import UsageError
from contextecho.reports.formats import FORMATS, render
from contextecho.scoring import RunAnalysis

_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv"}


def write_report(analysis: RunAnalysis, path: Path | str, *, format: str | None = None) -> Path:
    """Write the report of a run to `path`; without `format`, the file name decides.

    A report that stood there stays until the new one is complete. Raises
    `UsageError` for a name that says nothing, and for a place that cannot be written.
    """
    target = Path(path)
    return write_whole(render(analysis, format or format_of(target)), target)


def write_whole(content: str, target: Path) -> Path:
    """Write a report to `target`, whole or not at all. Raises `UsageError`."""
    try:
        _replace(target, content)
    except OSError as error:
        raise UsageError(
            f"cannot write the report: {error.strerror}",
            where=str(target),
            todo="name a file in a folder that exists and can be written",
        ) from error
    return target


def refuse_unwritable(path: Path) -> None:
    """Raise, before a run is paid for, what `write_report` would raise for this place after it."""
    format_of(path)
    refuse_place(path)


def refuse_place(path: Path) -> None:
    """Raise what `write_whole` would raise for this place."""
    folder = Path(os.path.realpath(path)).parent
    if not os.access(folder, os.W_OK) or path.is_dir():
        raise UsageError(
            "cannot write the report there",
            where=str(path),
            todo="name a file in a folder that exists and can be written",
        )


def format_of(path: Path, formats: Sequence[str] = FORMATS) -> str:
    """Which of `formats` the name of a file asks for. Raises `UsageError` if none."""
    suffixes = {suffix: name for suffix, name in _SUFFIXES.items() if name in formats}
    found = suffixes.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            "the file name does not say which format to write",
            where=str(path),
            todo=f"end it in {', '.join(suffixes)}, or give a format",
        )
    return found


def _replace(target: Path, content: str) -> None:
    """Write beside `target`, then take its place; with the permissions of any new file.

    What a link points to is replaced, not the link; a pipe or a device is written to.
    """
    if target.exists() and not target.is_file():
        target.write_text(content, encoding="utf-8", newline="")
        return
    target = Path(os.path.realpath(target))
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    beside = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        beside.chmod(0o666 & ~_umask())
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
