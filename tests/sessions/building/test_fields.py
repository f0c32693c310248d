"""Fields of any shape: times that files say."""

from __future__ import annotations

import pytest

from contextecho.sessions.building.fields import instant

AFTER = 1_782_864_000.0  # 2026-07-01 00:00:00 UTC, by `date`


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("2026-06-30T23:59:60Z", AFTER),
        ("2026-06-30 23:59:60", AFTER),
        ("2026-06-30T23:59:60.500Z", AFTER + 0.5),
        ("2026-07-01T05:44:60+05:45", AFTER),
        ("2026-06-30T23:59:59Z", AFTER - 1),
        ("2026-06-30T23:59:61Z", None),
        ("9999-12-31T23:59:60Z", None),
        ("23:59:60", None),
        (60, None),
    ],
)
def test_a_leap_second_is_the_second_that_follows(said: object, seconds: float | None) -> None:
    assert instant(said) == seconds
