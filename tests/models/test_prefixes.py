"""The cache of rendered prefixes: each is rendered once, within a bound on their bytes."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from contextecho.contexts import Arm, Context
from contextecho.engine import Limits, collect
from contextecho.models import open_model
from contextecho.models.prefixes import PrefixCache
from contextecho.models.wire import WireModel
from contextecho.store import open_store
from servers.fake import FakeProvider
from store.plans import make_plan


class Head(NamedTuple):
    body: bytes


def test_a_prefix_is_rendered_once_and_only_the_last_few_are_kept() -> None:
    rendered: list[str | None] = []

    def render(context: Context) -> Head:
        rendered.append(context.system)
        return Head((context.system or "").encode())

    cache = PrefixCache(render, most_bytes=2)
    a, b, c = (Context(system=name) for name in "abc")
    assert [cache.head(context).body for context in (a, a, b, a, c, a)] == [
        *[b"a"] * 2,
        b"b",
        b"a",
        b"c",
        b"a",
    ]
    assert rendered == ["a", "b", "c"]  # `c` pushed out `b`, which was used longest ago
    cache.head(b)
    assert rendered == ["a", "b", "c", "b"]


def test_a_prefix_larger_than_the_room_is_kept_alone() -> None:
    rendered: list[str | None] = []

    def render(context: Context) -> Head:
        rendered.append(context.system)
        return Head(b"x" * 100)

    cache = PrefixCache(render, most_bytes=10)
    for name in "aabb":
        cache.head(Context(system=name))
    assert rendered == ["a", "b"]


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5"])
async def test_a_study_serialises_each_of_its_prefixes_once(
    target: str, monkeypatch: pytest.MonkeyPatch, keys: str, tmp_path
) -> None:
    """Also when more prefixes are begun at a time than calls: 36 of them, 64 calls."""
    rendered: list[str] = []
    model_type = type(open_model(target))
    render = model_type._render

    def counted(model: WireModel, context: Context) -> object:
        rendered.append(context.sha256)
        return render(model, context)

    monkeypatch.setattr(model_type, "_render", counted)
    arms = (Arm.CONTROL, Arm.SESSION, Arm.SESSION_ANCHOR)
    plan = make_plan(targets=(target,), positions=12, arms=arms, probes=6)
    limits = Limits(concurrency=64, most_concurrency=64)
    async with FakeProvider() as provider, open_model(target, base_url=provider.url) as model:
        with open_store(tmp_path) as store:
            run = store.begin_run(plan, "s", {})
            done = await collect(plan, store, run, {target: model}, limits=limits)
    assert done.done == provider.answered == 12 * 3 * 6
    assert sorted(rendered) == sorted(plan.contexts)
