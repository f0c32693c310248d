"""`contextecho store`, on both kinds of database."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commandline import run_command
from contextecho.cli.main import app, main
from contextecho.contexts import Context
from contextecho.store import open_store
from store.kept import VERSIONS, answer, ask
from store.plans import make_plan
from store.raw import count, query


@pytest.fixture
def kept(place: str) -> str:
    """A store with one run, half collected."""
    plan = make_plan()
    with open_store(place) as store:
        run = store.begin_run(plan, "s", VERSIONS)
        for cell in plan.cells[:6]:
            ask(store, run, plan.request(cell), answer())
    return place


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ["store", *words], catch_exceptions=False)


def test_info_counts_what_is_there(kept: str):
    shown = call("info", "--store", kept).stdout
    assert "replies: 6 answer; 0 to be asked again" in shown
    assert "(trajectory, " in shown
    assert "6 of 12 cells settled" in shown
    assert "openai/one: 6 calls, 0 failed, 0 lost; 600 tokens in (480 cached), 42 out" in shown
    document = json.loads(call("info", "--store", kept, "--json").stdout)
    assert document["runs"][0]["settled"] == 6


def test_check_leaves_with_0_or_2(kept: str, capsys: pytest.CaptureFixture[str]):
    assert "looked at 4 contexts, 6 requests, 1 run" in call("check", "--store", kept).stdout
    query(kept, "UPDATE attempt SET output = -1 WHERE id = 1")
    with pytest.raises(SystemExit) as left:
        main(["store", "check", "--store", kept])
    assert left.value.code == 2
    shown = capsys.readouterr()
    assert "-- attempt 1 has negative tokens" in shown.out
    assert "1 problem found" in shown.err


def test_vacuum_tells_first_and_removes_then(kept: str):
    with open_store(kept) as store:
        store._ledger.transact(lambda: store._ledger.keep_context(Context(system="nobody's")))
    name = Context(system="nobody's").sha256
    dry = call("vacuum", "--dry-run", "--store", kept)
    assert f"1 context that nothing refers to, 0.1 kB\n  {name}\n" in dry.stdout
    assert count(kept, "blob") == 5
    assert name in call("vacuum", "--store", kept).stdout
    assert count(kept, "blob") == 4


def test_merge_and_export(kept: str, tmp_path: Path):
    target = str(tmp_path / "all.sqlite")
    merged = call("merge", kept, "--store", target)
    assert "new are 1 run, 6 attempts, 6 replies, 0 verdicts" in merged.stdout
    again = call("merge", kept, "--store", target)
    assert "new are 0 runs, 0 attempts, 0 replies, 0 verdicts" in again.stdout
    out = tmp_path / "out"
    assert str(out / "cells.jsonl") in call("export", "-o", str(out), "--store", target).stdout
    assert len((out / "cells.jsonl").read_text().splitlines()) == 12
    tree = call("export", "latest", "--format", "tree", "-o", str(out), "--store", target)
    assert tree.stdout == f"{out / 'results'}: 6 replies\n"


def test_no_password_is_shown_whatever_goes_wrong(tmp_path: Path):
    """Not in messages; and the address with one is refused before it is used."""
    secret = "correct-horse-battery"
    for address in (f"postgresql://u:{secret}@h/db", f"postgresql://u@h/db?password={secret}"):
        for words in (("store", "info"), ("report",), ("doctor",), ("store", "merge", "x")):
            done = run_command(
                *words, env={**os.environ, "CONTEXTECHO_STORE": address}, cwd=tmp_path
            )
            shown = (done.stdout + done.stderr).decode()
            assert secret not in shown
            assert "can be read in the list of processes" in shown
