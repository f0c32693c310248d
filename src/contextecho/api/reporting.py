"""What was collected, or screened, as a report."""

from __future__ import annotations

from pathlib import Path

from contextecho import scoring
from contextecho.api.collecting import Run
from contextecho.reports import write_report, write_scan
from contextecho.store import open_store


def report(run: Run, path: str | Path, *, judge: str | None = None) -> scoring.RunAnalysis:
    """Analyse a run and write its report; the file's ending says html, md, json or csv.

    `judge` names whose verdicts to use: by default those of the call that made `run`, else
    those of the judge with the most.
    """
    with open_store(run.store, create=False) as store:
        found = store.find_run(run.info.id)
        analysis = scoring.analyse_run(store, found, judge=judge or run.judge)
    write_report(analysis, Path(path))
    return analysis


def scan(*paths: str | Path, processes: int | None = 1) -> scoring.Screened:
    """Screen sessions, or all below folders, as `contextecho scan` does. Sends nothing.

    What cannot be read is in `unread` of what comes back, and raises nothing. More than
    one of `processes` (None: one a core) is for programs whose main module can be imported
    again, as with `multiprocessing`.
    """
    return scoring.screen_all([Path(path) for path in paths], processes=processes)


def report_scan(screened: scoring.Screened, path: str | Path) -> Path:
    """Write the report of a scan; the file's ending says html or md.

    Raises `UsageError` if no session was screened, for another ending, and for a place that
    cannot be written.
    """
    return write_scan(screened, path)
