"""Reads mini-swe-agent's trajectories: one JSON document a run, 1.x and 2.x.

The one thing to know: in 1.x everything but an answer has the role `user`. The first such
message is the task; after an answer with exactly one command it is that command's output;
after any other answer it is the client's error. From 2.0 on `extra` says which is which.
A bare list of messages carries no mark of this agent and is the `chat` reader's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from contextecho.sessions.building.chat_parts import (
    call_of,
    reasoning_of,
    text_of,
    tool_calls,
)
from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.fields import list_in, number_in, object_in, string
from contextecho.sessions.building.jsontext import json_text
from contextecho.sessions.building.placed import Document, Placed, PlacedSource
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.model import Kind, Session, Speaker
from contextecho.untrusted import make_visible

NAME: Final = "mini-swe-agent"
_TOOL: Final = "bash"
_FENCES: Final = (
    (re.compile(r"```mswea_bash_command[^\S\n]*\n"), "\n```"),
    (re.compile(r"<mswea_bash_command>"), "</mswea_bash_command>"),
    (re.compile(r"```bash[^\S\n]*\n"), "\n```"),
)
"""How a command begins and ends in an answer; `bash` was the agent's own mark until 2.0."""
_ROLES: Final = frozenset({"system", "user", "assistant", "tool", "exit", None})
_SUBMITS: Final = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_TYPED: Final = re.compile(
    r"Commands? not executed\. The user rejected your commands? with the following message: "
    r"|Interrupted by user: (?!Temporary interruption caught\.\Z)"
    r"|The user added a new task: "
)
_NOTICE: Final = re.compile(
    r"Commands? not executed\.|Interrupted by user: |The user added a new task: |Switched to human"
)
_TYPED_COMMAND: Final = re.compile(r"\n```bash\n.*\n```\Z|User command: ", re.DOTALL)


def sniff(head: bytes) -> bool:
    """Whether the file is an object with this agent's `info` and an array of messages."""
    if b'"messages"' not in head or b'"info"' not in head:
        return False
    document = Document(head)
    info = document.value("info")
    if not isinstance(info, dict) or not document.has_array("messages"):
        return False
    stats = info.get("model_stats")
    return isinstance(info.get("mini_version"), str) or (
        isinstance(stats, dict) and stats.keys() >= {"instance_cost", "api_calls"}
    )


def read(path: Path) -> Session:
    """Index the run. Raises `SessionError` if no model speaks in it."""
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        document = Document(file.read(stamp.size))
    conversation = Conversation()
    source = PlacedSource(path, stamp, _pieces)
    info = document.value("info")
    found = list(document.elements("messages", tally=conversation.tally))
    run = _Run(conversation, object_in(info), found)
    for placed in found:
        if isinstance(placed.value, dict):
            source.place(placed)
        run.take(placed)
    instance = document.value("instance_id")
    return conversation.session(
        path,
        format=NAME,
        bytes=stamp.size,
        source=source,
        cwd=run.cwd,
        **({"id": make_visible(instance)} if isinstance(instance, str) else {}),
    )


class _Run:
    """Takes in the messages, in their order."""

    def __init__(
        self, conversation: Conversation, info: dict[str, Any], found: Sequence[Placed]
    ) -> None:
        self.cwd = string(info, "config", "environment", "cwd") or None
        self._conversation = conversation
        self._version = string(info, "mini_version")
        self._model = string(info, "config", "model", "model_name")
        answers = [placed for placed in found if _is_answer(placed.value)]
        self._last = answers[-1] if answers else None
        self._asked = False
        self._open: list[str | None] = []  # calls without an output yet; None: a person's command

    def take(self, placed: Placed) -> None:
        """Take in one message; what is none is counted."""
        message = placed.value
        if not _is_message(message):
            self._conversation.tally.add("not a message", placed.line)
        elif (role := string(message, "role")) not in _ROLES:
            reason = f"unknown record type: {make_visible(role or '')}"
            self._conversation.tally.add(reason, placed.line)
        elif _is_answer(message):
            self._answer(placed)
        elif message.get("role") == "system" and not self._conversation.turns:
            self._conversation.system += [piece.text for piece in _pieces(message)]
        else:
            self._told(placed)

    def _answer(self, placed: Placed) -> None:
        pieces = _pieces(placed.value)
        calls = [piece for piece in pieces if piece.kind is Kind.TOOL_CALL]
        self._asked = True
        ends = placed is self._last and any(
            mark in call.text for mark in _SUBMITS for call in calls
        )
        for piece in pieces:
            if piece.kind is Kind.ASSISTANT:
                piece.final = ends
        for number, call in enumerate(calls):
            call.call_id = call.call_id or f"command {placed.line}.{number + 1}"
        self._open = [call.call_id for call in calls]
        model = string(placed.value, "extra", "response", "model")
        model = model or string(placed.value, "model")
        self._say(placed, pieces, model or self._model)

    def _told(self, placed: Placed) -> None:
        message, pieces = placed.value, _pieces(placed.value)
        role, text, extra = message.get("role"), pieces[0].text, object_in(message, "extra")
        call_id = string(message, "tool_call_id") or string(message, "call_id") or None
        if role == "user" and not self._asked:
            self._asked = True
            for piece in pieces:
                piece.speaker = Speaker.HUMAN
        elif extra.get("interrupt_type") == "FormatError":
            self._sent_back(placed, extra)
        elif _TYPED_COMMAND.match(text):
            self._open = [None]
        elif role in ("system", "exit") or (not _is_output(message) and _NOTICE.match(text)):
            self._open = []
        elif call_id is not None or self._open:
            self._result(pieces[0], call_id or self._open[0], extra)
        is_result = pieces[0].kind is Kind.TOOL_RESULT
        said = [p if p.text.strip() or p.images or is_result else None for p in pieces]
        self._say(placed, said, None)

    def _result(self, piece: Piece, call_id: str | None, extra: dict[str, Any]) -> None:
        """The output of a command: of the model's, or (`None`) of one that a person typed."""
        self._open = [id for id in self._open if id != call_id]
        if call_id is not None:
            piece.kind, piece.speaker, piece.call_id = Kind.TOOL_RESULT, Speaker.TOOL, call_id
            piece.is_error = extra.get("returncode") not in (0, None)

    def _sent_back(self, placed: Placed, extra: dict[str, Any]) -> None:
        """An answer without a command to run; from 2.0 on it is kept beside the error only."""
        self._open = []
        if not extra.keys().isdisjoint({"model_response", "response"}):
            self._conversation.tally.add("answer sent back and asked for again", placed.line)

    def _say(self, placed: Placed, pieces: Sequence[Piece | None], model: str | None) -> None:
        self._conversation.say(
            Message(
                line=placed.line,
                span=placed.span,
                pieces=pieces,
                model=model,
                version=self._version,
                time=_time(placed.value),
            )
        )


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    is_said = isinstance(value.get("role"), str) and "content" in value
    return is_said or _is_response(value) or value.get("type") == "function_call_output"


