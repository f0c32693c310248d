from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.engine.quota import Bucket, Quota
from contextecho.engine.sizes import Weight
from contextecho.models import Allowance, Usage


def known(limit: float, left: float) -> Bucket:
    """A bucket that held `left` at 0 seconds."""
    bucket = Bucket()
    bucket.learn(limit, left, mark=0.0, sent_at=0.0, now=0.0)
    return bucket


def test_nothing_waits_before_a_limit_is_known():
    bucket = Bucket()
    bucket.take(1e9, 0.0)
    assert not bucket.known
    assert bucket.wait(1e9, 0.0) == 0.0


def test_time_gives_back_the_limit_in_a_minute():
    bucket = known(limit=60, left=0)
    assert bucket.wait(1, 0.0) == pytest.approx(1.0)
    assert bucket.wait(30, 0.0) == pytest.approx(30.0)
    assert bucket.wait(30, 25.0) == pytest.approx(5.0)
    assert bucket.wait(60, 1e6) == 0.0


def test_what_is_left_is_never_more_than_the_limit():
    bucket = known(limit=60, left=60)
    bucket.take(60, now=600.0)
    assert bucket.wait(1, 600.0) == pytest.approx(1.0)


def test_a_call_above_the_limit_waits_for_a_full_bucket_and_goes():
    assert known(limit=60, left=30).wait(1_000, 0.0) == pytest.approx(30.0)
    assert known(limit=60, left=60).wait(1_000, 0.0) == 0.0


def test_calls_sent_after_the_one_whose_reply_tells_are_taken_off():
    bucket = known(limit=600, left=600)
    mark = bucket.take(100, now=0.0)
    bucket.take(150, now=1.0)
    bucket.take(250, now=2.0)
    bucket.learn(600, left=500, mark=mark, sent_at=0.0, now=3.0)
    # 500 were left, 10 a second flowed back for 3 seconds, and 400 went since: 130.
    assert bucket.wait(130, 3.0) == 0.0
    assert bucket.wait(131, 3.0) == pytest.approx(0.1)


def test_an_estimate_that_was_too_high_is_given_back():
    bucket = known(limit=600, left=100)
    bucket.take(100, now=0.0)
    bucket.correct(40)
    assert bucket.wait(40, 0.0) == 0.0
    assert bucket.wait(41, 0.0) == pytest.approx(0.1)


@given(
    limit=st.floats(1, 1e6),
    calls=st.lists(st.tuples(st.floats(0.001, 1), st.floats(0, 5)), max_size=60),
)
def test_a_caller_that_waits_never_overdraws_the_providers_own_bucket(limit, calls):
    """Against an independent count: what was taken fits the initial fill and the inflow."""
    ours, taken, now = known(limit, left=limit), 0.0, 0.0
    for share, pause in calls:
        amount = share * limit
        now += pause
        now += ours.wait(amount, now)
        ours.take(amount, now)
        taken += amount
        assert taken <= (limit + now * limit / 60) * (1 + 1e-6)


ASKED = Weight(size=1_100, output=50)
USAGE = Usage(input=300, cached=200, output=10)


@pytest.mark.parametrize(("cached_count", "each"), [(True, 310), (False, 110)])
def test_tokens_are_taken_as_earlier_calls_used_them(cached_count, each):
    quota = Quota()

    def ask(left: float) -> None:
        sent = quota.sent(ASKED, 0.0)
        told = Allowance(tokens_limit=6_000, tokens_left=left)
        quota.came_back(ASKED, sent, USAGE, told, 0.0, cached_count=cached_count)

    ask(6_000)
    ask(each)  # the first one after the limit is known teaches what a call uses
    assert quota.wait(ASKED, 0.0) == 0.0
    quota.sent(ASKED, 0.0)
    assert quota.wait(ASKED, 0.0) == pytest.approx(each / 100)


def test_requests_are_counted_one_by_one():
    quota = Quota()
    sent = quota.sent(ASKED, 0.0)
    told = Allowance(requests_limit=30, requests_left=2)
    quota.came_back(ASKED, sent, USAGE, told, 0.0, cached_count=True)
    for _ in range(2):
        assert quota.wait(ASKED, 0.0) == 0.0
        quota.sent(ASKED, 0.0)
    assert quota.wait(ASKED, 0.0) == pytest.approx(2.0)


def test_a_half_told_limit_is_no_limit():
    quota = Quota()
    sent = quota.sent(ASKED, 0.0)
    for told in (Allowance(requests_limit=1), Allowance(tokens_left=0)):
        quota.came_back(ASKED, sent, USAGE, told, 0.0, cached_count=True)
    assert quota.wait(ASKED, 0.0) == 0.0


def test_what_was_counted_and_not_sent_is_there_again():
    quota = Quota()
    told = Allowance(requests_limit=60, requests_left=1, tokens_limit=600, tokens_left=600)
    quota.came_back(ASKED, quota.sent(ASKED, 0.0), USAGE, told, 0.0, cached_count=True)
    sent = quota.sent(ASKED, 0.0)
    assert quota.wait(ASKED, 0.0) > 0
    quota.unsent(sent)
    assert quota.wait(ASKED, 0.0) == 0.0
