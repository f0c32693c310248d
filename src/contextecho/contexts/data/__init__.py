"""The texts and numbers that contexts are made from, and the one way to read them.

Every file here is YAML with an id or version, a licence and a source; its
SHA-256 is computed when it is read. Code of this room holds none of these texts.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from contextecho.errors import DataError

T = TypeVar("T")


def read_data(name: str, form: type[T]) -> tuple[T, str]:
    """A bundled data file as `form`, with the SHA-256 of its bytes. Raises DataError."""
    data = Path(__file__).with_name(name).read_bytes()
    try:
        content = yaml.load(data, Loader=yaml.CSafeLoader)
        return msgspec.convert(content, form), hashlib.sha256(data).hexdigest()
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise DataError(
            f"is damaged: {' '.join(str(error).split())}",
            where=f"contexts/data/{name}",
            todo="install contextecho again",
        ) from error
