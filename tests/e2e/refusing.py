"""What the tests of bad input share: the shape of a refusal, and the shortest possible probes.

Exit codes: 2 usage, 4 incomplete, 5 budget, 6 provider (docs: `contextecho --help`).
"""

from __future__ import annotations

from typing import Any

import pytest

from e2e.terminal import Done

SIMULATED = ("--target", "simulated")
SHORT = ("--positions", "even:2", "--n", "1", "--arms", "control,session")


def refused(done: Done, code: int, *said: str) -> None:
    """One line, the last one, says what is wrong, and the exit code is `code`."""
    assert done.code == code, done.err
    (line,) = done.errors
    assert done.err.splitlines()[-1] == line
    for words in said:
        assert words in line


def slowly(*values: object) -> Any:
    """A row of a table that only the slow tests go through: its kin is in the quick ones."""
    return pytest.param(*values, marks=pytest.mark.slow)
