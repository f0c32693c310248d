"""Compactions, old and new, and branches left behind."""

from __future__ import annotations

from typing import Any

import pytest

from contextecho.sessions import Kind
from sessions.claude_code_lines import assistant, chained, queue, record, user

KEPT_LOST = "kept messages that are not in the file"
SUMMARY = "This session is being continued from a previous conversation that ran out of context."


def boundary(**metadata: Any) -> dict[str, Any]:
    return record("system", subtype="compact_boundary", compactMetadata=metadata)


def test_a_boundary_and_its_summary_are_one_compaction(read) -> None:
    session = read(
        user("a"),
        assistant("b"),
        boundary(trigger="auto", preTokens=9, postTokens=3),
        user(SUMMARY, isCompactSummary=True),
        assistant("c"),
    )
    (event,) = session.compactions
    assert (event.trigger, event.tokens_before, event.tokens_after) == ("auto", 9, 3)
    assert (event.line, event.row_turn, event.step, event.prompt) == (3, 2, 1, 1)
    assert event.summary == 2
    assert [turn.segment for turn in session.turns] == [0, 0, 1, 1]
    assert session.prompts == 1


def test_a_summary_in_list_form_is_one_summary(read) -> None:
    blocks = [{"type": "text", "text": SUMMARY}, {"type": "text", "text": "1. Intent"}]
    session = read(
        user("a"), assistant("b"), boundary(), user(blocks, isCompactSummary=True), assistant("c")
    )
    assert len(session.compactions) == 1
    assert sum(turn.kind is Kind.SUMMARY for turn in session.turns) == 2


def test_an_older_summary_without_boundary_is_a_compaction(read) -> None:
    session = read(user("a"), assistant("b"), user(SUMMARY), assistant("c"))
    (event,) = session.full_compactions
    assert (event.line, event.row_turn, event.summary, event.trigger) == (3, 2, 2, None)
    assert [turn.segment for turn in session.turns] == [0, 0, 1, 1]


@pytest.mark.parametrize("front", ["", "\n", "<system-reminder>be brief</system-reminder>\n"])
def test_a_file_that_begins_with_a_summary_continues_another(read, front: str) -> None:
    session = read(user(front + SUMMARY), assistant("b"))
    (event,) = session.compactions
    assert (event.kind, event.row_turn, event.summary) == ("continuation", 0, 0)
    assert session.full_compactions == ()
    assert session.turns[0].kind is Kind.SUMMARY
    assert session.prompts == 0


def test_a_boundary_whose_summary_is_missing_is_still_a_compaction(read) -> None:
    session = read(user("a"), assistant("b"), boundary(trigger="manual"), assistant("c"))
    (event,) = session.compactions
    assert (event.trigger, event.summary) == ("manual", None)
    assert session.turns[-1].segment == 1


def test_turns_kept_verbatim_are_named_and_not_read_twice(read) -> None:
    kept = [user("keep me", uuid="k1"), assistant("me too", uuid="k2")]
    session = read(
        user("a"),
        assistant("b"),
        *kept,
        boundary(trigger="auto", preservedMessages={"uuids": ["k1", "k2"]}),
        user(SUMMARY, isCompactSummary=True),
        *kept,
        assistant("c"),
    )
    assert session.compactions[0].kept == (2, 3)
    assert len(session.turns) == 6


def test_a_kept_segment_is_named_from_head_to_tail(read) -> None:
    session = read(
        user("a"),
        assistant("b", uuid="head"),
        user("c"),
        assistant("d", uuid="tail"),
        boundary(preservedSegment={"headUuid": "head", "anchorUuid": "x", "tailUuid": "tail"}),
        user(SUMMARY, isCompactSummary=True),
        assistant("e"),
    )
    assert session.compactions[0].kept == (1, 2, 3)


@pytest.mark.parametrize(
    ("head", "tail"), [("before", "after"), ("b", "after"), ("before", "d"), ("hook", "after")]
)
def test_a_kept_segment_may_be_named_by_records_that_are_no_messages(
    read, head: str, tail: str
) -> None:
    session = read(
        *chained(
            [
                user("a", uuid="a"),
                record("attachment", uuid="before", attachment={"type": "hook_success"}),
                record("progress", uuid="hook"),
                assistant("b", uuid="b"),
                user("c"),
                assistant("d", uuid="d"),
                record("attachment", uuid="after", attachment={"type": "todo_reminder"}),
            ]
        ),
        boundary(preservedSegment={"headUuid": head, "anchorUuid": "x", "tailUuid": tail}),
        user(SUMMARY, isCompactSummary=True),
        assistant("e"),
    )
    assert session.compactions[0].kept == (1, 2, 3)
    assert KEPT_LOST not in {skipped.reason for skipped in session.skipped}


