from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contextecho.engine.pace import Limits, Pace


def test_back_off_doubles_up_to_the_longest_delay():
    limits = Limits()
    for attempt, full in ((1, 1.0), (2, 2.0), (3, 4.0), (6, 32.0), (7, 60.0), (50, 60.0)):
        delays = [limits.delay(attempt, None) for _ in range(200)]
        assert full / 2 <= min(delays) < max(delays) <= full


@given(st.integers(1, 2_000), st.floats(0, 1e9))
def test_retry_after_is_honoured_up_to_a_quarter_of_an_hour(attempt, asked):
    delay = Limits(attempts=3_000).delay(attempt, asked)
    assert min(asked, 900.0) <= delay <= max(1.0, min(asked, 900.0))
    assert delay >= 0.5  # a server that asks for no wait is not hammered


def test_a_round_of_successes_earns_one_slot():
    pace = Pace(Limits(concurrency=8), None)
    for _ in range(8):
        assert pace.slots == 8
        pace.succeeded(8)
    pace.succeeded(8)
    assert pace.slots == 9


def test_idle_slots_earn_nothing():
    pace = Pace(Limits(concurrency=8), None)
    for _ in range(100):
        pace.succeeded(3)
    assert pace.slots == 8


def test_the_calls_of_one_round_halve_the_slots_once():
    pace = Pace(Limits(concurrency=8), None)
    for _ in range(8):
        pace.limited(sent_at=1.0, now=2.0)
    assert pace.slots == 4
    pace.limited(sent_at=3.0, now=4.0)
    assert pace.slots == 2
    for later in range(5, 15):
        pace.limited(sent_at=later, now=later + 0.5)
    assert pace.slots == 1


def test_a_targets_own_bound_is_never_passed():
    pace = Pace(Limits(concurrency=8), most=2)
    for _ in range(1_000):
        pace.succeeded(pace.slots)
    assert pace.slots == 2
