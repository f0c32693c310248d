"""The query of docs/store.md for scored replies, on a store that knows the answer."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from contextecho.contexts import Arm
from contextecho.store import open_store
from scoring.runs import collect, make_plan, say, verdicts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "store.md"


def test_every_scored_reply_comes_once_whoever_else_has_read_it(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (query,) = re.findall(r"```sql\n(SELECT cell[^`]*AS register.*?)\n```", page, re.DOTALL)
    plan = make_plan(arms=(Arm.CONTROL, Arm.SESSION))
    with open_store(tmp_path / "kept.sqlite") as store:
        run = collect(store, plan, lambda cell: say(f"{cell.arm} {cell.stimulus}"))
        judge = "anthropic/claude-haiku-4-5"
        verdicts(store, run, lambda c: 1.0 if c.arm is Arm.SESSION else 3.0, judge=judge)
        verdicts(store, run, lambda _: 2.0, judge="another/judge")
        verdicts(store, run, lambda _: 0.0, judge=f"{judge}-repeat")
    found = sqlite3.connect(tmp_path / "kept.sqlite")
    found.row_factory = sqlite3.Row
    rows = found.execute(query).fetchall()
    assert len(rows) == len(plan.cells) == 2 * 3 * 5 * 2
    assert {(row["arm"], row["register"], row["reason"]) for row in rows} == {
        ("control", 3.0, "level 3.0"),
        ("session", 1.0, "level 1.0"),
    }
