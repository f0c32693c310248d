"""The offline estimate, against o200k by way of `rs_bpe`."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from contextecho.contexts import EstimateCounter, load_control
from contextecho.contexts.tokens import PIECE
from contextecho.sessions import Session
from contexts.conftest import O200k

COUNTER = EstimateCounter()
BLOCK = 30_000


def blocks(text: str) -> list[str]:
    return [text[i : i + BLOCK] for i in range(0, len(text) - BLOCK // 2, BLOCK)]


def ratios(texts: list[str], exact: O200k) -> list[float]:
    return [COUNTER.count(text) / exact.count(text) for text in texts]


def test_sessions_are_within_two_per_cent_of_o200k(
    real_sessions: list[Session], o200k: O200k
) -> None:
    found = []
    for made in real_sessions:
        if made.bytes > 300_000:
            text = "\n".join(content.text for content in made.contents(made.turns))
            found += ratios(blocks(text), o200k)
    assert len(found) > 50
    assert sum(abs(ratio - 1) > 0.02 for ratio in found) <= len(found) // 20
    assert abs(sum(found) / len(found) - 1) < 0.01


def test_prose_is_within_two_per_cent_of_o200k(shared: Path, o200k: O200k) -> None:
    paper = (shared / "papers" / "contextecho.txt").read_text()
    prose = "\n\n".join(load_control().paragraphs)
    assert all(abs(ratio - 1) < 0.02 for ratio in ratios(blocks(paper) + blocks(prose), o200k))


def test_ten_words_counted_by_hand() -> None:
    # Common words, each with its space, are one token; so are the comma and the full stop.
    assert COUNTER.count("The river runs down to the sea, and the boats come in.") == 14


@given(st.text())
def test_pieces_cover_every_text(text: str) -> None:
    assert "".join(PIECE.findall(text)) == text
    assert (COUNTER.count(text) == 0) == (text == "")
