"""Links: files that are there, headings that are there, nothing that only exists here."""

from __future__ import annotations

import re

import pytest
from markdown.extensions.toc import slugify, unique

from docs.pages import PAGES, Page, every_page


def anchors(page: Page) -> set[str]:
    found: set[str] = set()
    for heading in page.headings:
        unique(slugify(heading.replace("`", ""), "-"), found)
    return found


@every_page
def test_every_relative_link_and_anchor_resolves(page: Page):
    by_path = {other.path: other for other in PAGES}
    for link in page.links:
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        path = (page.path.parent / name).resolve() if name else page.path
        assert path.exists(), link
        if anchor:
            assert anchor in anchors(by_path[path]), link


@pytest.mark.parametrize(
    "pattern",
    [r"/work/", r"/tmp/(?!\?)", r"/root/"],
)
def test_no_page_names_a_place_that_exists_on_one_machine_only(pattern: str):
    assert [page.name for page in PAGES if re.search(pattern, page.path.read_text("utf-8"))] == []


def test_a_broken_anchor_would_be_noticed():
    (start,) = (page for page in PAGES if page.name == "docs/start.md")
    assert "privacy" in anchors(start)
    assert "no-such-heading" not in anchors(start)
