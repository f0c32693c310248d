"""Check finds what was changed, vacuum removes what nobody needs, and neither does more."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from contextecho.contexts import Context, Message, Request
from contextecho.models import Failed, FailureKind
from contextecho.store import (
    RunInfo,
    Store,
    Verdict,
    check_store,
    describe,
    loose_contexts,
    open_store,
    vacuum,
)
from contextecho.studies import Plan
from store.kept import VERSIONS, answer, ask
from store.plans import make_plan
from store.raw import count, everything, query
from store.test_merging import TABLES


@pytest.fixture
def full(store: Store, run: RunInfo, plan: Plan) -> Store:
    """A store with everything in it: failures, a judge's call with a schema, a verdict, a batch."""
    key = ask(store, run, plan.request(plan.cells[0]), answer())
    ask(store, run, plan.request(plan.cells[1]), Failed(kind=FailureKind.EMPTY, message=""))
    store.open_attempt(run.id, plan.request(plan.cells[2]))
    ask(store, run, judge_request(plan), answer("3"))
    store.put_verdict(Verdict(reply_key=key, scorer="j", scorer_version="1", value=3.0))
    store.batches.open(run.id, "openai", [plan.request(plan.cells[3])])
    return store


def judge_request(plan: Plan) -> Request:
    return Request(
        target="judge/two",
        context=Context(system="Judge."),
        ask=(Message(role="user", text="?"),),
        decoding=plan.decoding,
        serving="q4",
        schema={"type": "object", "properties": {"b": {}, "a": {}}},
    )


def test_a_sound_store_has_no_problems_and_is_not_changed(full: Store, place: str):
    before = everything(place, TABLES)
    checked = check_store(full)
    assert checked.problems == ()
    assert (checked.contexts, checked.requests, checked.unnamed, checked.runs) == (5, 5, 0, 1)
    assert everything(place, TABLES) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE request SET sample = 7 WHERE target = 'judge/two'", "is not what its key says"),
        ("UPDATE request SET serving = 'q8' WHERE target = 'judge/two'", "not what its key says"),
        ("UPDATE request SET schema = NULL WHERE target = 'judge/two'", "not what its key says"),
        ("UPDATE request SET ask = '[]' WHERE target = 'judge/two'", "is not what its key says"),
        ("UPDATE request SET ask = '{' WHERE target = 'judge/two'", "a request in the store"),
        ("UPDATE cell SET key = 'ff' WHERE ordinal = 4", "the keys of 1 cells are not those"),
        ("UPDATE cell SET replicate = 3 WHERE ordinal = 4", "run .* is not what its name says"),
        ("UPDATE cell SET arm = 'bogus' WHERE ordinal = 4", "a cell in the store cannot be read"),
        ("UPDATE attempt SET outcome = NULL WHERE id = 1", "attempt 1 has an end without"),
        ("UPDATE attempt SET failure = NULL WHERE id = 2", "attempt 2 failed without a reason"),
        ("UPDATE attempt SET output = -1 WHERE id = 1", "attempt 1 has negative tokens"),
        ("UPDATE attempt SET cached = 101 WHERE id = 1", "attempt 1 has negative tokens, or parts"),
        ("UPDATE reply SET attempt = 3 WHERE attempt = 1", "the reply to .* of another key"),
        ("UPDATE reply SET settled = 0 WHERE attempt = 1", "was answered and is not settled"),
    ],
)
def test_what_somebody_changed_is_found(full: Store, place: str, change: str, said: str):
    query(place, change)
    problems = check_store(full).problems
    assert problems
    assert any(re.search(said, problem) for problem in problems), problems


def test_a_context_that_is_not_its_name_is_found(full: Store, place: str, plan: Plan):
    first, second = sorted(plan.contexts)[:2]
    query(
        place,
        f"UPDATE blob SET zstd = (SELECT zstd FROM blob WHERE sha256 = '{first}')"
        f" WHERE sha256 = '{second}'",
    )
    assert f"context {second[:12]} is not what its name says" in check_store(full).problems
    query(place, f"UPDATE blob SET zstd = '\\x00' WHERE sha256 = '{second}'")
    assert f"context {second[:12]} is not what its name says" in check_store(full).problems


def test_pages_that_were_overwritten_are_found(plan: Plan, tmp_path: Path):
    file = tmp_path / "a.sqlite"
    with open_store(file) as store:
        wide = make_plan(probes=40)
        run = store.begin_run(wide, "s", VERSIONS)
        for cell in wide.cells:
            ask(store, run, wide.request(cell), answer("x" * 500))
    sound = file.read_bytes()
    for page in range(4, len(sound) // 4096, 9):
        content = bytearray(sound)
        for at in range(page * 4096, page * 4096 + 4096, 7):
            content[at] ^= 0xFF
        file.write_bytes(content)
        with open_store(file, create=False) as store:
            assert check_store(store).problems, page


def test_requests_of_the_first_release_are_counted_where_their_keys_cannot_be_made(
    full: Store, place: str
):
    query(place, "UPDATE request SET serving = NULL, schema = NULL")
    checked = check_store(full)
    assert checked.problems == ()
    assert checked.unnamed == 1  # the judge's, which has a schema


def test_vacuum_removes_what_nothing_refers_to_and_nothing_else(
    full: Store, place: str, run: RunInfo, plan: Plan
):
    assert loose_contexts(full) == ()
    full._ledger.transact(lambda: full._ledger.keep_context(Context(system="nobody's")))
    (loose,) = loose_contexts(full)
    assert loose.sha256 == Context(system="nobody's").sha256
    assert count(place, "blob") == 6
    assert vacuum(full) == (loose,)
    assert count(place, "blob") == 5
    assert vacuum(full) == ()
    assert full.plan(run.id) == plan
    assert check_store(full).problems == ()


def test_a_context_that_only_a_plan_s_snapshot_names_stays(store: Store, place: str):
    plan = make_plan()
    bare = {sha: c for sha, c in plan.contexts.items() if sha != plan.snapshots[0].context.sha256}
    kept = msgspec.structs.replace(
        plan,
        contexts=bare,
        cells=tuple(cell for cell in plan.cells if cell.prefix in bare),
    )
    run = store.begin_run(kept, "s", VERSIONS)
    assert vacuum(store) == ()
    assert store.plan(run.id) == kept


def test_it_is_described_in_numbers(full: Store, run: RunInfo):
    contents = describe(full)
    assert contents.schema == 4
    assert contents.bytes > 4096
    assert contents.replies == {"answer": 2, "failed": 1}
    assert contents.waiting == 1
    (one,) = contents.runs
    assert (one.run, one.study, one.cells, one.settled) == (run.id, "trajectory", 12, 1)
    assert one.spend["openai/one"].attempts == 4
    assert one.spend["judge/two"].attempts == 1
