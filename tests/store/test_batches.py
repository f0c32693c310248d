"""Provider batches are written down, with their attempts, before anybody waits for them."""

from __future__ import annotations

import pytest

from contextecho.errors import DataError
from contextecho.models import Failed, FailureKind
from contextecho.store import BatchState, RunInfo, Store, open_store
from contextecho.studies import Plan
from store.kept import VERSIONS, answer
from store.plans import make_plan
from store.raw import count, query


def test_a_batch_is_on_disk_with_its_attempts_before_the_provider_has_it(
    store: Store, run: RunInfo, plan: Plan, place: str
):
    requests = [plan.request(cell) for cell in plan.cells[:3]]
    opened = store.batches.open(run.id, "anthropic", requests)
    with open_store(place) as other:  # as after a crash
        (found,) = other.batches.unfinished(run.id)
    assert found == opened
    assert (found.run, found.provider, found.provider_id) == (run.id, "anthropic", None)
    assert (found.state, found.submitted_at, found.ended_at) == (BatchState.OPENED, None, None)
    assert [item.custom_id for item in found.items] == [request.key for request in requests]
    assert [item.key for item in found.items] == [request.key for request in requests]
    assert not any(item.settled for item in found.items)
    assert store.spend(run.id).total.lost == 3
    assert query(place, "SELECT count(*) FROM attempt WHERE ended_at IS NULL") == [(3,)]


def test_its_life_from_the_provider_s_name_to_the_end(store: Store, run: RunInfo, plan: Plan):
    requests = [plan.request(cell) for cell in plan.cells[:3]]
    batch = store.batches.open(run.id, "openai", requests)
    store.batches.submitted(batch.id, "batch_abc")
    found = store.batches.find(batch.id)
    assert (found.provider_id, found.state) == ("batch_abc", BatchState.SUBMITTED)
    assert found.submitted_at is not None
    assert found.submitted_at >= found.opened_at

    failed = Failed(kind=FailureKind.SERVER, message="expired")
    store.batches.settle(batch.id, {requests[0].key: answer("one"), requests[1].key: failed})
    assert [item.settled for item in store.batches.find(batch.id).items] == [True, True, False]
    assert store.reply(requests[0].key) == answer("one")
    assert store.reply(requests[1].key) is None

    store.batches.end(batch.id)
    assert store.batches.unfinished(run.id) == ()
    ended = store.batches.find(batch.id)
    assert (ended.state, ended.ended_at is not None) == (BatchState.ENDED, True)
    total = store.spend(run.id).total
    assert (total.attempts, total.lost, total.failed, total.input) == (3, 1, 1, 100)


def test_results_read_twice_are_kept_once(store: Store, run: RunInfo, plan: Plan):
    request = plan.request(plan.cells[0])
    batch = store.batches.open(run.id, "openai", [request])
    store.batches.settle(batch.id, {request.key: answer("first")})
    store.batches.settle(batch.id, {request.key: answer("second")})
    assert store.reply(request.key) == answer("first")
    assert store.spend(run.id).total.input == 100


def test_an_item_of_nobody_is_refused_and_nothing_is_written(
    store: Store, run: RunInfo, plan: Plan
):
    request = plan.request(plan.cells[0])
    batch = store.batches.open(run.id, "openai", [request])
    with pytest.raises(DataError, match=f"batch {batch.id} has no item 'zz'"):
        store.batches.settle(batch.id, {request.key: answer(), "zz": answer()})
    assert store.reply(request.key) is None
    with pytest.raises(DataError, match="no batch 99"):
        store.batches.find(99)


def test_unfinished_batches_are_those_of_the_run_in_order(store: Store, run: RunInfo, plan: Plan):
    other = store.begin_run(make_plan(study="other"), "s", VERSIONS)
    first = store.batches.open(run.id, "openai", [plan.request(plan.cells[0])])
    store.batches.open(other.id, "openai", [plan.request(plan.cells[1])])
    third = store.batches.open(run.id, "openai", [plan.request(plan.cells[2])])
    assert store.batches.unfinished(run.id) == (first, third)


def test_a_batch_that_cannot_be_written_whole_is_not_written(
    store: Store, run: RunInfo, plan: Plan, place: str
):
    request = plan.request(plan.cells[0])
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.batches.open("no such run", "openai", [request])
    assert (count(place, "batch"), count(place, "attempt"), count(place, "request")) == (0, 0, 0)
    assert store.batches.open(run.id, "openai", [request]).items[0].key == request.key


def test_settling_tells_what_is_new(store: Store, run: RunInfo, plan: Plan):
    one, two = (plan.request(cell) for cell in plan.cells[:2])
    batch = store.batches.open(run.id, "openai", [one, two])
    assert store.batches.settle(batch.id, {one.key: answer()}) == {one.key}
    assert store.batches.settle(batch.id, {one.key: answer(), two.key: answer()}) == {two.key}
    assert store.batches.settle(batch.id, {one.key: answer()}) == frozenset()


def test_it_tells_whom_it_is_for(store: Store, run: RunInfo, plan: Plan):
    batch = store.batches.open(run.id, "openai", [plan.request(cell) for cell in plan.cells[:2]])
    assert store.batches.target(batch.id) == plan.cells[0].target
    empty = store.batches.open(run.id, "mistral", [])
    with pytest.raises(DataError, match="has no request"):
        store.batches.target(empty.id)


def test_which_batches_are_out_and_which_names_are_known(store: Store, run: RunInfo, plan: Plan):
    one, two = (
        store.batches.open(run.id, "openai", [plan.request(cell)]) for cell in plan.cells[:2]
    )
    assert store.batches.out(run.id) == 2
    store.batches.submitted(one.id, "batch_abc")
    store.batches.end(two.id)
    assert store.batches.out(run.id) == 1
    assert store.batches.knows("openai", "batch_abc")
    assert not store.batches.knows("mistral", "batch_abc")
    assert not store.batches.knows("openai", "batch_xyz")


def test_the_ledger_tells_calls_from_batches(store: Store, run: RunInfo, plan: Plan):
    one, two = (plan.request(cell) for cell in plan.cells[:2])
    store.settle(store.open_attempt(run.id, one), answer())
    batch = store.batches.open(run.id, "openai", [two])
    store.batches.settle(batch.id, {two.key: answer()})
    spend = store.spend(run.id)
    (target,) = spend.by_target
    assert (spend.by_target[target].attempts, spend.by_target[target].input) == (2, 200)
    assert (spend.batched[target].attempts, spend.batched[target].input) == (1, 100)
