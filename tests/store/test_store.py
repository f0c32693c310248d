from __future__ import annotations

import pytest

from contextecho.contexts import Context, Message, Request
from contextecho.errors import DataError, UsageError
from contextecho.models import Answer, Failed, FailureKind, Refusal, Reply, Truncated, Usage
from contextecho.store import Ledger, RunInfo, Store, Verdict, open_store
from contextecho.studies import Plan
from store.kept import USAGE, VERSIONS, answer, ask
from store.plans import make_plan
from store.raw import count


def test_same_plan_continues_the_same_run(store: Store, run: RunInfo):
    again = store.begin_run(make_plan(), "session.jsonl", {"contextecho": "9"})
    assert again == run
    assert len(list(store.run_cells(run.id))) == 12


def test_notes_and_estimates_do_not_begin_another_run_but_cells_do(store: Store, run: RunInfo):
    assert store.begin_run(make_plan(notes=("said",)), "s", VERSIONS).id == run.id
    assert store.begin_run(make_plan(probes=4), "s", VERSIONS).id != run.id
    assert store.begin_run(make_plan(prefix_chars=401), "s", VERSIONS).id != run.id


def test_plan_comes_back_whole(store: Store, run: RunInfo, plan: Plan):
    assert store.plan(run.id) == plan


def test_run_says_what_it_was_without_contexts(run: RunInfo, plan: Plan):
    assert (run.study, run.session, run.targets) == ("trajectory", "s1", ("openai/one",))
    assert run.versions == VERSIONS
    assert run.plan["study"]["contrasts"][0]["id"] == "gap"
    assert run.plan["contexts"] == sorted(plan.contexts)
    assert run.plan["snapshots"][0]["context"] == plan.snapshots[0].context.sha256


def test_contexts_are_kept_once_however_many_cells_share_them(
    store: Store, run: RunInfo, place: str
):
    other = store.begin_run(make_plan(study="other"), "s", VERSIONS)
    assert other.id != run.id
    assert count(place, "blob") == 4


def test_cells_carry_the_key_of_their_request_in_plan_order(store: Store, run: RunInfo, plan: Plan):
    assert list(store.run_cells(run.id)) == [(c, plan.request(c).key) for c in plan.cells]


@pytest.mark.parametrize(
    "reply",
    [
        answer(),
        answer("žluťoučký \u2014 \U0001f600 \x1b[31m"),
        answer("a NUL \x00, an escape for it \x10\x00\x10 and \x100 itself"),
        Refusal(text="", stop_reason="refusal", usage=Usage(input=5)),
        Truncated(text="I would", stop_reason="length", usage=USAGE),
    ],
)
def test_settling_replies_come_back_equal(store: Store, run: RunInfo, plan: Plan, reply: Reply):
    key = ask(store, run, plan.request(plan.cells[0]), reply)
    assert store.reply(key) == reply
    first = next(iter(store.replies(run.id)))
    assert (first.reply, first.key, first.attempts) == (reply, key, 1)
    assert first.collected_at is not None
    assert first.collected_at.endswith("+00:00")
    assert key not in [missing for _, missing in store.missing(run.id)]


def test_an_invalid_request_is_the_end_for_a_target_that_has_answered(
    store: Store, run: RunInfo, plan: Plan
):
    invalid = Failed(kind=FailureKind.BAD_REQUEST, message="too long", status=400)
    before = ask(store, run, plan.request(plan.cells[0]), invalid)
    assert store.reply(before) is None  # it may be the set-up
    ask(store, run, plan.request(plan.cells[1]), answer())
    after = ask(store, run, plan.request(plan.cells[2]), invalid)
    assert store.reply(after) == invalid
    assert [key for _, key in store.missing(run.id)].count(after) == 0


@pytest.mark.parametrize("kind", [k for k in FailureKind if k is not FailureKind.BAD_REQUEST])
def test_other_failures_are_shown_and_stay_missing(
    store: Store, run: RunInfo, plan: Plan, kind: FailureKind
):
    failed = Failed(kind=kind, message="no")
    key = ask(store, run, plan.request(plan.cells[0]), failed)
    assert store.reply(key) is None
    assert next(iter(store.replies(run.id))).reply == failed
    assert (plan.cells[0], key) in list(store.missing(run.id))


