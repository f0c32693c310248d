"""The cache of rendered prefixes: each is rendered once, and few are kept."""

from __future__ import annotations

from contextecho.contexts import Context
from contextecho.models.prefixes import PrefixCache


def test_a_prefix_is_rendered_once_and_only_the_last_few_are_kept() -> None:
    rendered: list[str | None] = []

    def render(context: Context) -> bytes:
        rendered.append(context.system)
        return (context.system or "").encode()

    cache = PrefixCache(render, kept=2)
    a, b, c = (Context(system=name) for name in "abc")
    assert [cache.head(context) for context in (a, a, b, a, c, a)] == [b"a"] * 2 + [
        b"b",
        b"a",
        b"c",
        b"a",
    ]
    assert rendered == ["a", "b", "c"]  # `c` pushed out `b`, which was used longest ago
    cache.head(b)
    assert rendered == ["a", "b", "c", "b"]