def test_a_kept_segment_may_begin_with_a_queued_message(read) -> None:
    queued = {"type": "queued_command", "prompt": "and tests", "commandMode": "prompt"}
    session = read(
        *chained(
            [
                user("a"),
                assistant("b"),
                record("attachment", uuid="head", attachment=queued),
                assistant("d", uuid="tail"),
            ]
        ),
        boundary(preservedSegment={"headUuid": "head", "anchorUuid": "x", "tailUuid": "tail"}),
        user(SUMMARY, isCompactSummary=True),
        assistant("e"),
    )
    assert [session.text(session.turns[n]) for n in session.compactions[0].kept] == [
        "and tests",
        "d",
    ]


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedSegment": {"headUuid": "lost", "anchorUuid": "x", "tailUuid": "b"}},
        {"preservedSegment": {"headUuid": "a", "anchorUuid": "x", "tailUuid": "lost"}},
        {"preservedSegment": {"headUuid": "b", "anchorUuid": "x", "tailUuid": "a"}},
        {"preservedMessages": {"uuids": ["lost"]}},
    ],
)
def test_kept_messages_that_are_not_in_the_file_are_counted(read, metadata: Any) -> None:
    session = read(
        user("a", uuid="a"),
        assistant("b", uuid="b"),
        boundary(**metadata),
        user(SUMMARY, isCompactSummary=True),
        assistant("c"),
    )
    assert session.compactions[0].kept == ()
    assert (KEPT_LOST, 1, 3) in [(s.reason, s.count, s.first_line) for s in session.skipped]


def test_turns_taken_back_move_the_summary_with_them(read) -> None:
    session = read(
        user("a"),
        assistant("b"),
        queue("enqueue", "x"),
        queue("remove"),
        boundary(),
        user(SUMMARY, isCompactSummary=True),
        user("x"),
        assistant("c"),
    )
    (event,) = session.compactions
    assert event.summary == 2
    assert event.prompt == 1
    assert session.turns[2].kind is Kind.SUMMARY
    assert session.prompts == 2


def test_a_resend_after_an_interrupt_is_no_rewind(read) -> None:
    records = chained(
        [user("a"), user("[Request interrupted by user]"), user("a again"), assistant("b")]
    )
    assert not any(turn.abandoned for turn in read(*records).turns)


def test_the_branch_that_goes_on_last_is_the_live_one(read) -> None:
    session = read(
        user("a", uuid="1"),
        assistant("b", uuid="2", parentUuid="1"),
        user("left", uuid="3", parentUuid="2"),
        user("right", uuid="4", parentUuid="2"),
        assistant("right answer", uuid="5", parentUuid="4"),
        assistant("left answer", uuid="6", parentUuid="3"),
    )
    assert [turn.abandoned for turn in session.turns] == [False, False, False, True, True, False]


def test_two_answers_to_one_prompt_are_a_retry(read) -> None:
    session = read(
        user("a", uuid="1"),
        assistant("first", uuid="2", parentUuid="1"),
        assistant("second", uuid="3", parentUuid="1"),
    )
    assert [turn.abandoned for turn in session.turns] == [False, True, False]


def test_a_rewind_is_seen_through_progress_and_notices(read) -> None:
    session = read(
        user("a", uuid="1"),
        assistant("b", uuid="2", parentUuid="1"),
        record("system", uuid="s", parentUuid="2"),
        user("left", uuid="3", parentUuid="s"),
        assistant("left answer", uuid="4", parentUuid="3"),
        user("right", uuid="5", parentUuid="2"),
        assistant("right answer", uuid="6", parentUuid="5"),
    )
    assert [turn.abandoned for turn in session.turns] == [False, False, True, True, False, False]


def test_cycles_and_dangling_parents_do_no_harm(read) -> None:
    session = read(
        user("a", uuid="1", parentUuid="2"),
        assistant("b", uuid="2", parentUuid="1"),
        user("c", uuid="3", parentUuid="3"),
        assistant("d", uuid="4", parentUuid="nowhere"),
    )
    assert not any(turn.abandoned for turn in session.turns)
    assert session.steps == 2
