"""The records of a document that is never held as a whole."""

from __future__ import annotations

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contextecho.sessions.building import records
from sessions.damage import json_values


@given(
    st.lists(st.dictionaries(st.text(max_size=5), json_values, max_size=3), max_size=5),
    st.sampled_from([None, 0, 3]),
    st.integers(1, 40),
)
def test_elements_are_found_whatever_the_chunks_are(
    rows: list[dict[str, Any]], indent: int | None, chunk: int
) -> None:
    """What an incremental reader finds is what `json` finds in the whole."""
    data = json.dumps(rows, indent=indent, ensure_ascii=False).encode()
    usual, records.CHUNK = records.CHUNK, chunk  # type: ignore[misc]
    try:
        found = list(records.array_elements(io.BytesIO(data), len(data)))
    finally:
        records.CHUNK = usual  # type: ignore[misc]
    # As text, since NaN is not equal to itself.
    assert [json.dumps(json.loads(element)) for _, _, element in found] == list(
        map(json.dumps, rows)
    )
    assert [number for number, _, _ in found] == list(range(1, len(rows) + 1))
    assert all(data[offset : offset + len(element)] == element for _, offset, element in found)
