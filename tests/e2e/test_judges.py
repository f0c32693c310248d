"""Several judges on one run, and judges that do not keep to the form."""

from __future__ import annotations

import pytest

from e2e.terminal import Terminal
from servers.serving import serving

AXES = ("--positions", "even:2", "--n", "1", "--arms", "control,session", "--quiet")


def test_a_run_is_reported_with_the_judge_that_was_just_named(
    terminal: Terminal, chat: str
) -> None:
    for judge in ("simulated/judge", "simulated/judge,error=1"):
        words = ("--target", "simulated", "--judge", judge, "-o", "report.json", "--json")
        done = terminal.run("probe", chat, *words, *AXES)
        assert done.json["judge"]["judge"] == judge
        assert judge in (terminal.folder / "report.json").read_text()


def test_verdicts_that_nobody_can_read_are_no_success(terminal: Terminal, chat: str) -> None:
    with serving(text="I think 2 out of 3.") as provider:
        words = ("--target", "simulated", "--judge", "openai/x", "--judge-base-url", provider.url)
        done = terminal.run("probe", chat, *words, *AXES)
    assert done.code == 4
    (line,) = done.errors
    assert "no verdict of openai/x could be read" in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget", ""), "not a budget"),
        (("--judge", ""), "'' is not a target"),
        (("-j", "a/b", "--judge", "c/d"), "one --judge a call"),
        (("--replicates", "3000000"), "a plan holds at most 5,000,000"),
        (("--target", "mine/\x07"), "is not a target"),
        (("--timeout", "nan"), "nan is no number of seconds"),
        (("-o", "report.pdf"), "does not say which format"),
        (("-o", "nowhere/report.html"), "cannot write the report there"),
    ],
)
def test_what_would_fail_in_the_end_is_refused_before_anything_is_asked(
    terminal: Terminal, chat: str, words: tuple[str, ...], said: str
) -> None:
    with serving(text="Yes.") as provider:
        reach = ("--target", "openai/x", "--base-url", provider.url)
        done = terminal.run("probe", chat, *reach, *AXES, *words)
        assert provider.calls == 0
    assert (done.code, done.out) == (2, "")
    (line,) = done.errors
    assert said in line


def test_a_finished_run_asks_nothing_and_no_is_an_answer(terminal: Terminal, chat: str) -> None:
    with serving(text="Yes.") as provider:
        reach = ("--target", "openai/x", "--base-url", provider.url, *AXES)
        declined = terminal.type("probe", chat, *reach, answer="n")
        assert (declined.code, provider.calls) == (0, 0)
        assert "nothing was sent" in declined.out
        assert terminal.run("probe", chat, *reach).code == 0
        again = terminal.type("probe", chat, *reach, answer="n")
    assert again.code == 0
    assert "Go on?" not in again.out
