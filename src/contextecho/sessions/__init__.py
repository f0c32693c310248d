"""Reading what happened: one `Session` type, one reader a format, discovery.

session = read_session("~/.claude/projects/x/1234.jsonl")
session.prompts, session.steps, session.row_turns
last = session.turns[-1]
session.text(last)

Names are loaded when they are first used, so that a list of sessions that were read
before does not pay for the readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextecho.doors import open_on_demand

__all__ = [
    "Circumstances",
    "Compaction",
    "CompactionKind",
    "Conditions",
    "Content",
    "FoundSession",
    "Inside",
    "Kept",
    "Kind",
    "Session",
    "Sidechain",
    "Skipped",
    "Source",
    "Span",
    "Speaker",
    "Summary",
    "Survey",
    "Turn",
    "Walk",
    "choose_format",
    "circumstances_of",
    "conditions_at",
    "convert_session",
    "default_folder",
    "discover",
    "example_session",
    "is_packed",
    "keep_session",
    "look_inside",
    "newest_session",
    "not_written",
    "read_session",
    "retention_warning",
    "session_roots",
    "sessions_to_keep",
    "survey",
    "tell_apart",
    "times_of",
    "walk",
    "write_lines",
]

if TYPE_CHECKING:
    from contextecho.sessions.circumstances import (
        Circumstances,
        Conditions,
        circumstances_of,
        conditions_at,
        tell_apart,
    )
    from contextecho.sessions.converting import (
        choose_format,
        convert_session,
        not_written,
        write_lines,
    )
    from contextecho.sessions.discovery import (
        FoundSession,
        Survey,
        discover,
        newest_session,
        retention_warning,
        session_roots,
        survey,
    )
    from contextecho.sessions.example import example_session
    from contextecho.sessions.inside import Inside, look_inside
    from contextecho.sessions.keeping import Kept, default_folder, keep_session, sessions_to_keep
    from contextecho.sessions.model import (
        Compaction,
        CompactionKind,
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
    from contextecho.sessions.packed import is_packed
    from contextecho.sessions.reading import read_session
    from contextecho.sessions.summarising import times_of
    from contextecho.sessions.summary import Summary
    from contextecho.sessions.walking import Walk, walk
else:
    _HOMES = {
        "circumstances": (
            "Circumstances",
            "Conditions",
            "circumstances_of",
            "conditions_at",
            "tell_apart",
        ),
        "converting": ("choose_format", "convert_session", "not_written", "write_lines"),
        "discovery": (
            "FoundSession",
            "Survey",
            "discover",
            "newest_session",
            "retention_warning",
            "session_roots",
            "survey",
        ),
        "example": ("example_session",),
        "inside": ("Inside", "look_inside"),
        "keeping": ("Kept", "default_folder", "keep_session", "sessions_to_keep"),
        "model": (
            "Compaction",
            "CompactionKind",
            "Content",
            "Kind",
            "Session",
            "Sidechain",
            "Skipped",
            "Source",
            "Span",
            "Speaker",
            "Turn",
        ),
        "packed": ("is_packed",),
        "reading": ("read_session",),
        "summarising": ("times_of",),
        "summary": ("Summary",),
        "walking": ("Walk", "walk"),
    }
    __getattr__ = open_on_demand(__name__, _HOMES)
