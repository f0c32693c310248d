"""How contrasts change, by hand: across a compaction, between levels, over several sessions."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest

from contextecho.contexts import Arm
from contextecho.scoring import Measure, analyse_run, analyse_series, find_series
from contextecho.store import RunInfo, Store
from contextecho.studies import Cell, Level, Plan
from scoring.runs import collect, make_plan, say, verdicts


def at_level(plan: Plan, name: str, group: str | None = None) -> Plan:
    """What is served otherwise is another request, as another level's prefix is."""
    study = msgspec.structs.replace(plan.study, level=Level(id=name, group=group))
    serving = dict.fromkeys(plan.targets, name)
    return msgspec.structs.replace(plan, study=study, serving=serving)


def on_session(plan: Plan, session: str) -> Plan:
    """The same places in another session, which shows other things."""
    replace = msgspec.structs.replace
    told = {
        sha256: replace(context, system=f"{context.system} {session}")
        for sha256, context in plan.contexts.items()
    }
    cells = tuple(
        replace(cell, session=session, prefix=told[cell.prefix].sha256) for cell in plan.cells
    )
    contexts = {context.sha256: context for context in told.values()}
    given = {"session": session, "session_sha256": session, "contexts": contexts}
    return replace(plan, cells=cells, **given)


def around_compaction(plan: Plan) -> Plan:
    """The plan with its first two positions on the two sides of a compaction."""
    names = ["P00_pre_C1", "P01_post_C1"]
    labels = {position.label: name for position, name in zip(plan.positions, names, strict=False)}
    replace = msgspec.structs.replace
    return replace(
        plan,
        positions=tuple(replace(p, label=labels.get(p.label, p.label)) for p in plan.positions),
        cells=tuple(replace(c, position=labels.get(c.position, c.position)) for c in plan.cells),
    )


def judged(store: Store, plan: Plan, level: Callable[[Cell], float]) -> RunInfo:
    """A run whose replies differ, so that no two places share a verdict, judged by rule."""
    run = collect(store, plan, lambda cell: say(f"{plan.study.level} {cell.id}"))
    verdicts(store, run, level)
    return run


def lower(cell: Cell, by: float) -> float:
    """3 but for the session arm, which is `by` lower, a little more in the second wording."""
    return 3.0 - (by + 0.1 * cell.paraphrase) * (cell.arm is Arm.SESSION)


def test_the_change_across_a_compaction_is_that_of_the_paired_gaps(store: Store) -> None:
    plan = around_compaction(make_plan(positions=3, paraphrases=2))
    gaps = {"P00_pre_C1": 1.0, "P01_post_C1": 0.4}
    run = judged(store, plan, lambda cell: lower(cell, gaps.get(cell.position, 2.0)))
    (change,) = [c for c in analyse_run(store, run).crossings if c.measure is Measure.REGISTER]
    # 0.4 after, 1.0 before; the wordings cancel, so the 5 questions leave no spread.
    assert change.estimate == pytest.approx(-0.6)
    assert (change.before, change.after) == ("P00_pre_C1", "P01_post_C1")
    assert (change.pairs, change.planned_pairs, change.units) == (10, 10, 5)
    assert change.interval is None
    # Five questions with one sign: two of 2^5 sign patterns are as extreme.
    assert change.p == pytest.approx(2 / 32)


def test_the_spread_of_a_change_is_over_the_questions(store: Store) -> None:
    """Questions whose change is 0, 1, 2, 3, 4 tenths: mean 0.2, t interval with 4 degrees."""
    plan = around_compaction(make_plan(positions=2, paraphrases=1))
    order = list(dict.fromkeys(cell.stimulus for cell in plan.cells))

    def level(cell: Cell) -> float:
        after = cell.position == "P01_post_C1" and cell.arm is Arm.SESSION
        return 3.0 - 0.1 * order.index(cell.stimulus) * after

    run = judged(store, plan, level)
    (change,) = [c for c in analyse_run(store, run).crossings if c.measure is Measure.REGISTER]
    assert change.estimate == pytest.approx(0.2)
    assert change.interval is not None
    half = 2.776445 * math.sqrt(0.025) / math.sqrt(5)  # t(0.975, 4) x sd / sqrt(n)
    assert change.interval.high - 0.2 == pytest.approx(half, rel=1e-5)


def test_a_session_without_compactions_has_no_crossing(store: Store) -> None:
    run = judged(store, make_plan(positions=3), lambda cell: lower(cell, 1.0))
    assert analyse_run(store, run).crossings == ()


