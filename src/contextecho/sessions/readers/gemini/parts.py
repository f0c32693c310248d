"""What a message holds, in the client's records and in the API's history.

The one thing to know: a record of the client names thoughts and tool calls beside its
content, and the content may name them again: each is taken once. Results of tools lie
in the record of the call; in the API's history they are a message of the user's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import instant, object_in, objects_in, text_in
from contextecho.sessions.building.jsontext import decode_json, json_text
from contextecho.sessions.model import Kind, Speaker
from contextecho.sessions.readers.gemini.speakers import CANNED, is_own_text, speak

MASK: Final = "<tool_output_masked>"
"""What stands for a result that the client took out of the context later."""

_ASKING: Final = "ask_user"
_FAILED: Final = frozenset({"error", "cancelled"})
_MEDIA: Final = ("inlineData", "fileData")
_KNOWN: Final = frozenset({"text", "thought", "functionCall", "functionResponse", *_MEDIA})


def pieces(message: dict[str, Any]) -> list[Piece]:
    """The pieces of one message; an answer's results follow its calls."""
    if "parts" in message:
        parts = part_list(message["parts"])
        return answer(parts) if message.get("role") == "model" else _sent(parts, None)
    parts = part_list(message.get("content"))
    if message.get("type") != "gemini":
        shown = message.get("displayContent")
        return _sent(parts, None if shown is None else text_of(part_list(shown)))
    calls = tool_calls(message)
    named = {text_in(call, "id") for call in calls} - {""}
    parts = [part for part in parts if text_in(object_in(part, "functionCall"), "id") not in named]
    return [
        *answer(parts, [_thought(thought) for thought in own_thoughts(message)]),
        *(_call(call) for call in calls),
        *(piece for call in calls for piece in _outcome(call)),
    ]


def answer(parts: Sequence[dict[str, Any]], thoughts: Sequence[str] = ()) -> list[Piece]:
    """What the model says in these parts; `thoughts`, if there are any, stand for theirs."""
    heard = thoughts or [text_in(part, "text") for part in parts if part.get("thought")]
    text = text_of(parts)
    spoken = [part for part in parts if not part.get("thought")]
    calls = [object_in(part, "functionCall") for part in spoken if "functionCall" in part]
    images = _media(spoken)
    canned = text.strip() in CANNED and not calls
    heard = [thought for thought in heard if thought.strip() and thought.strip() not in CANNED]
    found = [Piece(Kind.THINKING, Speaker.MODEL, thought) for thought in heard]
    if text.strip() or images:
        by, final = (Speaker.HARNESS, False) if canned else (Speaker.MODEL, None)
        found.append(Piece(Kind.ASSISTANT, by, text, images=images, final=final))
    return [*found, *(_call(call) for call in calls)]


def part_list(content: Any) -> list[dict[str, Any]]:
    """Content as a list of parts, in whichever of its forms it is written."""
    listed = content if isinstance(content, list) else [content]
    return objects_in([{"text": part} if isinstance(part, str) else part for part in listed])


def text_of(parts: Sequence[dict[str, Any]]) -> str:
    """The text that is said in these parts, without thoughts."""
    return "".join(text_in(part, "text") for part in parts if not part.get("thought"))


def tool_calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls that a record of the client names beside its content."""
    return objects_in(message, "toolCalls")


def own_thoughts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The thoughts of a message, without those that came after it.

    A message that the client makes for a call alone shares its list of thoughts with the
    message after it, whose thoughts then stand in both.
    """
    end = instant(message.get("timestamp"))
    return [
        thought
        for thought in _thoughts(message)
        if end is None or (instant(thought.get("timestamp")) or end) <= end
    ]


def borrowed_thoughts(message: dict[str, Any]) -> int:
    """How many thoughts of the message after it a message carries."""
    return len(_thoughts(message)) - len(own_thoughts(message))


def call_ids(message: dict[str, Any]) -> list[str]:
    """The ids of the calls and of the results in a message."""
    parts = part_list(message.get("parts", message.get("content")))
    items = [object_in(part, key) for part in parts for key in ("functionCall", "functionResponse")]
    return [
        item["id"] for item in (*tool_calls(message), *items) if isinstance(item.get("id"), str)
    ]


def masked_ids(message: dict[str, Any]) -> Iterator[str]:
    """The ids of the calls in a message whose results the client has masked."""
    parts = [*part_list(message.get("content")), *_results_in(tool_calls(message))]
    for part in parts:
        response = object_in(part, "functionResponse")
        if isinstance(response.get("id"), str) and _output(response).startswith(MASK):
            yield response["id"]


