"""`contextecho demo`, for real: the bundled session, the embedded model, a report to open."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser

import pytest

from contextecho.caching import cache_folder
from contextecho.models import local_status
from e2e.ledger import query
from e2e.terminal import Terminal
from waiting import PATIENCE

LOADING = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}


class Loads(HTMLParser):
    """What a browser would fetch for a page, and how many figures it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in LOADING]


@pytest.mark.local
@pytest.mark.slow
def test_the_demo_ends_with_a_report_that_needs_no_network(terminal: Terminal) -> None:
    if local_status().problem:
        pytest.skip("the embedded model is not installed: contextecho local install")
    terminal.environment["CONTEXTECHO_CACHE"] = os.fspath(cache_folder())
    done = terminal.run("demo", timeout=10 * PATIENCE)
    assert (done.code, done.errors) == (0, [])
    assert done.next == "sessions list"
    assert re.search(r"\d+ pairs in \d+ clusters", done.out), done.out
    assert "135 million parameters" in done.err
    html = (terminal.folder / "report.html").read_text(encoding="utf-8")
    page = Loads()
    page.feed(html)
    assert [a for a in page.addresses if not a.startswith(("#", "data:"))] == []
    assert "url(http" not in html
    assert "@import" not in html
    assert "Content-Security-Policy" in html
    assert page.tags.count("svg") >= 3
    assert "table" in page.tags
    assert re.search(r"\b\d+ of \d+ planned replies answered", html)
    ((cells, settled),) = query(
        terminal.folder,
        "SELECT count(DISTINCT cell.key), count(DISTINCT reply.key) FROM cell"
        " LEFT JOIN reply ON reply.key = cell.key AND reply.settled",
    )
    assert cells == settled
    arms = {arm for (arm,) in query(terminal.folder, "SELECT DISTINCT arm FROM cell")}
    assert arms == {"scratch", "control", "session", "session+anchor"}
    positions = query(terminal.folder, "SELECT DISTINCT position FROM cell")
    assert len(positions) >= 3