def test_a_series_is_every_level_once_and_the_newest_run_of_each(store: Store) -> None:
    plan = make_plan(positions=3)
    runs = [judged(store, at_level(plan, name), lambda c: lower(c, 1.0)) for name in "ab"]
    other = make_plan(positions=3, targets=["openai/two"])
    judged(store, at_level(other, "c"), lambda c: lower(c, 1.0))
    again = judged(store, at_level(make_plan(positions=2), "a"), lambda c: lower(c, 1.0))
    assert [run.id for run in find_series(store, again)] == [runs[1].id, again.id]
    assert [run.id for run in find_series(store, runs[0])] == [run.id for run in runs]


def test_the_change_between_levels_is_against_the_first_of_a_group(store: Store) -> None:
    plan = make_plan(positions=3, paraphrases=2)
    gaps = {"x0": 1.0, "x5": 0.7, "y0": 0.5, "y5": 0.9}
    for name, gap in gaps.items():
        run = judged(store, at_level(plan, name, group=name[0]), lambda c, by=gap: lower(c, by))
    series = analyse_series(store, find_series(store, run))
    found = {
        (c.before, c.after): c.estimate for c in series.changes if c.measure is Measure.REGISTER
    }
    assert found == {
        ("x0", "x5"): pytest.approx(-0.3),
        ("y0", "y5"): pytest.approx(0.4),
    }
    assert not [c for c in series.changes if c.measure is Measure.FINGERPRINT]


def test_holms_family_reaches_over_all_runs_of_a_series(store: Store) -> None:
    """Six positions with one sign: p = 2/64 in each run, so 3 x 2/64 over three runs."""
    plan = make_plan(positions=6, paraphrases=1)
    for name in "abc":
        run = judged(store, at_level(plan, name), lambda cell: lower(cell, 1.0))
    series = analyse_series(store, find_series(store, run))
    for part in series.parts:
        (c,) = [c for c in part.contrasts if c.measure is Measure.REGISTER]
        assert c.p == pytest.approx(2 / 64)
        assert c.p_holm == pytest.approx(6 / 64)
        (alone,) = [
            c
            for c in part.analysis.contrasts
            if c.measure is Measure.REGISTER and c.scope == "overall"
        ]
        assert alone.p_holm == pytest.approx(2 / 64)


def test_over_several_sessions_the_sessions_are_the_clusters(store: Store) -> None:
    plan = make_plan(positions=4, paraphrases=1)
    gaps = {"one": 0.2, "two": 0.5, "three": 0.8}
    for name, gap in gaps.items():
        run = judged(store, on_session(plan, name), lambda c, by=gap: lower(c, by))
    series = analyse_series(store, find_series(store, run))
    assert series.sessions == ("one", "two", "three")
    ((level, pooled),) = [(level, c) for level, c in series.pooled if c.measure is Measure.REGISTER]
    assert level is None
    assert pooled.estimate == pytest.approx(0.5)
    assert (pooled.clusters, pooled.units, pooled.pairs) == (3, 3, 3 * 4 * 5)
    assert pooled.interval is not None
    half = 4.302653 * 0.3 / math.sqrt(3)  # t(0.975, 2) x sd / sqrt(n)
    assert pooled.interval.high - 0.5 == pytest.approx(half, rel=1e-5)


def test_the_spread_between_sessions_is_that_of_a_balanced_table(store: Store) -> None:
    """Three sessions, 4 x 5 pairs each: the ANOVA estimates, which REML equals where balanced."""
    plan = make_plan(positions=4, paraphrases=1)
    gaps = {"one": 0.2, "two": 0.5, "three": 1.1}
    order = list(dict.fromkeys(cell.stimulus for cell in plan.cells))

    def level(cell: Cell, by: float) -> float:
        # Within a session the five questions differ by -0.2 .. 0.2, alike at each position.
        return 3.0 - (by + 0.1 * (order.index(cell.stimulus) - 2)) * (cell.arm is Arm.SESSION)

    for name, gap in gaps.items():
        run = judged(store, on_session(plan, name), lambda c, by=gap: level(c, by))
    series = analyse_series(store, find_series(store, run))
    (spread,) = [s for s in series.spreads if s.measure is Measure.REGISTER]
    within = 3 * 4 * sum((0.1 * k) ** 2 for k in range(-2, 3)) / (3 * 20 - 3)
    means = 20 * sum((gap - 0.6) ** 2 for gap in gaps.values()) / 2
    assert (spread.sessions, spread.pairs) == (3, 60)
    assert spread.within == pytest.approx(within, rel=1e-4)
    assert spread.between == pytest.approx((means - within) / 20, rel=1e-4)
