"""Reading failures: which kind an HTTP answer is, what it says, how long to wait.

The one thing to know: a message that leaves this module has passed `clean`, so
it is one short line and holds no key, whatever the server echoed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from contextecho.models.allowance import (
    NO_LIMITS,
    LimitHeaders,
    read_allowance,
    seconds_until,
    seconds_until_date,
    used_up_for,
)
from contextecho.models.complaints import Complaint, complaint_of, is_page, read_complaint
from contextecho.models.model import Allowance, Failed, FailureKind, Refusal
from contextecho.untrusted import one_line

_LONGEST = 300  # characters of a provider's message that are kept
# "sk-proj-****1234": an echo that shows parts of a key. Looked for once a word: bodies can be long.
_MASKED = re.compile(r"(?<!\S)(?=\S*?\*{3})\S+")
_PIECE = 12  # characters of a key that nobody writes by accident

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
# Codes by which every further call would fail the same way, whatever the status: no credit left
# (OpenAI; Moonshot; Anthropic, anthropic/types/shared) or no such key (Google answers 400).
_STOPPING = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "exceeded_current_quota_error",
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
    "linked_organization_spend_limit_reached",
    "invalid_api_key",
    "API_KEY_INVALID",
}
_BAD_KEY = re.compile(r"(?:incorrect|invalid) api key|api key not valid", re.IGNORECASE)  # xAI: 400
_FILTERED = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}


def kind_of_status(status: int) -> FailureKind:
    """The failure kind of an HTTP status that is not 200."""
    if status in _KINDS:
        return _KINDS[status]
    if status >= 500:
        return FailureKind.SERVER
    if 300 <= status < 400:
        return FailureKind.NOT_FOUND
    return FailureKind.BAD_REQUEST


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a `retry-after` header asks to wait (delta or HTTP date), else `None`."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds and re.fullmatch(r"\d+(\.\d+)?", milliseconds.strip()):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    return seconds_until_date(value, headers)


def blot(text: str, secrets: Sequence[str]) -> str:
    """`text` with each secret replaced by a mark."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return text


def clean(text: str, secrets: Sequence[str] = ()) -> str:
    """One short visible line without keys, masked keys or pieces of keys."""
    line = _blot_pieces(_MASKED.sub("[key]", one_line(blot(text, secrets))), secrets)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _blot_pieces(line: str, secrets: Sequence[str]) -> str:
    """`line` with a mark for each word that holds a piece of a secret: echoes may be cut."""
    pieces = [secret[at : at + _PIECE] for secret in secrets for at in range(len(secret))]
    found = [piece for piece in pieces if len(piece) == _PIECE and piece in line]
    if not found:
        return line
    return " ".join(
        "[key]" if any(map(word.__contains__, found)) else word for word in line.split()
    )


def read_failure(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    secrets: Sequence[str],
    limits: LimitHeaders = NO_LIMITS,
) -> Failed | Refusal:
    """An HTTP answer other than 200 as a reply. A content filter's 400 is a refusal."""
    complaint = read_complaint(body)
    message = complaint.message
    filtered = _FILTERED.intersection(complaint.codes)
    if status == 400 and filtered:
        return Refusal(text=clean(message, secrets), stop_reason=min(filtered))
    if 300 <= status < 400:
        message = "redirected elsewhere, which is not followed; name the final base URL"
    kind = _kind(status, complaint)
    again = headers.get("x-should-retry", "").strip().lower()
    if again == "true" and kind is FailureKind.BAD_REQUEST:
        kind = FailureKind.SERVER  # it says itself that nothing is wrong with the request
    allowance = read_allowance({**complaint.headers, **_lower(headers)}, limits)
    return Failed(
        kind=kind,
        message=f"HTTP {status}: {clean(message, secrets) or _SILENT}",
        status=status,
        retry_after=_wait(kind, headers, complaint, allowance),
        final=again == "false",
        allowance=allowance,
    )


def error_in_body(error: object, secrets: Sequence[str]) -> Failed:
    """The failure that some routers answer with status 200 and an `error` object."""
    complaint = complaint_of(error)
    code = next(iter(complaint.codes), "")
    status = int(code) if _STATUS.fullmatch(code) else None
    kind = FailureKind.SERVER if status is None else _kind(status, complaint)
    return Failed(kind=kind, message=clean(complaint.message, secrets), status=status)


def _kind(status: int, complaint: Complaint) -> FailureKind:
    if _STOPPING.intersection(complaint.codes):
        return FailureKind.AUTH
    if status == 400 and _BAD_KEY.search(complaint.message[:_LONGEST]):
        return FailureKind.AUTH
    return kind_of_status(status)


def _wait(
    kind: FailureKind,
    headers: Mapping[str, str],
    complaint: Complaint,
    allowance: Allowance | None,
) -> float | None:
    """What the server asks to wait: in its header, its body, or until what is used up is back."""
    asked = retry_after(headers)
    if asked is None and complaint.wait is not None:
        asked = seconds_until(complaint.wait, headers)
    if asked is None and kind is FailureKind.RATE_LIMIT and allowance is not None:
        asked = used_up_for(allowance)
    return asked


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def foreign_answer(body: bytes, wanted: str, seconds: float) -> Failed:
    """The failure of a 200 answer that is not what was `wanted` ("a chat completion")."""
    what = "an HTML page" if is_page(body) else f"something else than {wanted}"
    return Failed(
        kind=FailureKind.NOT_JSON,
        message=f"the server answered with {what}",
        status=200,
        seconds=seconds,
    )
