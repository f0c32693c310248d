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
from contextecho.sessions.converting import convert_session, write_lines
from contextecho.sessions.discovery import (
    FoundSession,
    discover,
    is_sub_agents,
    retention_warning,
    session_roots,
    sub_agent_files,
)
from contextecho.sessions.example import example_session
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
from contextecho.sessions.reading import read_session

__all__ = [
    "Circumstances",
    "Compaction",
    "CompactionKind",
    "Conditions",
    "Content",
    "FoundSession",
    "Kept",
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
    "convert_session",
    "default_folder",
    "discover",
    "example_session",
    "is_sub_agents",
    "keep_session",
    "read_session",
    "retention_warning",
    "session_roots",
    "sessions_to_keep",
    "sub_agent_files",
    "tell_apart",
    "write_lines",
]
