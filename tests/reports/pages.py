"""A page of ours, taken apart."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.meta: dict[str, str] = {}
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        found = dict(attrs)
        if tag == "meta" and "http-equiv" in found:
            self.meta[str(found["http-equiv"])] = str(found["content"])

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())
