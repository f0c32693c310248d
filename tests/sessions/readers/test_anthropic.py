"""Messages of Anthropic's API: saved conversations, requests, logs of calls, responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.model import CompactionKind
from contextecho.sessions.readers import anthropic
from contextecho.sessions.readers.anthropic import blocks
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check, check_session
from sessions.claude_code_lines import assistant as record_of_claude_code
from sessions.claude_code_lines import call, line, result
from sessions.damage import altered, damaged
from sessions.looking import counts, texts
from timing import growth

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
THOUGHT = {"type": "thinking", "thinking": "I need ls.", "signature": "c2ln"}


def user(*blocks: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return {"role": "user", "content": content}


def answer(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return user(*blocks) | {"role": "assistant"} | fields


# One prompt, two steps, one call and its result beside a second prompt, one picture.
MESSAGES = [
    {"role": "user", "content": "List the files."},
    answer(THOUGHT, "I look.", call("t1", "Bash", cmd="ls"), model="m-1"),
    user(result("a.py", "t1"), "and say which is mine", PICTURE),
    answer("One file: a.py", model="m-1"),
]
SYSTEM = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
BODY = {"model": "m-2", "max_tokens": 9, "system": SYSTEM, "messages": MESSAGES}


def as_array(messages: list[Any]) -> str:
    return json.dumps(messages, indent=2)


def as_compact(messages: list[Any]) -> str:
    return json.dumps(messages)


def as_request(messages: list[Any]) -> str:
    return json.dumps(BODY | {"messages": messages}, indent=1)


def as_pair(messages: list[Any]) -> str:
    request = {"method": "POST", "body": BODY | {"messages": messages[:-1]}}
    response = {"status_code": 200, "body": messages[-1] | {"type": "message", "id": "msg_1"}}
    return json.dumps({"request": request, "response": response}, indent=1)


def as_lines(messages: list[Any]) -> str:
    return "\n".join(json.dumps(message) for message in messages)


def as_conversation_line(messages: list[Any]) -> str:
    return json.dumps(BODY | {"messages": messages}) + "\n"


SHAPES = [as_array, as_compact, as_request, as_pair, as_lines, as_conversation_line]


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_hold_the_same_conversation(
    read_text: Callable[[str], Session], shape: Callable[[list[Any]], str]
) -> None:
    session = read_text(shape(MESSAGES))
    assert session.format == "anthropic"
    assert session.member is None
    assert (session.prompts, session.steps, session.row_turns) == (
        2,
        2,
        3,
    )  # a row with a result is none
    assert session.models == ("m-1",)
    assert session.system == (None if shape in (as_array, as_compact, as_lines) else "Be brief.")
    assert [(turn.kind, turn.speaker) for turn in session.turns] == [
        (Kind.USER, Speaker.HUMAN),
        (Kind.THINKING, Speaker.MODEL),
        (Kind.ASSISTANT, Speaker.MODEL),
        (Kind.TOOL_CALL, Speaker.MODEL),
        (Kind.TOOL_RESULT, Speaker.TOOL),
        (Kind.USER, Speaker.HUMAN),
        (Kind.ASSISTANT, Speaker.MODEL),
    ]
    assert texts(session) == [
        "List the files.",
        "I need ls.",
        "I look.",
        '{"cmd":"ls"}',
        "a.py",
        "and say which is mine",
        "One file: a.py",
    ]
    assert [turn.final for turn in session.turns] == [False] * 6 + [True]
    tool_call, tool_result = session.turns[3:5]
    assert (tool_call.tool, tool_result.tool, tool_result.call_id) == ("Bash", "Bash", "t1")
    assert [content.images for content in session.contents(session.turns)] == [0, 0, 0, 0, 0, 1, 0]
    assert session.skipped == ()
    check_session(session)


def test_the_model_of_the_request_answers_where_the_response_does_not_say(
    read_text: Callable[[str], Session],
) -> None:
    plain = [message | {"model": None} for message in MESSAGES]
    assert read_text(as_request(plain)).models == ("m-2",)


def test_a_response_is_a_conversation_of_one_step(read_text: Callable[[str], Session]) -> None:
    response = answer("Yes.", type="message", id="msg_1", stop_reason="end_turn", model="m-1")
    session = read_text(json.dumps(response, indent=2))
    assert (session.prompts, session.steps, session.models) == (0, 1, ("m-1",))
    assert session.turns[0].final


def test_tools_of_the_provider(read_text: Callable[[str], Session]) -> None:
    """Of four texts, the one behind the last result is the answer."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    pages = [
        {"type": "web_search_result", "title": "T", "url": "http://x", "encrypted_content": "e"}
    ]
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": pages}
    run = {"type": "server_tool_use", "id": "s2", "name": "code_execution", "input": {}}
    error = {"type": "code_execution_tool_result_error", "error_code": "unavailable"}
    failed = {"type": "code_execution_tool_result", "tool_use_id": "s2", "content": error}
    paused = answer("one", search, stop_reason="pause_turn")
    last = answer(found, "two", run, failed, "three", stop_reason="end_turn")
    session = read_text(as_array([user("go"), paused, last]))
    assert texts(session, final=True) == ["three"]
    assert texts(session, kind=Kind.TOOL_RESULT) == ["T\nhttp://x", "unavailable"]
    results = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert [(turn.tool, turn.is_error) for turn in results] == [
        ("web_search", False),
        ("code_execution", True),
    ]


