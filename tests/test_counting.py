"""Numbers of things in words."""

from __future__ import annotations

import pytest

from contextecho.counting import counted


@pytest.mark.parametrize(
    ("count", "nouns", "written"),
    [
        (0, ("pair",), "0 pairs"),
        (1, ("reply",), "1 reply"),
        (1200, ("planned reply",), "1,200 planned replies"),
        (2, ("prefix",), "2 prefixes"),
        (2, ("day",), "2 days"),
        (3, ("category or position", "categories and positions"), "3 categories and positions"),
    ],
)
def test_counts_agree_with_their_noun(count: int, nouns: tuple[str, ...], written: str) -> None:
    assert counted(count, *nouns) == written
