"""Counting and joining, message by message; every expected number was counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import CompactionKind, Kind, Session, Span, Speaker
from contextecho.sessions.building.conversation import Conversation, Message, Piece
from contextecho.sessions.building.placed import PlacedSource
from contextecho.sessions.building.stamp import Stamp

ASKED = Piece(Kind.USER, Speaker.HUMAN, "do it")
TOLD = Piece(Kind.USER, Speaker.HARNESS, "reminder")
SAID = Piece(Kind.ASSISTANT, Speaker.MODEL, "done")
CALL = Piece(Kind.TOOL_CALL, Speaker.MODEL, "{}", tool="sh", call_id="c")
RESULT = Piece(Kind.TOOL_RESULT, Speaker.TOOL, "ok", call_id="c")
SUMMARY = Piece(Kind.SUMMARY, Speaker.SUMMARISER, "so far")


def say(conversation: Conversation, *pieces: Piece | None, **fields: Any) -> None:
    line = fields.pop("line", len(conversation.turns) + 1)
    conversation.say(Message(line=line, span=Span(0, 1), pieces=pieces, **fields))


def built(conversation: Conversation, path: Path) -> Session:
    source = PlacedSource(path, Stamp(0, 0), lambda _: [])
    return conversation.session(path, format="x", bytes=0, source=source)


def column(session: Session, name: str) -> Sequence[Any]:
    return [getattr(turn, name) for turn in session.turns]


def test_prompts_steps_and_row_turns_count_different_things(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, ASKED)
    say(conversation, SAID, CALL)
    say(conversation, RESULT)
    say(conversation, TOLD)
    say(conversation, SAID)
    say(conversation)  # nothing said
    session = built(conversation, tmp_path / "a")
    assert (session.prompts, session.steps, session.row_turns) == (1, 2, 4)
    assert column(session, "row_turn") == [1, 2, 2, 2, 3, 4]
    assert column(session, "step") == [0, 1, 1, 1, 1, 2]
    assert list(session.row_turn_lines) == [1, 2, 5, 6]


def test_only_a_message_without_calls_is_a_final_answer(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, SAID, id="m")
    say(conversation, CALL, id="m")  # the same message goes on
    say(conversation, SAID)
    say(conversation, SAID, broken_off=True)
    session = built(conversation, tmp_path / "a")
    assert column(session, "message") == [0, 0, 1, 2]
    assert column(session, "step") == [1, 1, 2, 3]
    assert column(session, "final") == [False, False, True, False]


def test_what_the_file_declares_final_is(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, Piece(Kind.ASSISTANT, Speaker.MODEL, "a", final=False))
    say(conversation, Piece(Kind.ASSISTANT, Speaker.MODEL, "b", final=True), CALL)
    assert column(built(conversation, tmp_path / "a"), "final") == [False, True, False]


def test_a_result_bears_the_name_of_the_tool_called(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, CALL)
    say(conversation, RESULT)
    say(conversation, Piece(Kind.TOOL_RESULT, Speaker.TOOL, "lost", call_id="nobody"))
    assert column(built(conversation, tmp_path / "a"), "tool") == ["sh", "sh", None]


def test_a_piece_that_is_no_turn_keeps_the_numbers_of_the_others(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, None, SAID)
    (turn,) = built(conversation, tmp_path / "a").turns
    assert turn.span.part == 1


def test_compactions_have_their_place_and_summary_and_begin_a_segment(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, ASKED)
    say(conversation, SAID)
    conversation.compact(3, trigger="auto", tokens_before=9)
    say(conversation, SUMMARY)
    conversation.keep([1])
    conversation.compact(4, kind=CompactionKind.MICRO)
    say(conversation, SAID)
    session = built(conversation, tmp_path / "a")
    full, micro = session.compactions
    assert (full.row_turn, full.step, full.prompt, full.summary, full.kept) == (2, 1, 1, 2, (1,))
    assert micro.summary is None
    assert column(session, "segment") == [0, 0, 1, 1]


def test_a_models_name_is_kept_for_its_own_words_only(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, ASKED, model="m-1", version="2", mode="plan", personality="terse")
    say(conversation, SAID, model="m-1", version="2", mode="plan", personality="terse")
    session = built(conversation, tmp_path / "a")
    assert column(session, "model") == [None, "m-1"]
    assert column(session, "mode") == ["plan", "plan"]
    assert column(session, "personality") == ["terse", "terse"]
    assert (session.models, session.versions) == (("m-1",), ("2",))


def test_without_a_models_word_there_is_no_session(tmp_path: Path) -> None:
    conversation = Conversation()
    say(conversation, ASKED)
    with pytest.raises(SessionError, match="no message of a model"):
        built(conversation, tmp_path / "a")
