"""What each message of an OpenCode session is: compactions, errands, reverts, broken answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.model import CompactionKind
from sessions.looking import reasons, said
from sessions.opencode_building import (
    Message,
    as_export,
    assistant,
    tool,
    user,
)

CONTINUE = {"type": "text", "synthetic": True, "text": "Continue if you have next steps."}


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Session]:
    """The session that an export of these messages gives."""

    def _told(*messages: Message, **fields: Any) -> Session:
        return read_session(as_export(tmp_path, messages, **fields))

    return _told


def asked(text: str, speaker: Speaker = Speaker.HUMAN) -> tuple[Kind, Speaker, str]:
    return (Kind.USER, speaker, text)


def answered(text: str) -> tuple[Kind, Speaker, str]:
    return (Kind.ASSISTANT, Speaker.MODEL, text)


def test_a_compaction_is_no_turn_of_human_or_model(told: Callable[..., Session]) -> None:
    session = told(
        user("Go."),
        assistant("Going."),
        user({"type": "compaction", "auto": False}),
        assistant("## Goal", {"type": "text", "text": "Go on."}, mode="compaction", summary=True),
        user(CONTINUE),
        assistant("Going on."),
    )
    assert (session.prompts, session.steps) == (1, 2)
    assert said(session)[2:] == [
        (Kind.SUMMARY, Speaker.SUMMARISER, "## Goal\n\nGo on."),
        asked(CONTINUE["text"], Speaker.HARNESS),
        answered("Going on."),
    ]
    (compaction,) = session.compactions
    assert (compaction.line, compaction.trigger, compaction.summary) == (3, "manual", 2)
    assert compaction.tokens_before == 10 + 2 + 30 + 4
    assert [turn.segment for turn in session.turns] == [0, 0, 1, 1, 1]


def test_an_old_summary_without_a_request_is_a_compaction(told: Callable[..., Session]) -> None:
    session = told(user("Go."), assistant("Going."), assistant("Summary.", summary=True))
    (compaction,) = session.compactions
    assert (compaction.line, compaction.trigger, compaction.summary) == (3, None, 2)


@pytest.mark.parametrize("last", ["failed", "cut", "missing"])
def test_a_compaction_that_failed_is_none(told: Callable[..., Session], last: str) -> None:
    failure = {"name": "ContextOverflowError", "data": {"message": "too large"}}
    summaries = {
        "failed": [assistant("Half", summary=True, error=failure)],
        "cut": [assistant("Half", summary=True, finish=None, time={"created": 1})],
        "missing": [],
    }
    session = told(user("Go."), assistant("Going."), user({"type": "compaction"}), *summaries[last])
    assert session.compactions == ()
    assert reasons(session) == {"compaction that failed": (3,)}
    assert [text for _, _, text in said(session)] == ["Go.", "Going."]


def test_the_tail_that_a_compaction_keeps(told: Callable[..., Session]) -> None:
    tail = user("And then?")
    request = {"type": "compaction", "auto": True, "tail_start_id": tail["info"]["id"]}
    session = told(
        user("Go."),
        assistant("Going."),
        tail,
        assistant("Then this."),
        user(request),
        assistant("## Goal", summary=True),
        assistant("On."),
    )
    assert session.compactions[0].kept == (2, 3)


def test_a_tail_that_is_not_in_the_file_is_counted(told: Callable[..., Session]) -> None:
    request = {"type": "compaction", "auto": True, "tail_start_id": "msg_gone"}
    session = told(user("Go."), user(request), assistant("S", summary=True), assistant("On."))
    assert session.compactions[0].kept == ()
    assert reasons(session) == {"kept message not in the file": (3,)}


def test_a_request_said_again_after_an_overflow_is_the_clients(
    told: Callable[..., Session],
) -> None:
    """The client copies the last request behind the summary, a text in place of its picture."""
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA=="}
    session = told(
        user("Go."),
        assistant("Going."),
        user("See this.", picture),
        user({"type": "compaction", "auto": True, "overflow": True}),
        assistant("## Goal", summary=True),
        user("See this.", "[Attached image/png: file]"),
        assistant("Seen."),
        user("See this."),
        assistant("Again."),
    )
    humans = [turn for turn in session.turns if turn.speaker is Speaker.HUMAN]
    assert [turn.line for turn in humans] == [1, 3, 8]
    assert session.prompts == 3
    assert [content.images for content in session.contents(humans)] == [0, 1, 0]


def test_results_that_the_client_cleared_are_a_microcompaction(
    told: Callable[..., Session],
) -> None:
    old = tool(call_id="old")
    messages = [
        user("a"),
        assistant(old, tool(call_id="kept")),
        user("b"),
        assistant("B."),
        user("c"),
        assistant("C."),
    ]
    old["state"]["time"]["compacted"] = messages[3]["info"]["time"]["completed"] + 1
    session = told(*messages)
    (micro,) = session.compactions
    assert (micro.kind, micro.cleared) == (CompactionKind.MICRO, ("old",))
    assert (micro.line, micro.step, micro.prompt) == (5, 2, 2)
    assert {turn.segment for turn in session.turns} == {0}


def test_a_shell_line_and_its_output_are_the_clients(told: Callable[..., Session]) -> None:
    shell = user(
        {"type": "text", "synthetic": True, "text": "The following tool was executed by the user"}
    )
    session = told(
        user("Go."),
        assistant("Going."),
        shell,
        assistant(tool(), parentID=shell["info"]["id"], step=False, finish=None),
    )
    assert (session.prompts, session.steps) == (1, 1)
    assert said(session)[3:] == [
        asked('{"command": "ls"}', Speaker.HARNESS),
        asked("a.py", Speaker.HARNESS),
    ]
    assert not any(turn.broken_off for turn in session.turns)


def test_a_command_that_runs_as_a_subtask(told: Callable[..., Session]) -> None:
    """`/review`: the human's act is the command, the prompt and the task's call the client's."""
    task = {"type": "subtask", "prompt": "Review it all.", "agent": "general", "command": "review"}
    request = user(task)
    id = request["info"]["id"]
    session = told(
        request,
        assistant(tool("task", output="Fine."), parentID=id, step=False),
        user({"type": "text", "synthetic": True, "text": "Summarize the task tool output above."}),
        assistant("It is fine.", parentID=id),
    )
    assert (session.prompts, session.steps) == (1, 1)
    assert [(speaker, text) for _, speaker, text in said(session)] == [
        (Speaker.HUMAN, "/review"),
        (Speaker.HARNESS, "Review it all."),
        (Speaker.HARNESS, '{"command": "ls"}'),
        (Speaker.HARNESS, "Fine."),
        (Speaker.HARNESS, "Summarize the task tool output above."),
        (Speaker.MODEL, "It is fine."),
    ]


