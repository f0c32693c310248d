"""The built site: it builds without a warning, has every page, and loads nothing from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs.pages import GUIDE, REPOSITORY

LOADING = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data",
    "embed": "src", "video": "src", "audio": "src",
}  # fmt: skip
INERT_RELATIONS = {"canonical", "edit", "next", "prev"}


class Loads(HTMLParser):
    """Collects what a page asks a browser to fetch by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in LOADING:
            self.urls.append(given.get(LOADING[tag]) or "")
        if tag == "link" and not INERT_RELATIONS & set((given.get("rel") or "").split()):
            self.urls.append(given.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_of_the_guide_is_in_the_navigation():
    config = (REPOSITORY / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"(?:- |: )([\w/-]+\.md)$", config, flags=re.MULTILINE)
    assert sorted(listed) == sorted(page.name.removeprefix("docs/") for page in GUIDE)


def test_every_page_is_built_and_the_generator_is_not(site: Path):
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {"index.html", "start/index.html", "reference/commands/index.html"} <= built
    assert len(built) == len(GUIDE) + 1  # and the page for what is not found
    assert not list(site.rglob("*.py"))


def test_no_page_loads_anything_from_another_host(site: Path):
    for path in site.rglob("*.html"):
        loads = Loads()
        loads.feed(path.read_text("utf-8"))
        assert loads.urls
        assert [url for url in loads.urls if re.match(r"(?:[a-z]+:)?//", url)] == [], path


def test_no_style_sheet_imports_from_another_host(site: Path):
    for path in site.rglob("*.css"):
        style = path.read_text("utf-8")
        assert re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", style) == [], path


def test_what_the_theme_would_fetch_by_itself_is_switched_off(site: Path):
    # The theme's script fetches a diagram library for such blocks, and repository facts when the
    # header names a repository.
    for path in site.rglob("*.html"):
        page = path.read_text("utf-8")
        assert 'class="mermaid"' not in page
        assert 'data-md-component="source"' not in page
