"""What a study costs at each provider's cache, simulated, on a clock of its own.

The benchmark `prefix_economy.py` does the same at full size.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from contextecho.contexts import Arm
from contextecho.engine import DEFAULT_LIMITS, Collection, Limits, ask_requests, collect
from contextecho.engine.agenda import Agenda
from contextecho.engine.collect import plan_work
from contextecho.models import Caching
from contextecho.models.wire import WireModel
from contextecho.store import open_store
from contextecho.studies import Plan
from servers.caching import BYTES_PER_TOKEN, POLICIES, Simulator
from servers.economy import ARMS, TARGETS, floor_of, study
from servers.virtual import loop_time, run_virtually, simulated_model

LATENCY = 3.0


def gather(
    plan: Plan, model: WireModel, folder: Path, limits: Limits = DEFAULT_LIMITS
) -> Collection:
    with open_store(folder) as store:
        run = store.begin_run(plan, "s", {})
        return run_virtually(collect(plan, store, run, {model.id: model}, limits=limits))


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, "a-test-key")


@pytest.mark.parametrize("name", TARGETS)
def test_each_prefix_is_computed_once_and_no_more(name: str, tmp_path: Path) -> None:
    plan = study(TARGETS[name], positions=2, probes=5, wordings=4, chars=12_000)
    simulator = Simulator(POLICIES[name], clock=loop_time, latency=LATENCY)
    done = gather(plan, simulated_model(TARGETS[name], simulator), tmp_path)
    assert done.complete
    assert len(simulator.visits) == 2 * len(ARMS) * 5 * 4
    assert simulator.processed <= 1.03 * floor_of(plan, POLICIES[name])


def test_the_floor_is_each_prefix_once_and_each_question() -> None:
    """By hand: 6 prefixes of 3,000 tokens and the words around them, 20 questions on each."""
    plan = study(TARGETS["anthropic"], positions=2, probes=5, wordings=4, chars=12_000)
    around = 150 // BYTES_PER_TOKEN  # roles, the system prompt, the acknowledgement
    question = 100 // BYTES_PER_TOKEN
    floor = floor_of(plan, POLICIES["anthropic"])
    assert 6 * 3000 < floor < 6 * (3000 + around) + 120 * question


def test_a_group_that_was_held_up_for_longer_than_the_cache_lives_is_warmed_again(
    tmp_path: Path,
) -> None:
    """Refused for ten minutes with calls out on one prefix: one call of them writes it again."""
    plan = study(TARGETS["anthropic"], positions=1, probes=40, wordings=2, chars=12_000, arms=1)
    refused_from, refused_until = 10.0, 610.0

    def refuse(now: float) -> float:
        return refused_until - now if refused_from <= now < refused_until else 0.0

    def written(caching: Caching | None, folder: Path) -> list[int]:
        simulator = Simulator(POLICIES["anthropic"], clock=loop_time, latency=LATENCY)
        model = simulated_model(TARGETS["anthropic"], simulator, refuse)
        if caching is not None:
            model.caching = caching
        assert gather(plan, model, folder, Limits(concurrency=16)).complete
        return [visit for visit in map(_written, simulator.visits) if visit]

    prefix, again = written(None, tmp_path / "ours")
    assert prefix == again > 3000
    blind = written(Caching(life=float("inf")), tmp_path / "blind")
    assert len(blind) > 4  # calls that come back together, none of which finds the prefix


def _written(visit) -> int:
    return sum(visit.written.values())


def test_prefixes_begun_side_by_side_are_kept_warm_by_their_own_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight prefixes are begun at once; asked one group after the other they would cool."""
    target = TARGETS["anthropic"]
    plan = study(target, positions=4, probes=40, wordings=2, chars=12_000, arms=2)
    limits = Limits(concurrency=8, most_concurrency=8)

    def writes(folder: Path) -> int:
        simulator = Simulator(POLICIES["anthropic"], clock=loop_time, latency=3 * LATENCY)
        assert gather(plan, simulated_model(target, simulator), folder, limits).complete
        return sum(1 for visit in simulator.visits if visit.written)

    assert writes(tmp_path / "ours") == 8
    monkeypatch.setattr("contextecho.engine.agenda._Group.cools", lambda *_: False)
    assert writes(tmp_path / "in turn") > 8


def test_lanes_that_run_side_by_side_leave_each_others_prefixes_warm(tmp_path: Path) -> None:
    """As a target's and its judge's do: each keeps to the floor of its own provider."""
    plans = {
        name: study(TARGETS[name], positions=2, probes=5, wordings=4, chars=12_000)
        for name in ("anthropic", "openai")
    }
    simulators = {
        name: Simulator(POLICIES[name], clock=loop_time, latency=LATENCY) for name in plans
    }
    models = {TARGETS[name]: simulated_model(TARGETS[name], simulators[name]) for name in plans}
    both = study(TARGETS["anthropic"], positions=2, probes=5, wordings=4, chars=12_000)
    work = {target: groups for plan in plans.values() for target, groups in plan_work(plan).items()}
    with open_store(tmp_path) as store:
        run = store.begin_run(both, "s", {})
        total = sum(len(plan.cells) for plan in plans.values())
        done = run_virtually(ask_requests(work, store, run.id, models, total=total))
    assert done.complete
    for name, plan in plans.items():
        assert simulators[name].processed <= 1.03 * floor_of(plan, POLICIES[name])


def test_a_models_caching_is_what_its_lane_goes_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Caching] = []
    begin = Agenda.__init__

    def watched(self, groups, most_waiting, caching) -> None:
        given.append(caching)
        begin(self, groups, most_waiting, caching)

    monkeypatch.setattr(Agenda, "__init__", watched)
    plan = study(TARGETS["deepseek"], positions=1, probes=1, wordings=1, chars=1000)
    simulator = Simulator(POLICIES["deepseek"], clock=loop_time)
    gather(plan, simulated_model(TARGETS["deepseek"], simulator), tmp_path)
    assert given == [Caching(calls=2, life=3600.0)]


def test_three_arms_are_three_prefixes() -> None:
    plan = study(TARGETS["openai"], positions=2, probes=1, wordings=1, chars=1000)
    assert len(plan.contexts) == 6
    assert ARMS == (Arm.CONTROL, Arm.SESSION, Arm.SESSION_ANCHOR)
