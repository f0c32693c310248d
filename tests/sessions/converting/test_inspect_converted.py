"""A session that was converted to a log of Inspect has its places again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from contextecho.errors import SessionError
from contextecho.sessions import (
    Compaction,
    Kind,
    PromptKind,
    Session,
    convert_session,
    read_session,
)
from contextecho.sessions.reading import members_of
from sessions.claude_code_lines import assistant, record, user, write
from sessions.looking import texts

MOST = 25  # members of one file that are tried
NOT_FITTING = "places of the converted session, which do not fit the messages"


def every(folder: Path) -> Iterator[Session]:
    for path in sorted(folder.rglob("*")):
        try:
            members = members_of(path) if path.is_file() else ()
        except SessionError:
            continue
        for member in members[:MOST]:
            try:
                yield read_session(path if member is None else f"{path}#{member}")
            except SessionError:
                continue


def places(session: Session) -> set[tuple[Any, ...]]:
    """Where there is a turn that went on and is not empty."""
    contents = session.contents(session.turns)
    return {
        (turn.kind, turn.speaker, turn.step, turn.prompt, turn.segment)
        for turn, content in zip(session.turns, contents, strict=True)
        if not turn.abandoned and (content.text.strip() or content.images or turn.tool)
    }


def left_behind(session: Session) -> list[tuple[Any, ...]]:
    """What a rewind left behind, each with its place and its words."""
    left = [turn for turn in session.turns if turn.abandoned]
    return [
        (turn.kind, turn.speaker, turn.step, turn.prompt, turn.row_turn, turn.segment, content.text)
        for turn, content in zip(left, session.contents(left), strict=True)
    ]


def bare(compaction: Compaction) -> Compaction:
    """What a log's own lines and turns do not change."""
    summary = None if compaction.summary is None else 0
    return replace(compaction, line=0, kept=(), summary=summary)


def test_every_real_session_has_its_places_again(shared: Path, tmp_path: Path) -> None:
    """Each against the client's own file: positions of turns, counts and compactions."""
    formats = Counter[str]()
    for session in every(shared / "sessions"):
        read = read_session(convert_session(session, tmp_path / "x.eval", force=True))
        for field in ("prompts", "steps", "row_turns", "models", "versions", "cwd", "sidechains"):
            assert getattr(read, field) == getattr(session, field), (session.name, field)
        assert places(read) == places(session), session.name
        assert left_behind(read) == left_behind(session), session.name
        assert sum(read.prompt_kinds.values()) == read.prompts, session.name
        assert [*map(bare, read.compactions)] == [*map(bare, session.compactions)], session.name
        assert read.skipped == session.skipped, session.name
        for compaction, was in zip(read.compactions, session.compactions, strict=True):
            before = [turn for turn in read.turns if turn.line < compaction.line]
            assert all(turn.row_turn <= was.row_turn for turn in before), session.name
            assert all(turn.step >= was.step for turn in read.turns[len(before) :]), session.name
        formats[session.format] += 1
    assert formats.keys() >= {"claude-code", "codex", "gemini", "opencode", "pi", "swe-agent"}


def test_compactions_of_codex_without_a_readable_summary(shared: Path, tmp_path: Path) -> None:
    """Row turns, steps and prompts as the newcomer read them in the client's file."""
    path = shared / "sessions/codex/agentv-34f597b72d-1.jsonl"
    read = read_session(convert_session(read_session(path), tmp_path / "x.eval"))
    assert read.row_turns == 228
    assert [(c.row_turn, c.step, c.prompt) for c in read.compactions] == [
        (72, 54, 7),
        (153, 115, 10),
    ]
    assert [c.summary for c in read.compactions] == [None, None]


def test_what_a_rewind_left_behind_is_there_again(shared: Path, tmp_path: Path) -> None:
    """By reading the client's file: five prompts and three answers, two forks that both end."""
    (path,) = (shared / "sessions/claude-code").rglob("dag_within_fork.jsonl")
    read = read_session(convert_session(read_session(path), tmp_path / "x.eval"))
    assert (len(read.turns), read.prompts, read.steps) == (8, 5, 3)
    assert sum(turn.abandoned for turn in read.turns) == 3
    assert read.prompt_kinds[PromptKind.TYPED] == 5
    again = read_session(convert_session(read, tmp_path / "again.jsonl"))
    assert texts(again) == texts(read) == texts(read_session(path))


