"""ContextEcho tells whether the model at the end of a long session is still the one shipped.

The usual four calls::

    from contextecho import collect, plan, read_session, report

    session = read_session("session.jsonl")
    cells = plan(session, target="openai/gpt-4.1", positions="compactions")
    run = collect(cells, judge="anthropic/claude-sonnet-4-6", budget="5usd")
    report(run, "report.html")

Without a model: ``report_scan(scan("session.jsonl"), "scan.html")``.

Everything here is loaded when first used, so that importing the package is free.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextecho.api import collect, plan, report, report_scan, scan
    from contextecho.sessions import read_session

__all__ = ["collect", "plan", "read_session", "report", "report_scan", "scan"]
__version__ = "0.1.0"

_HOMES = {
    "collect": "contextecho.api",
    "plan": "contextecho.api",
    "report": "contextecho.api",
    "report_scan": "contextecho.api",
    "scan": "contextecho.api",
    "read_session": "contextecho.sessions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
