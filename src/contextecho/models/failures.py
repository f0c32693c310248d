"""Reading failures: which kind an HTTP answer is, what it says, how long to wait.

The one thing to know: a message that leaves this module has passed `clean`, so
it is one short line and holds no key, whatever the server echoed.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from contextecho.models.model import Failed, FailureKind, Refusal
from contextecho.untrusted import one_line

_LONGEST = 300  # characters of a provider's message that are kept
# "sk-proj-****1234": an echo that shows parts of a key. Looked for once a word: bodies can be long.
_MASKED = re.compile(r"(?<!\S)(?=\S*?\*{3})\S+")

_SILENT = "no further word from the server"
_STATUS = re.compile(r"[1-5][0-9]{2}")

_KINDS = {
    401: FailureKind.AUTH,
    402: FailureKind.AUTH,  # no credit left: every further call fails the same way
    403: FailureKind.AUTH,
    404: FailureKind.NOT_FOUND,
    405: FailureKind.NOT_FOUND,
    408: FailureKind.SERVER,
    409: FailureKind.SERVER,
    425: FailureKind.SERVER,
    429: FailureKind.RATE_LIMIT,
    529: FailureKind.RATE_LIMIT,
}
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")
_FILTERED = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")


def kind_of_status(status: int) -> FailureKind:
    """The failure kind of an HTTP status that is not 200."""
    if status in _KINDS:
        return _KINDS[status]
    if status >= 500:
        return FailureKind.SERVER
    if 300 <= status < 400:
        return FailureKind.NOT_FOUND
    return FailureKind.BAD_REQUEST


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that a `retry-after` header asks to wait (delta or HTTP date), else `None`."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds and re.fullmatch(r"\d+(\.\d+)?", milliseconds.strip()):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError, OSError):  # no date, or one that no calendar holds
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def blot(text: str, secrets: Sequence[str]) -> str:
    """`text` with each secret replaced by a mark."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return text


def clean(text: str, secrets: Sequence[str] = ()) -> str:
    """One short visible line without keys or masked keys."""
    line = _MASKED.sub("[key]", one_line(blot(text, secrets)))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def read_failure(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Sequence[str]
) -> Failed | Refusal:
    """An HTTP answer other than 200 as a reply. A content filter's 400 is a refusal."""
    code, message = _error_of(body)
    if status == 400 and code in _FILTERED:
        return Refusal(text=clean(message, secrets), stop_reason=code)
    if 300 <= status < 400:
        message = "redirected elsewhere, which is not followed; name the final base URL"
    kind = FailureKind.AUTH if code in _NO_CREDIT else kind_of_status(status)
    return Failed(
        kind=kind,
        message=f"HTTP {status}: {clean(message, secrets) or _SILENT}",
        status=status,
        retry_after=retry_after(headers),
    )


def error_in_body(error: object, secrets: Sequence[str]) -> Failed:
    """The failure that some routers answer with status 200 and an `error` object."""
    code, message = _code_and_message(error)
    status = int(code) if _STATUS.fullmatch(code) else None
    kind = FailureKind.SERVER if status is None else kind_of_status(status)
    return Failed(kind=kind, message=clean(message, secrets), status=status)


def foreign_answer(body: bytes, wanted: str, seconds: float) -> Failed:
    """The failure of a 200 answer that is not what was `wanted` ("a chat completion")."""
    what = "an HTML page" if _is_page(body) else f"something else than {wanted}"
    return Failed(
        kind=FailureKind.NOT_JSON,
        message=f"the server answered with {what}",
        status=200,
        seconds=seconds,
    )


def _is_page(body: bytes) -> bool:
    return body.lstrip()[:1] == b"<"


def _error_of(body: bytes) -> tuple[str, str]:
    """`(code, message)` from the shapes that providers use, or what kind of page came."""
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):  # not JSON, not UTF-8, or too deep
        if _is_page(body):
            return "", "the server answered with an HTML page"
        return "", body[:2000].decode("utf-8", "replace")
    if isinstance(data, list) and data:  # Google wraps its errors in a list
        data = data[0]
    error = data.get("error", data) if isinstance(data, dict) else data
    return _code_and_message(error)


def _code_and_message(error: object) -> tuple[str, str]:
    if not isinstance(error, dict):
        return "", str(error)
    code = error.get("code") or error.get("type") or ""
    message = error.get("message") or error.get("detail") or json.dumps(error)
    return str(code), str(message)
