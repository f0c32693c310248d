"""What a session says, for tests to compare."""

from __future__ import annotations

from typing import Any

from contextecho.sessions import Session


def texts(session: Session, **fields: Any) -> list[str]:
    """The texts of the turns that have these fields."""
    turns = [t for t in session.turns if all(getattr(t, k) == v for k, v in fields.items())]
    return [content.text for content in session.contents(turns)]


def reasons(session: Session) -> dict[str, int]:
    """What was left out or mended, counted."""
    return {skipped.reason: skipped.count for skipped in session.skipped}
