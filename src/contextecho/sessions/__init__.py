"""Reading what happened: one `Session` type, one reader a format, discovery.

session = read_session("~/.claude/projects/x/1234.jsonl")
session.prompts, session.steps, session.row_turns
last = session.turns[-1]
session.text(last)

Names are loaded when they are first used, so that a list of sessions that were read
before does not pay for the readers. What each part knows; it imports only from parts below:

    finding     the sessions on a machine   keeping        copies, before a client deletes
    example     the one that is bundled     circumstances  what surrounds each turn
    reading     which reader, and its session
    registry    every reader            guarding   other packages', which may fail
    readers     one a format
    converting  other formats               packing        files that lie packed
    building    what readers are built from
    model       what a session is           language       that a human wrote in
    naming      what a session is called
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextecho.doors import open_on_demand

__all__ = [
    "Candidate",
    "Circumstances",
    "Compaction",
    "CompactionKind",
    "Conditions",
    "Content",
    "FoundSession",
    "Hashes",
    "Inside",
    "Kept",
    "Kind",
    "PromptKind",
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
    "begins_with",
    "choose_format",
    "circumstances_of",
    "conditions_at",
    "convert_session",
    "copies_among",
    "default_folder",
    "discover",
    "earlier_among",
    "example_session",
    "files_of",
    "is_packed",
    "keep_session",
    "load_languages",
    "look_inside",
    "newest_session",
    "originals_of",
    "other_readers",
    "read_session",
    "repeats_among",
    "retention_warning",
    "session_roots",
    "sessions_to_keep",
    "summary_of",
    "survey",
    "tell_apart",
    "times_of",
    "walk",
    "write_lines",
]

if TYPE_CHECKING:
    from contextecho.sessions.building.belonging import files_of
    from contextecho.sessions.circumstances import (
        Circumstances,
        Conditions,
        circumstances_of,
        conditions_at,
        tell_apart,
    )
    from contextecho.sessions.converting.convert import (
        choose_format,
        convert_session,
        write_lines,
    )
    from contextecho.sessions.example import example_session
    from contextecho.sessions.finding.copies import copies_among, originals_of
    from contextecho.sessions.finding.discovery import (
        FoundSession,
        Survey,
        discover,
        newest_session,
        retention_warning,
        session_roots,
        survey,
    )
    from contextecho.sessions.finding.earlier import begins_with, earlier_among
    from contextecho.sessions.finding.hashes import Hashes
    from contextecho.sessions.finding.inside import Inside, look_inside
    from contextecho.sessions.finding.repeats import repeats_among
    from contextecho.sessions.finding.summarising import summary_of, times_of
    from contextecho.sessions.finding.summary import Summary
    from contextecho.sessions.finding.walking import Candidate, Walk, walk
    from contextecho.sessions.keeping.keep import Kept, keep_session, sessions_to_keep
    from contextecho.sessions.language import load_languages
    from contextecho.sessions.model import (
        Compaction,
        CompactionKind,
        Content,
        Kind,
        PromptKind,
        Session,
        Sidechain,
        Skipped,
        Source,
        Span,
        Speaker,
        Turn,
    )
    from contextecho.sessions.packing.archive import default_folder
    from contextecho.sessions.packing.packed import is_packed
    from contextecho.sessions.reading import read_session
    from contextecho.sessions.registry import other_readers
else:
    _HOMES = {
        "building.belonging": ("files_of",),
        "circumstances": (
            "Circumstances",
            "Conditions",
            "circumstances_of",
            "conditions_at",
            "tell_apart",
        ),
        "converting.convert": ("choose_format", "convert_session", "write_lines"),
        "example": ("example_session",),
        "finding.copies": ("copies_among", "originals_of"),
        "finding.discovery": (
            "FoundSession",
            "Survey",
            "discover",
            "newest_session",
            "retention_warning",
            "session_roots",
            "survey",
        ),
        "finding.earlier": ("begins_with", "earlier_among"),
        "finding.hashes": ("Hashes",),
        "finding.inside": ("Inside", "look_inside"),
        "finding.repeats": ("repeats_among",),
        "finding.summarising": ("summary_of", "times_of"),
        "finding.summary": ("Summary",),
        "finding.walking": ("Candidate", "Walk", "walk"),
        "keeping.keep": ("Kept", "keep_session", "sessions_to_keep"),
        "language": ("load_languages",),
        "model": (
            "Compaction",
            "CompactionKind",
            "Content",
            "Kind",
            "PromptKind",
            "Session",
            "Sidechain",
            "Skipped",
            "Source",
            "Span",
            "Speaker",
            "Turn",
        ),
        "packing.archive": ("default_folder",),
        "packing.packed": ("is_packed",),
        "reading": ("read_session",),
        "registry": ("other_readers",),
    }
    __getattr__ = open_on_demand(__name__, _HOMES)