def test_what_is_left_out_is_counted(read_text: Callable[[str], Session]) -> None:
    session = read_text(
        as_array(
            [
                user("a", {"type": "hologram"}, {"type": "document", "source": {"type": "text"}}),
                answer({"type": "redacted_thinking", "data": "x"}),
                answer({"type": "thinking", "thinking": "", "signature": "s"}, "b"),
                {"role": "tool", "content": "x"},
                7,
            ]
        )
    )
    assert session.steps == 1
    assert next(session.contents(session.turns)).images == 1
    assert counts(session) == {
        "unknown content block: hologram": 1,
        "empty message": 1,
        "redacted thinking": 1,
        "thinking without text": 1,
        "not a message": 2,
    }


def test_reminders_and_later_instructions_are_the_clients(
    read_text: Callable[[str], Session],
) -> None:
    reminder = "<system-reminder>\nBe careful.\n</system-reminder>"
    late = {"role": "system", "content": "Now in French."}
    session = read_text(as_array([user(reminder, "go"), MESSAGES[1], late, *MESSAGES[2:]]))
    assert texts(session, speaker=Speaker.HARNESS) == [reminder, "Now in French."]
    assert session.prompts == 2


def test_the_words_of_claude_code_in_a_request_are_the_clients(
    read_text: Callable[[str], Session],
) -> None:
    """Prompts are the two typed lines; the rest is what Claude Code is known to write."""
    reminder = "<system-reminder>\nBe careful.\n</system-reminder>\n"
    command = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    continued = "This session is being continued from a previous conversation. Done: a."
    session = read_text(
        as_array(
            [
                user(continued),
                SIGNED,
                user(reminder + "go on"),
                answer(call("t1")),
                user(result("x", "t1"), "[Request interrupted by user for tool use]"),
                user("<bash-stdout>a.py</bash-stdout>"),
                user(command),
                answer("ok"),
            ]
        )
    )
    assert texts(session, speaker=Speaker.HUMAN) == ["go on", "/review"]
    assert texts(session, kind=Kind.SUMMARY) == [continued]
    assert texts(session, speaker=Speaker.HARNESS) == [
        reminder,
        "[Request interrupted by user for tool use]",
        "<bash-stdout>a.py</bash-stdout>",
    ]
    assert (session.prompts, session.steps) == (2, 3)
    check_session(session)


def logged(history: list[Any], response: dict[str, Any], **body: Any) -> dict[str, Any]:
    """One line of a log: what was asked and what came."""
    return {
        "request": {"body": BODY | {"messages": history} | body},
        "response": response | {"type": "message"},
        "timestamp": "2026-01-01T00:00:01Z",
    }


def as_log(*calls: dict[str, Any]) -> str:
    return "\n".join(json.dumps(one) for one in calls)


def test_calls_that_go_on_with_one_another_are_one_conversation(
    read_text: Callable[[str], Session],
) -> None:
    one, two, three = MESSAGES[1], MESSAGES[3], answer("Bye.")
    bare = answer(*one["content"][1:])  # clients do not send thinking again
    session = read_text(
        as_log(
            logged(MESSAGES[:1], one),
            logged([MESSAGES[0], bare, MESSAGES[2]], two),
            logged([MESSAGES[0], bare, *MESSAGES[2:], user("bye")], three),
        )
    )
    assert session.member is None
    assert (session.prompts, session.steps, session.compactions) == (3, 3, ())
    assert texts(session)[-3:] == ["One file: a.py", "bye", "Bye."]
    assert len(session.turns) == 9
    assert session.turns[-1].time == 1767225601  # by `date -d 2026-01-01T00:00:01Z +%s`
    check_session(session)


def test_a_streamed_response_is_counted_and_found_in_the_next_request(
    read_text: Callable[[str], Session],
) -> None:
    streamed = {"request": {"body": BODY}, "response": {"body_raw": "event: message_start"}}
    session = read_text(json.dumps(streamed) + "\n")
    assert (session.prompts, session.steps) == (2, 2)
    assert counts(session) == {"request without a readable answer": 1}


A, B, C, D = user("a"), answer("b"), user("c"), answer("d")
SIGNED = answer(THOUGHT, "b")


