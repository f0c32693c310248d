from __future__ import annotations

from collections.abc import Iterator

from contextecho.contexts import Request
from contextecho.engine.agenda import Agenda, Item
from contextecho.models import Caching
from store.plans import make_plan

PLAN = make_plan(positions=2, probes=3)  # 4 prefixes of 3 requests
LIFE = 300.0
ONCE = Caching(calls=1, life=LIFE)


def groups(pulled: list[Request]) -> Iterator[Iterator[Request]]:
    def watched(cells) -> Iterator[Request]:
        for cell in cells:
            request = PLAN.request(cell)
            pulled.append(request)
            yield request

    for _, cells in PLAN.by_prefix():
        yield watched(cells)


def take(agenda: Agenda, now: float = 0.0) -> Item:
    item = agenda.next(now)
    assert item is not None
    return item


def test_while_one_prefix_warms_the_next_one_is_begun():
    agenda = Agenda(groups([]), 10, ONCE)
    first, second = take(agenda), take(agenda)
    assert first.request.context != second.request.context
    first.warmed(0.0)
    assert take(agenda).request.context == first.request.context
    assert take(agenda).request.context == first.request.context
    assert take(agenda).request.context not in (first.request.context, second.request.context)


def test_nothing_is_ready_while_every_prefix_warms():
    agenda = Agenda(groups([]), 10, ONCE)
    items = [take(agenda) for _ in range(4)]
    assert agenda.next(0.0) is None
    items[2].left_cold()
    assert take(agenda).request.context == items[2].request.context


def test_requests_are_pulled_only_when_taken():
    pulled: list[Request] = []
    agenda = Agenda(groups(pulled), 10, ONCE)
    take(agenda).warmed(0.0)
    take(agenda)
    assert len(pulled) == 2


def test_retries_come_when_due_and_before_new_requests():
    agenda = Agenda(groups([]), 10, ONCE)
    late, soon = take(agenda), take(agenda)
    agenda.retry(late, due=9.0)
    agenda.retry(soon, due=5.0)
    assert agenda.due == 5.0
    assert take(agenda, now=4.9) not in (late, soon)
    assert take(agenda, now=5.0) is soon
    assert take(agenda, now=9.5) is late
    assert agenda.due is None


def test_no_new_request_is_pulled_while_too_many_wait():
    pulled: list[Request] = []
    agenda = Agenda(groups(pulled), 2, ONCE)
    for _ in range(2):
        agenda.retry(take(agenda), due=5.0)
    assert agenda.next(0.0) is None
    assert len(pulled) == 2


def test_what_was_put_back_comes_first():
    agenda = Agenda(groups([]), 10, ONCE)
    item = take(agenda)
    agenda.put_back(item)
    assert agenda.has_front
    assert take(agenda) is item
    assert not agenda.has_front


def test_a_prefix_that_was_idle_for_its_life_is_warmed_by_one_again():
    agenda = Agenda(groups([]), 10, ONCE)
    first = take(agenda)
    first.warmed(0.0)
    again = take(agenda, now=LIFE + 1)
    assert again.request.context == first.request.context
    assert take(agenda, now=LIFE + 1).request.context != first.request.context
    again.warmed(LIFE + 2)
    assert take(agenda, now=LIFE + 2).request.context == first.request.context


def test_each_use_lengthens_the_life_of_a_prefix():
    agenda = Agenda(groups([]), 10, ONCE)
    first = take(agenda)
    first.warmed(0.0)
    second, third = take(agenda, now=0.9 * LIFE), take(agenda, now=1.8 * LIFE)
    assert second.request.context == third.request.context == first.request.context


def test_a_call_that_takes_longer_than_the_life_still_warms():
    agenda = Agenda(groups([]), 10, ONCE)
    first = take(agenda)
    first.warmed(2 * LIFE)
    assert take(agenda, now=2 * LIFE).request.context == first.request.context
    assert take(agenda, now=2 * LIFE).request.context == first.request.context


def test_a_group_that_would_cool_goes_before_the_first():
    agenda = Agenda(groups([]), 10, ONCE)
    first, second = take(agenda), take(agenda)
    first.warmed(0.0)
    second.warmed(0.0)
    now = 0.6 * LIFE
    assert take(agenda, now=0.4 * LIFE).request.context == first.request.context
    assert take(agenda, now=now).request.context == second.request.context
    assert take(agenda, now=now).request.context == first.request.context


def test_retries_into_a_cold_prefix_go_one_by_one_until_it_is_warm():
    agenda = Agenda(groups([]), 10, ONCE)
    first = take(agenda)
    first.warmed(0.0)
    second, third = take(agenda), take(agenda)
    late = LIFE + 1
    for item in (second, third):
        agenda.retry(item, due=late)
    assert take(agenda, now=late) is second
    assert take(agenda, now=late).request.context != first.request.context
    second.warmed(late)
    assert take(agenda, now=late) is third


def test_the_request_that_warms_may_fail_and_come_back():
    agenda = Agenda(groups([]), 10, ONCE)
    first = take(agenda)
    agenda.retry(first, due=5.0)
    assert take(agenda, now=1.0).request.context != first.request.context
    assert take(agenda, now=5.0) is first


def test_a_cache_that_needs_two_requests_gets_two_one_after_the_other():
    agenda = Agenda(groups([]), 10, Caching(calls=2, life=LIFE))
    first = take(agenda)
    first.warmed(0.0)
    second = take(agenda)
    assert second.request.context == first.request.context
    assert take(agenda).request.context != first.request.context
    second.warmed(0.0)
    assert take(agenda).request.context == first.request.context
