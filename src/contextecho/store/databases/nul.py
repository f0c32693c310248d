"""Texts with a NUL in them, which SQLite keeps and PostgreSQL refuses.

The one thing to know: models do write NUL now and then, and a reply must come
back as it was. DLE, the control character that is there for this, stands before
a `0` for NUL and before another DLE for itself; texts without either are as they are.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.adapt import Loader
from psycopg.types.string import StrDumper, TextLoader

NUL = "\x00"
DLE = "\x10"


def escaped(text: str) -> str:
    """The text without NUL."""
    if NUL not in text and DLE not in text:
        return text
    return text.replace(DLE, DLE + DLE).replace(NUL, DLE + "0")


def unescaped(text: str) -> str:
    """The text that `escaped` was given."""
    if DLE not in text:
        return text
    # Two DLE in a row are one, and belong together from the left.
    return DLE.join(part.replace(DLE + "0", NUL) for part in text.split(DLE + DLE))


class _Dumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(escaped(obj))


class _Loader(TextLoader):
    def load(self, data: Any) -> Any:
        return unescaped(str(super().load(data)))


def register_texts(db: Connection[Any]) -> None:
    """Escape what goes to this connection and unescape what comes."""
    db.adapters.register_dumper(str, _Dumper)
    loader: type[Loader] = _Loader
    db.adapters.register_loader("text", loader)
