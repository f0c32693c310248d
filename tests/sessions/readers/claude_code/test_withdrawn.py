"""Answers that the client superseded, retracted or broke off, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextecho.contexts import EstimateCounter, find_positions, load_protocol, take_snapshot
from contextecho.errors import SessionError
from contextecho.sessions import Session, read_session
from sessions.claude_code_lines import assistant, call, chained, queue, record, result, user, write
from sessions.looking import texts

WITHDRAWN = "answer that the client withdrew"


def counts(session: Session) -> list[tuple[int, int]]:
    return [(turn.step, turn.prompt) for turn in session.turns]


def withdrawn(session: Session) -> list[tuple[int, int]]:
    return [(s.count, s.first_line) for s in session.skipped if s.reason == WITHDRAWN]


def replayed(session: Session) -> list[str]:
    (position,) = find_positions(session, "last")
    strict = load_protocol("strict")
    context = take_snapshot(session, position, strict, counter=EstimateCounter()).context
    return [message.text for message in context.messages]


def retraction(subtype: str, *uuids: str) -> dict[str, Any]:
    return record("system", subtype=subtype, retractedMessageUuids=list(uuids))


def test_a_superseded_answer_is_no_step_and_is_not_replayed(read) -> None:
    session = read(
        user("one"),
        assistant("old", uuid="old"),
        assistant("new", supersedesUuids=["old"]),
        user("two"),
        assistant("then"),
    )
    assert texts(session) == replayed(session) == ["one", "new", "two", "then"]
    assert counts(session) == [(0, 1), (1, 1), (1, 2), (2, 2)]
    assert withdrawn(session) == [(1, 2)]
    assert session.row_turns == 5  # rows are rows: the first paper's count


@pytest.mark.parametrize("subtype", ["model_refusal_fallback", "api_refusal"])
def test_a_retracted_answer_is_no_step_and_is_not_replayed(read, subtype: str) -> None:
    session = read(
        user("one"),
        assistant("refused", uuid="bad", model="m"),
        retraction(subtype, "bad"),
        assistant("fallback", model="n"),
    )
    assert texts(session) == replayed(session) == ["one", "fallback"]
    assert counts(session) == [(0, 1), (1, 1)]
    assert withdrawn(session) == [(1, 2)]


def test_of_a_message_in_several_records_all_that_is_named_goes(read) -> None:
    session = read(
        user("go"),
        assistant("I look.", id="m", uuid="a"),
        assistant(call("t1"), id="m", uuid="b"),
        user([result("seen")]),
        assistant("Looked.", supersedesUuids=["a", "b"]),
    )
    assert replayed(session) == ["go", "Looked."]
    assert session.steps == 1
    assert withdrawn(session) == [(2, 2)]


def test_a_step_stays_as_long_as_one_record_of_it_stays(read) -> None:
    session = read(
        user("go"),
        assistant("first", id="m", uuid="a"),
        assistant("second", id="m"),
        retraction("api_refusal", "a"),
        assistant("third"),
    )
    assert texts(session) == ["go", "second", "third"]
    assert counts(session) == [(0, 1), (1, 1), (2, 1)]


def test_words_of_the_human_are_never_withdrawn(read) -> None:
    session = read(
        user("typed", uuid="u"),
        assistant("old", uuid="old"),
        queue("enqueue", "typed meanwhile"),
        queue("remove"),
        assistant("new", supersedesUuids=["old", "u", "nowhere"]),
    )
    assert texts(session) == ["typed", "typed meanwhile", "new"]
    assert counts(session) == [(0, 1), (0, 2), (1, 2)]


def test_compactions_count_without_withdrawn_answers(read) -> None:
    session = read(
        user("one"),
        assistant("old", uuid="old"),
        assistant("new", supersedesUuids=["old"], uuid="new"),
        record(
            "system",
            subtype="compact_boundary",
            compactMetadata={"preservedMessages": {"uuids": ["old", "new"]}},
        ),
        user(
            "This session is being continued from a previous conversation.", isCompactSummary=True
        ),
        assistant("on"),
    )
    (event,) = session.compactions
    assert (event.step, event.prompt, event.summary, event.kept) == (1, 1, 2, (1,))


def test_a_session_of_nothing_but_withdrawn_answers_holds_no_conversation(tmp_path: Path) -> None:
    path = write(
        tmp_path, [user("one"), assistant("bad", uuid="bad"), retraction("api_refusal", "bad")]
    )
    with pytest.raises(SessionError, match="no message of a model"):
        read_session(path)


def test_a_message_broken_off_in_mid_stream_is_marked_and_is_not_final(read) -> None:
    session = read(
        *chained(
            [
                user("go"),
                assistant("I was", id="m"),
                assistant("about to", id="m", isAbortedMidStream=True),
                user("[Request interrupted by user]"),
                assistant("Done."),
            ]
        )
    )
    spoken = [turn for turn in session.turns if turn.kind == "assistant"]
    assert [turn.broken_off for turn in spoken] == [True, True, False]
    assert [turn.final for turn in spoken] == [False, False, True]
    assert session.steps == 2
