"""Showing what a run says: figures, one offline HTML file, Markdown, JSON, CSV."""

from __future__ import annotations

from contextecho.reports.brief import brief
from contextecho.reports.drawing import draw_figures
from contextecho.reports.figures import Figure, Forest, Scatter, Trajectory
from contextecho.reports.files import refuse_unwritable, write_report
from contextecho.reports.formats import FORMATS, render
from contextecho.reports.gallery import figures

__all__ = [
    "FORMATS",
    "Figure",
    "Forest",
    "Scatter",
    "Trajectory",
    "brief",
    "draw_figures",
    "figures",
    "refuse_unwritable",
    "render",
    "write_report",
]
