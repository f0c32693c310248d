"""The page in Debian's Chromium: what it looks up, what it runs, what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contextecho.reports import Forest, Trajectory, render, write_report
from contextecho.reports.exports import Document
from contextecho.reports.figures import marks_of
from reports.browsing import (
    NEEDS_CHROMIUM,
    Visit,
    overlapping_words,
    words_cut_off,
)
from reports.shapes import SHAPES

pytestmark = NEEDS_CHROMIUM


def report(folder: Path, name: str) -> Path:
    return write_report(SHAPES[name](), folder / "report.html")


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_it_asks_for_nothing_and_complains_of_nothing(
    browser: Any, tmp_path: Path, name: str
) -> None:
    path = report(tmp_path, name)
    visit = Visit(browser, path)
    visit.page.locator("footer, main").first.wait_for()
    assert visit.requests == [path.as_uri()]
    assert visit.complaints == []


def test_hostile_text_neither_runs_nor_becomes_an_element(browser: Any, tmp_path: Path) -> None:
    visit = Visit(browser, report(tmp_path, "hostile"))
    assert visit.page.title().startswith("Drift report")
    assert visit.page.locator("img").count() == 0
    assert visit.page.locator("script").count() == 1
    assert "⟨U+202E⟩gnp.exe" in visit.page.locator("blockquote").first.inner_text()


@pytest.mark.parametrize("name", ["judged", "three targets", "hostile", "empty"])
def test_a_phone_scrolls_figures_but_never_the_page(
    browser: Any, tmp_path: Path, name: str
) -> None:
    visit = Visit(browser, report(tmp_path, name), viewport={"width": 390, "height": 800})
    widths = "[document.documentElement.scrollWidth, innerWidth]"
    assert visit.page.evaluate(widths) == [390, 390]
    if name != "empty":
        drawing = visit.page.locator("svg").first.bounding_box()
        assert drawing["width"] >= 680


def test_who_answered_fits_the_column_of_a_desktop(browser: Any, tmp_path: Path) -> None:
    visit = Visit(browser, report(tmp_path, "judged"), viewport={"width": 1200, "height": 800})
    widths = "e => [e.getBoundingClientRect().width, e.closest('section').clientWidth]"
    table, column = visit.page.locator("#answered ~ .table table").evaluate(widths)
    assert table <= column


def test_replies_on_the_map_are_outlines_so_that_no_arm_hides_another(
    browser: Any, tmp_path: Path
) -> None:
    page = Visit(browser, report(tmp_path, "judged")).page
    fills = page.locator(".dots .glyph").evaluate_all(
        "all => all.map(e => getComputedStyle(e).fill)"
    )
    assert set(fills) == {"none"}


def test_captions_are_whole_and_an_edge_shows_that_there_is_more(
    browser: Any, tmp_path: Path
) -> None:
    path = report(tmp_path, "three targets")
    for width, folded in ((1280, False), (390, True)):
        page = Visit(browser, path, viewport={"width": width, "height": 800}).page
        caption = page.locator(".caption").first.bounding_box()
        assert caption["x"] + caption["width"] <= width
        scrolls, background = page.locator(".scroll.table").first.evaluate(
            "e => [e.scrollWidth > e.clientWidth, getComputedStyle(e).backgroundAttachment]"
        )
        assert scrolls is folded
        assert background == "local, local, scroll, scroll"


def test_the_toggle_changes_the_page_and_back(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "judged"), color_scheme="light").page
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(colour)
    page.get_by_role("button", name="Light").click()
    assert (light, page.evaluate(colour)) == ("rgb(255, 255, 255)",) * 2
    assert dark == "rgb(20, 23, 27)"


def test_a_dark_system_gets_a_dark_page_and_white_paper(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "judged"), color_scheme="dark").page
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 23, 27)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


def test_paper_holds_the_tables_that_the_screen_folds_away(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "judged")).page
    table = page.locator("figure details table").first
    assert not table.is_visible()
    page.emulate_media(media="print")
    assert table.is_visible()


def test_figures_show_the_numbers_of_the_json(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "judged")).page
    document = msgspec.json.decode(render(SHAPES["judged"](), "json"), type=Document)
    for figure in document.figures:
        if not isinstance(figure, Trajectory | Forest):
            continue
        shown = page.locator(f"[id='{figure.id}'] [data-label]").evaluate_all(
            "all => all.map(e => [e.dataset.label, e.dataset.value, e.dataset.low, e.dataset.high])"
        )
        numbers = {label: tuple(map(float, rest)) for label, *rest in shown}
        assert numbers == {m.label: (m.value, m.low, m.high) for m in marks_of(figure)}


def test_a_mark_under_the_pointer_tells_its_number(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "judged")).page
    mark = page.locator("figure .mark[data-label]").first
    mark.hover()
    tip = page.locator("#tip")
    assert re.fullmatch(
        r"scratch, P00_post_C1: \d\.\d\d \[\d\.\d\d, \d\.\d\d\], 5 of 5 replies", tip.inner_text()
    )
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_rows_are_reached_and_read_by_keyboard(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "judged")).page
    page.locator("figure .drawing").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("P00_post")
    assert "session + anchor, P00_post_C1" in page.locator("#tip").inner_text()


def test_nothing_is_cut_off_inside_a_figure(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "three targets")).page
    assert words_cut_off(page) == []


def test_no_two_words_of_a_figure_lie_on_each_other(browser: Any, tmp_path: Path) -> None:
    page = Visit(browser, report(tmp_path, "judged")).page
    assert overlapping_words(page) == []
