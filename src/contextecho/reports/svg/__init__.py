"""Figures as inline SVG for the HTML page: small, themed by CSS, no script needed."""

from __future__ import annotations

from markupsafe import Markup

from contextecho.reports.figures import Figure, Forest, Strips, Trajectory
from contextecho.reports.svg.forest import draw_forest
from contextecho.reports.svg.scatter import draw_scatter
from contextecho.reports.svg.strips import draw_strips
from contextecho.reports.svg.trajectory import draw_trajectory

__all__ = ["draw"]


def draw(figure: Figure | Strips) -> Markup:
    """One `<svg>` element. The page names it by the heading `{figure.id}-title`."""
    if isinstance(figure, Trajectory):
        return draw_trajectory(figure)
    if isinstance(figure, Forest):
        return draw_forest(figure)
    if isinstance(figure, Strips):
        return draw_strips(figure)
    return draw_scatter(figure)
