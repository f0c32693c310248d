"""Modes, personalities and models that the client declares, on the turns that they hold for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextecho.sessions import Session, read_session
from sessions.claude_code_lines import assistant, queue, record, user
from sessions.looking import counts


def modes(session: Session) -> list[str | None]:
    return [turn.mode for turn in session.turns]


def personalities(session: Session) -> list[str | None]:
    return [turn.personality for turn in session.turns]


def attached(kind: str, **fields: Any) -> dict[str, Any]:
    return record("attachment", attachment={"type": kind, **fields})


def meta(kind: str, **fields: Any) -> dict[str, Any]:
    """A record without an envelope, as the client writes its settings."""
    return {"type": kind, "sessionId": "s1", **fields}


def test_nothing_is_declared_before_the_first_declaration(read) -> None:
    session = read(user("a"), assistant("b"), user("c", permissionMode="default"), assistant("d"))
    assert modes(session) == [None, None, "default", "default"]
    assert personalities(session) == [None] * 4


def test_a_mode_holds_until_the_next_whichever_record_says_it(read) -> None:
    session = read(
        user("a", permissionMode="default"),
        meta("permission-mode", permissionMode="acceptEdits"),
        assistant("b"),
        user("c", permissionMode="bypassPermissions"),
        assistant("d"),
        queue("enqueue", "e"),
        queue("remove"),
    )
    assert modes(session) == [
        "default",
        "acceptEdits",
        "bypassPermissions",
        "bypassPermissions",
        "bypassPermissions",
    ]


def test_a_mode_that_the_client_notes_again_is_no_news(read) -> None:
    kept = meta("permission-mode", permissionMode="auto")
    session = read(
        kept,
        user("a", permissionMode="auto"),
        assistant("b"),
        user("c", permissionMode="default"),  # resumed without a terminal, in another mode
        kept,
        assistant("d"),
        meta("permission-mode", permissionMode="plan"),  # turned on while the model worked
        assistant("e"),
    )
    assert modes(session) == ["auto", "auto", "default", "default", "plan"]


def shape(system: Any, **fields: Any) -> dict[str, Any]:
    return meta("api-request-shape", shapeHash="h", shape={"system": system, "tools": []}, **fields)


def test_the_system_prompt_is_the_first_that_was_sent(read) -> None:
    blocks = [{"type": "text", "text": "You are A."}, {"type": "text", "text": "Be brief."}]
    session = read(
        user("a"),
        attached("prompt_snapshot", systemPrompt=["Be brief."]),
        shape(blocks, timestamp="2026-01-01T00:00:00Z"),
        meta("api-request-blob", hash="b", message={"role": "user", "content": "a"}),
        meta("api-request", id="r", shapeHash="h", params={"model": "claude-x"}),
        meta("tools-used", tools=["Bash"]),
        assistant("b"),
        shape("You are B."),
    )
    assert session.system == "You are A.\n\nBe brief."
    assert (session.prompts, session.steps, session.row_turns) == (1, 1, 2)
    assert counts(session) == {"attachment": 1, "client metadata": 5}


def test_a_branched_session_names_the_one_it_was_copied_from(read) -> None:
    copied = {"sessionId": "s0", "messageUuid": "x"}
    session = read(user("a", forkedFrom=copied), assistant("b", forkedFrom=copied), user("c"))
    assert session.forked_from == "s0"
    assert (session.prompts, session.steps) == (2, 1)
    assert read(user("a", forkedFrom="odd"), assistant("b")).forked_from is None


def test_what_a_branch_copied_is_inherited(read) -> None:
    copied = {"sessionId": "s0", "messageUuid": "x"}
    copies = [
        user("a", forkedFrom=copied),
        assistant("b", forkedFrom=copied),
        queue("enqueue", "c"),
        queue("remove"),  # so that "c" was given to the model, and is a turn
        assistant("d", forkedFrom=copied),
    ]
    session = read(*copies, user("e"), assistant("f"), user("g", forkedFrom=copied), assistant("h"))
    assert [content.text for content in session.contents(session.turns)] == list("abcdefgh")
    assert (session.prompts, session.inherited, session.inherited_prompts) == (4, 4, 2)
    assert read(*copies).inherited == 4
    assert read(user("a"), assistant("b"), user("c", forkedFrom=copied)).inherited == 0


@pytest.mark.parametrize(
    ("given", "system"),
    [(["Be brief.", "Be kind."], "Be brief.\n\nBe kind."), ([], None), (None, None), ([1], None)],
)
def test_a_snapshot_tells_the_system_prompt_where_no_request_does(read, given, system) -> None:
    snapshot = attached("prompt_snapshot", systemPrompt=given)
    assert read(user("a"), snapshot, assistant("b")).system == system


def test_plan_mode_begins_and_ends_where_the_client_says_so(read) -> None:
    session = read(
        user("a", permissionMode="acceptEdits"),
        attached("plan_mode", reminderType="full", isSubAgent=False),
        assistant("plan"),
        attached("plan_mode", reminderType="sparse"),
        assistant("more plan"),
        attached("plan_mode_exit", planExists=True),
        assistant("work"),
    )
    assert modes(session) == ["acceptEdits", "plan", "plan", "acceptEdits"]


def test_what_follows_a_plan_is_not_guessed(read) -> None:
    session = read(
        user("a", permissionMode="plan"),
        assistant("plan"),
        attached("plan_mode_exit"),
        assistant("work"),
        user("b", permissionMode="default"),
    )
    assert modes(session) == ["plan", "plan", None, "default"]


def test_the_end_of_a_plan_that_is_already_over_changes_nothing(read) -> None:
    session = read(
        user("a", permissionMode="plan"),
        meta("permission-mode", permissionMode="default"),
        attached("plan_mode_exit"),
        assistant("work"),
    )
    assert modes(session) == ["plan", "default"]


def test_an_ordinary_session_mode_says_nothing_and_another_is_added(read) -> None:
    session = read(
        meta("mode", mode="normal"),
        user("a", permissionMode="default"),
        meta("mode", mode="coordinator"),
        assistant("b"),
        meta("mode", mode="normal"),
        assistant("c"),
    )
    assert modes(session) == ["default", "default, coordinator", "default"]


def test_output_style_and_agent_are_the_personality(read) -> None:
    session = read(
        user("a"),
        meta("agent-setting", agentSetting="reviewer"),
        assistant("b"),
        attached("output_style", style="Explanatory"),
        assistant("c"),
    )
    assert personalities(session) == [None, "reviewer", "reviewer, Explanatory"]


@pytest.mark.parametrize(
    "shown", ["Set output style to \x1b[1mLearning\x1b[22m", "Set output style to Learning"]
)
def test_an_output_style_set_by_command_is_a_personality(read, shown: str) -> None:
    session = read(
        user("a"),
        user(f"<local-command-stdout>{shown}</local-command-stdout>"),
        assistant("b"),
        user("Set output style to Pirate"),
        assistant("c"),
    )
    assert personalities(session) == [None, "Learning", "Learning", "Learning", "Learning"]


@pytest.mark.parametrize("odd", [3, None, [], {"a": 1}, ""])
def test_declarations_of_an_odd_shape_declare_nothing(read, odd: object) -> None:
    session = read(
        user("a", permissionMode=odd),
        meta("permission-mode", permissionMode=odd),
        meta("mode", mode=odd),
        meta("agent-setting", agentSetting=odd),
        attached("output_style", style=odd),
        assistant("b"),
    )
    assert {(turn.mode, turn.personality) for turn in session.turns} == {(None, None)}


def test_a_sub_agents_mode_is_not_the_sessions(read) -> None:
    session = read(
        user("a", permissionMode="default"),
        user("x", isSidechain=True, permissionMode="plan"),
        assistant("b"),
    )
    assert modes(session) == ["default", "default"]


def test_modes_of_a_real_file(shared: Path) -> None:
    """By jq, its records say `default` in lines 4 to 64 and `acceptEdits` in 143 to 169."""
    session = read_session(shared / "sessions" / "claude-code" / "entire-72a8d8fdb8-0.jsonl")
    assert session.turns[0].line == 4
    assert {(turn.line < 143, turn.mode) for turn in session.turns} == {
        (True, "default"),
        (False, "acceptEdits"),
    }


def test_a_model_that_was_switched_in_mid_answer_is_told_from_the_other(read) -> None:
    switch = {"type": "fallback", "from": {"model": "first"}, "to": {"model": "second"}}
    session = read(
        user("a"),
        assistant({"type": "thinking", "thinking": "hm"}, switch, "said", id="m", model="second"),
        assistant("more", id="m", model="second"),
        assistant(switch, id="n", model="second"),
    )
    assert [turn.model for turn in session.turns] == [None, "first", "second", "second"]
    assert session.models == ("first", "second")
    assert session.steps == 1
    assert [(s.reason, s.count) for s in session.skipped] == [
        ("notice that another model took over", 1)
    ]
