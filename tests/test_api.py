"""The Python face: what the command line cannot get wrong and a caller can."""

from __future__ import annotations

import pytest

from contextecho import plan, read_session
from contextecho.errors import UsageError
from contextecho.sessions import example_session


def test_a_misspelt_choice_is_named_with_the_known_ones() -> None:
    session = read_session(example_session())
    with pytest.raises(UsageError, match=r"no choice postions .*positions"):
        plan(session, target="simulated", postions="even:3")
