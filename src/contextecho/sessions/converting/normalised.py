"""Any session as JSON lines of one documented shape: a header, then one line a turn.

The one thing to know: nothing is lost that a `Session` holds, so the file that this
writes is read back (`readers/normalised.py`) as the same session, turn by turn. The
schema is in docs/formats/contextecho.md; within version 1 fields are only added.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from contextecho.sessions.building.jsontext import scrub
from contextecho.sessions.model import (
    Compaction,
    Content,
    Kind,
    Session,
    Sidechain,
    Skipped,
    Speaker,
    Turn,
)

FORMAT: Final = "contextecho.session/1"

Count = Annotated[int, Meta(ge=0, lt=1 << 32)]
Size = Annotated[int, Meta(ge=0, lt=1 << 62)]  # of a bound, msgspec takes 63 bits
T = TypeVar("T")


class Counts(Struct, frozen=True):
    """How much there is; of a whole file, as many turn lines follow."""

    turns: Count
    prompts: Count
    steps: Count
    row_turns: Count


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line."""

    format: str  # of this file
    id: str
    name: str  # of the file that was converted: its path, and `#member`
    source_format: str
    sha256: str  # of the file that was converted
    bytes: Size
    counts: Counts
    cwd: str | None = None
    parent: str | None = None
    forked_from: str | None = None
    inherited: Count = 0  # of the turns that follow, the first
    system: str | None = None
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    sidechains: tuple[Sidechain, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    row_turn_lines: tuple[Count, ...] = ()
    prompt_ids: tuple[str | None, ...] = ()


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn, with its content. What is false, null or nothing is not written."""

    index: Count  # from 0: what a compaction's `summary` and `kept` refer to
    kind: Kind
    speaker: Speaker
    text: str | None = None  # of a tool call only where `arguments` would not give it back
    arguments: dict[str, Any] | None = None  # of a tool call, where they are an object
    tool: str | None = None
    call_id: str | None = None
    time: float | None = None  # seconds since 1970, UTC
    model: str | None = None
    version: str | None = None
    mode: str | None = None
    personality: str | None = None
    segment: Count = 0
    line: Count
    row_turn: Count
    step: Count
    prompt: Count
    message: Count
    is_error: bool = False
    final: bool = False
    abandoned: bool = False
    quoted: bool = False
    steering: bool = False
    broken_off: bool = False
    images: Count = 0
    chars: Count | None = None  # `Turn.chars`, where it is not the length of the text


FACTS: Final = (
    *("cwd", "parent", "forked_from", "inherited", "system", "models", "versions"),
    *("compactions", "sidechains", "skipped", "row_turn_lines", "prompt_ids"),
)
"""The fields of a session that its header keeps as they are."""

SHARED: Final = tuple(name for name in Line.__struct_fields__ if name in Turn.__struct_fields__)
"""The fields that a line and a turn have in common; `chars` is written only where it differs."""


def lines_of(session: Session) -> Iterator[bytes]:
    """The lines of the file, each with its end, one turn's content held at a time.

    Raises `SessionError` when the session's file changed since it was read.
    """
    yield _encoded(header_of(session))
    contents = session.contents(session.turns)
    for index, (turn, content) in enumerate(zip(session.turns, contents, strict=True)):
        yield _encoded(turn_line(index, turn, content))


def arguments_as_text(arguments: dict[str, Any]) -> str:
    """The text of a tool call's arguments, where a line holds the arguments alone."""
    return _encode(arguments).decode()


def facts_of(known: Session | Header) -> dict[str, Any]:
    """`FACTS` by their names."""
    return {name: getattr(known, name) for name in FACTS}


def header_of(session: Session) -> Header:
    """What the first line says of a session. Raises `SessionError` when its file changed."""
    counts = Counts(len(session.turns), session.prompts, session.steps, session.row_turns)
    facts = facts_of(session) | {"row_turn_lines": tuple(session.row_turn_lines)}
    return Header(
        format=FORMAT,
        id=session.id,
        name=session.name,
        source_format=session.format,
        sha256=session.sha256,
        bytes=session.bytes,
        counts=counts,
        **facts,
    )


def turn_line(index: int, turn: Turn, content: Content) -> Line:
    """What the line of one turn says."""
    fields: dict[str, Any] = {name: getattr(turn, name) for name in SHARED}
    fields["chars"] = None if turn.chars == len(content.text) else turn.chars
    text: str | None = content.text
    arguments = dict(content.arguments) if content.arguments else None
    if arguments is not None and _gives(arguments, content.text):
        text = None
    return Line(index=index, text=text, arguments=arguments, images=content.images, **fields)


def _gives(arguments: dict[str, Any], text: str) -> bool:
    """Whether the text can be had from the arguments, character by character."""
    try:
        return arguments_as_text(arguments) == text
    except (ValueError, OverflowError, RecursionError):
        return False


def _encoded(value: Header | Line) -> bytes:
    try:
        return _encode(value) + b"\n"
    except UnicodeEncodeError:  # a file name that is not UTF-8, or half a character in a text
        return _encode(scrub(msgspec.to_builtins(value, enc_hook=_plain))) + b"\n"


def _plain(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


_encode = msgspec.json.Encoder(enc_hook=_plain).encode
