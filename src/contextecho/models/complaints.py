"""What the body of an error says, whoever wrote it.

The one thing to know: every provider has a shape of its own (`error` as an object or a
text, `detail`, `details` with reasons, a list around it all, the upstream's words within
the router's), so codes are gathered wherever they may stand, and the message is the most
telling one found. Nothing of it is trusted: it is cleaned before it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

_LONGEST_PAGE = 2000  # bytes of a page that is no JSON
_CODES = ("code", "type", "status", "reason", "error_code", "error_type")
_MESSAGES = ("message", "detail", "title")


class Complaint(msgspec.Struct, frozen=True):
    """An error as its body tells it."""

    message: str
    codes: tuple[str, ...] = ()  # every code, type, status and reason, the outermost first
    wait: str | None = None  # how long to wait, as Google says it ("27s")
    headers: Mapping[str, str] = {}  # what OpenRouter passes on of its upstream's, in lower case


def read_complaint(body: bytes) -> Complaint:
    """What an error's body says. Never raises; an unknown shape is its own message."""
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):  # not JSON, not UTF-8, or too deep
        if is_page(body):
            return Complaint("the server answered with an HTML page")
        return Complaint(body[:_LONGEST_PAGE].decode("utf-8", "replace"))
    if isinstance(data, list) and data:  # Google wraps its errors in a list
        data = data[0]
    return complaint_of(data)


def complaint_of(data: object) -> Complaint:
    """What an error object says."""
    if not isinstance(data, dict):
        return Complaint("" if data is None else str(data))
    error = data.get("error", data)
    if not isinstance(error, dict):  # xAI, Ollama
        return Complaint(str(error), tuple(_codes(data)))
    details = _dicts(error.get("details"))
    metadata = _dict(error.get("metadata"))
    return Complaint(
        message=_message(error, metadata),
        codes=tuple(
            code
            for part in (error, *details, _dict(error.get("innererror")), data)
            for code in _codes(part)
        ),
        wait=next((str(d["retryDelay"]) for d in details if "retryDelay" in d), None),
        headers={
            str(name).lower(): str(value) for name, value in _dict(metadata.get("headers")).items()
        },
    )


def is_page(body: bytes) -> bool:
    """Whether a body is a web page."""
    return body.lstrip()[:1] == b"<"


def _codes(part: Mapping[str, Any]) -> Iterator[str]:
    for name in _CODES:
        value = part.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            yield str(value)


def _message(error: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    said = next((error[name] for name in _MESSAGES if error.get(name)), None)
    words = json.dumps(error if said is None else said) if not isinstance(said, str) else said
    upstream = metadata.get("raw")  # OpenRouter: what the provider behind it wrote
    return f"{words}: {upstream}" if isinstance(upstream, str) and upstream else words


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    """Details stand in a list (Google) or alone (Anthropic)."""
    return [_dict(part) for part in (value if isinstance(value, list) else [value])]