def _is_response(value: dict[str, Any]) -> bool:
    """Whether this is a whole answer of the Responses API."""
    return value.get("object") == "response" and isinstance(value.get("output"), list)


def _is_answer(value: Any) -> bool:
    """Whether the model said this; a command that a person typed has the model's role in 1.x."""
    if not _is_message(value):
        return False
    if value.get("role") != "assistant":
        return _is_response(value)
    typed = "extra" not in value and _TYPED_COMMAND.match(text_of(value["content"])[0])
    return not typed


def _is_output(message: dict[str, Any]) -> bool:
    """Whether the message says of itself that it is a command's output."""
    return "returncode" in object_in(message, "extra") or message.get("role") != "user"


def _time(message: dict[str, Any]) -> float | None:
    """When it was said; `extra` has seconds since 1970."""
    return number_in(message, "extra", "timestamp")


def _pieces(message: dict[str, Any]) -> list[Piece]:
    """The pieces of a message, in the order in which they were produced."""
    if _is_response(message):
        return [piece for item in message["output"] for piece in _item(item)]
    if not _is_answer(message):
        content = message["content"] if "content" in message else message.get("output")
        text, images = text_of(content)
        typed = None if _is_output(message) else _TYPED.match(text)
        if typed is None:
            return [Piece(Kind.USER, Speaker.HARNESS, text, images=images)]
        return [
            Piece(Kind.USER, Speaker.HARNESS, typed[0]),
            Piece(Kind.USER, Speaker.HUMAN, text[typed.end() :], images=images),
        ]
    text, _ = text_of(message["content"])
    pieces, calls = reasoning_of(message), list(tool_calls(message))
    if not calls:
        text, calls = _command(text)
    if text.strip():
        pieces.append(Piece(Kind.ASSISTANT, Speaker.MODEL, text))
    return [*pieces, *calls]


def _command(text: str) -> tuple[str, list[Piece]]:
    """The prose of an answer, and the one command in it; several are an error, and none."""
    found = next(filter(None, (list(_blocks(text, *fence)) for fence in _FENCES)), [])
    if len(found) != 1:
        return text, []
    start, end, command = found[0]
    arguments = json_text({"command": command})
    call = Piece(Kind.TOOL_CALL, Speaker.MODEL, arguments, _TOOL)
    return f"{text[:start].rstrip()}\n\n{text[end:].lstrip()}".strip(), [call]


def _blocks(text: str, opening: re.Pattern[str], closing: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, command) of each block; one look for an end that is not there is the last."""
    position = 0
    while (begin := opening.search(text, position)) is not None:
        end = text.find(closing, begin.end())
        if end < 0:
            return
        position = end + len(closing)
        yield begin.start(), position, text[begin.end() : end].strip()


def _item(item: Any) -> list[Piece]:
    """The pieces of one item of a Responses API answer."""
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "function_call":
        return [call_of(item, string(item, "call_id") or string(item, "id"))]
    if kind == "message":
        text = text_of(item.get("content"))[0]
        return [Piece(Kind.ASSISTANT, Speaker.MODEL, text)] if text.strip() else []
    if kind == "reasoning":
        texts = [string(block, "text") for block in list_in(item, "summary")]
        return [Piece(Kind.THINKING, Speaker.MODEL, text) for text in texts if text]
    return []
