from __future__ import annotations

from collections.abc import Iterator

from contextecho.contexts import Request
from contextecho.engine.agenda import Agenda, Item
from store.plans import make_plan

PLAN = make_plan(positions=2, probes=3)  # 4 prefixes of 3 requests


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
    agenda = Agenda(groups([]), most_waiting=10)
    first, second = take(agenda), take(agenda)
    assert first.request.context != second.request.context
    first.warmed()
    assert take(agenda).request.context == first.request.context
    assert take(agenda).request.context == first.request.context
    assert take(agenda).request.context not in (first.request.context, second.request.context)


def test_nothing_is_ready_while_every_prefix_warms():
    agenda = Agenda(groups([]), most_waiting=10)
    items = [take(agenda) for _ in range(4)]
    assert agenda.next(0.0) is None
    items[2].left_cold()
    assert take(agenda).request.context == items[2].request.context


def test_requests_are_pulled_only_when_taken():
    pulled: list[Request] = []
    agenda = Agenda(groups(pulled), most_waiting=10)
    take(agenda).warmed()
    take(agenda)
    assert len(pulled) == 2


def test_retries_come_when_due_and_before_new_requests():
    agenda = Agenda(groups([]), most_waiting=10)
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
    agenda = Agenda(groups(pulled), most_waiting=2)
    for _ in range(2):
        agenda.retry(take(agenda), due=5.0)
    assert agenda.next(0.0) is None
    assert len(pulled) == 2


def test_what_was_put_back_comes_first():
    agenda = Agenda(groups([]), most_waiting=10)
    item = take(agenda)
    agenda.put_back(item)
    assert agenda.has_front
    assert take(agenda) is item
    assert not agenda.has_front
