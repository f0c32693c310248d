"""Pages in Debian's Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NEEDS_CHROMIUM = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="apt-get install chromium"),
]


class Visit:
    """One report opened in a page of its own, with everything it asked for and complained of."""

    def __init__(self, browser: Any, path: Path, **context: Any) -> None:
        self.page = browser.new_context(**context).new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())


def words_cut_off(page: Any) -> list[str]:
    """The words of figures that lie outside their figure."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("svg")].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll("text")].filter(text => {
                const box = text.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1
                    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
            }).map(text => text.textContent);
        })"""
    )
    return found


def overlapping_words(page: Any) -> list[list[str]]:
    """The pairs of words of a figure that lie on each other."""
    found: list[list[str]] = page.evaluate(
        """() => [...document.querySelectorAll("svg")].flatMap(svg => {
            const all = [...svg.querySelectorAll("text")].filter(t => t.textContent);
            const boxes = all.map(t => t.getBoundingClientRect());
            const found = [];
            for (let i = 0; i < all.length; i++) for (let j = i + 1; j < all.length; j++) {
                const [a, b] = [boxes[i], boxes[j]];
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (across > 1 && down > 3.5) found.push([all[i].textContent, all[j].textContent]);
            }
            return found;
        })"""
    )
    return found
