"""Files of the user's own: how a name tells one, and reading it without waiting for ever."""

from __future__ import annotations

from errno import EINVAL
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from contextecho.errors import DataError


def names_data_file(name: str) -> bool:
    """Whether a name that could be a bundled one's is the path of a YAML file."""
    return name.endswith((".yaml", ".yml"))


def read_data_file(path: Path) -> bytes:
    """The bytes of a data file. Raises `DataError`."""
    try:
        refuse_endless(path)
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise DataError(f"cannot be read: {reason}", where=str(path)) from error


def from_home(path: str) -> str:
    """A path with `~` for the user's home."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def refuse_endless(path: Path) -> None:
    """Raise `OSError` for a pipe or a device, which could keep us waiting for ever."""
    mode = path.stat().st_mode
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        raise OSError(EINVAL, "not a regular file")
