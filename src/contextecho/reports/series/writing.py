"""The report of a series as text in one of its formats, and in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from contextecho import __version__
from contextecho.reports.changes import changes_table, crossings_table
from contextecho.reports.figures import Forest, Trajectory
from contextecho.reports.files import format_of, write_whole
from contextecho.reports.formats import refuse_format
from contextecho.reports.limits import CANNOT_SAY
from contextecho.reports.markdown import pipe_table, render_markdown
from contextecho.reports.page import render_page
from contextecho.reports.series.figures import figures_of
from contextecho.reports.series.tables import contrasts_table, runs_table, spreads_table
from contextecho.reports.series.words import said_of
from contextecho.scoring import SeriesAnalysis

SCHEMA = "contextecho.series/1"
_CHANGED = (
    "The first contrast at each level against the first level, on questions answered in both arms "
    "at both. Of lengths a ratio of ratios."
)


class SeriesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON report of a series."""

    schema: str
    version: str  # of this program
    figures: tuple[Trajectory | Forest, ...]
    cannot_say: tuple[str, ...]
    series: SeriesAnalysis


def _page(series: SeriesAnalysis) -> str:
    return render_page("series.html.jinja", figures=figures_of(series), **_values(series))


def _markdown(series: SeriesAnalysis) -> str:
    return render_markdown("series.md.jinja", pipe_table=pipe_table, **_values(series))


def _json(series: SeriesAnalysis) -> str:
    document = SeriesDocument(
        schema=SCHEMA,
        version=__version__,
        figures=figures_of(series),
        cannot_say=CANNOT_SAY,
        series=series,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _values(series: SeriesAnalysis) -> dict[str, Any]:
    return {
        "series": series,
        "said": [(part, tuple(said_of(series, part))) for part in series.parts],
        "runs": runs_table(series),
        "contrasts": contrasts_table(series),
        "changes": changes_table(series.changes, _CHANGED) if series.changes else None,
        "crossings": [
            table
            for part in series.parts
            if (table := crossings_table(part.analysis.crossings, part.name)) is not None
        ],
        "spreads": spreads_table(series),
        "cannot_say": CANNOT_SAY,
    }


_WRITERS: Mapping[str, Callable[[SeriesAnalysis], str]] = {
    "html": _page,
    "md": _markdown,
    "json": _json,
}
SERIES_FORMATS = tuple(_WRITERS)


def render_series(series: SeriesAnalysis, format: str) -> str:
    """The report of a series as one text. Raises `UsageError` for a format it does not know."""
    refuse_format(format, SERIES_FORMATS)
    return _WRITERS[format](series)


def write_series(series: SeriesAnalysis, path: Path | str, *, format: str | None = None) -> Path:
    """Write the report of a series to `path`; without `format`, the file name decides."""
    target = Path(path)
    content = render_series(series, format or format_of(target, SERIES_FORMATS))
    return write_whole(content, target)
