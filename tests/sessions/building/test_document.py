"""Where the values of a document lie, whole or damaged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions.building.placed import Document
from contextecho.sessions.building.tally import Tally

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(values, max_size=5), st.booleans(), st.sampled_from([None, 1]), st.integers(0, 9))
def test_each_element_is_where_it_is_said_to_be(
    array: list[Any], ascii: bool, indent: int | None, offset: int
) -> None:
    """A cut document gives the same elements, by another way, but for its last one."""
    text = json.dumps({"x": [0], "in": {"list": array}}, ensure_ascii=ascii, indent=indent)
    data = text.encode("utf-8", "surrogatepass")
    for whole in (data, data[:-1]):
        tally = Tally()
        document = Document(whole, offset)
        found = list(document.elements("in", "list", tally=tally))
        assert [placed.value for placed in found] == array
        assert [placed.line for placed in found] == list(range(1, len(array) + 1))
        for placed in found:
            begin = placed.span.offset - offset
            assert json.loads(whole[begin : begin + placed.span.length]) == placed.value
        assert document.has_array("in", "list")
        assert not document.has_array("in")
        one = document.placed("in", "list")
        assert one is not None
        assert one.value == array
        assert tally.skipped() == ()


@pytest.mark.parametrize("end", ["", "]"])
def test_a_byte_order_mark_and_doubled_elements_do_not_shift_the_places(end: str) -> None:
    data = b"\xef\xbb\xbf [[1], [1] ,[1], 1" + end.encode()
    found = list(Document(data).elements(tally=Tally()))
    assert [placed.span.offset for placed in found] == [5, 10, 15, 20][: len(found)]
    assert [placed.value for placed in found] == [[1], [1], [1], 1]


def test_a_bad_byte_in_a_key_costs_nothing_else() -> None:
    data = b'{"\x80": 1, "list": [7]}'
    (found,) = Document(data).elements("list", tally=Tally())
    assert data[found.span.offset : found.span.offset + found.span.length] == b"7"
    (one,) = json.loads(data.decode("utf-8", "replace"))["list"]
    assert found.value == one


def test_what_is_not_there_is_none() -> None:
    document = Document(b'{"a": 1}')
    assert document.placed("b") is None
    assert document.placed("a", "b") is None
    assert list(document.elements("a", tally=Tally())) == []
    assert Document(b"").placed() is None


@pytest.mark.parametrize("at_once", [0, 100])  # both ways to come by the elements
@pytest.mark.parametrize("cut", [0, 1])
def test_an_array_of_more_elements_than_any_session_has_is_refused(
    monkeypatch: pytest.MonkeyPatch, at_once: int, cut: int
) -> None:
    monkeypatch.setattr("contextecho.sessions.building.placed.MOST_ELEMENTS", 5)
    monkeypatch.setattr("contextecho.sessions.building.placed._MOST_AT_ONCE", at_once)

    def found(count: int) -> int:
        data = json.dumps({"list": [{}] * count}).encode()
        return len(list(Document(data[: len(data) - cut]).elements("list", tally=Tally())))

    assert found(5) == 5
    with pytest.raises(SessionError, match="more than 5 elements"):
        found(6)