def test_an_answer_after_a_failure_settles_the_key_and_both_attempts_count(
    store: Store, run: RunInfo, plan: Plan
):
    request = plan.request(plan.cells[0])
    ask(store, run, request, Failed(kind=FailureKind.EMPTY, message="empty"))
    ask(store, run, request, answer())
    ask(store, run, request, Failed(kind=FailureKind.SERVER, message="late"))
    stored = next(iter(store.replies(run.id)))
    assert stored.reply == answer()
    assert stored.attempts == 3


def test_a_settled_key_keeps_its_first_reply(store: Store, run: RunInfo, plan: Plan):
    request = plan.request(plan.cells[0])
    ask(store, run, request, answer("first"))
    ask(store, run, request, answer("second"))
    kept = store.reply(request.key)
    assert kept is not None
    assert kept.text == "first"


def test_a_reply_collected_by_one_run_serves_another(store: Store, run: RunInfo, plan: Plan):
    ask(store, run, plan.request(plan.cells[0]), answer())
    other = store.begin_run(make_plan(study="other"), "s", VERSIONS)
    assert len(list(store.missing(other.id))) == len(plan.cells) - 1
    assert store.spend(other.id).total == Ledger()


def test_spend_sums_each_attempt_of_the_run_by_target(store: Store, run: RunInfo, plan: Plan):
    cells = plan.cells
    ask(store, run, plan.request(cells[0]), answer())
    ask(store, run, plan.request(cells[1]), Failed(kind=FailureKind.EMPTY, message="", usage=USAGE))
    ask(store, run, plan.request(cells[2]), Answer(text="no usage said"))
    judged = Request(
        target="judge/two",
        context=Context(system="Judge."),
        ask=(Message(role="user", text="?"),),
        decoding=plan.decoding,
    )
    ask(store, run, judged, answer())
    store.open_attempt(run.id, plan.request(cells[3]))  # never settled: lost
    spend = store.spend(run.id)
    assert spend.by_target["openai/one"] == Ledger(
        attempts=4,
        lost=1,
        failed=1,
        unreported=1,
        input=200,
        cached=160,
        cache_write=0,
        output=14,
        reasoning=4,
        longest=100,
    )
    assert spend.by_target["judge/two"].input == 100
    assert (spend.total.attempts, spend.total.input, spend.total.longest) == (5, 300, 100)


def test_verdicts_are_kept_by_reply_scorer_and_version(store: Store, run: RunInfo, plan: Plan):
    key = ask(store, run, plan.request(plan.cells[0]), answer())
    first = Verdict(reply_key=key, scorer="register/j", scorer_version="r1", value=2.0)
    other = Verdict(
        reply_key=key,
        scorer="register/j",
        scorer_version="r2",
        value=None,
        invalid="no score in the verdict",
        detail={"raw": "maybe"},
    )
    store.put_verdict(Verdict(reply_key=key, scorer="register/j", scorer_version="r1", value=0.0))
    store.put_verdict(other)
    store.put_verdict(first)
    assert list(store.verdicts(run.id)) == [first, other]


def test_find_run_by_latest_and_by_prefix(store: Store, run: RunInfo):
    other = store.begin_run(make_plan(study="other"), "s", VERSIONS)
    assert store.find_run("latest") == other
    assert store.find_run(run.id[:6]) == run
    assert store.runs() == (other, run)
    with pytest.raises(UsageError, match=rf"0 runs match 'zzz' \(runs here: {other.id}, {run.id}"):
        store.find_run("zzz")
    with pytest.raises(UsageError, match="2 runs match ''"):
        store.find_run("")


def test_a_run_is_collected_by_one_process_at_a_time(store: Store, run: RunInfo, place: str):
    with (
        open_store(place) as second,
        store.collecting(run.id),
        pytest.raises(UsageError, match="another process is collecting run"),
        second.collecting(run.id),
    ):
        pytest.fail("two holders")
    with store.collecting(run.id):
        pass


def test_two_connections_write_in_turn(store: Store, run: RunInfo, plan: Plan, place: str):
    with open_store(place) as second:
        for index, cell in enumerate(plan.cells):
            ask((store, second)[index % 2], run, plan.request(cell), answer())
    assert list(store.missing(run.id)) == []


def test_a_context_that_is_not_there_is_a_data_error(store: Store):
    with pytest.raises(DataError, match="no context 000000000000"):
        store.context("0" * 64)
