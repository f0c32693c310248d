"""The Python face: what the command line cannot get wrong and a caller can."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from contextecho import plan, read_session
from contextecho.api import collect, prepare
from contextecho.contexts import EstimateCounter
from contextecho.errors import ProviderError, UsageError
from contextecho.sessions import example_session
from engine.models import ScriptedModel


def test_a_misspelt_choice_is_named_with_the_known_ones() -> None:
    session = read_session(example_session())
    with pytest.raises(UsageError, match=r"no choice postions .*positions"):
        plan(session, target="simulated", postions="even:3")


def test_a_plan_refuses_the_target_that_a_probe_would_refuse() -> None:
    session = read_session(example_session())
    with pytest.raises(UsageError, match=r"beyond 0 to 3"):
        plan(session, target="simulated/gap=5")


def test_a_plan_says_that_its_target_is_not_in_the_table() -> None:
    made = plan(read_session(example_session()), target="openai/gpt-99", positions="last")
    assert any("openai/gpt-99 is not in the table" in note for note in made.notes)


def test_without_the_embedded_model_a_plan_is_an_estimate_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(tmp_path))
    session = read_session(example_session())
    made = plan(session, target="local", positions="last")
    assert made.token_counter == EstimateCounter().name
    assert any("contextecho local install" in note for note in made.notes)
    with pytest.raises(ProviderError, match="not installed"), prepare(made):
        pass


@pytest.mark.skipif(find_spec("ray") is None, reason="no Ray here")
def test_an_open_model_does_not_travel() -> None:
    made = plan(read_session(example_session()), target="openai/gpt-4.1", positions="even:2")
    models = {"openai/gpt-4.1": ScriptedModel("openai/gpt-4.1")}
    with pytest.raises(UsageError, match=r"an open model cannot go to other machines"):
        collect(made, store="postgresql://me@127.0.0.1:9/drift", on="ray", models=models)
