"""Reading what happened: one `Session` type, one reader a format, discovery.

session = read_session("~/.claude/projects/x/1234.jsonl")
session.prompts, session.steps, session.row_turns
last = session.turns[-1]
session.text(last)
"""

from __future__ import annotations

from contextecho.sessions.circumstances import (
    Circumstances,
    Conditions,
    circumstances_of,
    conditions_at,
    tell_apart,
)
from contextecho.sessions.discovery import (
    FoundSession,
    discover,
    is_sub_agents,
    retention_warning,
    session_roots,
    sub_agent_files,
)
from contextecho.sessions.example import example_session
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
from contextecho.sessions.reading import read_session

__all__ = [
    "Circumstances",
    "Compaction",
    "CompactionKind",
    "Conditions",
    "Content",
    "FoundSession",
    "Kind",
    "Session",
    "Sidechain",
    "Skipped",
    "Source",
    "Span",
    "Speaker",
    "Turn",
    "circumstances_of",
    "conditions_at",
    "discover",
    "example_session",
    "is_sub_agents",
    "read_session",
    "retention_warning",
    "session_roots",
    "sub_agent_files",
    "tell_apart",
]
