"""What is sent: our bytes against what the official SDKs send for the same call."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from contextecho.contexts import Context, Decoding, Message, Request
from contextecho.models import Answer, open_model
from servers.fake import FakeProvider

Ask = Callable[..., Request]


async def sent(request: Request) -> tuple[dict, FakeProvider]:
    async with (
        FakeProvider() as provider,
        open_model(request.target, base_url=provider.url) as model,
    ):
        reply = await model.answer(request)
    assert provider.broken_rules == []
    assert isinstance(reply, Answer)
    return provider.bodies[0], provider


async def test_openai_body_equals_the_official_sdks(ask: Ask, keys: str) -> None:
    openai = pytest.importorskip("openai")
    ours, provider = await sent(ask("openai/gpt-4.1"))
    async with FakeProvider() as peer:
        client = openai.AsyncOpenAI(base_url=peer.url, api_key=keys)
        await client.chat.completions.create(
            model="gpt-4.1",
            messages=[
                {"role": "system", "content": "You are a careful assistant."},
                {"role": "user", "content": "List the files, please."},
                {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [
                        {
                            "id": "toolu_01",
                            "type": "function",
                            "function": {"name": "Bash", "arguments": '{"command":"ls","n":1}'},
                        },
                        {
                            "id": "toolu_02",
                            "type": "function",
                            "function": {"name": "Bash", "arguments": '{"command":"pwd"}'},
                        },
                    ],
                },
                {"role": "tool", "tool_call_id": "toolu_01", "content": "a.py\nb.py"},
                {"role": "tool", "tool_call_id": "toolu_02", "content": "no such shell"},
                {"role": "user", "content": "Are we friends?"},
            ],
            tools=[
                {
                    "type": "function",
                    "function": {
                        "name": "Bash",
                        "description": "Runs a command.",
                        "parameters": {
                            "type": "object",
                            "properties": {"command": {"type": "string"}},
                        },
                    },
                }
            ],
            tool_choice="none",
            max_completion_tokens=600,
            temperature=0.7,
            top_p=0.9,
            seed=42,
            prompt_cache_key=ours["prompt_cache_key"],
        )
        await client.close()
    assert ours == peer.bodies[0]
    assert provider.headers[0]["authorization"] == peer.headers[0]["authorization"]


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
async def test_anthropic_body_equals_the_official_sdks(ask: Ask, keys: str) -> None:
    anthropic = pytest.importorskip("anthropic")
    mark = {"type": "ephemeral"}
    ours, provider = await sent(ask("anthropic/claude-sonnet-4-5"))
    async with FakeProvider() as peer:
        client = anthropic.AsyncAnthropic(base_url=peer.url.removesuffix("/v1"), api_key=keys)
        await client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=600,
            system=[
                {"type": "text", "text": "You are a careful assistant.", "cache_control": mark}
            ],
            tools=[
                {
                    "name": "Bash",
                    "description": "Runs a command.",
                    "input_schema": {
                        "type": "object",
                        "properties": {"command": {"type": "string"}},
                    },
                }
            ],
            tool_choice={"type": "none"},
            messages=[
                {"role": "user", "content": [{"type": "text", "text": "List the files, please."}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "I look."},
                        {
                            "type": "tool_use",
                            "id": "toolu_01",
                            "name": "Bash",
                            "input": {"command": "ls", "n": 1},
                        },
                        {
                            "type": "tool_use",
                            "id": "toolu_02",
                            "name": "Bash",
                            "input": {"command": "pwd"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_01",
                            "content": "a.py\nb.py",
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_02",
                            "content": "no such shell",
                            "is_error": True,
                            "cache_control": mark,
                        },
                        {"type": "text", "text": "Are we friends?"},
                    ],
                },
            ],
            extra_body={"temperature": 0.7, "top_p": 0.9},
        )
        await client.close()
    assert ours == peer.bodies[0]
    # The SDK has moved on to version 2026-10-21, which has no sampling parameters any more.
    assert provider.headers[0]["anthropic-version"] == "2023-06-01"
    assert provider.headers[0]["x-api-key"] == keys


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"])
async def test_questions_on_one_prefix_share_its_bytes(ask: Ask, keys: str, target: str) -> None:
    async with FakeProvider() as provider, open_model(target, base_url=provider.url) as model:
        for text in ("One?", "Two?"):
            await model.answer(ask(target, text))
    first, second = provider.raw
    assert first.replace(b"One?", b"Two?") == second
    head = first.index(b"One?")
    assert first[:head] == second[:head]
    assert b"no such shell" in first[:head]


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"])
async def test_second_question_reads_the_prefix_from_the_cache(
    ask: Ask, keys: str, target: str
) -> None:
    async with FakeProvider() as provider, open_model(target, base_url=provider.url) as model:
        first, second = [await model.answer(ask(target, text)) for text in ("One?", "Two?")]
    assert first.usage is not None
    assert second.usage is not None
    assert first.usage.cached == 0
    assert second.usage.cached is not None
    assert 0 < second.usage.cached < second.usage.input
    billed = first.usage.input + second.usage.input
    assert billed == provider.billed_input


async def test_a_context_without_tools_sends_no_tool_fields(keys: str) -> None:
    request = Request(
        target="openai/gpt-4.1",
        context=Context(),
        ask=(Message(role="user", text="Hello?"),),
        decoding=Decoding(max_output_tokens=5),
    )
    body, _ = await sent(request)
    del body["prompt_cache_key"]
    assert body == {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "Hello?"}],
        "max_completion_tokens": 5,
    }


VERDICT = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "level": {"type": "integer", "enum": [0, 1]}},
    "required": ["why", "level"],
    "additionalProperties": False,
}


def judged(target: str, schema: dict | None = VERDICT) -> Request:
    return Request(
        target=target,
        context=Context(system="Judge."),
        ask=(Message(role="user", text="A reply."),),
        decoding=Decoding(max_output_tokens=50),
        schema=schema,
    )


async def test_openai_is_sent_the_answers_schema_as_its_sdk_sends_it(keys: str) -> None:
    openai = pytest.importorskip("openai")
    ours, _ = await sent(judged("openai/gpt-4.1"))
    async with FakeProvider() as peer:
        client = openai.AsyncOpenAI(base_url=peer.url, api_key=keys)
        await client.chat.completions.create(
            model="gpt-4.1",
            messages=[
                {"role": "system", "content": "Judge."},
                {"role": "user", "content": "A reply."},
            ],
            max_completion_tokens=50,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": VERDICT},
            },
            prompt_cache_key=ours["prompt_cache_key"],
        )
        await client.close()
    assert ours == peer.bodies[0]


async def test_anthropic_is_sent_the_answers_schema_as_its_sdk_sends_it(keys: str) -> None:
    anthropic = pytest.importorskip("anthropic")
    ours, _ = await sent(judged("anthropic/claude-sonnet-4-6"))
    mark = {"type": "ephemeral"}
    async with FakeProvider() as peer:
        client = anthropic.AsyncAnthropic(base_url=peer.url.removesuffix("/v1"), api_key=keys)
        await client.messages.create(
            model="claude-sonnet-4-6",
            max_tokens=50,
            system=[{"type": "text", "text": "Judge.", "cache_control": mark}],
            messages=[{"role": "user", "content": [{"type": "text", "text": "A reply."}]}],
            output_config={"format": {"type": "json_schema", "schema": VERDICT}},
        )
        await client.close()
    assert ours == peer.bodies[0]


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "anthropic/claude-sonnet-4-6"])
async def test_a_schemas_keys_are_sent_in_their_order(keys: str, target: str) -> None:
    async with FakeProvider() as provider, open_model(target, base_url=provider.url) as model:
        await model.answer(judged(target))
    raw = provider.raw[0]
    assert raw.index(b'"why"') < raw.index(b'"level"')  # not the order of the alphabet


@pytest.mark.parametrize(
    "target",
    ["openai/gpt-4-turbo", "openai/gpt-4o-2024-05-13", "anthropic/claude-opus-4-1", "mine/llama"],
)
async def test_a_model_that_holds_to_no_schema_is_sent_none(keys: str, target: str) -> None:
    with_schema, _ = await sent(judged(target))
    without, _ = await sent(judged(target, None))
    assert with_schema == without


async def test_reasoning_models_are_sent_no_sampling_parameters(ask: Ask, keys: str) -> None:
    body, _ = await sent(ask("openai/gpt-5-mini"))
    assert not {"temperature", "top_p", "max_tokens"} & body.keys()
    assert body["max_completion_tokens"] == 600
    assert body["messages"][0]["role"] == "developer"


async def test_mistral_gets_its_own_seed_its_call_ids_and_a_bridge(ask: Ask, keys: str) -> None:
    body, _ = await sent(ask("mistral/mistral-small-latest"))
    assert body["random_seed"] == 42
    assert "seed" not in body
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    ids = {call["id"] for call in body["messages"][2]["tool_calls"]}
    assert ids == {message["tool_call_id"] for message in body["messages"][3:5]}
    assert all(len(call_id) == 9 and call_id.isalnum() for call_id in ids)


async def test_anthropic_questions_after_an_assistant_turn_open_a_new_turn(keys: str) -> None:
    request = Request(
        target="anthropic/claude-sonnet-4-5",
        context=Context(
            messages=(
                Message(role="user", text="a"),
                Message(role="user", text="b"),
                Message(role="assistant", text="c"),
            )
        ),
        ask=(
            Message(role="user", text="remember"),
            Message(role="assistant", text="Understood."),
            Message(role="user", text="now?"),
        ),
        decoding=Decoding(max_output_tokens=5),
    )
    body, _ = await sent(request)
    shape = [
        (turn["role"], [block["text"] for block in turn["content"]]) for turn in body["messages"]
    ]
    assert shape == [
        ("user", ["a", "b"]),
        ("assistant", ["c"]),
        ("user", ["remember"]),
        ("assistant", ["Understood."]),
        ("user", ["now?"]),
    ]
    assert body["messages"][1]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert json.dumps(body).count("cache_control") == 1
