"""Showing what a run or a scan says: figures, one offline HTML file, Markdown, JSON, CSV."""

from __future__ import annotations

from contextecho.reports.brief import brief
from contextecho.reports.drawing import draw_figures
from contextecho.reports.figures import Figure, Forest, Scatter, Trajectory
from contextecho.reports.files import refuse_unwritable, write_report
from contextecho.reports.formats import FORMATS, render
from contextecho.reports.gallery import figures
from contextecho.reports.scan import (
    SCAN_FORMATS,
    refuse_unwritable_scan,
    render_scan,
    write_scan,
)
from contextecho.reports.series import SERIES_FORMATS, brief_series, render_series, write_series

__all__ = [
    "FORMATS",
    "SCAN_FORMATS",
    "SERIES_FORMATS",
    "Figure",
    "Forest",
    "Scatter",
    "Trajectory",
    "brief",
    "brief_series",
    "draw_figures",
    "figures",
    "refuse_unwritable",
    "refuse_unwritable_scan",
    "render",
    "render_scan",
    "render_series",
    "write_report",
    "write_scan",
    "write_series",
]
