"""Several workers on one hub: limits, budget and loss are as for a lone process."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from contextecho.contexts import Request
from contextecho.engine import Budget, Limits
from contextecho.engine.budget import Unit
from contextecho.engine.quota import Sent
from contextecho.engine.sizes import Weight
from contextecho.engine.spread.hub import Hub
from contextecho.engine.spread.leases import DismissedError
from contextecho.engine.spread.words import Ask, Back, Joining
from contextecho.errors import BudgetError
from contextecho.models import Allowance, Answer, Failed, FailureKind, Reply, Usage
from contextecho.store import Store, open_store
from engine.models import ScriptedModel
from engine.spreading import Spread
from engine.test_hard_budget import RATES, UNITS, Adversary
from servers.virtual import loop_time, run_virtually
from store.plans import make_plan

ONE = "openai/one"


def by_key(request: Request, nth: int) -> Reply:
    return Answer(text=request.key[:8], usage=Usage(input=100, output=10))


def test_what_workers_collect_is_what_a_lone_process_would(store: Store) -> None:
    plan = make_plan(positions=3, probes=20)
    model = ScriptedModel(ONE, by_key, seconds=1.0)

    async def work() -> Spread:
        spread = Spread(plan, store, {ONE: model})
        await spread.work(3)
        return spread

    spread = run_virtually(work())
    assert (spread.tally.done, spread.tally.reused, spread.tally.failed) == (120, 0, 0)
    assert [r.reply.text for r in store.replies(spread.run.id)] == [
        plan.request(cell).key[:8] for cell in plan.cells
    ]
    assert len(model.asked) == 120
    assert store.spend(spread.run.id).total.lost == 0


def test_the_first_call_of_each_prefix_goes_alone(store: Store) -> None:
    model = ScriptedModel(ONE, seconds=1.0)

    async def work() -> None:
        await Spread(make_plan(probes=10), store, {ONE: model}).work(4)

    run_virtually(work())
    began: dict[str, list[str]] = {}
    for what, request in model.events:
        began.setdefault(request.context.sha256, []).append(what)
    assert {tuple(events[:3]) for events in began.values()} == {("sent", "back", "sent")}


def test_all_workers_together_have_no_more_calls_out_than_one_may(store: Store) -> None:
    model = ScriptedModel(ONE, seconds=1.0)
    limits = Limits(concurrency=5, most_concurrency=5)

    async def work() -> None:
        await Spread(make_plan(positions=4, probes=30), store, {ONE: model}, limits=limits).work(3)

    run_virtually(work())
    assert model.most_in_flight == 5


def test_more_workers_than_slots_take_turns(store: Store) -> None:
    model = ScriptedModel(ONE, seconds=1.0, max_concurrency=1)

    async def work() -> Spread:
        spread = Spread(make_plan(positions=3, probes=4), store, {ONE: model})
        await spread.work(4)
        return spread

    assert run_virtually(work()).tally.done == 24
    assert model.most_in_flight == 1


def test_slots_grow_with_success_across_workers(store: Store) -> None:
    model = ScriptedModel(ONE, seconds=1.0)
    limits = Limits(concurrency=2, most_concurrency=16)

    async def work() -> None:
        plan = make_plan(positions=4, probes=100)
        await Spread(plan, store, {ONE: model}, limits=limits).work(2)

    run_virtually(work())
    assert 8 <= model.most_in_flight <= 16


def test_a_rate_limit_that_one_worker_meets_holds_all(store: Store) -> None:
    began: list[float] = []

    def script(request: Request, nth: int) -> Reply:
        began.append(loop_time() - 1.0)
        if len(began) == 20:
            return Failed(kind=FailureKind.RATE_LIMIT, message="slowly", retry_after=100.0)
        return by_key(request, nth)

    model = ScriptedModel(ONE, script, seconds=1.0)

    async def work() -> None:
        await Spread(make_plan(positions=4, probes=20), store, {ONE: model}).work(3)

    run_virtually(work())
    limited_at = began[19] + 1.0
    # Half of 100 s may be taken off at random; a word to the others takes milliseconds.
    assert not [t for t in began if limited_at + 0.1 < t < limited_at + 50.0]
    assert len(began) == 161


class Counting(ScriptedModel):
    """A provider with a bucket of requests a minute, which tells what is left and says 429."""

    def __init__(self, limit: int) -> None:
        super().__init__(ONE)
        self.limit, self.level, self.at, self.refused = limit, float(limit), 0.0, 0

    async def answer(self, request: Request) -> Reply:
        now = loop_time()
        self.level = min(self.limit, self.level + (now - self.at) * self.limit / 60)
        self.at = now
        if self.level < 1:
            self.refused += 1
            return Failed(kind=FailureKind.RATE_LIMIT, message="slowly", retry_after=1.0)
        self.level -= 1
        left = Allowance(requests_limit=self.limit, requests_left=int(self.level))
        await asyncio.sleep(0.5)
        return Answer(text="Fine.", usage=Usage(input=10, output=1), allowance=left)


def test_a_limit_of_a_minute_is_kept_by_all_together(store: Store) -> None:
    model = Counting(limit=60)

    async def work() -> float:
        await Spread(make_plan(positions=4, probes=40), store, {ONE: model}).work(4)
        return loop_time()

    seconds = run_virtually(work())
    # What is left is told of one moment, and passes at hand were not used at that moment.
    assert model.refused <= 0.02 * 320
    assert 258 <= seconds <= 300  # 320 calls: 60 at once, 260 at one a second


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(200), marks=pytest.mark.slow)])
def test_a_dollar_budget_holds_for_workers_that_are_killed(seeds: range, tmp_path: Path) -> None:
    nearly_spent = 0
    for seed in seeds:
        billed, budget = spend_at_random(random.Random(seed), tmp_path / str(seed))
        assert billed <= budget * (1 + 1e-12), f"seed {seed}"
        nearly_spent += billed > budget / 2
    assert nearly_spent >= len(seeds) / 4


class Billing(Adversary):
    """Bills a call whose caller has died meanwhile as well."""

    async def answer(self, request: Request) -> Reply:
        try:
            return await super().answer(request)
        except asyncio.CancelledError:
            self._bill(request)
            raise


def spend_at_random(luck: random.Random, folder: Path) -> tuple[int, float]:
    """One run of several workers, some of which die. Returns the bill and the budget in units."""
    targets = luck.sample(list(RATES), k=luck.randint(1, 2))
    plan = make_plan(targets=targets, positions=luck.randint(1, 4), probes=8)
    models = {target: Billing(target, luck) for target in targets}
    dollars = luck.uniform(0.005, 0.05)
    limits = Limits(attempts=luck.randint(1, 6), concurrency=luck.choice([1, 8, 64]))

    async def work() -> None:
        with open_store(folder) as store:
            budget = Budget(dollars, Unit.DOLLARS)
            far = luck.choice([0.0, 0.001, 0.5])
            spread = Spread(plan, store, models, budget=budget, limits=limits, seconds=far)
            deaths = luck.randint(0, 3)

            def dies() -> float | None:
                nonlocal deaths
                deaths -= 1
                return luck.uniform(0.0, 40.0) if deaths >= 0 else None

            await spread.work(luck.randint(2, 4), dies)

    try:
        run_virtually(work())
    except* BudgetError:
        pass  # not enough for one call: nothing was sent
    return sum(model.billed for model in models.values()), dollars * UNITS


def test_a_budget_too_small_for_any_call_is_said_and_nothing_sent(store: Store) -> None:
    model = ScriptedModel("openai/gpt-4.1")

    async def work() -> None:
        budget = Budget(1e-6, Unit.DOLLARS)
        plan = make_plan(targets=["openai/gpt-4.1"])
        await Spread(plan, store, {"openai/gpt-4.1": model}, budget=budget).work(3)

    with pytest.raises(ExceptionGroup) as raised:
        run_virtually(work())
    assert {type(error) for error in raised.value.exceptions} == {BudgetError}
    assert model.asked == []


def test_what_a_budget_cannot_hold_is_left(store: Store) -> None:
    model = ScriptedModel(ONE, by_key, seconds=1.0)

    async def work() -> Spread:
        spread = Spread(make_plan(), store, {ONE: model}, budget=Budget(1_500, Unit.TOKENS))
        await spread.work(2)
        return spread

    spread = run_virtually(work())
    # A worst case is some 800 tokens at first (a byte each, 200, 50 out) and 400 later; 110 are
    # taken. 12 calls would take 1,320.
    assert 3 <= spread.tally.done <= 12
    assert any(outcome.over_budget for outcome in spread.outcomes)
    assert spread.hub.spent()[0] == 110 * spread.tally.done


def test_a_deadline_is_that_of_the_whole(store: Store) -> None:
    model = ScriptedModel(ONE, by_key, seconds=10.0)

    async def work() -> Spread:
        plan, limits = make_plan(positions=4, probes=30), Limits(deadline=35.0)
        spread = Spread(plan, store, {ONE: model}, limits=limits)
        await spread.work(2)
        assert loop_time() <= 35.1  # what is out then is dropped
        return spread

    spread = run_virtually(work())
    assert all(outcome.late for outcome in spread.outcomes)
    assert 0 < spread.tally.done < 240


def test_a_dead_workers_group_is_taken_up_and_nothing_kept_is_asked_again(store: Store) -> None:
    model = ScriptedModel(ONE, by_key, seconds=1.0)
    deaths = iter([4.5, 2.5])

    async def work() -> Spread:
        spread = Spread(make_plan(positions=2, probes=30), store, {ONE: model})
        await spread.work(2, lambda: next(deaths, None))
        return spread

    spread = run_virtually(work())
    assert (spread.tally.done, spread.tally.reused) == (120, 0)
    lost = store.spend(spread.run.id).total.lost
    assert lost > 0
    assert len(model.asked) == 120 + lost
    assert sum(event == "back" for event, _ in model.events) == 120


def test_a_worker_taken_for_lost_sends_no_more_once_it_hears_of_it(store: Store) -> None:
    model = ScriptedModel(ONE, by_key, seconds=1.0)

    async def work() -> int:
        spread = Spread(make_plan(probes=50), store, {ONE: model})
        asking = asyncio.create_task(spread.ask(spread.groups[0], "w"))
        await asyncio.sleep(2.5)
        spread.hub.lost("w")
        asked = len(model.asked)
        with pytest.raises(DismissedError):
            await asking
        return len(model.asked) - asked

    # What it had passes for at most: its slots, and half as many.
    assert run_virtually(work()) <= 12


# The hub alone


def joined(hub: Hub, *workers: str, account: str = "a") -> None:
    for worker in workers:
        weight = Weight(size=400, output=50)
        hub.join(
            Joining(worker=worker, account=account, most=None, cached_count=True, weight=weight)
        )


def ask(worker: str, **fields: object) -> Ask:
    from contextecho.engine.progress import Tally

    values: dict[str, object] = {
        "worker": worker,
        "now": 0.0,
        "back": (),
        "in_flight": 0,
        "passes": 0,
        "most": 100,
        "worst": 0.0,
        "short": 0.0,
        "held": 0.0,
        "spent": 0.0,
        "tally": Tally(total=100),
        "said": (),
    }
    return Ask(**(values | fields))  # type: ignore[arg-type]


def test_slots_are_shared_evenly_and_never_given_twice() -> None:
    hub = Hub(Limits(concurrency=8), lambda: 0.0)
    joined(hub, "one")
    assert hub.exchange(ask("one")).slots == 8
    joined(hub, "two")
    assert hub.exchange(ask("two")).slots == 0  # until the first one hears of it
    assert hub.exchange(ask("one", in_flight=6)).slots == 4
    assert hub.exchange(ask("two")).slots == 2  # 6 are still out
    hub.exchange(ask("one", in_flight=4))
    assert hub.exchange(ask("two")).slots == 4


def test_accounts_do_not_share() -> None:
    hub = Hub(Limits(concurrency=8), lambda: 0.0)
    joined(hub, "one", account="a")
    joined(hub, "two", account="b")
    assert [hub.exchange(ask(name)).slots for name in ("one", "two")] == [8, 8]


def test_a_worker_gets_passes_for_idle_slots_and_half_a_round_to_come() -> None:
    hub = Hub(Limits(concurrency=8), lambda: 0.0)
    joined(hub, "one")
    assert len(hub.exchange(ask("one")).passes) == 12
    assert len(hub.exchange(ask("one", in_flight=8, passes=1)).passes) == 3
    assert len(hub.exchange(ask("one", in_flight=8, passes=4)).passes) == 0
    assert len(hub.exchange(ask("one", most=2)).passes) == 2


def test_clocks_of_workers_are_not_compared() -> None:
    hub = Hub(Limits(), lambda: 1_000.0)
    joined(hub, "one", "two")
    back = Back(sent=Sent(5.0, 0.0, (1.0, 0.0)), usage=None, allowance=None, hold_until=37.0)
    assert hub.exchange(ask("one", now=7.0, back=(back,))).hold == 30.0
    assert hub.exchange(ask("two", now=-90.0)).hold == 30.0


def test_money_that_a_lost_worker_held_counts_as_spent() -> None:
    hub = Hub(Limits(concurrency=2), lambda: 0.0, room=10.0)
    joined(hub, "one")
    lease = hub.exchange(ask("one", worst=3.0))
    assert (len(lease.passes), lease.money, lease.over) == (3, 9.0, False)
    joined(hub, "two")
    assert not hub.exchange(ask("two", worst=3.0)).over  # the first one may leave some
    hub.lost("one")
    assert hub.spent() == (9.0, 3)
    assert hub.exchange(ask("two", worst=3.0)).over


def test_what_a_worker_did_not_use_goes_to_the_others() -> None:
    hub = Hub(Limits(concurrency=2), lambda: 0.0, room=10.0)
    joined(hub, "one", "two")
    passes = hub.exchange(ask("one", worst=5.0)).passes
    assert len(passes) == 2
    assert hub.exchange(ask("two", worst=5.0)).money == 0.0
    hub.leave(ask("one", most=0, spent=1.0), list(passes))
    assert hub.exchange(ask("two", worst=5.0)).money == 5.0
    assert hub.exchange(ask("one")).dismissed
