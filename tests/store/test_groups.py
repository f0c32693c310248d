"""What happens at one moment is written in one transaction, and nobody goes on before it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from contextecho.errors import DataError
from contextecho.store import RunInfo, Store
from contextecho.studies import Plan
from store.kept import answer
from store.raw import query


@pytest.fixture
def transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One element for each transaction begun."""
    seen: list[None] = []
    write = store.database.write

    def counted(work: Callable[[], Any]) -> Any:
        seen.append(None)
        return write(work)

    monkeypatch.setattr(store.database, "write", counted)
    return seen


async def test_tasks_of_one_moment_share_a_transaction_and_find_it_on_disk(
    store: Store, run: RunInfo, plan: Plan, place: str, transactions: list[None]
):
    requests = [plan.request(cell) for cell in plan.cells]

    async def call(number: int) -> None:
        attempt = await store.opened_attempt(run.id, requests[number])
        found = query(place, f"SELECT key, ended_at FROM attempt WHERE id = {attempt}")
        assert found == [(requests[number].key, None)]
        await asyncio.sleep(0)
        await store.settled(attempt, answer(str(number)))
        assert query(place, f"SELECT text FROM attempt WHERE id = {attempt}") == [(str(number),)]

    await asyncio.gather(*(call(number) for number in range(12)))
    assert len(transactions) <= 3  # all beginnings, then all ends; an end may find itself alone
    for number, request in enumerate(requests):
        assert store.reply(request.key) == answer(str(number))
    assert store.spend(run.id).total.attempts == 12


async def test_a_call_given_up_before_it_was_written_is_not_in_the_ledger(
    store: Store, run: RunInfo, plan: Plan, place: str
):
    given_up = store.opened_attempt(run.id, plan.request(plan.cells[0]))
    given_up.cancel()
    await store.opened_attempt(run.id, plan.request(plan.cells[1]))
    assert query(place, "SELECT key FROM attempt") == [(plan.request(plan.cells[1]).key,)]


async def test_a_reply_is_written_even_if_its_task_is_cancelled(
    store: Store, run: RunInfo, plan: Plan
):
    request = plan.request(plan.cells[0])
    with store.collecting(run.id):
        attempt = await store.opened_attempt(run.id, request)
        waiting = store.settled(attempt, answer())
        waiting.cancel()
    assert store.reply(request.key) == answer()


async def test_a_reply_of_the_last_moment_is_written_when_the_store_is_closed(
    store: Store, run: RunInfo, plan: Plan, place: str
):
    attempt = await store.opened_attempt(run.id, plan.request(plan.cells[0]))
    waiting = store.settled(attempt, answer("late"))
    store.close()
    assert query(place, "SELECT text, settled FROM attempt JOIN reply ON attempt = id") == [
        ("late", 1)
    ]
    waiting.cancel()


async def test_whoever_waits_is_told_that_it_failed(
    store: Store, run: RunInfo, plan: Plan, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: object) -> None:
        raise DataError("the disk is full")

    monkeypatch.setattr(store.database, "write", fail)
    calls = [store.opened_attempt(run.id, plan.request(cell)) for cell in plan.cells]
    told = await asyncio.gather(*calls, return_exceptions=True)
    assert [str(error) for error in told] == ["the disk is full"] * 12
    monkeypatch.undo()
    assert await store.opened_attempt(run.id, plan.request(plan.cells[0]))  # and it goes on
