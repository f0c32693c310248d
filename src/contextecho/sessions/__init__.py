"""Reading what happened: one `Session` type, one reader a format, discovery."""

from __future__ import annotations

from contextecho.sessions.model import (
    Compaction,
    Content,
    Kind,
    Session,
    Sidechain,
    Skipped,
    Source,
    Span,
    Speaker,
    Turn,
)

__all__ = [
    "Compaction",
    "Content",
    "Kind",
    "Session",
    "Sidechain",
    "Skipped",
    "Source",
    "Span",
    "Speaker",
    "Turn",
]
