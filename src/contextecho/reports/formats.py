"""A run as text in one of the report's formats.

html   the report to read: one offline file
md     a comment for a pull request: headlines, denominators, differences, limits
json   everything, for programs: the analysis, the figures and the sentences
csv    one row a contrast, for a spreadsheet
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from contextecho.errors import UsageError
from contextecho.reports.exports import write_csv, write_json
from contextecho.reports.markdown import write_markdown
from contextecho.reports.page import write_page
from contextecho.reports.typeset import listing
from contextecho.reports.view import View, view_of
from contextecho.scoring import RunAnalysis

_WRITERS: Mapping[str, Callable[[View], str]] = {
    "html": write_page,
    "md": write_markdown,
    "json": write_json,
    "csv": write_csv,
}
FORMATS = tuple(_WRITERS)


def render(analysis: RunAnalysis, format: str) -> str:
    """The report of a run as one text. Raises `UsageError` for a format it does not know."""
    refuse_format(format, FORMATS)
    return _WRITERS[format](view_of(analysis))


def refuse_format(format: str, formats: Sequence[str]) -> None:
    """Raise `UsageError` for a format that a report does not have."""
    if format not in formats:
        raise UsageError(f"no report format {format!r}", todo=f"choose {listing(tuple(formats))}")