def test_an_answer_asked_for_again_leaves_the_first_behind(
    read_text: Callable[[str], Session],
) -> None:
    session = read_text(as_log(logged([A], SIGNED), logged([A], D), logged([A, D, C], B)))
    assert texts(session, abandoned=True) == ["I need ls.", "b"]
    assert texts(session, abandoned=False) == ["a", "d", "c", "b"]
    assert session.compactions == ()


def test_a_prompt_asked_in_other_words_leaves_the_first_behind(
    read_text: Callable[[str], Session],
) -> None:
    session = read_text(as_log(logged([A, SIGNED, C], D), logged([A, SIGNED, user("c2")], D)))
    assert texts(session, abandoned=True) == ["c", "d"]
    assert texts(session, abandoned=False) == ["a", "I need ls.", "b", "c2", "d"]


def test_a_history_that_lost_its_beginning_was_compacted(
    read_text: Callable[[str], Session],
) -> None:
    """The user's id holds the calls together; the first message after a compaction is new."""
    of = {"metadata": {"user_id": "user_1_session_2"}}
    note = user("Summary of what was done.")
    session = read_text(
        as_log(
            logged([A, SIGNED, C], D, **of),
            logged([note, C, D, user("e")], answer("f"), **of),
        )
    )
    (compaction,) = session.compactions
    assert compaction.summary is not None
    assert session.text(session.turns[compaction.summary]) == "Summary of what was done."
    assert [session.text(session.turns[i]) for i in compaction.kept] == ["c", "d"]
    assert texts(session, segment=1) == ["Summary of what was done.", "e", "f"]
    assert (session.prompts, session.steps) == (3, 3)
    check_session(session)


def test_a_window_that_moves_on_has_no_summary(read_text: Callable[[str], Session]) -> None:
    of = {"metadata": {"user_id": "user_1_session_2"}}
    session = read_text(
        as_log(logged([A, SIGNED, C], D, **of), logged([C, D, user("e")], answer("f"), **of))
    )
    (compaction,) = session.compactions
    assert compaction.summary is None
    assert [session.text(session.turns[i]) for i in compaction.kept] == ["c", "d"]
    assert session.prompts == 3


def test_results_that_the_client_cleared_are_a_microcompaction(
    read_text: Callable[[str], Session],
) -> None:
    asked, cleared = answer(call("t1")), user(result("[cleared]", "t1"))
    session = read_text(
        as_log(
            logged([A, asked, user(result("long", "t1"))], D),
            logged([A, asked, cleared, D, C], B),
            logged([A, asked, cleared, D, C, B, user("e")], answer("f")),
        )
    )
    (compaction,) = session.compactions
    assert (compaction.kind, compaction.cleared) == (CompactionKind.MICRO, ("t1",))
    assert texts(session, kind=Kind.TOOL_RESULT) == ["long"]
    assert (session.prompts, session.steps) == (3, 4)


def test_words_that_the_client_changed_are_counted_and_not_said_again(
    read_text: Callable[[str], Session],
) -> None:
    session = read_text(
        as_log(logged([A], SIGNED), logged([A, user("x") | {"role": "assistant"}, C], D)).replace(
            '"x"', '"b "'
        )
    )
    assert session.skipped == ()
    of = {"metadata": {"user_id": "user_1_session_2"}}
    other = user("a, with a reminder")
    session = read_text(as_log(logged([A], SIGNED, **of), logged([other, B, C], D, **of)))
    assert counts(session) == {"message changed by the client": 1}
    assert texts(session) == ["a", "I need ls.", "b", "c", "d"]


def test_calls_with_other_instructions_are_a_sub_agents(
    read_text: Callable[[str], Session],
) -> None:
    of = {"metadata": {"user_id": "user_1_session_2"}}
    title = logged([user("name this")], answer("Files"), **of, system="You name.", model="m-9")
    session = read_text(
        as_log(
            title,
            logged([A], SIGNED, **of),
            logged([A, B, C], D, **of),
            logged([A, B, C, D, user("e")], answer("f"), **of, system="Be brief. It is late."),
        )
    )
    (sidechain,) = session.sidechains
    assert (sidechain.records, sidechain.models) == (1, ("m-9",))
    assert (session.prompts, session.steps) == (3, 3)
    assert texts(session)[0] == "a"
    assert session.system == "Be brief."
    assert counts(session) == {"change of the instructions": 1}


def test_agents_with_the_same_instructions_are_told_by_what_they_repeat(
    read_text: Callable[[str], Session],
) -> None:
    """Two sub-agents in turn, of two calls each, beside a conversation of three."""
    of = {"metadata": {"user_id": "user_1_session_2"}}
    scout = of | {"system": "You scout."}
    one, two = user("find one"), user("find two")
    session = read_text(
        as_log(
            logged([A], SIGNED, **of),
            logged([one], B, **scout),
            logged([two], D, **scout),
            logged([one, B, C], D, **scout),
            logged([two, D, C], B, **scout),
            logged([A, B, C], D, **of),
            logged([A, B, C, D, user("e")], answer("f"), **of),
        )
    )
    assert [sidechain.records for sidechain in session.sidechains] == [2, 2]
    assert texts(session) == ["a", "I need ls.", "b", "c", "d", "e", "f"]
    assert session.skipped == ()


