"""Every block of commands with their output is run again: the output must be what is shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

import pytest

from docs.pages import GUIDE, Page, Run

WITH_TRANSCRIPTS = [p for p in GUIDE if any(b.language == "console" for b in p.blocks)]


def transcripts(page: Page) -> Iterator[tuple[str, str]]:
    """(command line, output shown) of each command in the page's console blocks, in order."""
    for block in page.blocks:
        if block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, output = part.partition("\n")
                yield line, output


def agrees(shown: str, real: str) -> bool:
    """Whether `real` is what is shown, where `...` stands for anything, lines included."""
    parts = [re.escape(part) for part in shown.rstrip("\n").split("...")]
    return re.fullmatch(".*".join(parts), real.rstrip("\n"), flags=re.DOTALL) is not None


def test_there_are_transcripts_to_check():
    assert {page.name for page in WITH_TRANSCRIPTS} >= {"docs/index.md", "docs/reading-results.md"}


@pytest.mark.parametrize("page", WITH_TRANSCRIPTS, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_the_program_prints(
    page: Page, run: Run, lay_out: Callable[[Page], None]
):
    lay_out(page)
    for line, shown in transcripts(page):
        program, *arguments = shlex.split(line)
        assert program == "contextecho"
        real = run(*arguments)
        assert agrees(shown, real), f"$ {line}\n{real}"


def test_a_number_that_is_not_printed_would_be_noticed():
    assert agrees("a = 0.62\n...\nend", "a = 0.62\nmore\nend\n")
    assert not agrees("a = 0.63\n...", "a = 0.62\nmore\n")
