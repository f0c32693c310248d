"""SillyTavern's chats: who speaks, what the model saw, and when.

There is no real chat in the shared folder: the fields, and which messages the client sends,
are those of its sources (SillyTavern/SillyTavern, `public/script.js`, `openai.js`,
`system-messages.js`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.readers import sillytavern
from contextecho.sessions.readers.sillytavern.dates import seconds_of
from sessions.any_bytes import check
from sessions.claude_code_lines import line
from sessions.damage import damaged, json_values
from sessions.looking import reasons, said

HEADER = {
    "user_name": "Ann",
    "character_name": "Luna",
    "create_date": "2026-1-2@03h04m05s",
    "chat_metadata": {"note_prompt": "", "integrity": "x"},
}


def human(text: str, **fields: Any) -> dict[str, Any]:
    return {"name": "Ann", "is_user": True, "is_system": False, "mes": text, "extra": {}} | fields


def character(text: str, *, name: str = "Luna", **fields: Any) -> dict[str, Any]:
    return {"name": name, "is_user": False, "is_system": False, "mes": text, "extra": {}} | fields


def generated(text: str, **fields: Any) -> dict[str, Any]:
    extra = {"api": "openai", "model": "gpt-x"} | fields.pop("extra", {})
    return character(text, gen_started="2026-01-02T03:04:05.000Z", extra=extra, **fields)


GREETING = character("*waves* Hello, Ann.")


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Session]:
    def _told(*rows: Any) -> Session:
        path = tmp_path / "Luna - 2026-1-2.jsonl"
        path.write_bytes(b"".join(row if isinstance(row, bytes) else line(row) for row in rows))
        return read_session(path)

    return _told


def test_a_chat(told: Callable[..., Session]) -> None:
    session = told(
        HEADER,
        GREETING,
        human("Who are you?"),
        generated("A fox.", extra={"reasoning": "She asks."}),
        human("Really?"),
        generated("Really."),
    )
    assert (session.format, session.prompts, session.steps) == ("sillytavern", 2, 2)
    assert (session.models, session.id) == (("gpt-x",), "Luna - 2026-1-2")
    assert said(session) == [
        (Kind.ASSISTANT, Speaker.HARNESS, "*waves* Hello, Ann."),
        (Kind.USER, Speaker.HUMAN, "Who are you?"),
        (Kind.THINKING, Speaker.MODEL, "She asks."),
        (Kind.ASSISTANT, Speaker.MODEL, "A fox."),
        (Kind.USER, Speaker.HUMAN, "Really?"),
        (Kind.ASSISTANT, Speaker.MODEL, "Really."),
    ]
    assert [turn.final for turn in session.turns] == [False, False, False, True, False, True]
    assert {turn.personality for turn in session.turns if turn.speaker is Speaker.MODEL} == {"Luna"}
    assert session.skipped == ()
    assert [turn.chars for turn in session.turns] == [len(text) for _, _, text in said(session)]


def test_an_opening_that_a_model_generated_is_the_models(told: Callable[..., Session]) -> None:
    session = told(HEADER, generated("Once upon a time"), human("Go on."), generated("there was"))
    assert [turn.speaker for turn in session.turns] == ["model", "human", "model"]


def test_old_answers_without_marks_are_the_models_once_a_human_spoke(
    told: Callable[..., Session],
) -> None:
    session = told(HEADER, GREETING, human("Hi."), character("Hi, Ann."), character("And?"))
    assert [turn.speaker for turn in session.turns] == ["harness", "human", "model", "model"]
    assert session.models == ()


def test_the_chosen_swipe_is_the_message_and_the_others_are_counted(
    told: Callable[..., Session],
) -> None:
    swipes = {"swipes": ["A cat.", "A fox.", "A hen."], "swipe_id": 1}
    session = told(HEADER, GREETING, human("What?"), generated("A fox.", **swipes))
    assert said(session)[-1][2] == "A fox."
    assert session.steps == 1
    assert reasons(session) == {"swipe that was not chosen": (4, 4)}


def test_messages_that_the_model_was_not_shown_are_no_turns(told: Callable[..., Session]) -> None:
    session = told(
        HEADER,
        GREETING,
        human("Out of here.", is_system=True),
        generated("Gone.", is_system=True),
        character("Help text", name="SillyTavern System", is_system=True, extra={"type": "help"}),
        human("remember this", is_system=True, is_user=False, extra={"type": "comment"}),
        human("Hello."),
        generated("Hello."),
    )
    assert (session.prompts, session.steps) == (1, 1)
    assert reasons(session) == {
        "message of the human, hidden from the model": (3,),
        "message of a character, hidden from the model": (4,),
        "notice of the client": (5,),
        "comment that the model was not shown": (6,),
    }


def test_the_narrator_is_the_client(told: Callable[..., Session]) -> None:
    session = told(
        HEADER,
        character("Night falls.", name="System", extra={"type": "narrator"}),
        human("I sleep."),
        generated("Good night."),
    )
    assert said(session)[0] == (Kind.USER, Speaker.HARNESS, "Night falls.")
    assert session.prompts == 1


def test_the_characters_of_a_group_are_told_apart(told: Callable[..., Session]) -> None:
    session = told(
        HEADER,
        GREETING,
        character("I am Rex.", name="Rex"),
        human("Both?"),
        generated("Yes."),
        generated("No.", name="Rex"),
    )
    assert [(turn.speaker, turn.personality) for turn in session.turns] == [
        ("harness", None),
        ("harness", None),
        ("human", None),
        ("model", "Luna"),
        ("model", "Rex"),
    ]
    assert session.steps == 2


def test_tool_calls_belong_to_the_answer_before_them(told: Callable[..., Session]) -> None:
    call = {"id": "c1", "name": "dice", "parameters": '{"sides": 6}', "result": "4"}
    calls = character("", name="System", is_system=True, extra={"tool_invocations": [call]})
    session = told(HEADER, human("Roll."), generated("Rolling."), calls, generated("A four."))
    assert said(session)[2:4] == [
        (Kind.TOOL_CALL, Speaker.MODEL, '{"sides": 6}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "4"),
    ]
    assert (session.prompts, session.steps) == (1, 2)
    assert [turn.final for turn in session.turns] == [False, False, False, False, True]
    assert [turn.call_id for turn in session.turns[2:4]] == ["c1", "c1"]
    contents = list(session.contents(session.turns))
    assert contents[2].arguments == {"sides": 6}


def test_pictures_are_counted_and_metadata_kept(told: Callable[..., Session]) -> None:
    metadata = {"note_prompt": "Be brief.", "system_prompt": "You are {{char}}."}
    session = told(
        HEADER | {"chat_metadata": metadata},
        human("Look.", extra={"media": [{"type": "image"}, {"type": "image"}]}),
        generated("", extra={"image": "user/images/x.png"}),
        generated("  "),
        human("", extra={"file": {"text": "x"}}),
    )
    assert [content.images for content in session.contents(session.turns)] == [2, 1, 1]
    assert session.system == "You are {{char}}."
    assert reasons(session) == {
        "author's note, which the client puts into its requests": (1,),
        "empty message": (4,),
    }


MOMENT = datetime(2026, 8, 3, 14, 34, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("written", "seconds", "has_zone"),
    [
        ("2026-08-03T14:34:00.000Z", MOMENT, True),
        ("2026-08-03T16:34:00+02:00", MOMENT, True),
        (MOMENT * 1000, MOMENT, True),
        (str(int(MOMENT * 1000)), MOMENT, True),
        (int(MOMENT), MOMENT, True),
        ("August 3, 2026 2:34pm", MOMENT, False),
        ("August 3, 2026 12:00am", MOMENT - 14 * 3600 - 34 * 60, False),
        ("2026-8-3 @14h 34m 00s 250ms", MOMENT + 0.25, False),
        ("2026-8-3@14h34m00s", MOMENT, False),
        ("2026-08-03", MOMENT - 14 * 3600 - 34 * 60, False),
        ("Lune 3, 2026 2:34pm", None, False),
        ("2026-13-3 @14h 34m 00s", None, False),
        ("yesterday", None, False),
        (True, None, False),
        (-5, None, True),
    ],
)
def test_times_in_all_their_forms(written: Any, seconds: float | None, has_zone: bool) -> None:
    found, told = seconds_of(written)
    assert found == seconds
    assert found is None or told is has_zone


def test_times_without_a_zone_and_unreadable_ones_are_counted(
    told: Callable[..., Session],
) -> None:
    session = told(
        HEADER,
        human("a", send_date="2026-08-03T14:34:00.000Z"),
        generated("b", send_date="August 3, 2026 2:34pm"),
        human("c", send_date="yesterday"),
        generated("d", send_date=""),
    )
    assert [turn.time for turn in session.turns] == [MOMENT, MOMENT, None, None]
    assert reasons(session) == {
        "time without a time zone, taken for UTC": (3,),
        "unreadable time": (4,),
    }


def test_broken_lines_are_mended_or_counted(told: Callable[..., Session]) -> None:
    session = told(
        HEADER,
        human("a"),
        line(generated("b"))[:-1] + line(human("c")),
        b'{"name": "Luna", "mes": "cut\n',
        generated("d"),
        {"neither": 1},
        [1],
    )
    assert [text for _, _, text in said(session)] == ["a", "b", "c", "d"]
    assert reasons(session) == {
        "broken line, records saved": (3,),
        "broken line": (4,),
        "not a message": (6,),
        "not a JSON object": (7,),
    }


def test_a_chat_without_a_header_is_known_and_nothing_else_is(shared: Path) -> None:
    assert sillytavern.sniff(line(human("a")))
    assert sillytavern.sniff(line({"user_name": "unused", "chat_metadata": {}}))
    assert not sillytavern.sniff(line({"user_name": "a", "is_admin": True}))
    assert not sillytavern.sniff(line({"name": "a", "mes": "b"}))
    for path in sorted((shared / "sessions").rglob("*.*")):
        if path.is_file():
            assert not sillytavern.sniff(path.read_bytes()[:65_536]), path


SEED = b"".join(
    line(row)
    for row in [
        HEADER,
        GREETING,
        human("é漢🎉", send_date="August 3, 2026 2:34pm", extra={"image": "x"}),
        generated("x", swipes=["x", "y"], swipe_id=0, extra={"reasoning": "r"}),
        character(
            "", is_system=True, extra={"tool_invocations": [{"id": "c", "parameters": "{}"}]}
        ),
        generated("end"),
    ]
)


@given(damaged([SEED]))
def test_damaged_bytes(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data, format="sillytavern")


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "mes",
                    "is_user",
                    "is_system",
                    "send_date",
                    "swipes",
                    "extra",
                    "gen_started",
                ]
            ),
            json_values,
        ),
        max_size=4,
    )
)
def test_values_of_any_type(tmp_path: Path, fields: list[dict[str, Any]]) -> None:
    rows = [*SEED.splitlines(), *(json.dumps(human("a") | f).encode() for f in fields)]
    check(tmp_path / "f", b"\n".join(rows), format="sillytavern")
