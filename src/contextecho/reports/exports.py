"""A run for programs: JSON with everything, CSV with one row a contrast.

Numbers are not rounded here. The JSON names its schema; a field is only ever
added to it, and another number follows the slash when one is changed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import msgspec

from contextecho import __version__
from contextecho.reports.figures import Figure
from contextecho.reports.gallery import compose
from contextecho.reports.headline import Headline, headlines
from contextecho.reports.limits import CANNOT_SAY
from contextecho.reports.measures import READINGS
from contextecho.reports.missing import missing
from contextecho.reports.view import View
from contextecho.scoring import Contrast, RunAnalysis
from contextecho.untrusted import make_visible

SCHEMA = "contextecho.report/1"


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON report."""

    schema: str
    version: str  # of this program
    headlines: tuple[Headline, ...]
    figures: tuple[Figure, ...]
    missing: tuple[str, ...]
    cannot_say: tuple[str, ...]
    analysis: RunAnalysis


def write_json(view: View) -> str:
    """The whole analysis with its figures and sentences, as one JSON document."""
    document = Document(
        schema=SCHEMA,
        version=__version__,
        headlines=headlines(view),
        figures=compose(view),
        missing=missing(view),
        cannot_say=CANNOT_SAY,
        analysis=view.analysis,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def write_csv(view: View) -> str:
    """One row a contrast; an empty cell is a number that does not exist, and `note` says why."""
    out = io.StringIO(newline="")
    rows = [_row(view, contrast) for contrast in view.analysis.contrasts]
    writer = csv.DictWriter(out, fieldnames=COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


COLUMNS = (
    "run",
    "session",
    "target",
    "battery",
    "measure",
    "contrast",
    "scope",
    "minus_from",
    "minus",
    "unit",
    "estimate",
    "low",
    "high",
    "level",
    "method",
    "percentile_low",
    "percentile_high",
    "p",
    "p_holm",
    "family",
    "pairs",
    "planned_pairs",
    "clusters",
    "headline_withheld",
    "note",
)


def _row(view: View, c: Contrast) -> Mapping[str, str | float | None]:
    default, percentile = c.interval, c.percentile
    return {
        "run": view.analysis.run.id,
        "session": _inert(view.analysis.run.session),
        "target": _inert(c.target),
        "battery": _inert(c.battery),
        "measure": c.measure,
        "contrast": _inert(c.id),
        "scope": _inert(c.scope),
        "minus_from": c.minus_from,
        "minus": c.minus,
        "unit": READINGS[c.measure].contrast,
        "estimate": c.estimate,
        "low": default.low if default else None,
        "high": default.high if default else None,
        "level": default.level if default else None,
        "method": default.method if default else None,
        "percentile_low": percentile.low if percentile else None,
        "percentile_high": percentile.high if percentile else None,
        "p": c.p,
        "p_holm": c.p_holm,
        "family": _inert(c.family or ""),
        "pairs": c.pairs,
        "planned_pairs": c.planned_pairs,
        "clusters": c.clusters,
        "headline_withheld": "yes" if view.moved_guards(c.target) else "no",
        "note": _inert(c.note or ""),
    }


def _inert(text: str) -> str:
    """Text that a spreadsheet will not run: a leading formula sign gets an apostrophe."""
    seen = make_visible(text)
    return f"'{seen}" if seen.startswith(("=", "+", "-", "@", "\t")) else seen
