"""Reading this room's data files: each becomes one frozen value with its hash.

The one thing to know: `sha256` is of the file's bytes and enters every verdict's
version, so that a changed pattern or rubric never reuses an old verdict.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import TypeVar

import msgspec
import yaml

from contextecho.errors import DataError

T = TypeVar("T")


def data_names(prefix: str) -> tuple[str, ...]:
    """Names, without suffix, of the bundled data files that begin with `prefix`."""
    names = (entry.name for entry in (files("contextecho.scoring") / "data").iterdir())
    return tuple(
        sorted(n.removesuffix(".yaml") for n in names if n.startswith(prefix) and ".yaml" in n)
    )


def read_data(name: str, kind: type[T]) -> T:
    """The bundled data file `name` as `kind`, whose field `sha256` is filled in.

    Raises `DataError` naming the file and the key that is wrong.
    """
    return decode_data(
        (files("contextecho.scoring") / "data" / f"{name}.yaml").read_bytes(), kind, name
    )


def decode_data(content: bytes, kind: type[T], where: str) -> T:
    """`content` (YAML) as `kind`, whose field `sha256` is filled in."""
    try:
        values = yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise DataError(f"not YAML: {str(error).splitlines()[0]}", where=where) from error
    if not isinstance(values, dict):
        raise DataError("not a mapping of keys", where=where)
    try:
        return msgspec.convert({**values, "sha256": hashlib.sha256(content).hexdigest()}, kind)
    except msgspec.ValidationError as error:
        raise DataError(str(error), where=where) from error
