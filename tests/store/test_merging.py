"""Stores put together: everything of each, nothing twice, the earlier reply stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextecho.models import Failed, FailureKind
from contextecho.store import Store, Verdict, check_store, merge, open_store
from contextecho.studies import Plan
from store.kept import VERSIONS, answer, ask
from store.plans import make_plan
from store.raw import everything, query

TABLES = ("blob", "run", "cell", "request", "attempt", "reply", "verdict", "batch", "batch_item")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another store, in SQLite."""
    return tmp_path / "other.sqlite"


def fill(place: str | Path, plan: Plan, texts: dict[int, str]) -> None:
    """Collect some cells of a run, with a verdict on each."""
    with open_store(place) as store:
        run = store.begin_run(plan, "s", VERSIONS)
        for number, text in texts.items():
            key = ask(store, run, plan.request(plan.cells[number]), answer(text))
            store.put_verdict(Verdict(reply_key=key, scorer="j", scorer_version="1", value=1.0))


def texts(store: Store) -> list[str | None]:
    run = store.find_run()
    return [stored.reply.text if stored.reply else None for stored in store.replies(run.id)]


def test_two_halves_make_a_whole_and_merging_again_brings_nothing(
    place: str, other: Path, plan: Plan
):
    fill(place, plan, dict.fromkeys(range(5), "here"))
    fill(other, plan, dict.fromkeys(range(5, 12), "there"))
    with open_store(place) as into, open_store(other) as source:
        merged = merge(into, source)
        assert (merged.runs, merged.attempts, merged.replies, merged.verdicts) == (0, 7, 7, 7)
        assert merged.conflicts == ()
        assert texts(into) == ["here"] * 5 + ["there"] * 7
        assert into.spend(into.find_run().id).total.attempts == 12
        assert len(list(into.verdicts(into.find_run().id))) == 12
        before = everything(place, TABLES)
        again = merge(into, source)
        assert (again.runs, again.attempts, again.replies, again.verdicts) == (0, 0, 0, 0)
        assert everything(place, TABLES) == before
        assert check_store(into).problems == ()


def test_a_run_of_another_store_comes_whole(place: str, other: Path, plan: Plan):
    foreign = make_plan(study="other", prefix_chars=300)
    fill(place, plan, {0: "mine"})
    fill(other, foreign, {1: "theirs"})
    with open_store(other) as source:
        run = source.find_run()
        batch = source.batches.open(run.id, "openai", [foreign.request(foreign.cells[2])])
        source.batches.submitted(batch.id, "b_1")
    with open_store(place) as into, open_store(other) as source:
        assert merge(into, source).runs == 1
        assert merge(into, source).runs == 0
        assert into.plan(run.id) == foreign
        (found,) = into.batches.unfinished(run.id)
        assert (found.provider_id, len(found.items)) == ("b_1", 1)
        assert found.items[0].key == foreign.request(foreign.cells[2]).key
        source.batches.settle(batch.id, {found.items[0].key: answer("late")})
        source.batches.end(batch.id)
        merge(into, source)  # what was out there came back since
        assert into.batches.unfinished(run.id) == ()
        assert into.reply(found.items[0].key) == answer("late")
        assert into.spend(run.id).total.lost == 0


@pytest.mark.parametrize("into_first", [True, False])
def test_of_two_settled_replies_the_earlier_stands_and_the_other_stays_in_the_ledger(
    place: str, other: Path, plan: Plan, into_first: bool
):
    order = [place, other] if into_first else [other, place]
    for number, one in enumerate(order):
        fill(one, plan, {0: f"answer {number}"})
    key = plan.request(plan.cells[0]).key
    with open_store(place) as into, open_store(other) as source:
        merged = merge(into, source)
        assert merged.conflicts == (key,)
        assert into.reply(key) == answer("answer 0")
        kept = query(place, "SELECT text FROM attempt ORDER BY begun_at")
        assert kept == [("answer 0",), ("answer 1",)]
        assert into.spend(into.find_run().id).total.input == 200
        (verdict,) = into.verdicts(into.find_run().id)  # of the one that stands
        assert verdict.reply_key == key
        assert merge(into, source).replies == 0


def test_an_answer_stands_before_a_failure_whichever_store_has_it(
    place: str, other: Path, plan: Plan
):
    failed = Failed(kind=FailureKind.SERVER, message="no")
    for one, first, second in ((place, failed, answer("a")), (other, answer("b"), failed)):
        with open_store(one) as store:
            run = store.begin_run(plan, "s", VERSIONS)
            ask(store, run, plan.request(plan.cells[0]), first)
            ask(store, run, plan.request(plan.cells[1]), second)
    with open_store(place) as into, open_store(other) as source:
        assert merge(into, source).conflicts == ()
        assert texts(into)[:2] == ["b", "a"]
        assert into.spend(run.id).total.attempts == 4
