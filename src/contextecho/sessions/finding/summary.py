"""What a list of sessions says of each, without its text.

The one thing to know: a summary is made by reading the whole session, and is what the
index keeps. So it holds counts, names and reasons, never words of the conversation.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Marks: TypeAlias = bytes  # which is a field's name below


class Summary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One session, or the reason why there is none; counts are null then."""

    format: str
    error: str | None = None
    member: str | None = None  # which session of a file that holds several
    id: str | None = None
    prompts: int | None = None
    steps: int | None = None
    row_turns: int | None = None
    compactions: int | None = None  # that replaced the conversation by a summary
    final_texts: int | None = None  # messages of the model with text that call no tool
    commentary_texts: int | None = None  # those beside tool calls
    models: tuple[str, ...] = ()
    last_time: float | None = None  # seconds since 1970, of the last turn that has a time
    bytes: int | None = None  # of all its files, if it lies in several
    first_time: float | None = None  # of the first turn that has a time
    cwd: str | None = None  # the folder that the agent worked in
    is_passing: bool = False  # the error may be gone the next time
    is_cut: bool = False  # the file ends in the middle
    written: float | None = None  # when the newest of its files was, if it lies in several
    inherited_prompts: int | None = None  # of the prompts: those of the session it was forked from
    marks: Marks = b""  # of the prompts that have ids (`repeats`)
    is_fork: bool = False  # as the file says


class Original(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that a kept or converted one was made from, as it was."""

    name: str  # below the folder of them all; empty where it is the only one
    sha256: str
    bytes: int


class Summaries(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a file holds."""

    sessions: tuple[Summary, ...] = ()
    sub_agents: int = 0  # sessions that are sub-agents', which belong to another
    refusal: str | None = None  # why the system does not let the file be read
    originals: tuple[Original, ...] = ()  # what it was made from by this program; the session first
    are_rows: bool = False  # that were kept of a database
    stranger: str | None = None  # why a file that looks like a session's is in no known format

    @property
    def holds_any(self) -> bool:
        """Whether there are sessions, a user's or a sub-agent's."""
        return bool(self.sessions or self.sub_agents)

    @property
    def ids(self) -> tuple[str, ...] | None:
        """Of the sessions; `None` where one has none."""
        ids = tuple(each.id for each in self.sessions if each.id is not None)
        return ids if ids and len(ids) == len(self.sessions) else None

    @property
    def is_settled(self) -> bool:
        """Whether they stay what they are as long as the file does."""
        return self.refusal is None and all(
            each.bytes is None and not each.is_passing for each in self.sessions
        )
