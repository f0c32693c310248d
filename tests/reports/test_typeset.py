from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.reports.typeset import (
    Quantity,
    estimate,
    listing,
    number,
    p_value,
    sentence,
    tick,
)


@pytest.mark.parametrize(
    ("value", "low", "high", "quantity", "written"),
    [
        (0.42, 0.11, 0.73, Quantity.SCORE, "0.42 [0.11, 0.73]"),
        (-0.4249, -0.7, -0.1, Quantity.SCORE, "−0.42 [−0.70, −0.10]"),
        (0.8333, 0.71, 0.92, Quantity.SHARE, "83 % [71, 92]"),
        (-0.38, -0.52, -0.24, Quantity.POINTS, "−38 pp [−52, −24]"),
        (312.4, 290.0, 1401.0, Quantity.CHARACTERS, "312 [290, 1,401]"),
        (3.14, 2.0, 12.3, Quantity.RATIO, "3.14× [2.00, 12]"),
        (0.42, None, None, Quantity.SCORE, "0.42"),
        (None, None, None, Quantity.SCORE, "no estimate"),
        (None, 0.1, 0.2, Quantity.SHARE, "no estimate"),
        (-0.001, -0.004, 0.002, Quantity.SCORE, "0.00 [0.00, 0.00]"),
    ],
)
def test_numbers_are_written_with_their_interval(
    value: float | None, low: float | None, high: float | None, quantity: Quantity, written: str
) -> None:
    assert estimate(value, low, high, quantity) == written


@given(st.floats(-99, 99), st.sampled_from(Quantity))
def test_a_written_number_is_within_half_a_digit_of_the_number(
    value: float, quantity: Quantity
) -> None:
    digits = re.sub(r"[^0-9.−]", "", number(value, quantity)).replace("−", "-")
    percent = quantity in (Quantity.SHARE, Quantity.POINTS)
    tolerance = 0.5 if percent or quantity is Quantity.CHARACTERS else 0.005
    if quantity is Quantity.RATE:
        tolerance = 0.05
    if quantity is Quantity.RATIO and value >= 10:
        tolerance = 0.5
    assert float(digits) == pytest.approx(100 * value if percent else value, abs=tolerance + 1e-9)


@pytest.mark.parametrize(
    ("p", "written"),
    [(None, "–"), (0.0, "< 0.001"), (0.00099, "< 0.001"), (0.0312, "0.031"), (1.0, "1.000")],
)
def test_p_values_claim_no_false_precision(p: float | None, written: str) -> None:
    assert p_value(p) == written


def test_listings_read_as_prose() -> None:
    assert [listing(("a", "b", "c")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_ticks_carry_no_needless_decimals() -> None:
    assert tick(3.0, Quantity.SCORE) == "3"
    assert tick(0.5, Quantity.SHARE) == "50 %"
    assert tick(-2.5, Quantity.COORDINATE) == "−2.5"
    assert tick(1000.0, Quantity.CHARACTERS) == "1,000"


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("no judge was asked", "No judge was asked."),
        ("however, it moved", "However, it moved."),
        ("simulated/gap=0.2: few replies", "simulated/gap=0.2: few replies."),
        ("local: few replies", "local: few replies."),
        ("openai/x judged itself", "openai/x judged itself."),
        ("control+anchor was not collected", "control+anchor was not collected."),
        ("20 of 60 pairs lack a score!", "20 of 60 pairs lack a score!"),
        ("", ""),
        (" ", " ."),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_an_identifier_does(
    words: str, written: str
) -> None:
    assert sentence(words) == written
