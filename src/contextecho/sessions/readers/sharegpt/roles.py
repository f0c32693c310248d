"""Who speaks in a dataset's conversation, by the names that datasets use.

The one thing to know: a piece depends on one message alone; which result answers which
call is told by their order, since these formats have no ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.jsontext import decode_json, json_text
from contextecho.sessions.model import Kind, Speaker

HUMAN: Final = frozenset({"human", "user", "prompter"})
NAMED_MODELS: Final = frozenset({"chatgpt", "bing", "bard"})
MODEL: Final = frozenset({"gpt", "assistant", "model"}) | NAMED_MODELS
INSTRUCTIONS: Final = frozenset({"system", "developer"})
CALLS: Final = frozenset({"function_call", "tool_call"})
RESULTS: Final = frozenset(
    {"tool", "function", "observation", "function_response", "tool_response", "ipython"}
)
KNOWN: Final = HUMAN | MODEL | INSTRUCTIONS | CALLS | RESULTS


def pieces_of(role: str, text: str) -> list[Piece]:
    """What a message of a known role holds."""
    if role in CALLS:
        return list(_calls(text))
    if role in RESULTS:
        return [Piece(Kind.TOOL_RESULT, Speaker.TOOL, text)]
    if not text.strip():
        return []
    if role in MODEL:
        return [Piece(Kind.ASSISTANT, Speaker.MODEL, text)]
    return [Piece(Kind.USER, Speaker.HUMAN if role in HUMAN else Speaker.HARNESS, text)]


class Calls:
    """Links results to calls: the first that is open is answered first."""

    def __init__(self) -> None:
        self._open: deque[str] = deque()

    def linked(self, pieces: Sequence[Piece], number: int) -> list[Piece]:
        """The pieces of message `number`, calls and results with an id."""
        return [self._linked(piece, f"{number}.{at}") for at, piece in enumerate(pieces, 1)]

    def _linked(self, piece: Piece, id: str) -> Piece:
        if piece.kind is Kind.TOOL_CALL:
            self._open.append(id)
            return replace(piece, call_id=id)
        if piece.kind is Kind.TOOL_RESULT and self._open:
            return replace(piece, call_id=self._open.popleft())
        return piece


def _calls(text: str) -> Iterator[Piece]:
    """One call or a list of them as JSON; of anything else, the text as its arguments."""
    value = decode_json(text.encode("utf-8", "replace"))
    calls = value if isinstance(value, list) else [value]
    if not calls or not all(isinstance(call, dict) and "name" in call for call in calls):
        yield Piece(Kind.TOOL_CALL, Speaker.MODEL, text)
        return
    for call in calls:
        name = call["name"] if isinstance(call["name"], str) else None
        yield Piece(Kind.TOOL_CALL, Speaker.MODEL, _written(call.get("arguments")), name)


def _written(arguments: Any) -> str:
    """Arguments as JSON, which some datasets give as a string; too deeply nested, as none."""
    if isinstance(arguments, str):
        return arguments
    return json_text(arguments) or "{}"
