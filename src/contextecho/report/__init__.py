"""Showing what a run says: figures, one offline HTML file, Markdown, JSON, CSV."""

from __future__ import annotations

from contextecho.report.brief import brief
from contextecho.report.drawing import draw_figures
from contextecho.report.figures import Figure, Forest, Scatter, Trajectory
from contextecho.report.files import write_report
from contextecho.report.formats import FORMATS, render
from contextecho.report.gallery import figures

__all__ = [
    "FORMATS",
    "Figure",
    "Forest",
    "Scatter",
    "Trajectory",
    "brief",
    "draw_figures",
    "figures",
    "render",
    "write_report",
]