def test_an_answer_of_thoughts_alone_is_not_expected_again(
    read_text: Callable[[str], Session],
) -> None:
    session = read_text(as_log(logged([A], answer(THOUGHT)), logged([A, C], D)))
    assert texts(session) == ["a", "I need ls.", "c", "d"]
    assert not any(turn.abandoned for turn in session.turns)


def test_logs_of_several_conversations_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    other = [user("other"), SIGNED]
    path.write_text(
        as_log(logged([A], SIGNED), logged(other[:1], other[1]), logged([A, SIGNED, C], D))
    )
    assert members_of(path) == ["1", "2"]
    assert read_session(f"{path}#1").steps == 2
    assert texts(read_session(f"{path}#2")) == ["other", "I need ls.", "b"]


def test_conversations_by_the_line_are_sessions_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(as_conversation_line(MESSAGES) + "\n" + as_conversation_line(MESSAGES) + "{")
    assert members_of(path) == ["1", "3"]
    session = read_session(f"{path}#3")
    assert (session.prompts, session.member) == (2, "3")
    assert counts(session) == {"broken line": 1}
    path.write_text(json.dumps(MESSAGES) + "\n" + json.dumps(MESSAGES[:2]) + "\n")
    assert members_of(path) == ["1", "2"]
    path.write_text(json.dumps([MESSAGES, MESSAGES[:2]]))
    assert members_of(path) == ["1", "2"]
    assert read_session(f"{path}#2").steps == 1


def test_a_batch_is_read_with_its_results(read_text: Callable[[str], Session]) -> None:
    result_of = {"type": "succeeded", "message": MESSAGES[3] | {"type": "message"}}
    one = {"custom_id": "x", "params": BODY | {"messages": MESSAGES[:3]}, "result": result_of}
    assert read_text(json.dumps(one)).steps == 2


def test_a_cut_document_is_read_as_far_as_it_goes(read_text: Callable[[str], Session]) -> None:
    for shape in (as_array, as_request, as_pair):
        text = shape([*MESSAGES, *MESSAGES])
        session = read_text(text[: text.rindex("and say")])
        assert (session.steps, counts(session)) == (3, {"cut document": 1}), shape


def test_plain_words_and_other_apis_are_not_taken(read_text: Callable[[str], Session]) -> None:
    plain = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    listed = [user("a"), answer("b")]
    openai = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {}}]}
    for messages in (plain, listed, [*plain, openai]):
        for shape in (as_array, as_lines):
            assert read_text(shape(messages)).format == "chat"
    assert not anthropic.sniff(line(record_of_claude_code(THOUGHT, call())))
    old_codex = {"type": "message", "role": "assistant", "content": [{"type": "output_text"}]}
    assert not anthropic.sniff(line(old_codex))


def test_a_conversation_without_an_answer_is_refused(read_text: Callable[[str], Session]) -> None:
    with pytest.raises(SessionError, match="no message of a model"):
        read_text(as_request([user("a", PICTURE)]))


LOG = [logged([A], SIGNED), logged([A, B, C], D), logged([user("summary"), C, D, A], B)]


@given(st.data())
def test_any_damage_to_the_bytes(tmp_path: Path, data: Any) -> None:
    seed = data.draw(st.sampled_from([shape(MESSAGES) for shape in SHAPES] + [as_log(*LOG)]))
    check(tmp_path / "f", data.draw(damaged([seed.encode()])))


@given(st.data())
def test_any_values_in_the_wrong_places(tmp_path: Path, data: Any) -> None:
    value = data.draw(altered([MESSAGES, BODY, LOG]))
    text = as_log(*value) if data.draw(st.booleans()) else json.dumps(value, indent=1)
    check(tmp_path / "f", text.encode(), format="anthropic")


def test_the_time_of_a_message_grows_no_faster_than_its_blocks() -> None:
    """Texts between calls of the provider's tools: each is commentary but the last."""
    served = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}

    def message(count: int) -> dict[str, Any]:
        content = [{"type": "text", "text": "a"}, served] * count + [{"type": "text", "text": "b"}]
        return {"role": "assistant", "content": content}

    for count in (2_000, 16_000):
        pieces = blocks.pieces_of(message(count))
        final = [piece.final for piece in pieces if piece.kind is Kind.ASSISTANT]
        assert final == [False] * count + [True]
    assert growth(message, blocks.pieces_of, 2_000, 16_000) < 20
