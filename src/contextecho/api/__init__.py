"""The Python face: plan, collect, report. The command line calls the same functions.

    session = read_session("session.jsonl")
    cells = plan(session, target="openai/gpt-4.1", positions="compactions")
    run = collect(cells, judge="anthropic/claude-sonnet-4-6", budget="5usd")
    report(run, "report.html")

Without a model: `report_scan(scan("session.jsonl"), "scan.html")`.

The one thing to know: `plan` sends nothing, `collect` is the only call that does,
and calling it again with the same plan continues the same run.
"""

from __future__ import annotations

from contextecho.api.collecting import Prepared, Run, collect, keep_to, prepare, versions
from contextecho.api.planning import counter_for, plan, plans, shown_to
from contextecho.api.reaching import (
    DIRECT,
    Reach,
    place_of,
    refuse_self_judging,
    refuse_without_batches,
)
from contextecho.api.reporting import report, report_scan, scan

__all__ = [
    "DIRECT",
    "Prepared",
    "Reach",
    "Run",
    "collect",
    "counter_for",
    "keep_to",
    "place_of",
    "plan",
    "plans",
    "prepare",
    "refuse_self_judging",
    "refuse_without_batches",
    "report",
    "report_scan",
    "scan",
    "shown_to",
    "versions",
]
