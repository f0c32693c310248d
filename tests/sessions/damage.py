"""Files as a crash, a bad disk or a stranger leaves them: real bytes with some changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

QUIET = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
_PUT = [b"}{", b"\n", b"null", b"[]", b"{}", b'"', b"1", b"\\ud83d", b"[[", b"\x00\x00", b"1e999"]


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds with up to five cuts, each with something put in its place."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        drop = draw(st.integers(0, 40))
        data[at : at + drop] = draw(st.binary(max_size=4) | st.sampled_from(_PUT))
    return bytes(data)


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