def test_turns_left_behind_stand_at_the_message_before_them(tmp_path: Path) -> None:
    """In the file: a; b and x, left; c and h; compaction; d; e and y, left; f and g."""
    boundary = record("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    first, summary = user("a"), user("What was said.", isCompactSummary=True)
    fourth = user("d", parentUuid=summary["uuid"])
    rows = [
        *(first, *branch(first, user("b"), assistant("x"))),
        *branch(first, user("c"), assistant("h")),
        *(boundary, summary | {"parentUuid": boundary["uuid"]}, fourth),
        *branch(fourth, user("e"), assistant("y")),
        *branch(fourth, user("f"), assistant("g")),
    ]
    session = read_session(write(tmp_path, rows))
    assert texts(session, abandoned=True) == ["b", "x", "e", "y"]
    read = read_session(convert_session(session, tmp_path / "x.eval"))
    assert texts(read) == ["a", "b", "x", "c", "h", "What was said.", "d", "e", "y", "f", "g"]
    assert [turn.line for turn in read.turns] == [1, 1, 1, 2, 3, 4, 5, 5, 5, 6, 7]
    assert [(c.line, c.summary) for c in read.compactions] == [(4, 5)]
    went_on = {turn.message for turn in read.turns if not turn.abandoned}
    assert len(went_on) == 7
    assert went_on.isdisjoint(turn.message for turn in read.turns if turn.abandoned)


def branch(start: dict[str, Any], *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """These one after the other, the first after `start`."""
    parents = (start, *rows[:-1])
    return [row | {"parentUuid": up["uuid"]} for up, row in zip(parents, rows, strict=True)]


@pytest.fixture
def document(tmp_path: Path) -> Any:
    boundary = record("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"})
    summary = user("What was said.", isCompactSummary=True)
    rows = [user("a"), assistant("b", "c"), boundary, summary, user("d"), assistant("e")]
    session = read_session(write(tmp_path, rows))
    path = convert_session(session, tmp_path / "x.json", to="inspect")
    return json.loads(path.read_bytes())


def read_document(path: Path, document: Any) -> Session:
    path.write_text(json.dumps(document))
    return read_session(path)


def ours(document: Any, number: int) -> Any:
    return document["samples"][0]["messages"][number]["metadata"]["contextecho"]


def test_a_message_taken_out_leaves_the_others_at_their_places(
    tmp_path: Path, document: Any
) -> None:
    del document["samples"][0]["messages"][0]
    session = read_document(tmp_path / "x.json", document)
    assert [(turn.kind, turn.prompt, turn.segment) for turn in session.turns] == [
        (Kind.ASSISTANT, 1, 0),
        (Kind.ASSISTANT, 1, 0),
        (Kind.SUMMARY, 1, 1),
        (Kind.USER, 2, 1),
        (Kind.ASSISTANT, 2, 1),
    ]
    assert [(c.line, c.step, c.summary) for c in session.compactions] == [(2, 1, 2)]
    assert list(session.row_turn_lines) == [1, 1, 2, 3, 4]


LEFT = {"index": 1, "kind": "user", "speaker": "human", "line": 1}
LEFT |= dict.fromkeys(("row_turn", "step", "prompt", "message"), 1)
DAMAGE: dict[str, Callable[[Any], object]] = {
    "no place": lambda document: ours(document, 1).clear(),
    "a place of the wrong type": lambda document: ours(document, 1).update(step="one"),
    "a place below nothing": lambda document: ours(document, 1).update(step=-1),
    "more pieces than places": lambda document: ours(document, 1).pop("more"),
    "too many rows": lambda document: ours(document, 4).update(row_turn=(1 << 32) - 1),
    "a turn left behind that says nothing": lambda document: document["samples"][0]["metadata"][
        "contextecho"
    ].update(abandoned=[LEFT | {"text": None}]),
    "no header": lambda document: document["samples"][0]["metadata"]["contextecho"].pop("counts"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_places_that_do_not_fit_are_said_and_not_taken(
    tmp_path: Path, document: Any, damage: str
) -> None:
    DAMAGE[damage](document)
    session = read_document(tmp_path / "x.json", document)
    assert [s.reason for s in session.skipped] == [NOT_FITTING]
    assert (session.prompts, session.steps, len(session.compactions)) == (2, 2, 1)
    assert session.row_turns == 5


def test_places_never_go_backwards(tmp_path: Path, document: Any) -> None:
    ours(document, 3).update(prompt=0, row_turn=0)
    session = read_document(tmp_path / "x.json", document)
    assert [turn.prompt for turn in session.turns] == [1, 1, 1, 1, 1, 2]
    assert session.row_turns == 5


@given(st.data())
def test_damaged_places_give_a_session_or_are_refused(
    tmp_path: Path, document: Any, data: st.DataObject
) -> None:
    written = bytearray(json.dumps(document["samples"]).encode())
    begin = written.index(b'"messages"')
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(begin, len(written)))
        put = data.draw(st.sampled_from([b"", b"9", b"-1", b"null", b"99999999999", b"[", b'"']))
        written[at : at + data.draw(st.integers(0, 12))] = put
    whole = json.dumps({**document, "samples": 0}).encode().removesuffix(b"0}")
    path = tmp_path / "damaged.json"
    path.write_bytes(whole + bytes(written) + b"}")
    try:
        session = read_session(path)
    except SessionError:
        return
    for turn, content in zip(session.turns, session.contents(session.turns), strict=True):
        assert turn.chars == len(content.text)
    for before, after in pairwise(session.turns):
        assert (before.row_turn, before.step) <= (after.row_turn, after.step)
        assert before.prompt <= after.prompt
        assert before.segment <= after.segment
    assert len(session.row_turn_lines) >= session.turns[-1].row_turn
    for compaction in session.compactions:
        assert all(0 <= index < len(session.turns) for index in compaction.kept)