def test_what_the_client_puts_beside_a_prompt_is_not_the_humans(
    told: Callable[..., Session],
) -> None:
    session = told(
        user(
            "See @a.py and @p.pdf",
            {"type": "file", "mime": "text/plain", "url": "file:///a.py"},
            {"type": "text", "synthetic": True, "text": "<content of a.py>"},
            {"type": "file", "mime": "application/pdf", "url": "data:"},
            {"type": "agent", "name": "general"},
            {"type": "text", "ignored": True, "text": "a note on the screen"},
        ),
        assistant("Seen."),
    )
    assert said(session) == [
        asked("See @a.py and @p.pdf"),
        asked("<content of a.py>", Speaker.HARNESS),
        answered("Seen."),
    ]
    assert [content.images for content in session.contents(session.turns)] == [1, 0, 0]
    assert reasons(session) == {"text that the model was not shown": (1,)}


def test_a_picture_alone_is_a_prompt(told: Callable[..., Session]) -> None:
    session = told(user({"type": "file", "mime": "image/png", "url": "data:"}), assistant("A cat."))
    assert session.prompts == 1
    assert said(session)[0] == asked("")


def test_broken_answers(told: Callable[..., Session]) -> None:
    aborted = {"name": "MessageAbortedError", "data": {"message": "aborted"}}
    session = told(
        user("Go."),
        assistant("Half an", error=aborted),
        assistant("cut at the", finish="length"),
        assistant("still being", finish=None, time={"created": 1}),
        assistant(error={"name": "APIError"}),
        assistant("Whole."),
    )
    assert [turn.broken_off for turn in session.turns] == [False, True, True, True, False]
    assert [turn.final for turn in session.turns] == [False, False, False, False, True]
    assert session.steps == 4
    assert reasons(session) == {"empty message": (5,)}


def test_a_stream_that_ended_without_a_reason_is_a_part(told: Callable[..., Session]) -> None:
    """The client asks again; a call that came with it is whole."""
    session = told(
        user("Go."),
        assistant("This will be", finish="unknown"),
        assistant("I look.", tool(), finish="unknown"),
        assistant("Done."),
    )
    assert [turn.broken_off for turn in session.turns] == [False, True, *[False] * 4]
    assert [turn.final for turn in session.turns] == [False] * 5 + [True]


STEP = {"type": "step-start"}


def test_the_steps_that_a_message_of_the_first_clients_holds(told: Callable[..., Session]) -> None:
    session = told(
        user("Go."),
        assistant("I look.", tool(call_id="1"), STEP, tool(call_id="2"), STEP, "Done."),
        user("More."),
        assistant("I begin.", STEP, "I am cut", error={"name": "MessageAbortedError"}),
    )
    assert (session.prompts, session.steps) == (2, 5)
    assert [(turn.step, turn.final, turn.broken_off) for turn in session.turns] == [
        (0, False, False),
        *[(1, False, False)] * 3,
        *[(2, False, False)] * 2,
        (3, True, False),
        (3, False, False),
        (4, True, False),
        (5, False, True),
    ]
    texts = [session.text(turn) for turn in session.turns]
    assert texts[1::5] == ["I look.", "Done."]
    assert texts[-3:] == ["More.", "I begin.", "I am cut"]


