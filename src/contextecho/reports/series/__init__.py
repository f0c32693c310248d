"""The report of a series: the runs of one study at its levels and on its sessions, on one page.

The one thing to know: it shows what only all runs together can say, and names each run;
the report of a single one has the rest.
"""

from __future__ import annotations

from contextecho.reports.series.words import brief_series
from contextecho.reports.series.writing import SERIES_FORMATS, render_series, write_series

__all__ = ["SERIES_FORMATS", "brief_series", "render_series", "write_series"]
