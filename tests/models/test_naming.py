"""What a target's name alone tells: whether it can be opened, and how it will be asked."""

from __future__ import annotations

import pytest

from contextecho.errors import UsageError
from contextecho.models import asking_notes, check_target, open_model, targets
from store.plans import make_plan


@pytest.mark.parametrize(
    "target",
    ["simulated/gap=5", "simulated/gap=x", "simulated/refusal=2", "simulated/pag=1", "nobody"],
)
def test_what_no_model_can_be_opened_for_is_refused_by_its_name(target: str) -> None:
    with pytest.raises(UsageError) as by_name:
        check_target(target)
    with pytest.raises(UsageError) as by_opening:
        open_model(target, simulated=make_plan())
    assert str(by_name.value) == str(by_opening.value)


@pytest.mark.parametrize("target", ["simulated/gap=0.5,seed=3", "mine/llama", "openai/gpt-4.1"])
def test_a_target_that_may_be_asked_passes(target: str) -> None:
    check_target(target)


def test_a_model_outside_the_table_is_said_to_be_asked_like_its_kin() -> None:
    (note,) = asking_notes("openai/gpt-99")
    assert "openai/gpt-99 is not in the table" in note


def test_a_quirk_that_changes_the_request_is_said() -> None:
    assert any("no temperature" in note for note in asking_notes("openai/o3"))


def test_neither_the_table_nor_this_machine_needs_that_word() -> None:
    known = [target.id for target in targets()]
    for target in (*known, "local", "simulated", "mine/llama"):
        assert not any("not in the table" in note for note in asking_notes(target))
