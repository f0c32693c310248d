"""What a fuzz run once found, read again by content and by every reader's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextecho.sessions.registry import readers
from sessions.any_bytes import check, check_converted
from timing import takes_less_than

FINDINGS = sorted(Path(__file__).parent.glob("findings/*"))
MOST_SECONDS = 5.0  # of this process, for all readers together


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda path: path.name)
def test_a_finding_stays_mended(finding: Path, tmp_path: Path) -> None:
    with takes_less_than(MOST_SECONDS):
        for name in (None, *(reader.NAME for reader in readers())):
            for session in check(tmp_path / "session", finding.read_bytes(), format=name):
                check_converted(session, tmp_path / "converted")
