"""Which calls of a model go on with one another."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contextecho.sessions.building import repeated
from contextecho.sessions.building.conversation import Message, Piece
from contextecho.sessions.building.repeated import Threads
from contextecho.sessions.model import Kind, Span, Speaker


def asked(text: str) -> Message:
    piece = Piece(Kind.USER, Speaker.HUMAN, text)
    return Message(line=1, span=Span(0, 0), pieces=[piece])


def answered(text: str) -> Message:
    piece = Piece(Kind.ASSISTANT, Speaker.MODEL, text)
    return Message(line=1, span=Span(0, 0), pieces=[piece])


def test_a_thread_goes_on_where_its_history_is_repeated() -> None:
    """Two threads by turns, then a call with other instructions that repeats the second."""
    threads = Threads()
    q1, a1, q2, a2 = asked("q1"), answered("a1"), asked("q2"), answered("a2")
    assert threads.add("s", [q1], [a1]) == 0
    assert threads.add("s", [q2], [a2]) == 1
    assert threads.add("s", [q1, a1, asked("more")], [a1]) == 0
    assert threads.add("s", [q2, a2, asked("more")], [a2]) == 1
    assert threads.add("other", [q2, a2, asked("again")], [a2]) == 1
    assert threads.add("third", [q2], [a1]) == 2  # one message in common is too little
    assert threads.add("s", [asked("a summary"), q1], [a1]) == 1  # the last of the instructions
    assert threads.add("third", [asked("a summary"), q1], [a1]) == 1  # now begins like this
    assert threads.main == 1


def test_unrelated_calls_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    common = repeated._common

    def counted(context: Sequence[int], keys: Sequence[int]) -> int:
        compared.append(context)
        return common(context, keys)

    monkeypatch.setattr(repeated, "_common", counted)
    threads = Threads()
    numbers = [threads.add("s", [asked(f"q{n}")], [answered("a")]) for n in range(200)]
    assert numbers == list(range(200))
    assert len(compared) <= 400
