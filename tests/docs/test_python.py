"""Python on the pages: all of it compiles, and that of the guide runs as it stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from docs.pages import GUIDE, PAGES, Page, Run

WITH_PYTHON = [p for p in GUIDE if any(b.language == "python" for b in p.blocks)]


@pytest.mark.parametrize(
    ("name", "text"),
    [(p.name, b.text) for p in PAGES for b in p.blocks if b.language == "python"],
)
def test_every_python_block_compiles(name: str, text: str):
    compile(text, name, "exec")


@pytest.fixture
def collected(run: Run) -> None:
    """A run in the default store, for the blocks that read one."""
    run(
        "probe", "session.jsonl", "-t", "simulated", "--positions", "even:3", "--n", "1",
        "--arms", "control,session", "--quiet",
    )  # fmt: skip


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_as_it_stands(page: Page, lay_out: Callable[[Page], None]):
    lay_out(page)
    for block in page.blocks:
        if block.language == "python":
            exec(compile(block.text, page.name, "exec"), {"__name__": page.name})
