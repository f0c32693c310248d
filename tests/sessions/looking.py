"""What a session says, for tests to compare."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, Turn
from contextecho.sessions.reading import open_file


def format_of(path: Path) -> str | None:
    """The reader that takes the file for its own; None if none does."""
    try:
        return open_file(path).format
    except SessionError:
        return None


def said(session: Session) -> list[tuple[Kind, Speaker, str]]:
    """Kind, speaker and text of each turn."""
    contents = session.contents(session.turns)
    return [
        (turn.kind, turn.speaker, content.text)
        for turn, content in zip(session.turns, contents, strict=True)
    ]


def spoken(session: Session) -> list[tuple[Speaker, str]]:
    """Speaker and text of each turn."""
    return [(speaker, text) for _, speaker, text in said(session)]


def texts(session: Session, **fields: Any) -> list[str]:
    """The texts of the turns that have these fields."""
    turns = [t for t in session.turns if all(getattr(t, k) == v for k, v in fields.items())]
    return [content.text for content in session.contents(turns)]


def of_kind(session: Session, kind: Kind) -> list[Turn]:
    return [turn for turn in session.turns if turn.kind is kind]


def human_hashes(session: Session) -> list[str]:
    """The first 16 hexadecimal digits of the SHA-256 of each text that a human wrote."""
    found = texts(session, speaker=Speaker.HUMAN)
    return [sha256(text.encode()).hexdigest()[:16] for text in found]


def reasons(session: Session) -> dict[str, tuple[int, ...]]:
    """What was left out or mended, with its lines."""
    return {skipped.reason: skipped.lines for skipped in session.skipped}


def counts(session: Session) -> dict[str, int]:
    """What was left out or mended, counted."""
    return {skipped.reason: skipped.count for skipped in session.skipped}
