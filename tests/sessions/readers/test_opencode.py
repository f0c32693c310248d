"""OpenCode: who spoke, what was compacted, and the same in all shapes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Speaker, read_session
from sessions.looking import reasons, said
from sessions.opencode_building import (
    SHAPES,
    as_export,
    as_first_tree,
    as_tree,
    assistant,
    tool,
    user,
)


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
    assert session.versions == ("1.4.3",)
    assert (session.cwd or "").endswith("/session-bridge")
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


def test_the_keys_of_an_export_may_stand_in_any_order(tmp_path: Path) -> None:
    named = [each | {"info": each["info"] | {"sessionID": "ses_1"}} for each in CONVERSATION]
    path = as_export(tmp_path, named)
    expected = said(read_session(path))
    path.write_text(json.dumps(turned(json.loads(path.read_text()))))
    session = read_session(path)
    assert (session.format, said(session), session.id) == ("opencode", expected, "ses_1")


def turned(value: Any) -> Any:
    """The same value with the keys of each object from the last to the first."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return list(map(turned, value)) if isinstance(value, list) else value


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
    assert (sidechain.call_id, sidechain.kind) == ("c1", "build")
    assert read_session(sidechain.path).parent == "ses_1"


def test_a_sub_agent_of_a_tree_whose_messages_are_gone_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "storage/session/p1").mkdir(parents=True)
    (tmp_path / "storage/session/p1/ses_2.json").write_text("{}")
    call = tool("task", metadata={"sessionId": "ses_2"})
    session = read_session(as_tree(tmp_path, [user("Go."), assistant(call), assistant("Done.")]))
    assert (session.steps, session.sidechains) == (2, ())


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
