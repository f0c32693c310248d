"""Plain chat messages: arrays, objects, lines, and what is none of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, discover, read_session
from contextecho.sessions.reading import members_of
from sessions.claude_code_lines import assistant, user

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "List the files."},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I need ls.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "sh", "arguments": '{"cmd":"ls"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": [{"type": "text", "text": "One file: a.py"}], "model": "m-1"},
]


def as_array(messages: list[Any]) -> str:
    return json.dumps(messages, indent=2)


def as_object(messages: list[Any]) -> str:
    return json.dumps({"id": "x", "meta": {"messages": 3}, "messages": messages, "n": 1})


def as_lines(messages: list[Any]) -> str:
    return "\n".join(json.dumps(message) for message in messages)


def as_conversation_line(messages: list[Any]) -> str:
    return json.dumps({"messages": messages}) + "\n"


SHAPES = [as_array, as_object, as_lines, as_conversation_line]


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_hold_the_same_conversation(
    read_text: Callable[[str], Session], shape: Callable[[list[Any]], str]
) -> None:
    session = read_text(shape(MESSAGES))
    assert session.format == "chat"
    assert session.system == "Be brief."
    assert (session.prompts, session.steps, session.row_turns) == (1, 2, 3)
    assert session.models == ("m-1",)
    said = [(turn.kind, session.text(turn)) for turn in session.turns]
    assert said == [
        (Kind.USER, "List the files."),
        (Kind.THINKING, "I need ls."),
        (Kind.TOOL_CALL, '{"cmd":"ls"}'),
        (Kind.TOOL_RESULT, "a.py"),
        (Kind.ASSISTANT, "One file: a.py"),
    ]
    call, result, answer = session.turns[2:]
    assert (call.tool, result.tool, result.call_id) == ("sh", "sh", "c1")
    assert answer.final
    (content,) = session.contents([call])
    assert content.arguments == {"cmd": "ls"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_byte_order_mark_costs_nothing(
    read_text: Callable[[str], Session], shape: Callable[[list[Any]], str]
) -> None:
    session = read_text("\ufeff" + shape(MESSAGES))
    assert (session.format, session.system, session.skipped) == ("chat", "Be brief.", ())
    assert session.row_turns == 3
    assert session.text(session.turns[-1]) == "One file: a.py"


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "system", "content": "x" * 70_000}, *MESSAGES],
        [{"role": "user", "content": [{"type": "text", "text": "x" * 9}] * 2_000}, *MESSAGES],
        {"meta": {f"key {n}": n for n in range(5_000)}, "messages": MESSAGES},
    ],
    ids=["a long message", "a message of many blocks", "long metadata"],
)
def test_a_document_with_a_long_head_is_found_and_read(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps(document, indent=2))
    session = read_session(path)
    assert (session.format, session.steps) == ("chat", 2)
    assert session.text(session.turns[-1]) == "One file: a.py"
    assert [found.format for found in discover([tmp_path])] == ["chat"]


def test_a_long_document_of_something_else_is_still_refused(tmp_path: Path) -> None:
    path = tmp_path / "package-lock.json"
    path.write_text(json.dumps({"packages": {f"p{n}": {"v": n} for n in range(5_000)}}, indent=2))
    with pytest.raises(SessionError, match="not a session"):
        read_session(path)
    assert discover([tmp_path]) == []


def test_raw_messages_are_given_by_number(read_text: Callable[[str], Session]) -> None:
    session = read_text(as_array(MESSAGES))
    assert [row["role"] for _, row in session.source.records(2, 4)] == ["user", "assistant", "tool"]


def test_the_real_example_is_read(shared: Path) -> None:
    path = shared / "sessions/other/openai-chat/mini-swe-agent-github-issue.json"
    session = read_session(path)
    roles = [message["role"] for message in json.loads(path.read_text())]
    assert session.steps == roles.count("assistant") == 10
    assert session.prompts == roles.count("user") == 11


def test_several_conversations_are_read_by_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    longer = as_conversation_line([*MESSAGES, {"role": "assistant", "content": "Bye."}])
    path.write_text(as_conversation_line(MESSAGES) + "7\n\n" + longer)
    with pytest.raises(SessionError, match=r"holds 2 sessions \(name one .*chats\.jsonl#1;"):
        read_session(path)
    assert members_of(path) == ["1", "4"]
    session = read_session(f"{path}#4")
    assert (session.steps, session.member, session.name) == (3, "4", f"{path}#4")
    assert session.text(session.turns[-1]) == "Bye."
    with pytest.raises(SessionError, match="holds no such session"):
        read_session(f"{path}#2")


def test_a_mark_in_a_files_own_name_is_no_member(tmp_path: Path) -> None:
    path = tmp_path / "a#1"
    path.write_text(as_array(MESSAGES))
    assert read_session(path).member is None
    with pytest.raises(SessionError, match="no such session"):
        read_session(f"{path}#2")


def test_a_cut_document_is_read_as_far_as_it_goes(read_text: Callable[[str], Session]) -> None:
    text = as_array([*MESSAGES, *MESSAGES[1:]])
    session = read_text(text[: text.rindex("One file") - 40])
    assert session.steps == 3
    assert [s.reason for s in session.skipped] == ["cut document"]


def test_broken_lines_and_strangers_are_counted(read_text: Callable[[str], Session]) -> None:
    session = read_text(as_lines([*MESSAGES[:3], 7, {"role": "narrator", "content": "x"}]) + "\n{")
    reasons = {skipped.reason: skipped.count for skipped in session.skipped}
    assert reasons == {"not a JSON object": 1, "not a message": 1, "broken line": 1}


def test_pictures_are_counted_and_later_instructions_are_the_clients(
    read_text: Callable[[str], Session],
) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:..."}}
    session = read_text(
        as_array(
            [
                {"role": "user", "content": [{"type": "text", "text": "see"}, picture]},
                {"role": "developer", "content": "Now in French."},
                {"role": "assistant", "content": "Je vois."},
            ]
        )
    )
    assert next(session.contents(session.turns)).images == 1
    assert session.turns[1].speaker is Speaker.HARNESS
    assert session.system is None


def test_bare_strings_and_blocks_are_read_in_their_order(
    read_text: Callable[[str], Session],
) -> None:
    content = [{"type": "text", "text": "one"}, "two", {"type": "text", "text": "three"}]
    session = read_text(as_array([{"role": "user", "content": content}, MESSAGES[-1]]))
    assert session.text(session.turns[0]) == "one\ntwo\nthree"


def test_characters_beyond_ascii_do_not_shift_the_places(
    read_text: Callable[[str], Session],
) -> None:
    messages = [
        {"role": "user", "content": "é漢🎉" * 50},
        {"role": "assistant", "content": "ok 🎉"},
    ]
    session = read_text(json.dumps(messages, ensure_ascii=False))
    assert [session.text(turn) for turn in session.turns] == ["é漢🎉" * 50, "ok 🎉"]


def test_claude_code_and_chat_are_never_taken_for_each_other(
    read_text: Callable[[str], Session],
) -> None:
    records = [user("a"), assistant("b")]
    assert read_text(as_lines(records)).format == "claude-code"
    assert read_text(as_lines([record["message"] for record in records])).format == "chat"


def test_a_named_format_is_used_and_an_unknown_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(as_array(MESSAGES))
    assert read_session(path, format="chat").steps == 2
    with pytest.raises(SessionError, match="no such session format: gpt"):
        read_session(path, format="gpt")


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_conversations_holds_a_session_in_each(
    tmp_path: Path, indent: int | None
) -> None:
    path = tmp_path / "chats.json"
    longer = [*MESSAGES, {"role": "assistant", "content": "Bye."}]
    records = [{"id": 7, "messages": MESSAGES}, {"note": "none"}, {"messages": longer}]
    path.write_text("\ufeff" + json.dumps(records, indent=indent), encoding="utf-8")
    assert members_of(path) == ["1", "3"]
    session = read_session(f"{path}#3")
    assert (session.format, session.steps, session.system) == ("chat", 3, "Be brief.")
    assert session.text(session.turns[-1]) == "Bye."
    assert [raw["role"] for _, raw in session.source.records(5, 6)] == ["assistant", "assistant"]
    path.write_text(json.dumps(records[:1], indent=indent))
    assert list(members_of(path)) == [None]
    assert read_session(path).steps == 2


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_conversations_that_was_cut(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "chats.json"
    text = json.dumps([{"messages": MESSAGES}] * 2, indent=indent)
    path.write_text(text[: text.rindex("One file")])
    assert members_of(path) == ["1", "2"]
    session = read_session(f"{path}#2")
    assert (session.steps, [skipped.reason for skipped in session.skipped]) == (1, ["cut document"])
    path.write_text(text[: text.index("One file")])
    assert read_session(path).steps == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_capital_letters_in_roles_do_not_matter(
    read_text: Callable[[str], Session], shape: Callable[[list[Any]], str]
) -> None:
    shouted = [message | {"role": message["role"].title()} for message in MESSAGES]
    session = read_text(shape(shouted))
    assert (session.format, session.system) == ("chat", "Be brief.")
    assert (session.prompts, session.steps, session.row_turns) == (1, 2, 3)
    assert [turn.kind for turn in session.turns][-2:] == [Kind.TOOL_RESULT, Kind.ASSISTANT]


def test_a_file_cut_before_the_model_speaks_says_so(read_text: Callable[[str], Session]) -> None:
    text = as_array(MESSAGES)
    with pytest.raises(SessionError, match="no message of a model before the place where it was"):
        read_text(text[: text.index("reasoning_content")])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"messages": [', "a JSON document that was cut or is damaged, and not a session"),
        ('[{"role": "user", "content": "Hel', "a JSON document that was cut or is damaged"),
        ('[{"who": "me"}]', "not a session"),
        ("hello", "not a session"),
    ],
)
def test_a_refusal_says_what_a_chat_file_is_at_least(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "chat.json"
    path.write_text(text)
    with pytest.raises(SessionError) as refused:
        read_session(path)
    assert str(refused.value).startswith(f"{path}: {what}")
    assert "docs/formats.md" in refused.value.todo
    least = refused.value.todo.partition("at least ")[2].partition(";")[0]
    path.write_text(least)
    assert (read_session(path).format, read_session(path).steps) == ("chat", 1)


@pytest.mark.parametrize("shape", [as_array, as_object, as_conversation_line])
def test_more_messages_than_any_session_has_are_refused_in_a_document_and_read_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: Callable[[list[Any]], str]
) -> None:
    monkeypatch.setattr("contextecho.sessions.building.placed.MOST_ELEMENTS", 4)
    path = tmp_path / "chat"
    path.write_text(shape(MESSAGES))
    with pytest.raises(SessionError, match="more than 4 elements") as raised:
        read_session(path)
    assert raised.value.where == str(path)
    path.write_text(as_lines(MESSAGES))
    assert read_session(path).steps == 2


def test_an_array_of_very_many_that_are_no_messages_is_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextecho.sessions.building.placed.MOST_ELEMENTS", 4)
    path = tmp_path / "numbers"
    path.write_text("[1, 2, 3, 4, 5, 6]")
    with pytest.raises(SessionError, match="not a session in any format"):
        read_session(path)
