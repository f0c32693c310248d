"""Mutations of a session file that leave it one: of its lines, its values, its rows, its entries.

Bytes changed at random mostly end in a file that is refused at once. So lines are dropped,
doubled, swapped, cut and glued, and values are put in place of others: in a line, in a whole
document, in JSON that stands in a text, in a cell of a database, in an entry of an archive.
"""

from __future__ import annotations

import json
import random
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from typing import Any

from fuzz.seeds import SQLITE

DEEP = "nested too deep"
ODD: list[Any] = [
    *(None, True, -1, 0, 2**63, 2**70, 10**400, 1e308, -0.5, float("nan"), DEEP),
    *("", "\ud83d", "\u2028", "x\n\x00y", "x" * 5000, "1e999", "٣", "[", "{}"),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "2026-02-30", 253402300800000),
    *([], {}, [[]], [None, 1, "a", {}], {"0": "a", "1": "b"}, {"type": "text"}, {"type": None}),
]


def mutate(data: bytes, chance: random.Random) -> bytes | None:
    """One mutation, or None where this file, or chance, asks for one of bytes."""
    kind = chance.randrange(10)
    if kind == 0:
        return None
    if data.startswith(SQLITE):
        return _with_other_cell(data, chance)
    if data.startswith(b"PK"):
        return _with_other_entry(data, chance)
    lines = data.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    if kind == 1:
        return None
    if kind == 2:
        del lines[at]
    elif kind == 3:
        lines.insert(other, lines[at])
    elif kind == 4:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 5:
        lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)] + lines[other]
    else:
        value = _decoded(data)  # the whole, where it is one document
        if value is not None:
            return _encoded(altered(value, value, chance), data)
        lines[at] = _encoded(
            altered(_decoded(lines[at]), _decoded(lines[other]), chance), lines[at]
        )
    return b"\n".join(lines)


def altered(value: Any, donor: Any, chance: random.Random) -> Any:
    """The value with something left out, doubled, or put in: odd, or from the donor."""
    places = list(_places(value))
    if not places:
        return chance.choice(ODD)
    inside, key = chance.choice(places)
    was, kind = inside[key], chance.randrange(8)
    if kind == 0:
        del inside[key]
    elif kind == 1 and isinstance(inside, list):
        inside.insert(chance.randrange(len(inside) + 1), was)
    elif kind == 2 and isinstance(inside, dict):
        inside[chance.choice(places)[1]] = inside.pop(key)
    elif kind in (3, 4) and isinstance(was, str) and was[:1] in ("{", "["):
        inside[key] = _encoded(altered(_decoded(was), donor, chance), was.encode()).decode()
    elif kind in (5, 6):
        giver, name = chance.choice(list(_places(donor)) or places)
        inside[key] = giver[name]
    else:
        inside[key] = chance.choice(ODD)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a value."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _decoded(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _encoded(value: Any, otherwise: bytes) -> bytes:
    try:
        data = json.dumps(value).encode()
    except (ValueError, TypeError, RecursionError):  # the value now holds itself
        return otherwise
    return data.replace(json.dumps(DEEP).encode(), b"[" * 3000 + b"]" * 3000)


def _with_other_cell(data: bytes, chance: random.Random) -> bytes:
    """The database with one cell changed."""
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(data)
            names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            table = chance.choice([name for (name,) in names])
            rows = database.execute(f'SELECT rowid, * FROM "{table}" LIMIT 50')
            row = chance.choice(rows.fetchall())
            at = chance.randrange(1, len(row))
            value = _decoded(row[at]) if isinstance(row[at], str) else None
            cell = chance.choice([None, -1, 2**62, 0.5, "", "x", b"\xff", row[1]])
            if value is not None and chance.randrange(8):
                cell = _encoded(altered(value, value, chance), b"{}").decode()
            column = rows.description[at][0]
            database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (cell, row[0]))
            database.commit()
            return bytes(database.serialize())
    except (sqlite3.Error, IndexError, UnicodeError, OverflowError, TypeError, MemoryError):
        return data


def _with_other_entry(data: bytes, chance: random.Random) -> bytes:
    """The archive with one value of one of its entries changed, or the entry left out."""
    written = BytesIO()
    try:
        with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(written, "w", 8) as new:
            names = old.namelist()
            chosen = chance.choice(names)
            for name in names:
                entry = old.read(name) if old.getinfo(name).file_size < 1 << 20 else b""
                if name == chosen:
                    value = _decoded(entry)
                    if value is None or not chance.randrange(10):
                        continue
                    entry = _encoded(altered(value, value, chance), entry)
                new.writestr(name, entry)
    except Exception:  # whatever an archive that is none makes `zipfile` say
        return data
    return written.getvalue()
