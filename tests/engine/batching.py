"""What the tests of batches share: collecting from a server, and what a store then holds."""

from __future__ import annotations

from typing import Any

from contextecho.engine import BatchPace, Collection, collect, collect_in_batches
from contextecho.models import open_batches, open_model
from contextecho.store import Store
from contextecho.studies import Plan
from servers.batching import BatchingProvider

PACE = BatchPace(first=0.01, longest=0.02, grace=0.0)
TARGETS = ("anthropic/claude-sonnet-4-5", "openai/gpt-4.1", "mistral/mistral-large-latest")


class Heard:
    """A progress that keeps what is said."""

    every = 60.0

    def __init__(self) -> None:
        self.said: list[str] = []

    def show(self, tally: Any) -> None: ...

    def say(self, text: str) -> None:
        self.said.append(text)

    def close(self, tally: Any) -> None: ...


async def gather(
    store: Store, plan: Plan, provider: BatchingProvider, terms: Any = None, **how: Any
) -> Collection:
    run = store.begin_run(plan, "s", {})
    (target,) = plan.targets
    async with open_model(target, base_url=provider.url) as model:
        service = open_batches(model)
        assert service is not None
        if terms is not None:
            service.terms = terms(service.terms)
        return await collect_in_batches(
            plan, store, run, {target: model}, {target: service}, **{"pace": PACE, **how}
        )


async def live(store: Store, plan: Plan, provider: BatchingProvider, limits: Any) -> Collection:
    run = store.begin_run(plan, "s", {})
    (target,) = plan.targets
    async with open_model(target, base_url=provider.url) as model:
        return await collect(plan, store, run, {target: model}, limits=limits)


def kept(store: Store, plan: Plan) -> dict[str, tuple[Any, ...]]:
    """What a store says of each request, without what depends on when it was asked."""
    run = store.begin_run(plan, "s", {})
    return {
        r.key: (type(r.reply), r.reply.text, r.reply.stop_reason, r.reply.served_model)
        + ((r.reply.usage.input, r.reply.usage.output) if r.reply.usage else ())
        for r in store.replies(run.id)
        if r.reply is not None
    }
