"""Reads SWE-agent's trajectories: one JSON document a run, in every shape since 0.x.

The one thing to know: `history` is what the agent and the model said; `trajectory` is the
same run step by step, with answers that the client sent back and asked for again. The
history is read, and of the trajectory what it alone holds; without a history, the steps.
A run of several attempts holds a session for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.chat_parts import text_of
from contextecho.sessions.building.conversation import Conversation
from contextecho.sessions.building.fields import list_in, object_in, string
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import Document, Placed, PlacedSource
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Session, Span
from contextecho.sessions.readers.swe_agent.parts import (
    entry_pieces,
    is_entry,
    is_step,
    pieces_of,
)
from contextecho.sessions.readers.swe_agent.run import Run
from contextecho.sessions.readers.swe_agent.steps import Steps, read_steps
from contextecho.untrusted import make_visible

NAME: Final = "swe-agent"
_NO_MODELS: Final = frozenset({"replay", "human", "human_thought", "instant_empty_submit"})
_KEYS: Final = (b'"history"', b'"trajectory"')


def sniff(head: bytes) -> bool:
    """Whether the file is an object with a history of entries or a trajectory of steps."""
    if not any(key in head for key in _KEYS):
        return False
    document = Document(head)
    return _is_run(document) or any(_attempts(document))


def members(path: Path) -> list[str]:
    """The attempts in the file, by number; one for a run that made only one."""
    data = path.read_bytes()
    attempts = _attempts(Document(data)) if b'"attempts"' in data else ()
    return [str(number) for number, _ in enumerate(attempts, 1)] or ["1"]


def read_member(path: Path, member: str) -> Session:
    """Index one attempt. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        data = file.read(stamp.size)
    document = Document(data)
    spans = enumerate(_attempts(document) if b'"attempts"' in data else (), 1)
    span = next((span for number, span in spans if str(number) == member), None)
    if span is not None:
        document = Document(data[span.offset : span.offset + span.length], span.offset)
    conversation = Conversation()
    source = PlacedSource(path, stamp, pieces_of)
    facts = _Facts.of(document)
    entries = list(document.elements("history", tally=conversation.tally))
    if entries:
        run = _read_history(document, entries, conversation, facts)
    else:
        entries = list(document.elements("trajectory", tally=conversation.tally))
        run = Run(conversation, None, facts.model, facts.version)
        read_steps(entries, run, conversation.tally)
    for placed in entries:
        if isinstance(placed.value, dict):
            source.place(placed)
    return conversation.session(
        path,
        format=NAME,
        bytes=stamp.size,
        source=source,
        sidechains=run.sidechains(path),
        cwd=facts.cwd,
        **({"id": make_visible(facts.id)} if facts.id else {}),
    )


def _is_run(document: Document) -> bool:
    return any(
        is_told(placed.value)
        for key, is_told in (("history", is_entry), ("trajectory", is_step))
        for placed in document.elements(key, tally=Tally())
    )


def _attempts(document: Document) -> Iterator[Span]:
    """Where the attempts lie that are runs of their own."""
    for placed in document.elements("attempts", tally=Tally()):
        history, steps = (list_in(placed.value, key) for key in ("history", "trajectory"))
        if any(map(is_entry, history)) or any(map(is_step, steps)):
            yield placed.span


class _Facts(Struct):
    """What the file says about the run as a whole."""

    id: str | None
    model: str | None
    version: str | None
    cwd: str | None

    @classmethod
    def of(cls, document: Document) -> _Facts:
        config = _object(document.value("replay_config"))
        agent = _object(config.get("agent"))
        model = string(_object(agent.get("model")), "name")
        info = _object(document.value("info"))
        first = next(document.elements("trajectory", tally=Tally()), None)
        state = _object(first.value.get("state")) if first and is_step(first.value) else {}
        return cls(
            id=string(_object(config.get("problem_statement")), "id"),
            model=None if model in _NO_MODELS else model,
            version=string(info, "swe_agent_version"),
            cwd=string(state, "working_dir"),
        )


def _object(value: Any) -> dict[str, Any]:
    """An object, or the object that a string holds as JSON, which older files write."""
    if isinstance(value, str):
        value = decode_json(value.encode("utf-8", "replace"))
    return object_in(value)


def _read_history(
    document: Document, entries: Sequence[Placed], conversation: Conversation, facts: _Facts
) -> Run:
    """Take in the history, and of the trajectory the reasoning and the answers sent back."""
    tally = conversation.tally
    spoken = [e for e in entries if is_entry(e.value) and not e.value.get("is_demo")]
    agent = spoken[0].value["agent"] if spoken else None
    answers = [e for e in spoken if e.value["role"] == "assistant"]
    last = next((e for e in reversed(answers) if e.value["agent"] == agent), None)
    run = Run(conversation, agent, facts.model, facts.version)
    steps = Steps(document.elements("trajectory", tally=tally))
    for placed in entries:
        entry = placed.value
        if not is_entry(entry):
            tally.add("not a message", placed.line)
        elif entry["role"] == "assistant" and not entry.get("is_demo"):
            reasoning = steps.reasoning(text_of(entry["content"])[0], entry.get("action"), tally)
            run.answered(placed, reasoning, last=placed is last)
        else:
            run.told(entry, placed.line, placed.span, entry_pieces(entry))
    steps.skip(None, tally)
    return run
