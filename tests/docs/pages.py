"""The documentation as data: pages with their code blocks, links, headings and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"

Run = Callable[..., str]
"""Runs a command line and gives what it printed: the fixture `run`."""


class Block(NamedTuple):
    """A code block: its language (empty where none is named), title and text."""

    language: str
    title: str | None
    text: str


class Page:
    """One Markdown file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(REPOSITORY).as_posix()

    @cached_property
    def tokens(self) -> list[Token]:
        return MarkdownIt("commonmark").enable("table").parse(self.path.read_text("utf-8"))

    @property
    def inline(self) -> Iterator[Token]:
        return (child for token in self.tokens for child in token.children or ())

    @property
    def blocks(self) -> Iterator[Block]:
        for token in self.tokens:
            if token.type in ("fence", "code_block"):
                title = re.search(r'title="([^"]+)"', token.info)
                language = token.info.split(" ")[0]
                yield Block(language, title[1] if title else None, token.content)

    @property
    def code_spans(self) -> Iterator[str]:
        return (token.content for token in self.inline if token.type == "code_inline")

    @property
    def links(self) -> Iterator[str]:
        return (str(token.attrs["href"]) for token in self.inline if token.type == "link_open")

    @property
    def headings(self) -> Iterator[str]:
        for token, following in zip(self.tokens, self.tokens[1:], strict=False):
            if token.type == "heading_open":
                yield following.content

    @property
    def tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """(heading above, rows below the head) of each table."""
        heading, rows = "", list[list[str]]()
        for token, following in zip(self.tokens, self.tokens[1:], strict=False):
            if token.type == "heading_open":
                heading = following.content
            elif token.type in ("table_open", "tbody_open"):
                rows = []
            elif token.type == "tr_open":
                rows.append([])
            elif token.type == "td_open":
                rows[-1].append(following.content)
            elif token.type == "tbody_close":
                yield heading, rows


PAGES = [
    Page(path)
    for path in (
        *sorted(DOCS.rglob("*.md")),
        *sorted(REPOSITORY.glob("*.md")),
        *sorted((REPOSITORY / "examples").rglob("*.md")),
    )
]
GUIDE = [page for page in PAGES if page.path.is_relative_to(DOCS)]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def page(name: str) -> Page:
    """The page of that name below docs/."""
    return next(page for page in GUIDE if page.path == DOCS / name)
