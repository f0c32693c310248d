"""Keys that are missing, servers that fail, budgets that end: one clear line, nothing lost."""

from __future__ import annotations

import pytest

from e2e.ledger import query, settled_texts
from e2e.refusing import SHORT, SIMULATED, refused, slowly
from e2e.terminal import Terminal
from servers.fake import NOWHERE, Fault
from servers.serving import serving


def test_a_missing_key_names_the_variable_and_sends_nothing(terminal: Terminal, chat: str) -> None:
    done = terminal.run("probe", chat, "--target", "openai/x", *SHORT, "--quiet")
    refused(done, 6, "no key", "OPENAI_API_KEY")
    assert done.out == ""


def test_a_key_variable_that_is_not_set(terminal: Terminal, chat: str) -> None:
    words = ("--target", "openai/x", "--base-url", NOWHERE, "--key-env", "MY_KEY")
    refused(terminal.run("probe", chat, *words, *SHORT, "--quiet"), 6, "MY_KEY")


def test_the_embedded_model_without_its_weights(terminal: Terminal, chat: str) -> None:
    done = terminal.run("probe", chat, "--target", "local", *SHORT, "--quiet")
    refused(done, 6, "not installed", "install")


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (Fault.UNAUTHORIZED, 6, "HTTP 401"),
        (Fault.NOT_FOUND, 6, "HTTP 404"),
        (Fault.RATE_LIMIT, 6, "HTTP 429"),
        slowly(Fault.NO_CREDIT, 6, "HTTP 429"),
        (Fault.SERVER_ERROR, 6, "HTTP 500"),
        slowly(Fault.OVERLOADED, 6, "HTTP 529"),
        slowly(Fault.BAD_REQUEST, 6, "HTTP 400"),
        (Fault.HTML, 6, "an HTML page"),
        slowly(Fault.WRONG_JSON, 6, "something else than a chat completion"),
        slowly(Fault.ERROR_IN_200, 6, "upstream is busy"),
        slowly(Fault.REDIRECT, 6, "redirected"),
        slowly(Fault.CUT, 6, "the connection broke"),
        slowly(Fault.SLOW, 6, "no complete answer within 0.3 seconds"),
        (Fault.EMPTY, 4, "40 failed"),
        slowly(Fault.REASONING_ONLY, 4, "40 failed"),
    ],
)
def test_a_server_that_only_fails(kept: Terminal, fault: Fault, code: int, said: str) -> None:
    with serving(always=fault, limit=None) as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT)
        patience = ("--timeout", "0.3") if fault is Fault.SLOW else ()
        once = ("--attempts", "1", "--replicates", "2")
        done = kept.run("probe", "chat.jsonl", *words, *patience, *once)
    refused(done, code, said, "the same command continues")
    assert "40 of 80 requests answered" in done.errors[0]


def test_a_server_that_is_down(kept: Terminal) -> None:
    words = ("--target", "openai/x", "--base-url", NOWHERE, *SHORT, "--replicates", "2")
    done = kept.run("probe", "chat.jsonl", *words, "--attempts", "1", "--quiet")
    refused(done, 6, "cannot connect", "40 of 80 requests answered")


def test_refused_and_cut_replies_are_kept_and_never_scored(terminal: Terminal, chat: str) -> None:
    faults = [Fault.REFUSAL, Fault.LENGTH, Fault.EMPTY] * 5
    with serving(faults=faults, text="As an AI, I have no favourites.") as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, "--attempts", "1", "--json")
        done = terminal.run("probe", chat, *words, *SHORT, "--battery", "coding-self", "--quiet")
    refused(done, 4, "35 of 40 requests answered, 5 failed")
    sums = {"refused": 0, "truncated": 0, "empty": 0, "answered": 0, "planned": 0, "judged": 0}
    for denominator in done.json["denominators"]:
        sums = {name: total + denominator[name] for name, total in sums.items()}
    assert sums == {
        "refused": 5, "truncated": 5, "empty": 5, "answered": 25, "planned": 40, "judged": 0
    }  # fmt: skip


def test_a_rate_limit_now_and_then_is_waited_for(terminal: Terminal, chat: str) -> None:
    with serving(faults=[None, Fault.RATE_LIMIT, Fault.SERVER_ERROR]) as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, "--attempts", "3")
        done = terminal.run("probe", chat, *words, *SHORT, "--quiet")
        assert provider.calls == provider.answered + 2
    assert (done.code, done.errors) == (0, [])
    ((failed,),) = query(terminal.folder, "SELECT count(*) FROM attempt WHERE outcome = 'failed'")
    assert failed == 2


def test_a_judge_that_is_down_loses_no_reply(terminal: Terminal, chat: str) -> None:
    words = (*SIMULATED, "--judge", "other/judge", "--judge-base-url", NOWHERE, *SHORT)
    done = terminal.run("probe", chat, *words, "--attempts", "1", "--quiet")
    refused(done, 6, "the judge was given up", "cannot connect")
    assert len(settled_texts(terminal.folder)) == 40


# Budgets


@pytest.mark.parametrize(
    ("budget", "code", "said"),
    [
        ("0", 5, "a budget of 0 allows no call"),
        slowly("0usd", 5, "a budget of 0 allows no call"),
        ("10tok", 5, "too little for the first call"),
        ("5usd", 2, "the price of openai/x is not known"),
        slowly("-1usd", 2, "not a budget"),
    ],
)
def test_a_budget_that_allows_no_call(kept: Terminal, budget: str, code: int, said: str) -> None:
    with serving() as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT, "--replicates", "2")
        done = kept.run("probe", "chat.jsonl", *words, "--quiet", f"--budget={budget}")
        assert provider.calls == 0
    refused(done, code, said)


def test_a_budget_that_runs_out_keeps_what_it_bought_and_the_next_one_goes_on(
    terminal: Terminal, chat: str
) -> None:
    with serving() as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT, "--quiet")
        done = terminal.run("probe", chat, *words, "--budget", "20ktok")
        refused(done, 5, "the budget is used up", "the same command continues")
        bought = len(settled_texts(terminal.folder))
        assert 0 < bought == provider.answered < 40
        assert provider.billed_input + provider.billed_output <= 20_000
        assert terminal.run("probe", chat, *words).code == 0
        assert provider.answered == 40


@pytest.mark.parametrize("deadline", ["soon", slowly("2"), "0m", slowly("2020-01-01T06:00")])
def test_a_deadline_that_is_none(kept: Terminal, deadline: str) -> None:
    done = kept.run("probe", "chat.jsonl", *SIMULATED, *SHORT, "--deadline", deadline)
    refused(done, 2, "--deadline", "2026-12-01T06:00")


def test_a_deadline_ends_the_run_with_what_came_and_the_next_one_goes_on(
    terminal: Terminal, chat: str
) -> None:
    words = ("--target", "openai/x", *SHORT, "--quiet", "--base-url")
    with serving(latency=3600.0) as slow:
        done = terminal.run("probe", chat, *words, slow.url, "--deadline", "1s")
        refused(done, 5, "the time is up; 0 of 40 requests answered", "the same command continues")
        assert "Next: contextecho report" in done.err
    with serving() as provider:
        done = terminal.run("probe", chat, *words, provider.url, "--deadline", "1d")
        assert (done.code, provider.answered) == (0, 40)
