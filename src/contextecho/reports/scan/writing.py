"""The report of a scan as text in one of its formats, and in a file.

html   the page to read: one offline file
md     for a pull request or a chat: the table, what stands out, what was left out

For programs there is `contextecho scan --json`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from contextecho.errors import UsageError
from contextecho.reports.files import format_of, refuse_place, write_whole
from contextecho.reports.formats import refuse_format
from contextecho.reports.markdown import pipe_table, render_markdown
from contextecho.reports.page import render_page
from contextecho.reports.scan.parts import values_of
from contextecho.scoring import Screened


def _page(screened: Screened) -> str:
    return render_page("scan.html.jinja", **values_of(screened))


def _markdown(screened: Screened) -> str:
    return render_markdown("scan.md.jinja", pipe_table=pipe_table, **values_of(screened))


_WRITERS: Mapping[str, Callable[[Screened], str]] = {"html": _page, "md": _markdown}
SCAN_FORMATS = tuple(_WRITERS)


def render_scan(screened: Screened, format: str) -> str:
    """The report of a scan as one text.

    Raises `UsageError` for a format it does not know, and without a session.
    """
    refuse_format(format, SCAN_FORMATS)
    if not screened.screens:
        raise UsageError(
            "no session was screened, so there is nothing to report",
            where=", ".join(screened.places),
        )
    return _WRITERS[format](screened)


def write_scan(screened: Screened, path: Path | str, *, format: str | None = None) -> Path:
    """Write the report of a scan to `path`; without `format`, the file name decides.

    Whole or not at all. Raises `UsageError` as `render_scan` does, for a name that says
    nothing, and for a place that cannot be written.
    """
    target = Path(path)
    content = render_scan(screened, format or format_of(target, SCAN_FORMATS))
    return write_whole(content, target)


def refuse_unwritable_scan(path: Path | None, *, format: str | None = None) -> None:
    """Raise, before anything is read, what `write_scan` would raise after it.

    `path` is None for standard output.
    """
    if format is not None:
        refuse_format(format, SCAN_FORMATS)
    if path is not None:
        if format is None:
            format_of(path, SCAN_FORMATS)
        refuse_place(path)