def unknown_parts(message: dict[str, Any]) -> list[str]:
    """The kinds of those parts of a message of which nothing is known."""
    parts = part_list(message.get("parts", message.get("content")))
    return [next(iter(part), "empty") for part in parts if _KNOWN.isdisjoint(part)]


def _sent(parts: Sequence[dict[str, Any]], shown: str | None) -> list[Piece]:
    """What is sent as the user's: results of tools, then text."""
    responses = _responses(parts)
    results = [_result(response) for response in responses]
    images = 0 if results else _media(parts)
    if results or shown is not None:
        return [
            *results,
            *speak(text_of(parts), shown, beside_results=bool(results), images=images),
        ]
    *before, last = _texts(parts)
    found = [piece for text in before for piece in speak(text, None, beside_results=False)]
    return [*found, *speak(last, None, beside_results=False, images=images)]


def _texts(parts: Sequence[dict[str, Any]]) -> list[str]:
    """The texts in these parts: the client sends neighbouring messages as one.

    A text of its own stands alone; the others are joined: a file named with `@` is several parts.
    """
    texts, alone = [""], True
    for part in parts:
        text = text_of([part])
        is_own = is_own_text(text)
        if texts[-1] and text and (is_own or alone):
            texts.append("")
        alone = is_own if text else alone
        texts[-1] += text
    return texts


def _responses(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What tools gave back in these parts."""
    return [object_in(part, "functionResponse") for part in parts if "functionResponse" in part]


def _outcome(call: dict[str, Any]) -> list[Piece]:
    """What came back for a call, and what the human said meanwhile."""
    parts = part_list(call.get("result"))
    responses = _responses(parts)
    own = [found for found in responses if found.get("id") in (None, call.get("id"))]
    text = text_of(parts)
    if not own and (not text or responses):
        return []
    response = own[0] if own else {"response": {"output": text}}
    failed = text_in(call, "status") in _FAILED
    images = _media(parts) if len(responses) < 2 else 0
    result = _result(response, call=call, failed=failed, images=images)
    words = "" if failed else _answers(call, result.text)
    answers = [Piece(Kind.USER, Speaker.HUMAN, words, quoted=True)] if words else []
    return [result, *answers, *(speak(text, None, beside_results=True) if own else [])]


def _answers(call: dict[str, Any], output: str) -> str:
    """What a human answered, where the call asked."""
    if text_in(call, "name") != _ASKING:
        return ""
    given = object_in(decode_json(output.encode("utf-8", "replace")), "answers")
    return "\n".join(answer for answer in given.values() if isinstance(answer, str))


def _result(
    response: dict[str, Any],
    *,
    call: dict[str, Any] | None = None,
    failed: bool = False,
    images: int = 0,
) -> Piece:
    given = response.get("response")
    failed = failed or (isinstance(given, dict) and "error" in given and "output" not in given)
    source = call or response
    return Piece(
        Kind.TOOL_RESULT,
        Speaker.TOOL,
        _output(response),
        text_in(source, "name") or None,
        text_in(source, "id") or None,
        images + _media(part_list(response.get("parts"))),
        is_error=failed,
    )


def _output(response: dict[str, Any]) -> str:
    """The text of a response: its output or error, else all of it as JSON."""
    given = response.get("response")
    if isinstance(given, dict):
        for key in ("output", "error"):
            if isinstance(given.get(key), str):
                return str(given[key])
    if isinstance(given, str):
        return given
    return "" if given is None else json_text(given)


def _call(call: dict[str, Any]) -> Piece:
    name, call_id = text_in(call, "name") or None, text_in(call, "id") or None
    return Piece(Kind.TOOL_CALL, Speaker.MODEL, json_text(call.get("args") or {}), name, call_id)


def _thought(thought: dict[str, Any]) -> str:
    return "\n".join(filter(None, (text_in(thought, key) for key in ("subject", "description"))))


def _thoughts(message: dict[str, Any]) -> list[dict[str, Any]]:
    return objects_in(message, "thoughts")


def _results_in(calls: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for call in calls:
        yield from part_list(call.get("result"))


def _media(parts: Sequence[dict[str, Any]]) -> int:
    """Pictures, sounds and documents: counted, never kept."""
    return sum(key in part for part in parts for key in _MEDIA)
