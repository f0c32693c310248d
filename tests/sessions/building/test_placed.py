"""Where values lie in a file: offsets against the bytes themselves."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contextecho.sessions.building.jsontext import BROKEN
from contextecho.sessions.building.placed import Document, placed_lines
from contextecho.sessions.building.tally import Tally

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.lists(values, max_size=5), st.integers(0, 2), st.booleans(), st.sampled_from(["", "\ufeff"])
)
def test_elements_are_found_where_they_lie(
    wanted: list[Any], indent: int, escaped: bool, mark: str
) -> None:
    document = {"é": {"messages": ["not these"]}, "in": {"messages": wanted}, "n": 1}
    text = mark + json.dumps(document, indent=indent, ensure_ascii=escaped)
    data = text.encode()
    tally = Tally()
    found = list(Document(data, 100).elements("in", "messages", tally=tally))
    assert [placed.value for placed in found] == wanted
    assert [placed.line for placed in found] == list(range(1, len(wanted) + 1))
    for placed in found:
        begin = placed.span.offset - 100
        assert json.loads(data[begin : begin + placed.span.length]) == placed.value
    assert tally.skipped() == ()


def test_values_are_found_by_their_keys() -> None:
    document = Document(b' {"a": {"b": [1, 2]}, "c": "\\ud83d", "a": 7}')
    assert document.value("a", "b") == [1, 2]
    assert document.value("c") == "\N{REPLACEMENT CHARACTER}"
    assert document.value("a", "x") is BROKEN
    assert document.has_array("a", "b")
    assert not document.has_array("a")
    assert not document.has_array()


def test_a_cut_array_is_read_as_far_as_it_goes_and_said_to_be_cut() -> None:
    tally = Tally()
    found = list(Document(b'[{"a": 1}, {"a": 2}, {"a": ').elements(tally=tally))
    assert [placed.value for placed in found] == [{"a": 1}, {"a": 2}]
    assert [(s.reason, s.lines) for s in tally.skipped()] == [("cut document", (3,))]


def test_lines_are_placed_mended_or_counted(tmp_path: Path) -> None:
    lines = [
        b'{"id": 1}\n',
        b"7\n",
        b"\n",
        b'{"id": 2}{"id": 3}\n',  # glued
        b'{"id": "cut off {"id": 4}\n',  # a stub, and a whole record behind it
        b"\x00\x00\x00" + b'{"id": 5}\n',
        b"nothing\n",
        b'{"id": 6}\n',
        b'{"id": 7}\n',  # still being written when the file was opened
    ]
    data = b"".join(lines)
    tally = Tally()
    found = list(placed_lines(io.BytesIO(data), len(data) - 3, tally, lambda v: "id" in v, ("id",)))
    assert [(p.line, p.value["id"]) for p in found] == [
        (1, 1), (4, 2), (4, 3), (5, 4), (6, 5), (8, 6),
    ]  # fmt: skip
    for placed in found:
        begin, length = placed.span.offset, placed.span.length
        assert json.loads(data[begin : begin + length]) == placed.value
    assert {s.reason: s.lines for s in tally.skipped()} == {
        "not a JSON object": (2,),
        "broken line, records saved": (4, 5, 6),
        "broken line": (7, 9),
    }
