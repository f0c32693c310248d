from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.untrusted import make_visible

KEPT = {"\t", "\n", "\u200c", "\u200d"}  # layout, and the joiners that scripts need


@given(st.text())
def test_no_control_or_direction_character_survives(text: str) -> None:
    for character in make_visible(text):
        if character not in KEPT:
            assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
            assert unicodedata.bidirectional(character) not in {
                "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
            }  # fmt: skip


@given(st.text())
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    once = make_visible(text)
    assert make_visible(once) == once


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_untouched(text: str) -> None:
    assert make_visible(text) == text


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x1b[31mred", "⟨U+001B⟩[31mred"),
        ("a\u202eexe.png", "a⟨U+202E⟩exe.png"),
        ("a\x00b", "a⟨U+0000⟩b"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("a\r\nb\rc", "a\nb⟨U+000D⟩c"),
        ("line\u2028end", "line⟨U+2028⟩end"),
        ("\ufeffx", "⟨U+FEFF⟩x"),
        ("👩‍💻 مرحبا", "👩‍💻 مرحبا"),
    ],
)
def test_each_kind_of_unseen_character_is_named(hidden: str, shown: str) -> None:
    assert make_visible(hidden) == shown
