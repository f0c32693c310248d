"""`probe --batch` from a terminal: handed in, waited for, left, interrupted, judged."""

from __future__ import annotations

import shlex
import signal

import pytest

from e2e.ledger import query, settled_texts
from e2e.terminal import Terminal
from servers.batching import BatchingProvider
from servers.fake import by_request
from servers.serving import listening
from waiting import PATIENCE, wait_until

REQUESTS = 100  # 3 positions x 3 arms and scratch once, 5 + 5 questions
SHORT = ("--positions", "even:3", "--n", "1", "--quiet")


def words(provider: BatchingProvider, chat: str, *more: str) -> tuple[str, ...]:
    where = ("--target", "openai/gpt-4.1", "--base-url", provider.url)
    return ("probe", chat, *where, *SHORT, *more)


def test_a_batch_ends_like_any_probe(terminal: Terminal, chat: str) -> None:
    with listening(BatchingProvider(text=by_request)) as provider:
        done = terminal.run(*words(provider, chat, "--batch"))
        assert (done.code, done.errors) == (0, [])
        assert done.next.startswith("report ")
        assert (len(provider.batches), provider.calls) == (1, 0)
        texts = settled_texts(terminal.folder)
        assert len(texts) == len(set(texts)) == REQUESTS
        live = terminal.run(*words(provider, chat))
        assert (live.code, provider.calls) == (0, 0)  # the replies are those of live calls


def test_without_waiting_the_same_command_is_named_until_all_is_there(
    terminal: Terminal, chat: str
) -> None:
    with listening(BatchingProvider(text=by_request, looks=2)) as provider:
        first = terminal.run(*words(provider, chat, "--batch", "--no-wait"))
        assert (first.code, first.errors, first.out) == (0, [], "")
        assert "0 of 100 requests answered, 0 failed; 1 batch with the provider" in first.err
        again = tuple(shlex.split(first.next))
        assert sorted(again) == sorted(words(provider, chat, "--batch", "--no-wait"))
        second = terminal.run(*again)
        assert (second.code, second.next) == (0, first.next)
        third = terminal.run(*again)
        assert third.code == 0
        assert third.next.startswith("report ")
        assert len(provider.submissions) == 1
    assert len(settled_texts(terminal.folder)) == REQUESTS


def test_live_calls_would_pay_twice_for_what_is_in_a_batch(terminal: Terminal, chat: str) -> None:
    with listening(BatchingProvider(looks=9)) as provider:
        terminal.run(*words(provider, chat, "--batch", "--no-wait"))
        refused = terminal.run(*words(provider, chat))
    assert refused.code == 2
    (line,) = refused.errors
    assert "has 1 batch with its provider (the same command with --batch" in line
    assert provider.calls == 0


def test_batches_are_not_spread_over_machines(terminal: Terminal, chat: str) -> None:
    with listening(BatchingProvider()) as provider:
        store = ("--store", "postgresql://nobody@127.0.0.1:9/none")
        refused = terminal.run(*words(provider, chat, "--batch", "--on", "ray", *store))
    assert refused.code == 2
    assert refused.errors == [
        "contextecho: --on: batches are handed in from one machine (leave out --batch or --on)"
    ]
    assert provider.submissions == []


def test_an_interrupted_wait_leaves_the_batch_and_goes_on(
    terminal: Terminal, chat: str, interruptible: None
) -> None:
    with listening(BatchingProvider(text=by_request, looks=10_000)) as provider:
        command = tuple(word for word in words(provider, chat, "--batch") if word != "--quiet")
        process = terminal.start_fresh(*command)
        wait_until(lambda: any(b.looks < 10_000 for b in provider.batches.values()), process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        said = err.decode().splitlines()
        assert said[-1] == "contextecho: interrupted; run the same command to continue"
        assert "batches that stay with their provider: 1" in said
        for batch in provider.batches.values():
            batch.looks = 0
        done = terminal.run(*command)
        assert (done.code, len(provider.submissions)) == (0, 1)
    assert len(settled_texts(terminal.folder)) == REQUESTS


def test_the_judge_is_asked_live_once_all_has_come_back(terminal: Terminal, chat: str) -> None:
    with listening(BatchingProvider(text=by_request)) as provider:
        judge = ("--judge", "openai/judge", "--judge-base-url", provider.url)
        done = terminal.run(*words(provider, chat, "--batch", *judge))
        assert (done.code, done.errors) == (0, [])
        assert {body["model"] for body in provider.bodies} == {"judge"}
        assert len(provider.bodies) > 0
        assert len(provider.batches) == 1


@pytest.mark.parametrize(
    ("target", "more", "says"),
    [
        ("groq/llama", ("--batch",), "groq/llama cannot be asked in batches"),
        ("simulated", ("--batch",), "these providers can: anthropic, mistral, openai"),
        ("openai/gpt-4.1", ("--no-wait",), "add --batch"),
        ("openai/gpt-4.1", ("--batch", "--replay", "."), "a replay asks nobody"),
    ],
)
def test_what_cannot_go_in_batches_is_refused(
    terminal: Terminal, chat: str, target: str, more: tuple[str, ...], says: str
) -> None:
    reach = () if target == "simulated" else ("--base-url", "http://127.0.0.1:9/v1")
    refused = terminal.run("probe", chat, "--target", target, *reach, *SHORT, *more)
    assert refused.code == 2
    (line,) = refused.errors
    assert says in line


def test_a_plan_tells_what_batches_cost_and_names_the_probe(terminal: Terminal, chat: str) -> None:
    asked = ("chat.jsonl", "--target", "openai/gpt-4.1", "--positions", "even:3")
    live, batched = terminal.run("plan", *asked), terminal.run("plan", *asked, "--batch")
    assert "up to 24.0 h, often far less: batches" in batched.out
    assert "in batches (how much of it a cache serves is not known)" in batched.out
    assert "batch" not in live.out
    assert "--batch" in batched.next
    refused = terminal.run("plan", chat, "--target", "groq/llama", "--batch")
    assert refused.code == 2
    assert "groq/llama cannot be asked in batches" in refused.err


def test_no_key_is_said_or_stored(terminal: Terminal, chat: str) -> None:
    key = "sk-test-0123456789abcdef"
    with listening(BatchingProvider(text=f"Your key is {key}.")) as provider:
        done = terminal.run(
            *words(provider, chat, "--batch"), "--header", f"X-Api-Key: {key}", "--no-wait"
        )
        again = terminal.run(*words(provider, chat, "--batch"), "--header", f"X-Api-Key: {key}")
    assert key not in done.out + done.err + again.out + again.err
    files = [path for path in terminal.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if key.encode() in path.read_bytes()]
    assert set(settled_texts(terminal.folder)) == {"Your key is [key]."}
    assert query(terminal.folder, "SELECT count(*) FROM batch WHERE ended_at IS NULL") == [(0,)]
