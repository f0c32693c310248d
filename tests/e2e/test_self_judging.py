"""A target never judges itself unawares, under whatever name."""

from __future__ import annotations

import pytest

from e2e.ledger import FILE
from e2e.terminal import Terminal
from servers.serving import serving

VERDICT = '{"reason": "plain", "score": 2}'


@pytest.mark.parametrize(
    "judge",
    ["openai/gpt-4.1", "openai/gpt-4.1-2025-04-14", "openrouter/openai/gpt-4.1"],
)
def test_the_same_model_is_refused_before_anything_is_sent(
    terminal: Terminal, chat: str, judge: str
) -> None:
    words = ("--target", "openai/gpt-4.1", "--judge", judge, "--positions", "last", "--n", "1")
    planned = terminal.run("plan", chat, *words)
    assert (planned.code, planned.out) == (2, "")
    with serving(text=VERDICT) as provider:
        reach = ("--base-url", provider.url, "--judge-base-url", provider.url)
        words = ("--target", "openai/gpt-4.1", "--judge", judge, *reach, "--quiet")
        done = terminal.run("probe", chat, *words, "--positions", "last", "--n", "1")
        assert provider.calls == 0
    assert (done.code, done.out) == (2, "")
    (line,) = done.errors
    assert planned.errors == [line]
    assert "openai/gpt-4.1 would judge itself" in line
    assert "--allow-self-judging" in line
    assert not (terminal.folder / FILE).exists() or terminal.run("report").code == 2


def test_the_plan_that_allows_it_names_the_probe_that_does(terminal: Terminal, chat: str) -> None:
    words = ("--target", "openai/gpt-4.1", "--judge", "openai/gpt-4.1", "--allow-self-judging")
    planned = terminal.run("plan", chat, *words, "--positions", "last")
    assert planned.code == 0
    assert planned.next.endswith(" --allow-self-judging --positions last")


def test_when_it_is_asked_for_it_is_marked(terminal: Terminal, chat: str) -> None:
    with serving(text=VERDICT) as provider:
        words = ("--target", "openai/gpt-4.1", "--judge", "openai/gpt-4.1", "--quiet", "--json")
        axes = ("--positions", "last", "--n", "1", "--arms", "control,session")
        done = terminal.run(
            "probe", chat, *words, *axes, "--base-url", provider.url, "--allow-self-judging"
        )
    assert done.code == 0, done.err
    assert any("self-judged, not independent" in note for note in done.json["notes"])
