"""Killed and interrupted collections: what was stored is neither lost nor asked again.

The server answers each body with a text of its own, so that its log and the store
can be compared without knowing how the program names a request.
"""

from __future__ import annotations

import hashlib
import json
import signal
from collections import Counter
from typing import Any

from e2e.ledger import attempts, settled_texts
from e2e.terminal import Terminal
from servers.fake import FakeProvider
from servers.serving import serving
from waiting import PATIENCE, wait_until

REQUESTS = 100  # 3 positions x 3 arms and scratch once, 5 + 5 questions
MOST_IN_FLIGHT = 64  # the engine's bound on calls at once
WORDS = ("--positions", "even:3", "--n", "1", "--quiet")


def own_text(body: dict[str, Any]) -> str:
    """A reply that tells which body it answers."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def asked(provider: FakeProvider) -> Counter[str]:
    """How often each body has arrived."""
    return Counter(own_text(body) for body in provider.bodies)


def test_after_kill_9_nothing_stored_is_lost_or_asked_again(terminal: Terminal, chat: str) -> None:
    with serving(text=own_text) as provider:
        words = ("probe", chat, "--target", "openai/x", "--base-url", provider.url, *WORDS)
        in_flight: set[str] = set()
        stored: list[str] = []
        for answers in (20, 60):
            before = asked(provider)
            provider.most_answers = answers
            process = terminal.start(*words)
            wait_until(lambda wanted=answers: provider.answered == wanted, process)
            process.kill()
            assert process.wait() == -signal.SIGKILL
            wait_until(lambda: provider.in_flight == 0)
            found = settled_texts(terminal.folder)
            assert set(stored) <= set(found)
            arrived = asked(provider) - before
            assert not arrived.keys() & set(stored), "a stored reply was asked again"
            stored = found
            lost = arrived.keys() - set(stored)
            assert len(lost) <= MOST_IN_FLIGHT
            in_flight |= lost
            assert 0 < len(stored) < REQUESTS
        before = asked(provider)
        provider.most_answers = REQUESTS * 2
        done = terminal.run(*words)
        assert (done.code, done.errors) == (0, [])
        arrived = asked(provider) - before
        assert not arrived.keys() & set(stored)
        found = settled_texts(terminal.folder)
        assert len(found) == len(set(found)) == len(asked(provider)) == REQUESTS
        repeated = {text for text, times in asked(provider).items() if times > 1}
        assert repeated <= in_flight
        # Every call is in the ledger, the lost ones too; killed before sending, it never arrived.
        assert provider.calls <= attempts(terminal.folder) <= provider.calls + 2 * MOST_IN_FLIGHT
    again = terminal.run(*words)  # the server is gone: nothing is asked
    assert (again.code, again.errors) == (0, [])


def test_an_interrupted_probe_leaves_with_130_and_continues(
    terminal: Terminal, chat: str, interruptible: None
) -> None:
    with serving(text=own_text) as provider:
        words = ("probe", chat, "--target", "openai/x", "--base-url", provider.url, *WORDS)
        provider.most_answers = 20
        process = terminal.start_fresh(*words)
        wait_until(lambda: provider.answered == 20, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert out == b""
        line = "contextecho: interrupted; run the same command to continue\n"
        assert err.decode().endswith(line)
        assert b"Traceback" not in err
        stored = settled_texts(terminal.folder)
        assert 0 < len(stored) < REQUESTS
        before = asked(provider)
        provider.most_answers = REQUESTS * 2
        done = terminal.run(*words)
        assert done.code == 0
        assert done.next.startswith("report ")
        assert not (asked(provider) - before).keys() & set(stored)
        assert set(stored) <= set(settled_texts(terminal.folder))
        assert len(asked(provider)) == REQUESTS


def test_two_processes_never_pay_for_one_run_twice(terminal: Terminal, chat: str) -> None:
    with serving(text=own_text) as provider:
        provider.most_answers = 0
        words = ("probe", chat, "--target", "openai/x", "--base-url", provider.url, *WORDS)
        process = terminal.start(*words)
        wait_until(lambda: provider.calls > 0, process)
        second = terminal.run(*words)
        assert second.code == 2
        (line,) = second.errors
        assert "another process is collecting run" in line
        provider.most_answers = REQUESTS
        assert process.wait() == 0
        assert max(asked(provider).values()) == 1
