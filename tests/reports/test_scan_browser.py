"""The page of a scan in Debian's Chromium: nothing fetched, cut off, hidden or overlapping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from contextecho import report_scan, scan
from contextecho.sessions import example_session
from reports.browsing import NEEDS_CHROMIUM, Visit, overlapping_words, words_cut_off
from reports.scans import growing, hostile, scan_folder, steady, updated

pytestmark = NEEDS_CHROMIUM
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"


def page_of_many(folder: Path) -> Path:
    """The page of a folder: growing, steady, updated, short, hostile, and what is no session."""
    updated(folder / "updated.jsonl")
    hostile(folder)
    scan_folder(folder)
    return report_scan(scan(folder), folder / "scan.html")


def page_of_one(folder: Path) -> Path:
    """The page of the bundled session: both voices, two compactions."""
    return report_scan(scan(example_session()), folder / "scan.html")


def page_of_changes(folder: Path) -> Path:
    """The page of a session whose conditions change."""
    return report_scan(scan(updated(folder / "updated.jsonl")), folder / "scan.html")


PAGES = {"many": page_of_many, "one": page_of_one, "changes": page_of_changes}


@pytest.fixture(params=sorted(PAGES))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return PAGES[request.param](tmp_path)


def test_it_asks_for_nothing_and_complains_of_nothing(browser: Any, path: Path) -> None:
    visit = Visit(browser, path)
    visit.page.locator("main").wait_for()
    assert visit.requests == [path.as_uri()]
    assert visit.complaints == []


@pytest.mark.parametrize("width", [1280, 500, 390])
def test_the_page_itself_never_scrolls_sideways(browser: Any, path: Path, width: int) -> None:
    visit = Visit(browser, path, viewport={"width": width, "height": 800})
    assert visit.page.evaluate(WIDTHS) == [width, width]


@pytest.mark.parametrize("width", [1280, 1920])
def test_no_table_leaves_the_column(browser: Any, path: Path, width: int) -> None:
    page = Visit(browser, path, viewport={"width": width, "height": 800}).page
    beyond = page.locator("section > .table").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().right"
        " - e.closest('section').getBoundingClientRect().right)"
    )
    assert beyond
    assert max(beyond) <= 0


def test_no_word_of_a_figure_is_cut_off_or_lies_on_another(browser: Any, path: Path) -> None:
    page = Visit(browser, path, viewport={"width": 1280, "height": 900}).page
    assert page.locator("svg").count() > 0
    assert words_cut_off(page) == []
    assert overlapping_words(page) == []


def test_it_can_be_read_without_scripts(browser: Any, path: Path) -> None:
    page = Visit(browser, path, java_script_enabled=False).page
    assert page.locator("h1").is_visible()
    assert page.locator("svg").first.is_visible()
    assert not page.locator("#theme").is_visible()
    page.locator("summary").first.click()
    assert page.locator("details table").first.is_visible()


def test_a_dark_system_gets_a_dark_page_and_white_paper(browser: Any, path: Path) -> None:
    page = Visit(browser, path, color_scheme="dark").page
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 23, 27)"
    mark = "getComputedStyle(document.querySelector('svg .glyph')).fill"
    assert page.evaluate(mark) == "rgb(230, 232, 235)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert page.locator("details table").first.is_visible()


def test_paper_is_wide_enough(browser: Any, path: Path) -> None:
    """178 mm of an A4 page between its margins are 673 pixels."""
    page = Visit(browser, path, viewport={"width": 673, "height": 950}).page
    page.emulate_media(media="print")
    assert page.evaluate(WIDTHS) == [673, 673]


def test_a_mark_under_the_pointer_tells_its_number(browser: Any, tmp_path: Path) -> None:
    path = report_scan(scan(growing(tmp_path / "s.jsonl")), tmp_path / "scan.html")
    page = Visit(browser, path).page
    page.locator("figure .mark").first.hover()
    assert page.locator("#tip").inner_text() == "chars, steps 1–8: 5, 8 of 40 texts"


def test_a_session_with_very_many_compactions_is_drawn_wider(browser: Any, tmp_path: Path) -> None:
    """The figure scrolls in its frame, and its numbers stay apart."""
    steady(tmp_path / "s.jsonl")
    (screen,) = (screened := scan(tmp_path / "s.jsonl")).screens
    windows = [replace(window, segment=n) for n, window in enumerate(screen.windows * 12)]
    screened.screens[0] = replace(screen, windows=tuple(windows))
    page = Visit(browser, report_scan(screened, tmp_path / "scan.html")).page
    assert page.evaluate(WIDTHS)[0] == 1280
    assert words_cut_off(page) == []
    assert overlapping_words(page) == []
