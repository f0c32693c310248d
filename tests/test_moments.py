"""A moment in writing, by one rule."""

from __future__ import annotations

import time

import pytest

from contextecho.moments import local_iso, local_minute, utc_minute

MOMENT = 1_767_225_600.0 + 90.5  # 2026-01-01 00:01:30.5 UTC


@pytest.fixture(autouse=True)
def in_kathmandu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is 5:45 ahead of UTC."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()


def test_tables_go_by_this_machine_and_reports_by_utc() -> None:
    assert local_minute(MOMENT) == "2026-01-01 05:46"
    assert local_iso(MOMENT) == "2026-01-01T05:46:30+05:45"
    assert utc_minute(MOMENT) == "2026-01-01 00:01 UTC"


@pytest.mark.parametrize("seconds", [1e18, -1e18, float("nan"), float("inf"), 253_402_300_799.0])
def test_what_no_calendar_has_is_none(seconds: float) -> None:
    """The last is the end of the year 9999 by UTC, which is over in Kathmandu."""
    assert local_minute(seconds) is None
    assert local_iso(seconds) is None
    assert utc_minute(seconds) is None
    assert local_iso(None) is None
