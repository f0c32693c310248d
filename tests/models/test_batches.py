"""Batch APIs on the wire: what we send, beside what the official SDKs send; what both read.

That the SDKs can read the server's answers shows that it speaks the providers' format.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from contextecho.contexts import Request
from contextecho.models import (
    Answer,
    BatchService,
    Failed,
    FailureKind,
    Oddity,
    Result,
    Standing,
    batch_providers,
    find_provider,
    open_batches,
    open_model,
)
from servers.batching import BatchingProvider, Fate
from servers.fake import Fault

Ask = Callable[..., Request]
ANTHROPIC, OPENAI, MISTRAL = (
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-4.1",
    "mistral/mistral-large-latest",
)
TARGETS = (ANTHROPIC, OPENAI, MISTRAL)


class Opened:
    """A model of a provider, and its batches."""

    def __init__(self, target: str, url: str) -> None:
        self.model = open_model(target, base_url=url)
        found = open_batches(self.model)
        assert found is not None
        self.service: BatchService = found

    async def __aenter__(self) -> BatchService:
        return self.service

    async def __aexit__(self, *_: object) -> None:
        await self.model.close()


async def came_back(service: BatchService, standing: Standing) -> list[Any]:
    return [result async for result in service.results(standing)]


async def test_anthropic_s_sdk_sends_the_same_and_reads_the_answers(ask: Ask, keys: str) -> None:
    anthropic = pytest.importorskip("anthropic")
    requests = [ask(ANTHROPIC, text) for text in ("One?", "Two?")]
    async with BatchingProvider(fates=[None, Fate.INVALID] * 2, looks=2) as provider:
        async with Opened(ANTHROPIC, provider.url) as service:
            ours = await service.submit("a-marker", requests)
        assert isinstance(ours, Standing)
        client = anthropic.AsyncAnthropic(base_url=provider.url.removesuffix("/v1"), api_key=keys)
        wanted = [
            {"custom_id": request.key, "params": sent["params"]}
            for request, sent in zip(requests, provider.submissions[0]["requests"], strict=True)
        ]
        theirs = await client.messages.batches.create(requests=wanted)
        assert provider.submissions[0] == provider.submissions[1]
        assert provider.headers[0]["x-api-key"] == keys
        assert theirs.request_counts.processing == 2
        assert theirs.processing_status == "in_progress"
        listed = [batch.id async for batch in await client.messages.batches.list(limit=1)]
        assert listed == [theirs.id, ours.id]
        assert (await client.messages.batches.retrieve(ours.id)).processing_status == "ended"
        lines = await client.messages.batches.results(ours.id)
        results = {line.custom_id: line.result async for line in lines}
        await client.close()
    assert set(results) == {request.key for request in requests}
    good, bad = sorted(results.values(), key=lambda result: result.type, reverse=True)
    assert (good.type, good.message.content[0].text) == ("succeeded", "A plain answer.")
    assert (bad.type, bad.error.error.type) == ("errored", "invalid_request_error")


async def test_openai_s_sdk_sends_the_same_and_reads_the_answers(ask: Ask, keys: str) -> None:
    openai = pytest.importorskip("openai")
    requests = [ask(OPENAI, text) for text in ("One?", "Two?")]
    async with BatchingProvider(fates=[None, Fate.INVALID]) as provider:
        async with Opened(OPENAI, provider.url) as service:
            ours = await service.submit("a-marker", requests)
        assert isinstance(ours, Standing)
        (data,) = provider.files.values()
        client = openai.AsyncOpenAI(base_url=provider.url, api_key=keys)
        file = await client.files.create(file=("a-marker.jsonl", data), purpose="batch")
        await client.batches.create(
            input_file_id=ours_file(provider),
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"contextecho": "a-marker"},
        )
        assert provider.submissions[0] == provider.submissions[1]
        assert provider.uploads[0] == provider.uploads[1]
        assert file.bytes == len(data)
        batch = await client.batches.retrieve(ours.id)
        assert (batch.status, batch.metadata) == ("completed", {"contextecho": "a-marker"})
        assert (batch.request_counts.completed, batch.request_counts.failed) == (1, 1)
        good = json.loads((await client.files.content(batch.output_file_id)).text)
        bad = json.loads((await client.files.content(batch.error_file_id)).text)
        listed = [batch.id async for batch in client.batches.list(limit=1)]
        assert (len(listed), listed[-1]) == (2, ours.id)
        await client.close()
    completion = openai.types.chat.ChatCompletion.model_validate(good["response"]["body"])
    assert completion.choices[0].message.content == "A plain answer."
    assert bad["response"]["status_code"] == 400
    assert {good["custom_id"], bad["custom_id"]} == {request.key for request in requests}


def ours_file(provider: BatchingProvider) -> str:
    name: str = provider.submissions[0]["input_file_id"]
    return name


async def test_a_line_is_what_openai_s_guide_shows(ask: Ask, keys: str) -> None:
    request = ask(OPENAI)
    async with BatchingProvider() as provider, Opened(OPENAI, provider.url) as service:
        await service.submit("m", [request])
        (data,) = provider.files.values()
        await open_and_ask(OPENAI, provider.url, request)
    line = json.loads(data)
    assert {name: line[name] for name in ("custom_id", "method", "url")} == {
        "custom_id": request.key,
        "method": "POST",
        "url": "/v1/chat/completions",
    }
    assert line["body"] == provider.bodies[0]  # what a live call sends
    assert provider.uploads == [{"purpose": "batch", "filename": "m.jsonl", "bytes": len(data)}]


async def open_and_ask(target: str, url: str, request: Request) -> None:
    async with open_model(target, base_url=url) as model:
        assert isinstance(await model.answer(request), Answer)


async def test_a_mistral_job_is_what_its_guide_shows(ask: Ask, keys: str) -> None:
    """docs.mistral.ai/studio-api/batch-processing; the client's batch.jobs.create."""
    request = ask(MISTRAL)
    async with BatchingProvider() as provider, Opened(MISTRAL, provider.url) as service:
        await service.submit("m", [request])
        ((name, data),) = provider.files.items()
        await open_and_ask(MISTRAL, provider.url, request)
    assert provider.submissions == [
        {
            "input_files": [name],
            "model": "mistral-large-latest",
            "endpoint": "/v1/chat/completions",
            "metadata": {"contextecho": "m"},
            "timeout_hours": 24,
        }
    ]
    assert json.loads(data) == {"custom_id": request.key, "body": provider.bodies[0]}