REFUSED = "The user rejected permission to use this specific tool call"


def test_what_the_human_said_in_a_result_is_theirs(told: Callable[..., Session]) -> None:
    """Answers to the model's questions, and the reason of a rejection."""
    reason = f"{REFUSED} with the following feedback: Use ls."
    session = told(
        user("Go."),
        assistant(
            tool("question", "1", output="User has answered", metadata={"answers": [["A", "B"]]}),
            tool("bash", "2", status="error", error=reason),
        ),
        assistant(
            tool("bash", "3", status="error", error=f"{REFUSED}."),
            tool("bash", "4", output=reason, metadata={"answers": [["no"]]}),
            tool("question", "5", status="error", error="The user dismissed this question"),
            tool("question", "6", metadata={"answers": [[], "no", [1]]}),
        ),
    )
    assert (session.prompts, session.steps) == (3, 2)
    assert [
        (turn.prompt, turn.step, session.text(turn)) for turn in session.turns if turn.quoted
    ] == [(2, 1, "A, B"), (3, 1, "Use ls.")]
    assert [turn.call_id for turn in session.turns[1:]] == [
        *("1", "1", None, "2", "2", None),
        *("3", "3", "4", "4", "5", "5", "6", "6"),
    ]


def test_an_addition_to_the_system_prompt_is_not_the_prompt(told: Callable[..., Session]) -> None:
    session = told(user("Go.", system="Be brief."), assistant("Gone.", system=["You are."]))
    assert session.system == "You are."
    assert reasons(session) == {"addition to the system prompt": (1,)}


def test_tools_that_failed_were_interrupted_or_still_run(told: Callable[..., Session]) -> None:
    session = told(
        user("Go."),
        assistant(
            tool(call_id="1", status="error", error="no such file"),
            tool(
                call_id="2",
                status="error",
                error="aborted",
                metadata={"interrupted": True, "output": "half"},
            ),
            tool(call_id="3", status="running"),
            tool(call_id="4", status="pending", input={}, raw='{"co'),
        ),
    )
    results = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert [(turn.call_id, turn.is_error) for turn in results] == [("1", True), ("2", True)]
    assert [content.text for content in session.contents(results)] == ["no such file", "half"]
    assert sum(turn.kind is Kind.TOOL_CALL for turn in session.turns) == 4


def test_reverted_messages_are_abandoned(told: Callable[..., Session]) -> None:
    back = user("Wrong.")
    messages = [user("Go."), assistant("Going."), back, assistant("Done.")]
    session = told(*messages, revert={"messageID": back["info"]["id"]})
    assert [turn.abandoned for turn in session.turns] == [False, False, True, True]


def test_a_message_reverted_in_part_stays_and_is_counted(told: Callable[..., Session]) -> None:
    cut = assistant("One.", "Two.")
    point = {"messageID": cut["info"]["id"], "partID": cut["parts"][2]["id"]}
    session = told(user("Go."), cut, user("Wrong."), revert=point)
    assert [turn.abandoned for turn in session.turns] == [False, False, False, True]
    assert reasons(session) == {"message reverted in part": (2,)}


def test_a_sub_agents_session_has_no_human(told: Callable[..., Session]) -> None:
    session = told(user("Look for x."), assistant("Found."), parentID="ses_0")
    assert (session.prompts, session.parent) == (0, "ses_0")
    assert said(session)[0] == asked("Look for x.", Speaker.HARNESS)


def test_models_modes_and_the_system_prompt_of_old_clients(told: Callable[..., Session]) -> None:
    session = told(
        user("Go.", agent="plan"),
        assistant("A plan.", mode="plan", modelID="m1", system=["You are.", "Be brief."]),
        assistant("Done.", mode="build", modelID="m2", system=["You are.", "Be long."]),
    )
    assert [turn.mode for turn in session.turns] == ["plan", "plan", "build"]
    assert session.models == ("p/m1", "p/m2")
    assert session.system == "You are.\n\nBe brief."
    assert reasons(session) == {"another system prompt": (3,)}


def test_a_message_that_is_there_again_is_counted(told: Callable[..., Session]) -> None:
    prompt, answer = user("Go."), assistant("Going.")
    session = told(prompt, answer, prompt, answer, user("Go."), assistant("Gone."))
    assert said(session) == [asked("Go."), answered("Going."), asked("Go."), answered("Gone.")]
    assert reasons(session)["repeated message"] == (3, 4)


def test_what_is_left_out_is_counted(told: Callable[..., Session]) -> None:
    strange: Any = {"info": {"role": "narrator"}, "parts": []}
    session = told(
        user("Go."),
        strange,
        assistant(
            {"type": "hologram"},
            {"type": "retry", "attempt": 1},
            {"type": "text", "synthetic": True, "text": "a plugin's"},
            "Done.",
        ),
    )
    assert reasons(session) == {
        "not a message": (2,),
        "unknown part type: hologram": (3,),
        "request that failed and was sent again": (3,),
        "synthetic assistant text": (3,),
    }
