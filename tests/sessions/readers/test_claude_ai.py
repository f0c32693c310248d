"""Claude.ai's export: who speaks, the steps of an answer, branches, and any tree.

No real export was at hand: shapes are those of docs/formats/claude-ai.md's sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, discover, read_session
from contextecho.sessions.readers import claude_ai
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check
from sessions.damage import altered, damaged
from sessions.looking import format_of, reasons, said

ROOT = "00000000-0000-4000-8000-000000000000"  # what the first messages name


def message(id: str, sender: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        **{"uuid": id, "text": "", "content": list(blocks), "sender": sender},
        **{"created_at": "2026-03-29T07:06:35.5Z", "attachments": [], "files": []},
        **fields,
    }


def text(words: str) -> dict[str, Any]:
    return {"start_timestamp": None, "type": "text", "text": words, "citations": []}


def conversation(*messages: dict[str, Any], id: str = "c-1", **fields: Any) -> dict[str, Any]:
    return {
        **{"uuid": id, "name": "Rain", "created_at": "2026-03-29T07:06:34Z"},
        **{"account": {"uuid": "x"}, "chat_messages": list(messages)},
        **fields,
    }


def plain(id: str = "c-1") -> dict[str, Any]:
    return conversation(
        message("u", "human", text("Is it raining? ☔")),
        message("a", "assistant", text("Yes.")),
        id=id,
    )


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Session]:
    """The session of one conversation."""

    def _told(*messages: dict[str, Any], **fields: Any) -> Session:
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps([conversation(*messages, **fields)]))
        return read_session(path)

    return _told


@pytest.mark.parametrize("indent", [None, 2])
def test_each_conversation_of_an_export_is_a_session(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "conversations.json"
    export = [conversation(id="empty"), plain(), plain("c-2")]
    path.write_text(json.dumps(export, indent=indent, ensure_ascii=False), encoding="utf-8")
    assert format_of(path) == "claude-ai"
    assert members_of(path) == ["empty", "c-1", "c-2"]
    session = read_session(f"{path}#c-2")
    assert said(session) == [
        (Kind.USER, Speaker.HUMAN, "Is it raining? ☔"),
        (Kind.ASSISTANT, Speaker.MODEL, "Yes."),
    ]
    assert (session.id, session.models, session.skipped) == ("c-2", (), ())
    assert session.turns[0].time == 1_774_767_995.5
    assert session.turns[1].final
    assert [raw["uuid"] for _, raw in session.source.records(2, 9)] == ["a"]
    with pytest.raises(SessionError, match="no message of a model"):
        read_session(f"{path}#empty")
    assert len(discover([tmp_path])) == 3


def test_one_conversation_by_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(plain(), indent=1))
    assert list(members_of(path)) == [None]
    assert read_session(path).steps == 1


def test_an_answer_is_cut_into_steps_where_a_result_comes_in(told: Callable[..., Session]) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "name": "calc", "is_error": True}
    session = told(
        message("u", "human", text("Add.")),
        message(
            "a",
            "assistant",
            {"type": "thinking", "thinking": "Easy."},
            {"type": "thinking", "thinking": ""},
            text("I add."),
            {"type": "tool_use", "id": "t1", "name": "calc", "input": {"é": 1}},
            {"type": "token_budget"},
            result | {"content": [{"type": "text", "text": "2"}, {"type": "image"}]},
            {"type": "sparkle"},
            text("Two."),
        ),
    )
    assert said(session)[1:] == [
        (Kind.THINKING, Speaker.MODEL, "Easy."),
        (Kind.ASSISTANT, Speaker.MODEL, "I add."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"é":1}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "2"),
        (Kind.ASSISTANT, Speaker.MODEL, "Two."),
    ]
    _, thought, words, call, got, answer = session.turns
    assert thought.message == words.message == call.message != answer.message
    assert (call.tool, call.call_id, got.tool, got.call_id) == ("calc", "t1", "calc", "t1")
    assert (words.final, answer.final, got.is_error) == (False, True, True)
    assert (session.prompts, session.steps) == (1, 2)
    assert next(session.contents([got])).images == 1
    assert next(session.contents([call])).arguments == {"é": 1}
    assert reasons(session) == {
        "thinking without text": (2,),
        "note of the token budget": (2,),
        "unknown content block: sparkle": (2,),
    }


def test_what_was_attached_is_the_humans_where_nothing_was_typed(
    told: Callable[..., Session],
) -> None:
    pasted = {"attachments": [{"file_name": "", "extracted_content": "long text"}]}
    session = told(
        message("1", "human", text("Sum up."), files=[{"file_name": "a.png"}], **pasted),
        message("2", "assistant", text("Short.")),
        message("3", "human", **pasted),
        message("4", "assistant", text="Old words."),
        message("5", "human", {"type": "tool_result"}),
        message("6", "system", text("?")),
    )
    assert said(session) == [
        (Kind.USER, Speaker.HARNESS, "long text"),
        (Kind.USER, Speaker.HUMAN, "Sum up."),
        (Kind.ASSISTANT, Speaker.MODEL, "Short."),
        (Kind.USER, Speaker.HUMAN, "long text"),
        (Kind.ASSISTANT, Speaker.MODEL, "Old words."),
    ]
    assert [content.images for content in session.contents(session.turns[:2])] == [0, 1]
    assert reasons(session) == {
        "empty message": (5,),
        "unknown content block: tool_result": (5,),
        "unknown sender: system": (6,),
    }


def tree(**fields: Any) -> tuple[dict[str, Any], ...]:
    """A prompt that was edited, and an answer that was made again."""
    places = {"u1": ROOT, "a1": "u1", "u2": ROOT, "a2": "u2", "a3": "u2"}
    return tuple(
        message(
            id,
            "human" if id.startswith("u") else "assistant",
            text(id),
            parent_message_uuid=parent,
            created_at=f"2026-03-29T07:00:0{n}Z",
            **fields,
        )
        for n, (id, parent) in enumerate(places.items())
    )


def test_the_newest_branch_is_the_live_one_unless_the_file_says_another(
    told: Callable[..., Session],
) -> None:
    session = told(*tree())
    told_as = [(session.text(turn), turn.abandoned) for turn in session.turns]
    assert told_as == [("u1", True), ("a1", True), ("u2", False), ("a2", True), ("a3", False)]
    assert reasons(session) == {"no current message: the newest is taken for it": (1,)}
    session = told(*tree(), current_leaf_message_uuid="a1")
    told_as = [(session.text(turn), turn.abandoned) for turn in session.turns]
    assert told_as == [("u2", True), ("a2", True), ("a3", True), ("u1", False), ("a1", False)]
    assert session.skipped == ()


def test_an_answer_that_was_stopped_is_no_final_one(told: Callable[..., Session]) -> None:
    stopped = message("a", "assistant", text("half"), stop_reason="user_canceled")
    answer = told(message("u", "human", text("q")), stopped).turns[1]
    assert (answer.broken_off, answer.final) == (True, False)


def test_a_conversation_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    whole = json.dumps([plain(), conversation(*tree(), id="c-2")])
    path.write_text(whole[: whole.rindex('"a3"')])
    assert members_of(path) == ["1", "2"]
    session = read_session(f"{path}#2")
    assert [session.text(turn) for turn in session.turns] == ["u1", "a1", "u2", "a2"]
    assert reasons(session)["cut document"] == (5,)


def test_nobody_elses_file_is_an_export(shared: Path) -> None:
    for path in sorted((shared / "sessions").rglob("*.*")):
        if path.is_file():
            assert not claude_ai.sniff(path.read_bytes()[:65_536]), path


ids = st.sampled_from("abcdefg")


@given(st.lists(st.tuples(ids, st.sampled_from([None, ROOT, *"abcdefg"]))), st.none() | ids)
def test_any_tree_is_told_once(
    tmp_path: Path, links: list[tuple[str, str | None]], current: str | None
) -> None:
    """Circles, missing and repeated messages, several beginnings: each message once."""
    messages = [
        message(id, "assistant", text(f"{n}"), parent_message_uuid=parent)
        for n, (id, parent) in enumerate(links)
    ]
    path = tmp_path / "c.json"
    path.write_text(json.dumps([conversation(*messages, current_leaf_message_uuid=current)]))
    if not messages:
        return
    session = read_session(path, format="claude-ai")
    words = [session.text(turn) for turn in session.turns]
    assert sorted(words, key=int) == [str(n) for n in range(len(links))]
    assert not all(turn.abandoned for turn in session.turns)
    if current in {id for id, _ in links}:
        last = next(n for n, (id, _) in enumerate(links) if id == current)
        assert not session.turns[words.index(str(last))].abandoned


WHOLES = [[plain(), conversation(*tree())], plain()]
SEEDS = [
    json.dumps(whole, indent=indent, ensure_ascii=False).encode()
    for whole in WHOLES
    for indent in (None, 1)
]


@given(damaged(SEEDS, b'"chat_messages": [', b'"parent_message_uuid": "a"'))
def test_damaged_bytes(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "c", data, format="claude-ai")


@given(altered(WHOLES))
def test_values_of_the_wrong_shape(tmp_path: Path, value: Any) -> None:
    check(tmp_path / "c", json.dumps(value).encode(), format="claude-ai")
