"""A review (`/review`): another session's work, of which this file holds the report.

The one thing to know: the client starts a sub-agent with a request of its own and writes that
request here too, as if it were typed. The report comes back as the client's text; then the
client says it once more in the model's name.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from contextecho.sessions.readers.codex.records import Payload

REQUEST: Final = "request of a review, said to another session"
REPORT: Final = "report of a review, said again"

_ENTERED: Final = frozenset({"entered_review_mode", "EnteredReviewMode"})
_EXITED: Final = frozenset({"exited_review_mode", "ExitedReviewMode"})


class _Stage(Enum):
    NONE = 0
    AT_WORK = 1
    REPORTED = 2


class Review:
    """Tells what belongs to a review from what belongs to the conversation."""

    def __init__(self) -> None:
        self._stage = _Stage.NONE
        self._request: str | None = None

    def note(self, event: Payload) -> None:
        """An event: a review may begin or end with it."""
        kinds = {event.type, event.item.type if event.item else ""}
        if kinds & _ENTERED:
            self._stage, self._request = _Stage.AT_WORK, None
        elif kinds & _EXITED:
            self._stage = _Stage.REPORTED

    def leave(self) -> None:
        """A turn of the conversation begins: the review is over, if it ever came to its end."""
        self._stage = _Stage.NONE

    def takes_request(self, text: str) -> bool:
        """Whether this, written as typed, is the client's request, which may stand there twice."""
        if self._stage is _Stage.AT_WORK and self._request in (None, text):
            self._request = text
            return True
        self._stage = _Stage.NONE
        return False

    def takes_report(self, item: Payload) -> bool:
        """Whether this item of the model is the report, which the client says in its name."""
        if self._stage is not _Stage.REPORTED:
            return False
        self._stage = _Stage.NONE
        return item.type == "message"
