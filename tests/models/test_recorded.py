"""Replaying a recording."""

from __future__ import annotations

from collections.abc import Callable

from contextecho.contexts import Request
from contextecho.models import Answer, Failed, FailureKind, open_model


async def test_a_recording_answers_its_own_requests_and_no_other(
    ask: Callable[..., Request],
) -> None:
    known, unknown = ask("openai/gpt-4.1", "One?"), ask("openai/gpt-4.1", "Two?")
    recording = {known.key: Answer(text="Yes.")}
    async with open_model("openai/gpt-4.1", lookup=recording.get) as model:
        assert await model.answer(known) == Answer(text="Yes.")
        miss = await model.answer(unknown)
    assert isinstance(miss, Failed)
    assert miss.kind is FailureKind.BAD_REQUEST
    assert not miss.retryable
    assert model.free
