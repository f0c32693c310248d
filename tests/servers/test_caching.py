"""The cache simulator, over the wire: each provider's rules, and its usage fields in our terms."""

from __future__ import annotations

import asyncio

import pytest

from contextecho.contexts import Context, Decoding, Message, Request
from contextecho.models import Usage, find_provider, open_model
from servers.caching import HOUR, POLICIES, CachingServer, Simulator

# 39,000 bytes, or 9,750 tokens and those of the words around it.
PREFIX = Context(
    system="Be careful.",
    messages=(
        Message(role="user", text="a long story " * 3000),
        Message(role="assistant", text="Understood."),
    ),
)
SHORT = Context(system="Be careful.", messages=(Message(role="assistant", text="Yes."),))
TARGETS = {
    "none": "nobody/x",
    "openai": "openai/gpt-4.1",
    "openai-5.6": "openai/gpt-5.6",
    "anthropic": "anthropic/claude-sonnet-4-6",
    "google": "google/gemini-2.5-pro",
    "deepseek": "deepseek/deepseek-flash",
}


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def ask(name: str, text: str, context: Context = PREFIX) -> Request:
    return Request(
        target=TARGETS[name],
        context=context,
        ask=(Message(role="user", text=text),),
        decoding=Decoding(max_output_tokens=10),
    )


async def usages(
    name: str,
    texts: list[str],
    clock: Clock | None = None,
    waits: dict[int, float] | None = None,
    context: Context = PREFIX,
    **settings: str,
) -> list[Usage]:
    """What the calls used, one after the other; before call n the clock moves by `waits[n]`."""
    clock = clock or Clock()
    simulator = Simulator(POLICIES[name], clock=clock)
    used = []
    async with (
        CachingServer(simulator) as server,
        open_model(TARGETS[name], base_url=server.url, **settings) as model,
    ):
        for number, text in enumerate(texts):
            clock.now += (waits or {}).get(number, 0.0)
            reply = await model.answer(ask(name, text, context))
            assert reply.usage is not None
            used.append(reply.usage)
    assert [u.input for u in used] == [visit.tokens for visit in simulator.visits]
    return used


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, "a-test-key")


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_simulator_does_is_what_the_table_says(name: str) -> None:
    """Where the table says nothing, because nothing is documented, the simulator has its own."""
    policy, target = POLICIES[name], TARGETS[name]
    quirks = find_provider(target).quirks_for(target.partition("/")[2])
    said = {"least": quirks.cache_least, "step": quirks.cache_step}
    assert {k: v for k, v in said.items() if v is not None} == {
        k: getattr(policy, k) for k, v in said.items() if v is not None
    }
    assert quirks.cache_life is None or quirks.cache_life <= policy.life
    assert quirks.cache_calls == (2 if policy.how == "units" else 1)
    assert (quirks.cache_marks is not None) == (policy.how == "marks")


async def test_nothing_is_cached_where_there_is_no_cache() -> None:
    first, second = await usages("none", ["One?", "One?"])
    assert first == second
    assert (first.cached, first.cache_write) == (None, None)


@pytest.mark.parametrize("name", ["openai", "google"])
async def test_an_implicit_cache_reads_whole_steps_of_what_is_the_same(name: str) -> None:
    first, second = await usages(name, ["One?", "Two?"])
    step = POLICIES[name].step
    assert first.cached == 0
    assert second.cached is not None
    assert second.cached % step == 0
    assert 0 < second.input - second.cached < step + 20  # less than a step, and the question


@pytest.mark.parametrize("name", ["openai-5.6", "anthropic"])
async def test_a_marked_cache_writes_the_prefix_once_and_reads_just_that(name: str) -> None:
    first, second, third = await usages(name, ["One?", "A longer question?", "Three?"])
    assert first.cached == 0
    assert first.cache_write is not None
    assert 9_750 < first.cache_write < first.input < first.cache_write + 30
    assert second.cached == third.cached == first.cache_write
    assert second.cache_write == third.cache_write == 0


async def test_an_unmarked_request_to_gpt_5_6_reads_nothing() -> None:
    """Its cache is matched at marks alone, and by default one stands behind the question."""
    simulator = Simulator(POLICIES["openai-5.6"])
    for question in ("One?", "Two?"):
        story = {"role": "user", "content": "a long story " * 3000}
        body = {"model": "m", "messages": [story, {"role": "user", "content": question}]}
        await simulator.reply(body, anthropic=False)
    assert [visit.read for visit in simulator.visits] == [0, 0]
    assert all(visit.fresh == 0 for visit in simulator.visits)  # both were written whole


async def test_deepseek_reads_a_shared_prefix_from_the_third_request_on() -> None:
    first, second, third = await usages("deepseek", ["One?", "Two?", "Three?"])
    assert (first.cached, second.cached) == (0, 0)
    assert third.cached is not None
    assert 0 < third.input - third.cached < 64 + 20


@pytest.mark.parametrize("name", ["openai", "openai-5.6", "anthropic", "google"])
async def test_a_prefix_lives_on_from_its_last_use(name: str) -> None:
    life = POLICIES[name].life
    waits = {1: 0.9 * life, 2: 0.9 * life, 3: 1.1 * life}
    *used, last = await usages(name, ["One?", "Two?", "Three?", "Four?"], waits=waits)
    assert used[1].cached
    assert used[2].cached
    assert last.cached == 0


async def test_an_hour_at_anthropic_is_asked_for_and_billed_as_such() -> None:
    waits = {1: 0.9 * HOUR, 2: 1.1 * HOUR}
    first, second, third = await usages(
        "anthropic", ["One?", "Two?", "Three?"], waits=waits, cache_ttl="1h"
    )
    assert second.cached == first.cache_write
    assert third.cached == 0
    simulator = Simulator(POLICIES["anthropic"])
    for ttl, price in (("5m", 1.25), ("1h", 2.0)):
        simulator.visits.clear()
        part = {"type": "text", "text": f"{ttl} " * 4000, "cache_control": {"ttl": ttl}}
        body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
        await simulator.reply(body, anthropic=True)
        (visit,) = simulator.visits
        assert visit.fresh == 0
        assert simulator.cost == price * visit.tokens


@pytest.mark.parametrize("name", ["openai", "openai-5.6", "anthropic", "google", "deepseek"])
async def test_a_prefix_below_the_least_length_is_not_cached(name: str) -> None:
    used = await usages(name, ["1?", "2?", "3?"], context=SHORT)
    assert [(u.cached or 0, u.cache_write or 0) for u in used] == [(0, 0)] * 3


async def test_a_prefix_is_there_only_once_the_first_answer_begins() -> None:
    simulator = Simulator(POLICIES["anthropic"], latency=0.05)
    async with (
        CachingServer(simulator) as server,
        open_model(TARGETS["anthropic"], base_url=server.url) as model,
    ):
        texts = ("One?", "Two?")
        both = await asyncio.gather(*(model.answer(ask("anthropic", text)) for text in texts))
    assert [reply.usage.cached for reply in both] == [0, 0]
    assert all(reply.usage.cache_write > 9_750 for reply in both)


async def test_a_prefix_that_differs_in_its_first_word_is_another() -> None:
    simulator = Simulator(POLICIES["openai"])
    for start in "ab":
        body = {"model": "m", "messages": [{"role": "user", "content": start + "x" * 40_000}]}
        await simulator.reply(body, anthropic=False)
    assert [visit.read for visit in simulator.visits] == [0, 0]
