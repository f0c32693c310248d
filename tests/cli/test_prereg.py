"""`contextecho prereg` and `probe --prereg`: what is refused, and what is told of each run."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from commandline import exit_code
from contextecho import collect, plan, read_session
from contextecho.defaults import STORE
from contextecho.errors import UsageError
from contextecho.sessions import example_session
from contextecho.store import open_store

AXES = ("--target", "simulated", "--n", "1")
HOW = (*AXES, "--judge", "simulated/judge", "--positions")


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CONTEXTECHO_STORE", raising=False)
    return tmp_path


def lock(positions: str = "even:2", *, to: str = "prereg.json") -> int:
    return exit_code("prereg", "lock", "trajectory", example_session(), *HOW, positions, "-o", to)


def probe(positions: str = "even:2", prereg: str | None = "prereg.json") -> int:
    under = () if prereg is None else ("--prereg", prereg)
    return exit_code("probe", example_session(), *HOW, positions, "-q", *under)


def amend(positions: str, to: str = "second.json") -> int:
    words = ("prereg.json", "trajectory", example_session(), *HOW, positions)
    return exit_code("prereg", "amend", *words, "--why", "too few", "-o", to)


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert exit_code(*words) == 0
    return json.loads(capsys.readouterr().out)


def verified(capsys: pytest.CaptureFixture[str], file: str = "prereg.json") -> list[Any]:
    runs: list[Any] = document(capsys, "prereg", "verify", file, "--json")["runs"]
    return runs


def standing(capsys: pytest.CaptureFixture[str]) -> str:
    report = document(capsys, "report", "--format", "json")
    return str(report["analysis"]["registration"]["standing"])


def test_a_run_under_a_lock_came_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock() == 0
    locked = json.loads(Path("prereg.json").read_bytes())
    assert probe() == 0
    (run,) = verified(capsys)
    assert (run["timing"], run["begun_under"], run["differences"]) == ("after", True, [])
    assert locked["locked_at"] < run["times"]["first"] < run["times"]["last"]
    with open_store(STORE) as store:
        assert store.find_run().plan["registered"]["lock"] == locked["sha256"]
    assert standing(capsys) == "preregistered"


def test_the_id_of_a_run_does_not_depend_on_its_lock(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock() == 0
    assert probe() == 0
    assert probe(prereg=None) == 0
    assert len(verified(capsys)) == 1


def test_what_differs_from_the_lock_is_refused_before_anything_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lock() == 0
    assert probe("even:3") == 2
    assert "not as locked: study: trajectory; positions:" in capsys.readouterr().err
    assert exit_code("probe", example_session(), *AXES, "--positions", "even:2", "-q",
                     "--judge", "simulated/other", "--prereg", "prereg.json") == 2  # fmt: skip
    assert "judges: simulated/other" in capsys.readouterr().err
    assert not Path(STORE).exists()


def test_a_run_from_before_stays_exploratory(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(prereg=None) == 0
    assert standing(capsys) == "exploratory"
    assert lock() == 0
    (run,) = verified(capsys)
    assert (run["timing"], run["begun_under"]) == ("before", False)
    assert run["times"]["earlier"] == run["times"]["replies"] > 0
    assert probe() == 2
    assert "was begun without a pre-registration" in capsys.readouterr().err


def test_replies_of_another_run_from_before_the_lock_are_not_registered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One position fewer: another run, most of whose replies the store has already."""
    assert probe("153,306", prereg=None) == 0
    assert lock("153") == 0
    assert probe("153") == 2
    assert "were asked before the lock" in capsys.readouterr().err
    assert standing(capsys) == "exploratory"


def test_an_amendment_goes_on_where_the_lock_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock() == 0
    assert probe() == 0
    assert amend("even:2") == 2
    assert "nothing is amended" in capsys.readouterr().err
    assert amend("even:3") == 0
    assert "amended: study, positions" in capsys.readouterr().out
    first = json.loads(Path("prereg.json").read_bytes())["sha256"]
    assert json.loads(Path("second.json").read_bytes())["amends"]["sha256"] == first
    (run,) = verified(capsys, "second.json")
    assert (run["lock"], run["timing"]) == (first, "after")


def test_a_run_under_an_amendment_is_called_amended(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock() == 0
    assert amend("even:3") == 0
    assert probe("even:3", "second.json") == 0
    assert standing(capsys) == "amended"
    for form in ("md", "html"):
        assert exit_code("report", "-o", f"report.{form}") == 0
        assert "amended: lock" in Path(f"report.{form}").read_text("utf-8")


def test_a_run_that_the_lock_does_not_hold_is_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock() == 0
    assert probe("even:3", None) == 0
    (run,) = verified(capsys)
    assert run["timing"] == "outside"
    assert [entry.partition(":")[0] for entry in run["differences"]] == ["study", "positions"]


def test_a_clock_set_back_in_the_ledger_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    """One reply of the run gets a time from before the lock, as if it had been kept until then."""
    assert lock() == 0
    assert probe() == 0
    with sqlite3.connect(Path(STORE, "store.sqlite")) as opened:
        opened.execute("UPDATE attempt SET begun_at = '2001-01-01' WHERE id = (SELECT "
                       "min(r.attempt) FROM reply r JOIN cell c ON c.key = r.key)")  # fmt: skip
    opened.close()
    (run,) = verified(capsys)
    assert (run["timing"], run["times"]["earlier"]) == ("partly before", 1)
    assert standing(capsys) == "exploratory"


def test_a_lock_is_never_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    assert lock() == 0
    kept = Path("prereg.json").read_bytes()
    assert lock("even:3") == 2
    assert "file exists" in capsys.readouterr().err
    assert Path("prereg.json").read_bytes() == kept


def test_collecting_from_python_keeps_to_a_lock_as_well() -> None:
    assert lock() == 0
    session = read_session(example_session())
    chosen: dict[str, Any] = {"target": "simulated", "paraphrases": 1}
    with pytest.raises(UsageError, match="not as locked"):
        collect(plan(session, **chosen, positions="even:3"), prereg="prereg.json")
    run = collect(plan(session, **chosen, positions="even:2"), prereg="prereg.json")
    locked = json.loads(Path("prereg.json").read_bytes())
    assert run.info.plan["registered"]["lock"] == locked["sha256"]
