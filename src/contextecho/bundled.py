"""Data files that come with the program: one way to read them, each with its hash.

The one thing to know: a room keeps its texts and numbers in `data/*.yaml`, with an id or
version, a licence and a source; its code holds none of them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from contextecho.errors import DataError

T = TypeVar("T", bound=msgspec.Struct)


def bundled_names(room: str, prefix: str = "") -> tuple[str, ...]:
    """Names, without suffix, of a room's data files that begin with `prefix`."""
    return tuple(sorted(path.stem for path in _folder(room).glob(f"{prefix}*.yaml")))


def read_bundled(room: str, name: str, form: type[T]) -> T:
    """The data file `name` of a room as `form`. Raises `DataError`."""
    data = (_folder(room) / f"{name}.yaml").read_bytes()
    return decode_bundled(data, form, f"{room}/data/{name}.yaml")


def decode_bundled(data: bytes, form: type[T], where: str) -> T:
    """`data` (YAML) as `form`, whose field `sha256`, if it has one, becomes their SHA-256.

    Raises `DataError` naming the file and the key that is wrong.
    """
    try:
        content = yaml.load(data, Loader=yaml.CSafeLoader)
        if isinstance(content, dict) and "sha256" in form.__struct_fields__:
            content["sha256"] = hashlib.sha256(data).hexdigest()
        return msgspec.convert(content, form)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise DataError(
            f"is damaged: {' '.join(str(error).split())}",
            where=where,
            todo="install contextecho again",
        ) from error


def _folder(room: str) -> Path:
    return Path(__file__).parent / room / "data"
