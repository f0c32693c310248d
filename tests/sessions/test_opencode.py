"""OpenCode: who spoke, what was compacted, and the same in all shapes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.model import CompactionKind
from contextecho.sessions.readers import opencode
from sessions.opencode_building import (
    SHAPES,
    Message,
    as_export,
    as_first_tree,
    as_tree,
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


def said(session: Session) -> list[tuple[Kind, Speaker, str]]:
    texts = (content.text for content in session.contents(session.turns))
    return [
        (turn.kind, turn.speaker, text) for turn, text in zip(session.turns, texts, strict=True)
    ]


def reasons(session: Session) -> dict[str, tuple[int, ...]]:
    return {skipped.reason: skipped.lines for skipped in session.skipped}


def asked(text: str, speaker: Speaker = Speaker.HUMAN) -> tuple[Kind, Speaker, str]:
    return (Kind.USER, speaker, text)


def answered(text: str) -> tuple[Kind, Speaker, str]:
    return (Kind.ASSISTANT, Speaker.MODEL, text)


def test_the_long_real_export(shared: Path) -> None:
    """Counted with jq: of 74 messages 5 are users', 69 the model's, one of them `summary`.

    Of the 5, read by eye, number 45 holds a `compaction` part only and number 47 the
    client's "Continue"; the other three (1, 40, 54) were typed. Parts: 72 `tool`, of which
    one has status `error`; 26 texts and 26 `reasoning` with words outside the summary.
    """
    path = shared / "sessions/other/opencode/session-bridge-dddd416599-0.json"
    session = read_session(path)
    assert (session.format, session.id) == ("opencode", "ses_277daa810ffePOBsdfS6gm8uA2")
    assert (session.prompts, session.steps, session.row_turns) == (3, 68, 73)
    kinds = Counter(turn.kind for turn in session.turns)
    assert kinds[Kind.TOOL_CALL] == kinds[Kind.TOOL_RESULT] == 72
    assert kinds[Kind.ASSISTANT] == kinds[Kind.THINKING] == 26
    assert sum(turn.is_error for turn in session.turns) == 1
    human = [turn for turn in session.turns if turn.speaker is Speaker.HUMAN]
    assert [turn.line for turn in human] == [1, 40, 54]
    assert session.text(human[0]) == "Implement the commands https://docs.entire.io/cli/commands.md"
    assert session.text(human[2]).startswith("- show status should run entire status\n- all")
    assert [turn.line for turn in session.turns if turn.final] == [39, 53, 74]
    (compaction,) = session.compactions
    assert (compaction.line, compaction.trigger, compaction.tokens_before) == (45, "auto", 112_579)
    assert compaction.summary is not None
    assert session.text(session.turns[compaction.summary]).startswith("## Goal\n\nImplement all")
    assert session.turns[compaction.summary].line == 46
    assert session.models == ("github-copilot/claude-sonnet-4.6",)
    assert (session.versions, session.cwd) == (
        ("1.4.3",),
        "/Users/savekirk/dev/ai/entire/session-bridge",
    )
    assert {turn.mode for turn in session.turns} == {"build", None}
    assert reasons(session) == {"thinking behind a summary": (46,)}
    assert session.turns[0].time == 1776105641.982


def test_the_short_real_export(shared: Path) -> None:
    """Read by eye: one prompt, three answers, three tools, the last answer without a tool."""
    path = shared / "sessions/other/opencode/session-bridge-dddd416599-3.json"
    session = read_session(path)
    assert (session.prompts, session.steps) == (1, 3)
    assert [turn.tool for turn in session.turns if turn.kind is Kind.TOOL_CALL] == [
        part["tool"]
        for message in json.loads(path.read_text())["messages"]
        for part in message["parts"]
        if part["type"] == "tool"
    ]
    assert said(session)[0] == asked("Create LICENSE.md file with MIT license ")
    assert session.turns[-1].final
    assert session.models == ("github-copilot/gpt-5.4",)


def test_the_real_tree_whose_folders_bear_the_ids_inside(shared: Path) -> None:
    """Read by eye: "Hello", then a call of bash with its result. File names differ from ids."""
    storage = shared / "sessions/other/opencode/storage_v2"
    session = read_session(storage / "session/proj_test/ses_s_stage0_small.json")
    assert [text for _, _, text in said(session)] == [
        "Hello",
        '{"command": "ls", "cwd": "/tmp/repo"}',
        "a.txt\nb.txt\n",
    ]
    assert (session.prompts, session.steps, session.id) == (1, 1, "s_stage0_small")
    assert session.bytes == sum(file.stat().st_size for file in storage.rglob("*.json"))


@pytest.mark.parametrize(
    "file", ["message/s_stage0_small/msg_0001.json", "part/m_user_small/001.json"]
)
def test_a_piece_of_a_real_tree_is_refused_with_the_file_to_give(shared: Path, file: str) -> None:
    storage = shared / "sessions/other/opencode/storage_v2"
    with pytest.raises(SessionError, match=r"is only a .*give the session's file, ") as refused:
        read_session(storage / file)
    assert str(storage / "session/proj_test/ses_s_stage0_small.json") in str(refused.value)


def test_nobody_elses_file_is_taken_for_opencodes(shared: Path) -> None:
    ours = shared / "sessions/other/opencode"
    for path in sorted((shared / "sessions").rglob("*.*")):
        if path.is_file() and not path.is_relative_to(ours):
            data = path.read_bytes()
            assert not any(opencode.sniff(data[:n]) for n in (300, 4_000, 65_536)), path


CONVERSATION = [
    user("List the files."),
    assistant(
        {"type": "reasoning", "text": "I need ls.", "time": {}},
        "Looking.",
        tool(attachments=[{"type": "file", "mime": "image/png", "url": "data:"}]),
        {"type": "step-finish", "reason": "tool-calls"},
        finish="tool-calls",
    ),
    assistant("One file: a.py", {"type": "patch", "hash": "h", "files": []}),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_hold_the_same_conversation(tmp_path: Path, shape: Callable[..., Path]) -> None:
    session = read_session(shape(tmp_path, CONVERSATION))
    assert said(session) == [
        asked("List the files."),
        (Kind.THINKING, Speaker.MODEL, "I need ls."),
        answered("Looking."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"command": "ls"}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "a.py"),
        answered("One file: a.py"),
    ]
    assert (session.prompts, session.steps, session.row_turns) == (1, 2, 3)
    assert [turn.line for turn in session.turns] == [1, 2, 2, 2, 2, 3]
    assert [turn.final for turn in session.turns] == [False] * 5 + [True]
    assert {turn.call_id for turn in session.turns[3:5]} == {"c1"}
    contents = list(session.contents(session.turns))
    assert [turn.chars for turn in session.turns] == [len(content.text) for content in contents]
    assert (contents[3].arguments, contents[4].images) == ({"command": "ls"}, 1)
    assert (session.id, session.cwd, session.versions) == ("ses_1", "/work", ("1.4.3",))
    assert (session.models, session.skipped, session.member) == (("p/m",), (), None)
    rows = list(session.source.records(2, 9))
    assert [(number, row["info"]["role"]) for number, row in rows] == [
        (2, "assistant"),
        (3, "assistant"),
    ]


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


def test_a_cut_export_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = as_export(tmp_path, [*CONVERSATION, user("Bye."), assistant("Bye.")])
    text = path.read_text()
    path.write_text(text[: text.index('"Bye."')])
    session = read_session(path)
    assert (session.prompts, session.steps) == (1, 2)
    assert [skipped.reason for skipped in session.skipped] == ["cut document"]


@pytest.mark.parametrize("shape", [as_tree, as_first_tree])
def test_a_session_without_its_messages_says_where_they_belong(
    tmp_path: Path, shape: Callable[..., Path]
) -> None:
    with pytest.raises(
        SessionError, match=r"no messages beside it .they belong in .*message/ses_1"
    ):
        read_session(shape(tmp_path, []))


def test_broken_files_of_a_tree_are_counted_and_an_id_is_no_path(tmp_path: Path) -> None:
    path = as_tree(tmp_path, CONVERSATION)
    storage = tmp_path / "storage"
    (storage / "message" / "ses_1" / "msg_99999.json").write_text('{"id": "msg_')
    part = next((storage / "part").rglob("*.json"))
    part.with_name("zzz.json").write_text("{")
    session = read_session(path)
    assert set(reasons(session)) == {"broken file of a part", "not a message"}
    assert reasons(session)["not a message"] == (4,)  # the last, since it tells no time
    assert said(session)[0] == asked("List the files.")
    path.write_text(
        json.dumps(
            {"id": "../../../etc", "directory": "/", "version": "1"}
            | {"title": "t", "time": {"created": 1}}
        )
    )
    assert read_session(path).steps == 2  # found by the file's name


def test_sub_agents_of_a_tree_are_found_by_the_call_that_started_them(tmp_path: Path) -> None:
    as_tree(
        tmp_path,
        [user("Look."), assistant("Found.", modelID="small")],
        id="ses_2",
        parentID="ses_1",
    )
    call = tool("task", metadata={"sessionId": "ses_2"})
    lost = tool("task", call_id="c2", metadata={"sessionId": "ses_3"})
    path = as_tree(tmp_path, [user("Go."), assistant(call, lost), assistant("Done.")])
    (sidechain,) = read_session(path).sidechains
    assert (sidechain.agent_id, sidechain.records, sidechain.models) == ("ses_2", 2, ("p/small",))
    assert read_session(sidechain.path).parent == "ses_1"


def test_a_tree_that_changed_is_not_loaded_again(tmp_path: Path) -> None:
    session = read_session(as_tree(tmp_path, CONVERSATION))
    first, *_, last = session.turns
    answer = tmp_path / "storage/message/ses_1" / f"{CONVERSATION[2]['info']['id']}.json"
    answer.write_text(answer.read_text() + " ")
    assert session.text(first) == "List the files."
    with pytest.raises(SessionError, match="changed while it was in use"):
        session.text(last)
    with pytest.raises(SessionError, match="changed while it was in use"):
        assert session.sha256
