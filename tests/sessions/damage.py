"""Files as a crash, a bad disk or a stranger leaves them: bytes and values with some changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

ODD_BYTES = [
    *(b"\x00\x00", b"}{", b"\n", b'"', b"\\ud83d", b"[[", b"[" * 2000),
    *(b"null", b"[]", b"{}", b"1", b"1e999"),
]
ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 10**30, 10**400, 1.5, "", "x", "1", "é", "\ud83d", "x" * 30),
    *([], [None], [[]], ["x", {}], {}, {"a": 1}, {"a": {}}),
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes], *odd: bytes) -> bytes:
    """One of the seeds with up to five cuts, each with something put in its place.

    What is put may also stand over as many bytes, so that all that follows keeps its place,
    as a database's pages must; and the end may be missing. `odd` is put in, too.
    """
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(data)))
        put = draw(st.binary(max_size=6) | st.sampled_from([*ODD_BYTES, *odd]))
        drop = len(put) if draw(st.booleans()) else draw(st.integers(0, 80))
        data[at : at + drop] = put
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


@st.composite
def altered(draw: st.DrawFn, wholes: Sequence[Any]) -> Any:
    """One of these values with odd ones in a few places, or nothing: JSON of the wrong shape."""
    value = json.loads(json.dumps(draw(st.sampled_from(wholes))))
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(value))
        if places:
            inside, key = places[draw(st.integers(0, len(places) - 1))]
            if draw(st.integers(0, 3)):
                inside[key] = deepcopy(draw(st.sampled_from(ODD_VALUES)))
            else:
                del inside[key]
    return value


def written(value: Any) -> bytes:
    """The value as a JSON document."""
    return json.dumps(value).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(what holds it, its key or number) of everything in the value."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def odd_values(value: Any) -> Iterator[Any]:
    """The value again and again, each time with one thing in it of another type."""
    for odd in (None, True, 7, "odd", [], {}, [{}], [[]], {"id": {}}):
        if type(odd) is not type(value) or not value:
            yield odd
    if isinstance(value, dict):
        for key in value:
            for other in odd_values(value[key]):
                yield value | {key: other}
    elif isinstance(value, list):
        for number, item in enumerate(value):
            for other in odd_values(item):
                yield [*value[:number], other, *value[number + 1 :]]
