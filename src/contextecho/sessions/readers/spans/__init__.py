"""Reads exports of spans: LangSmith's runs, OpenInference (Phoenix), OpenTelemetry (OTLP).

The one thing to know: a call of a model repeats the history, so a conversation is what is
new in each call, in the order of time. Calls are grouped by the conversation that they
name, or else by trace; those below another agent than the outermost are a sub-agent's.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final

from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.building.placed import PlacedSource
from contextecho.sessions.building.repeated import Repeated, Threads
from contextecho.sessions.building.stamp import Stamp, Stamped
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Session, Sidechain
from contextecho.sessions.readers.spans.grouping import Group, grouped
from contextecho.sessions.readers.spans.nodes import Node, exchange_of, is_span, node_of
from contextecho.sessions.readers.spans.records import first_values, is_record, spans_of
from contextecho.sessions.readers.spans.said import Exchange, Said
from contextecho.untrusted import make_visible

NAME: Final = "spans"
_SIGNS: Final = (b'"run_type"', b"gen_ai.", b'"gen_ai"', b"openinference", b'"llm"', b"llm.input_")


def sniff(head: bytes) -> bool:
    """Whether the file begins with spans, and calls of a model are among them."""
    return any(sign in head for sign in _SIGNS) and any(map(is_record, first_values(head)))


def members(path: Path) -> list[str]:
    """The conversations in the file, numbered in its order."""
    with path.open("rb") as file:
        groups, _ = _groups(path, Stamp.of(file))
    return [str(number) for number in range(1, len(groups) + 1)] or ["1"]


def read_member(path: Path, member: str) -> Session:
    """Index one conversation. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        conversation = Conversation()
        groups, tally = _groups(path, stamp)
        conversation.tally = deepcopy(tally)  # of the file: each of its sessions adds its own
        source = PlacedSource(path, stamp, pieces_of)
        group = groups[int(member) - 1] if groups else Group("", [], [], {})
        others = _Telling(file, conversation, source).tell(group)
    sidechains = [_sidechain(path, name, nodes) for name, nodes in (group.below | others).items()]
    facts = {"id": make_visible(group.id)} if group.id else {}
    return conversation.session(
        path, format=NAME, bytes=stamp.size, source=source, sidechains=tuple(sidechains), **facts
    )


def pieces_of(value: Any) -> list[Piece]:
    """All pieces of a span, by whose number a turn finds its own again."""
    return exchange_of(value).pieces() if is_span(value) else []


@lru_cache(maxsize=1)
def _groups(path: Path, stamp: Stamp) -> tuple[list[Group], Tally]:
    """Kept, since the sessions of a file are read one after the other. Nothing said is held."""
    nodes: dict[tuple[str, str], Node] = {}
    tally = Tally()
    with Stamped(path, stamp).open() as file:
        for found in spans_of(file, stamp.size, tally):
            node = node_of(found)
            if nodes.setdefault((node.trace, node.id), node) is not node:
                tally.add("repeated span", node.line)
    return grouped(list(nodes.values())), tally


def _sidechain(path: Path, name: str, nodes: Sequence[Node]) -> Sidechain:
    models = dict.fromkeys(node.model for node in nodes if node.model)
    return Sidechain(
        agent_id=make_visible(name), path=path, records=len(nodes), models=tuple(models)
    )


class _Telling:
    """Says what the calls of one conversation hold."""

    def __init__(self, file: BinaryIO, conversation: Conversation, source: PlacedSource) -> None:
        self._file = file
        self._conversation = conversation
        self._source = source

    def tell(self, group: Group) -> dict[str, list[Node]]:
        """Say the calls of the main thread; give those that go on with other ones, by name."""
        for node in group.others:
            self._conversation.tally.add("span that is no call of a model", node.line)
        threads = Threads()
        numbers = [threads.add(*_messages(node, self._read(node))) for node in group.calls]
        repeated, main = Repeated(self._conversation, self._source.place), threads.main
        aside: dict[str, list[Node]] = {}
        for node, number in zip(group.calls, numbers, strict=True):
            if number == main:
                found = self._read(node)
                self._count(node, found)
                repeated.call(*_messages(node, found))
            else:
                aside.setdefault(f"thread {number + 1}", []).append(node)
        return aside

    def _count(self, node: Node, found: Exchange) -> None:
        """Count what a call lacks, and what of it is left out."""
        add = self._conversation.tally.add
        if node.failed and not found.answer:
            add("failed call", node.line)
        elif not found.history and not found.answer:
            add("call whose messages were not recorded", node.line)
        elif not found.answer:
            add("call without an answer", node.line)
        for _ in range(1, found.choices):
            add("another choice of an answer", node.line)

    def _read(self, node: Node) -> Exchange:
        self._file.seek(node.span.offset)
        return exchange_of(decode_json(self._file.read(node.span.length)))


def _messages(node: Node, found: Exchange) -> tuple[str | None, list[Message], list[Message]]:
    """What a call says: its instructions, the history and the answer."""
    history, first = [], 0
    for said in found.history:
        history.append(_message(node, said, first))
        first += len(said.pieces)
    answer = [_message(node, said, first) for said in found.answer]
    for message in answer:
        message.model, message.time = node.model, node.end or node.begin
    return found.instructions, history, answer


def _message(node: Node, said: Said, first: int) -> Message:
    """A message of which the first piece has number `first` in its span."""
    return Message(line=node.line, span=node.span, pieces=said.pieces, first=first, time=node.begin)
