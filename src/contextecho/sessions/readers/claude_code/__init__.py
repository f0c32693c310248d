"""Reads the session files of Claude Code (one JSON record a line), versions 1.0 to 2.1.

The one thing to know: a message of the model is spread over several records, a
user record is often not the user's, and the order of the file is the order of
the conversation. What each module knows:

    records     the fields we look at          parts       what a record says
    speakers    human or client                queue       messages typed meanwhile
    branches    rewinds, repeated records      compactions boundaries and summaries
    asides      what it says beside that       declared    mode and personality
    entries     what one line is worth         sidechains  sub-agents
    assembly    all of it, in one pass         pieces      several processes for large files
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Final

from contextecho.counting import counted
from contextecho.errors import SessionError
from contextecho.sessions.building.jsontext import line_values
from contextecho.sessions.building.stamp import Stamp
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Session
from contextecho.sessions.readers.claude_code.assembly import Assembly
from contextecho.sessions.readers.claude_code.pieces import helpers_for, read_in_pieces
from contextecho.sessions.readers.claude_code.records import is_record, is_row
from contextecho.sessions.readers.claude_code.source import ClaudeCodeSource
from contextecho.untrusted import make_visible

NAME: Final = "claude-code"


def sniff(head: bytes) -> bool:
    """Whether the first lines hold a record of this format (never judged by the name)."""
    return any(is_record(value) or is_row(value) for value in line_values(head))


def read(path: Path) -> Session:
    """Index the file. Raises `SessionError` if it holds no conversation of the main thread."""
    tally = Tally()
    assembly = Assembly(tally)
    line_offsets = array("Q")
    with path.open("rb") as file:
        stamp = Stamp.of(file)
        helpers = helpers_for(stamp.size)
        for entry in read_in_pieces(file, stamp.size, line_offsets, helpers=helpers):
            assembly.add(entry)
    turns, compactions = assembly.finish()
    if not turns or not turns[-1].step:
        raise _no_conversation(path, assembly, sidechains=assembly.sidechains.inside)
    session_id = assembly.session_id or make_visible(path.stem)
    return Session(
        id=session_id,
        path=path,
        format=NAME,
        bytes=stamp.size,
        turns=turns,
        compactions=compactions,
        row_turn_lines=assembly.row_turn_lines,
        skipped=tally.skipped(),
        sidechains=assembly.sidechains.found(path, session_id),
        models=tuple(assembly.models),
        versions=tuple(assembly.versions),
        source=ClaudeCodeSource(path, stamp, line_offsets),
        cwd=assembly.cwd,
        system=assembly.declared.system,
        forked_from=assembly.declared.forked_from,
        prompt_ids=tuple(assembly.prompt_ids(turns)),
    )


def _no_conversation(path: Path, assembly: Assembly, *, sidechains: int) -> SessionError:
    """Why there is nothing to measure here."""
    if sidechains and not assembly.turns:
        return SessionError(
            "holds only a sub-agent's conversation",
            where=str(path),
            todo="give the file of the session that started it, if it is still there: "
            "Claude Code may have deleted it",
        )
    prompts = counted(assembly.turns[-1].prompt if assembly.turns else 0, "prompt")
    return SessionError(f"holds no conversation: {prompts}, no message of a model", where=str(path))
