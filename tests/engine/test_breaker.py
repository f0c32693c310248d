from __future__ import annotations

from contextecho.engine.breaker import Breaker, State
from contextecho.engine.pace import Limits

LIMITS = Limits(patience=3, trials=2, first_pause=10.0, longest_delay=60.0)


def opened() -> Breaker:
    breaker = Breaker(LIMITS)
    states = [breaker.failed(key, sent_at=0.0, now=1.0) for key in "abc"]
    assert states == [State.AS_BEFORE, State.AS_BEFORE, State.OPENED]
    return breaker


def test_it_opens_after_a_row_of_different_requests_failed():
    at = opened().next_trial_at(1.0)
    assert at is not None
    assert 11.0 <= at <= 13.5  # ten seconds, and up to a quarter more


def test_one_request_that_always_fails_opens_nothing():
    breaker = Breaker(LIMITS)
    for now in range(100):
        assert breaker.failed("a", sent_at=now, now=now + 0.5) is State.AS_BEFORE
    assert breaker.next_trial_at(100.0) is None


def test_an_answer_begins_the_row_anew():
    breaker = Breaker(LIMITS)
    for key in "abcdefgh":
        assert breaker.failed(key, sent_at=0.0, now=1.0) is State.AS_BEFORE
        assert breaker.answered() is State.AS_BEFORE


def test_calls_that_were_out_when_it_opened_are_no_trials():
    breaker = opened()
    for key in "defgh":
        assert breaker.failed(key, sent_at=0.9, now=20.0) is State.AS_BEFORE
    breaker.sent()
    assert breaker.on_trial
    assert breaker.failed("z", sent_at=0.9, now=20.0) is State.AS_BEFORE
    assert breaker.on_trial  # the trial itself is still out


def test_a_trial_that_is_answered_closes_it():
    breaker = opened()
    breaker.sent()
    assert breaker.answered() is State.CLOSED
    assert breaker.next_trial_at(1.0) is None
    assert not breaker.on_trial


def test_each_failed_trial_doubles_the_pause_and_the_last_gives_up():
    breaker = opened()
    breaker.sent()
    assert breaker.failed("a", sent_at=20.0, now=20.0) is State.AS_BEFORE
    again = breaker.next_trial_at(20.0)
    assert again is not None
    assert 40.0 <= again <= 45.0
    breaker.sent()
    assert breaker.failed("b", sent_at=50.0, now=51.0) is State.GIVEN_UP