async def test_anthropic_s_items_are_the_bodies_of_live_calls(ask: Ask, keys: str) -> None:
    request = ask(ANTHROPIC)
    async with BatchingProvider() as provider, Opened(ANTHROPIC, provider.url) as service:
        await service.submit("m", [request])
        await open_and_ask(ANTHROPIC, provider.url, request)
    item = {"custom_id": request.key, "params": provider.bodies[0]}
    assert provider.submissions == [{"requests": [item]}]
    assert len(request.key) == 64  # the longest custom id that Anthropic takes


def compact(item: object) -> bytes:
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("target", TARGETS)
async def test_sizes_are_those_on_the_wire(ask: Ask, keys: str, target: str) -> None:
    requests = [ask(target, text) for text in ("One?", "Zwei? ü", "Three?" * 50)]
    async with BatchingProvider() as provider, Opened(target, provider.url) as service:
        await service.submit("m", requests)
        sizes = sum(map(service.size, requests))
        if target == ANTHROPIC:
            items = provider.submissions[0]["requests"]
            sent = sum(len(compact(item)) for item in items)
        else:
            (data,) = provider.files.values()
            sent = len(data)
    assert sent <= sizes <= sent + 40 * len(requests)


@pytest.mark.parametrize("target", TARGETS)
async def test_every_fate_is_read_as_what_it_is(ask: Ask, keys: str, target: str) -> None:
    fates = [None, Fate.INVALID, Fate.OVERLOADED, Fate.EXPIRED, Fate.CANCELLED, Fate.TIMED_OUT]
    requests = [ask(target, f"{number}?") for number in range(len(fates))]
    async with BatchingProvider(fates=fates) as provider, Opened(target, provider.url) as service:
        made = await service.submit("m", requests)
        assert isinstance(made, Standing)
        standing = await service.look(made.id)
        assert isinstance(standing, Standing)
        assert (standing.ended, standing.total, standing.done) == (True, 6, 6)
        results = {result.custom_id: result for result in await came_back(service, standing)}
    good, invalid, busy, expired, cancelled, late = (results[r.key] for r in requests)
    assert isinstance(good.reply, Answer)
    assert good.reply.text == "A plain answer."
    assert good.reply.usage is not None
    assert (good.reply.usage.output, good.billed) == (3, True)  # 15 characters, 4 a token
    failed = [result.reply for result in (invalid, busy, expired, cancelled, late)]
    assert [f.kind for f in failed if isinstance(f, Failed)] == [
        FailureKind.BAD_REQUEST,
        FailureKind.RATE_LIMIT,
        FailureKind.SERVER,
        FailureKind.SERVER,
        FailureKind.SERVER,
    ]
    assert (invalid.reply.status, busy.reply.status) == (400, 529)  # type: ignore[union-attr]
    assert "expired" in expired.reply.message  # type: ignore[union-attr]
    assert "was cancelled" in cancelled.reply.message  # type: ignore[union-attr]
    assert [r.billed for r in (invalid, busy, expired, cancelled, late)] == [
        True,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("target", TARGETS)
async def test_a_batch_is_found_among_many(ask: Ask, keys: str, target: str) -> None:
    async with BatchingProvider() as provider, Opened(target, provider.url) as service:
        for number in range(205):
            await service.submit(f"m{number}", [ask(target, f"{number}?")])
        found = await service.search("m3", 0.0)
        assert isinstance(found, list)
        names = [standing.id for standing in found]
        assert names == (
            list(provider.batches) if target == ANTHROPIC else [list(provider.batches)[3]]
        )
        late = provider.batches[list(provider.batches)[200]].created
        newer = await service.search("m3", late - 0.5)
        assert isinstance(newer, list)
        assert len(newer) == (5 if target == ANTHROPIC else 0)


@pytest.mark.parametrize("target", TARGETS)
async def test_keys_that_a_provider_echoes_are_blotted_out(
    ask: Ask, keys: str, target: str
) -> None:
    async with (
        BatchingProvider(
            submit_faults=[Fault.UNAUTHORIZED], text=f"Your key is {keys}."
        ) as provider,
        Opened(target, provider.url) as service,
    ):
        refused = await service.submit("m", [ask(target)])
        assert isinstance(refused, Failed)
        assert (refused.kind, keys in refused.message) == (FailureKind.AUTH, False)
        made = await service.submit("m", [ask(target)])
        assert isinstance(made, Standing)
        standing = await service.look(made.id)
        assert isinstance(standing, Standing)
        (result,) = await came_back(service, standing)
    assert isinstance(result, Result)
    assert result.reply.text == "Your key is [key]."


@pytest.mark.parametrize("target", TARGETS)
async def test_a_name_leads_nowhere_else(ask: Ask, keys: str, target: str) -> None:
    async with BatchingProvider() as provider, Opened(target, provider.url) as service:
        looked = await service.look("../../../log?x=")
    assert isinstance(looked, Failed)
    assert looked.kind is FailureKind.NOT_FOUND


@pytest.mark.parametrize("target", TARGETS)
async def test_results_that_break_off_say_so_last(ask: Ask, keys: str, target: str) -> None:
    requests = [ask(target, f"{number}?") for number in range(4)]
    async with (
        BatchingProvider(fates=[Fate.GARBAGE]) as provider,
        Opened(target, provider.url) as s,
    ):
        made = await s.submit("m", requests)
        assert isinstance(made, Standing)
        standing = await s.look(made.id)
        assert isinstance(standing, Standing)
        provider.cuts = [3]
        *before, last = await came_back(s, standing)
        whole = await came_back(s, standing)
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.SERVER
    assert sum(isinstance(result, Result) for result in before) == 3
    assert sum(isinstance(result, Result) for result in whole) == 4
    assert sum(isinstance(result, Oddity) for result in whole) == 1


def test_the_table_s_terms_are_those_of_the_providers() -> None:
    """As their documentation has them; megabytes are taken for a million bytes."""
    assert batch_providers() == ("anthropic", "mistral", "openai")
    terms = {name: find_provider(f"{name}/x").batch for name in batch_providers()}
    assert {name: (t.requests, t.bytes, t.hours, t.price) for name, t in terms.items() if t} == {
        "anthropic": (100_000, 256_000_000, 24, 0.5),
        "mistral": (100_000, 512_000_000, 24, 0.5),
        "openai": (50_000, 200_000_000, 24, 0.5),
    }


def test_targets_without_a_batch_api_have_none(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", keys)
    assert open_batches(open_model("groq/llama")) is None
    assert open_batches(open_model("openai/x", lookup=lambda _: None)) is None
