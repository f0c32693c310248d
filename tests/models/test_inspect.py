"""Targets through inspect_ai: what is asked, what comes back, and that nothing is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from contextecho.contexts import Context, Decoding, Message, Request
from contextecho.errors import ProviderError, UsageError
from contextecho.models import (
    Answer,
    Failed,
    FailureKind,
    Refusal,
    Truncated,
    Usage,
    find_price,
    open_model,
    same_model,
    serving_of,
    wire_body,
)
from servers.fake import FakeProvider, Fault

inspect_model = pytest.importorskip("inspect_ai.model")

from contextecho.models.inspecting import failure_of, messages_of, reply_of  # noqa: E402

Ask = Callable[..., Request]
CHAT = "inspect/openai-api/fake/one"
CLAUDE = "inspect/anthropic/claude-sonnet-4-5"
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def fake_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("FAKE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)


def plain(target: str) -> Request:
    return Request(
        target=target,
        context=Context(
            system="Be careful.",
            messages=(
                Message(role="user", text="List the files."),
                Message(role="assistant", text="a.py"),
            ),
        ),
        ask=(Message(role="user", text="Who are you?"),),
        decoding=Decoding(max_output_tokens=600, temperature=0.7, top_p=0.9, seed=42),
    )


def base_of(target: str, provider: FakeProvider) -> str:
    return provider.url.removesuffix("/v1") if target == CLAUDE else provider.url


async def test_chat_completions_are_asked_as_we_ask_them() -> None:
    async with FakeProvider() as provider:
        for target in (CHAT, "mine/one"):
            async with open_model(target, base_url=provider.url) as model:
                reply = await model.answer(plain(target))
                assert isinstance(reply, Answer)
    theirs, ours = provider.bodies
    assert theirs == ours | {"model": "one"}
    assert reply.text == "A plain answer."


async def test_claude_is_marked_at_system_and_prefix_and_nowhere_else() -> None:
    async with (
        FakeProvider() as provider,
        open_model(CLAUDE, base_url=base_of(CLAUDE, provider)) as model,
    ):
        await model.answer(plain(CLAUDE))
    body = provider.bodies[0]
    assert body["messages"][-2]["content"][-1]["cache_control"]["type"] == "ephemeral"
    assert "cache_control" not in str(body["messages"][-1])
    assert "cache_control" not in body
    assert body["messages"][-2]["content"][-1]["text"] == "a.py"
    assert "temperature" not in body  # the API version that inspect_ai asks has none


async def test_a_history_with_tools_is_carried(ask: Ask) -> None:
    async with FakeProvider() as provider, open_model(CHAT, base_url=provider.url) as model:
        reply = await model.answer(ask(CHAT))
    assert isinstance(reply, Answer), reply
    body = provider.bodies[0]
    assert "tools" not in body  # nobody may call one
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    calls = body["messages"][2]["tool_calls"]
    assert msgspec.json.decode(calls[0]["function"]["arguments"]) == {"command": "ls", "n": 1}


def test_a_failed_tool_says_so(ask: Ask) -> None:
    *_, good, bad, question = messages_of(ask(CHAT))
    assert (good.function, good.error) == ("Bash", None)
    assert bad.error.message == "no such shell"
    assert question.text == "Are we friends?"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.RATE_LIMIT, FailureKind.RATE_LIMIT),
        (Fault.SERVER_ERROR, FailureKind.SERVER),
        (Fault.UNAUTHORIZED, FailureKind.AUTH),
        (Fault.NO_CREDIT, FailureKind.AUTH),
        (Fault.NOT_FOUND, FailureKind.NOT_FOUND),
        (Fault.BAD_REQUEST, FailureKind.BAD_REQUEST),
        (Fault.EMPTY, FailureKind.EMPTY),
        (Fault.SLOW, FailureKind.SERVER),
        (Fault.CUT, FailureKind.SERVER),
    ],
)
async def test_a_failure_is_of_its_kind_and_not_asked_again(
    fault: Fault, kind: FailureKind
) -> None:
    async with (
        FakeProvider(always=fault, retry_after="17") as provider,
        open_model(CHAT, base_url=provider.url, timeout=5.0) as model,
    ):
        failed = await model.answer(plain(CHAT))
        assert provider.calls == 1
    assert isinstance(failed, Failed)
    assert failed.kind is kind, failed
    assert KEY not in repr(failed)
    assert failed.retry_after == (17.0 if fault in (Fault.RATE_LIMIT, Fault.NO_CREDIT) else None)


def output(stop: str, text: str = "Yes.", **settings: object):
    return inspect_model.ModelOutput.from_content("m-1", text, stop_reason=stop, **settings)


def test_each_stop_reason_has_its_outcome() -> None:
    for stop, kind in (
        ("stop", Answer),
        ("unknown", Answer),
        ("max_tokens", Truncated),
        ("model_length", Truncated),
        ("content_filter", Refusal),
    ):
        reply = reply_of(output(stop), 1.5)
        assert type(reply) is kind
        assert (reply.text, reply.stop_reason, reply.served_model) == ("Yes.", stop, "m-1")
        assert reply.seconds == 1.5
    assert isinstance(reply_of(output("stop", "", error="It was blocked."), 0.0), Refusal)
    called = reply_of(output("tool_calls", ""), 0.0)
    assert isinstance(called, Failed)
    assert "called a tool" in called.message


def test_cached_tokens_are_input_too() -> None:
    used = inspect_model.ModelUsage(
        input_tokens=50,
        output_tokens=7,
        total_tokens=100_305,
        input_tokens_cache_read=100_000,
        input_tokens_cache_write=248,
        reasoning_tokens=3,
    )
    said = output("stop")
    said.usage = used
    assert reply_of(said, 0.0).usage == Usage(
        input=100_298, cached=100_000, cache_write=248, output=7, reasoning=3
    )


def test_a_clouds_error_is_read_by_its_status() -> None:
    class ClientError(Exception):  # as botocore has it
        response = {"ResponseMetadata": {"HTTPStatusCode": 429}}  # noqa: RUF012

    failed = failure_of(ClientError("ThrottlingException: slow down"))
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.RATE_LIMIT
    assert "slow down" in failed.message


async def test_no_call_is_kept_in_memory() -> None:
    from inspect_ai.log._transcript import transcript

    before = len(transcript().events)
    async with FakeProvider() as provider, open_model(CHAT, base_url=provider.url) as model:
        for _ in range(3):
            await model.answer(plain(CHAT))
        await asyncio.gather(*(model.answer(plain(CHAT)) for _ in range(3)))
    assert provider.answered == 6
    assert len(transcript().events) == before


def test_what_inspect_ai_does_not_know_is_one_line() -> None:
    with pytest.raises(ProviderError, match="inspect_ai cannot open 'nobody/x'"):
        open_model("inspect/nobody/x")


def test_a_target_through_inspect_is_the_same_model_at_the_same_price() -> None:
    assert same_model("inspect/openai/gpt-4.1", "openai/gpt-4.1")
    assert find_price("inspect/openai/gpt-4.1") == find_price("openai/gpt-4.1") is not None
    assert "may merge messages" in serving_of("inspect/openai/gpt-4.1")
    with pytest.raises(UsageError, match="through inspect_ai"):
        wire_body(plain(CHAT))
