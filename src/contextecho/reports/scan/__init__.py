"""The report of a scan: the passive screens of one session or of many, on one page.

The one thing to know: it shows what `scoring` computed and adds no number of its own.
It holds names of sessions, folders and models, and no text of a session.
"""

from __future__ import annotations

from contextecho.reports.scan.writing import (
    SCAN_FORMATS,
    refuse_unwritable_scan,
    render_scan,
    write_scan,
)

__all__ = ["SCAN_FORMATS", "refuse_unwritable_scan", "render_scan", "write_scan"]
