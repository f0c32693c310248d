"""How a target is served is said, and is part of what a reply answers."""

from __future__ import annotations

import msgspec
import pytest

from contextecho.contexts import Context, Decoding, Message, Request
from contextecho.models import asking_notes, local_status, serving_of

REQUEST = Request(
    target="a/b",
    context=Context(),
    ask=(Message(role="user", text="Who are you?"),),
    decoding=Decoding(max_output_tokens=10),
)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("openai/gpt-5", "accepts no temperature"),
        ("mistral/mistral-large-latest", "bridging assistant turn"),
    ],
)
def test_what_a_provider_refuses_is_said(target: str, says: str) -> None:
    assert says in serving_of(target)


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "mine/model", "simulated/gap=0.3"])
def test_a_target_that_is_asked_as_the_protocol_says_needs_no_word(target: str) -> None:
    assert serving_of(target) == ""


def test_a_reply_served_in_another_way_is_another_reply() -> None:
    other = msgspec.structs.replace(REQUEST, serving="with another weights file")
    assert other.key != REQUEST.key


@pytest.mark.local
@pytest.mark.skipif(not local_status().installed, reason="the embedded model is not installed")
def test_the_embedded_model_names_its_weights_and_what_is_done_to_its_output() -> None:
    serving = serving_of("local")
    assert "b179c9523d0e" in serving  # as in local_model.md, section 1
    assert "+3 on the logit" in serving


@pytest.mark.parametrize(
    ("target", "reasons"),
    [
        ("openai/gpt-5", True),
        ("openai/gpt-5-chat-latest", False),
        ("openai/o4-mini", True),
        ("openai/gpt-4.1", False),
        ("google/gemini-2.5-pro", True),
        ("google/gemini-2.5-flash-lite", False),
    ],
)
def test_a_plan_says_when_thoughts_use_up_the_reply(target: str, reasons: bool) -> None:
    assert any("thinks before it answers" in note for note in asking_notes(target)) is reasons
