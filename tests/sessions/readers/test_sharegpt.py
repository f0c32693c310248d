"""Datasets of conversations: every layout, who speaks, and any size."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.readers.sharegpt import records
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check
from sessions.damage import damaged
from sessions.looking import format_of, reasons, said
from timing import takes_less_than

TURNS = [("system", "Be brief."), ("human", "Wéather in Paris?"), ("gpt", "Sunny 🎉")]


def record(*turns: tuple[str, str], **fields: Any) -> dict[str, Any]:
    return {
        **fields,
        "conversations": [{"from": who, "value": what} for who, what in turns or TURNS],
    }


def lines(rows: Sequence[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def indented(rows: Sequence[Any]) -> str:
    return json.dumps(rows, indent=2, ensure_ascii=False)


def on_one_line(rows: Sequence[Any]) -> str:
    return json.dumps(rows)


LAYOUTS = [lines, indented, on_one_line]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.json"


@pytest.fixture
def told(path: Path) -> Callable[..., Session]:
    """The session of a single record."""

    def _told(*turns: tuple[str, str], **fields: Any) -> Session:
        path.write_text(lines([record(*turns, **fields)]), encoding="utf-8")
        return read_session(path)

    return _told


CONVERSATION = [
    (Kind.USER, Speaker.HUMAN, "Wéather in Paris?"),
    (Kind.ASSISTANT, Speaker.MODEL, "Sunny 🎉"),
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_record_is_a_session_named_by_its_id(path: Path, layout: Callable[..., str]) -> None:
    rows = [record(id="a_0"), record(("user", "Hi"), ("assistant", "Hello"), id="b_0")]
    path.write_text(layout(rows), encoding="utf-8")
    assert format_of(path) == "sharegpt"
    assert members_of(path) == ["a_0", "b_0"]
    session = read_session(f"{path}#a_0")
    assert said(session) == CONVERSATION
    assert (session.id, session.system, session.skipped) == ("a_0", "Be brief.", ())
    assert (session.prompts, session.steps, session.turns[-1].final) == (1, 1, True)
    assert [text for _, _, text in said(read_session(f"{path}#b_0"))] == ["Hi", "Hello"]
    assert [row["value"] for _, row in session.source.records(2, 9)] == [w for _, w in TURNS[1:]]


@pytest.mark.parametrize("ids", [[None, "b"], ["b", "b"], ["a#1", "b"], ["a\nb", "b"], [True, 1]])
def test_records_without_usable_ids_are_named_by_their_numbers(path: Path, ids: list[Any]) -> None:
    rows = [record(id=ids[0]), {"title": "no conversation"}, record(id=ids[1])]
    path.write_text(lines(rows))
    assert members_of(path) == ["1", "3"]
    path.write_text(indented(rows))
    assert members_of(path) == ["1", "3"]


def test_one_record_is_named_by_its_file(path: Path) -> None:
    for text in (indented(record()), indented([record()]), lines([record()])):
        path.write_text(text, encoding="utf-8")
        assert list(members_of(path)) == [None]
        assert said(read_session(path)) == CONVERSATION


def test_a_bare_array_of_messages_is_one_conversation(path: Path) -> None:
    path.write_text(indented(record()["conversations"]), encoding="utf-8")
    assert list(members_of(path)) == [None]
    assert said(read_session(path)) == CONVERSATION


def test_the_names_of_speakers(told: Callable[..., Session]) -> None:
    session = told(
        ("system", "S"),
        ("USER", "1"),
        ("chatgpt", "2"),
        ("system", "later"),
        ("bing", "3"),
        ("narrator", "4"),
        ("gpt", "  "),
    )
    assert [(turn.speaker, turn.model) for turn in session.turns] == [
        ("human", None),
        ("model", "chatgpt"),
        ("harness", None),
        ("model", "bing"),
    ]
    assert session.system == "S"
    assert reasons(session) == {"unknown speaker: narrator": (6,), "empty message": (7,)}


def test_calls_and_results_are_linked_by_their_order(told: Callable[..., Session]) -> None:
    calls = [{"name": "sun", "arguments": {"x": 1}}, {"name": "rain", "arguments": '{"y": 2}'}]
    session = told(
        ("human", "Both."),
        ("function_call", json.dumps(calls)),
        ("observation", "bright"),
        ("observation", "dry"),
        ("function_call", "not JSON"),
        ("tool", "?"),
        ("gpt", "Bright and dry."),
        system="Use tools.",
        tools='[{"name": "sun"}]',
        model="m-1",
    )
    asked = [turn for turn in session.turns if turn.kind is Kind.TOOL_CALL]
    got = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert [(turn.tool, turn.call_id) for turn in asked] == [
        ("sun", "2.1"),
        ("rain", "2.2"),
        (None, "5.1"),
    ]
    assert [(turn.tool, turn.call_id) for turn in got] == [(t.tool, t.call_id) for t in asked]
    contents = list(session.contents(asked))
    assert [content.arguments for content in contents] == [{"x": 1}, {"y": 2}, {}]
    assert contents[2].text == "not JSON"
    assert (session.system, session.models, session.steps) == ("Use tools.", ("m-1",), 3)
    assert reasons(session) == {"descriptions of tools": (1,)}


def test_messages_with_role_and_content_are_read_too(path: Path) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, 7]
    path.write_text(lines([{"conversations": turns}]))
    session = read_session(path)
    assert [text for _, _, text in said(session)] == ["Hi", "Hello"]
    assert reasons(session) == {"not a message": (3,)}


def chatml(*turns: tuple[str, str]) -> str:
    return "".join(f"<|im_start|>{who}\n{what}<|im_end|>\n" for who, what in turns)


def test_chatml_in_a_file_of_its_own(path: Path) -> None:
    text = chatml(
        ("system", "Be brief."), ("user", "Wéather in Paris?\n"), ("assistant", "Sunny 🎉")
    )
    path.write_text("\ufeff" + text + "stray\n<|im_start|>user name=Ann\nMore", encoding="utf-8")
    session = read_session(path)
    assert session.format == "sharegpt"
    assert said(session) == [*CONVERSATION, (Kind.USER, Speaker.HUMAN, "More")]
    assert (session.system, session.prompts, session.steps) == ("Be brief.", 2, 1)
    assert reasons(session) == {"text between messages": (3,)}
    rows = list(session.source.records(2, 3))
    assert rows[0] == (2, {"role": "user", "content": "Wéather in Paris?"})


def test_chatml_in_records(path: Path) -> None:
    first = chatml(("user", 'Say "hi".'), ("assistant", "hi"))
    call = '{"name": "f", "arguments": {}}'
    second = chatml(("user", "Call."), ("function_call", call), ("tool", "ok"))
    path.write_text(lines([{"text": first}, {"text": second + "<|im_start|>assistant\nDon"}]))
    assert members_of(path) == ["1", "2"]
    assert [text for _, _, text in said(read_session(f"{path}#1"))] == ['Say "hi".', "hi"]
    session = read_session(f"{path}#2")
    assert [text for _, _, text in said(session)] == ["Call.", "{}", "ok", "Don"]
    assert [turn.tool for turn in session.turns] == [None, "f", "f", None]
    assert session.turns[-1].broken_off
    assert not session.turns[-1].final
    assert [turn.chars for turn in session.turns] == [len(text) for _, _, text in said(session)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dataset_that_was_cut(path: Path, layout: Callable[..., str]) -> None:
    text = layout([record(), record(("human", "a"), ("gpt", "b"), ("human", "lost"))])
    path.write_text(text[: text.index("lost")], encoding="utf-8")
    assert members_of(path) == ["1", "2"]
    session = read_session(f"{path}#2")
    assert [text for _, _, text in said(session)] == ["a", "b"]
    assert reasons(session) == {"cut document": (3,)}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_damaged_record_does_not_hide_the_ones_behind_it(
    path: Path, layout: Callable[..., str]
) -> None:
    rows = [record(), record(("human", "a"), ("gpt", "b"), ("human", "c")), record()]
    text = layout(rows)
    path.write_text(text.replace('"value": "c"', '"value" "c"'), encoding="utf-8")
    first, damaged, last = members_of(path)
    session = read_session(f"{path}#{damaged}")
    assert [text for _, _, text in said(session)] == ["a", "b"]
    assert reasons(session) == {"cut document": (3,)}
    assert said(read_session(f"{path}#{first}")) == CONVERSATION
    assert said(read_session(f"{path}#{last}")) == CONVERSATION


def test_a_changed_dataset_is_listed_anew_and_not_loaded_again(path: Path) -> None:
    path.write_text(lines([record(id="a")]))
    session = read_session(path)
    path.write_text(lines([record(id="new"), record(id="a")]))
    assert members_of(path) == ["new", "a"]
    with pytest.raises(SessionError, match="changed while it was in use"):
        session.text(session.turns[0])


def test_a_dataset_without_a_conversation_is_refused(path: Path) -> None:
    path.write_text(lines([record(("human", "nobody answers"))]))
    with pytest.raises(SessionError, match="no message of a model"):
        read_session(path)
    path.write_text('{"rows": []}\n')
    with pytest.raises(SessionError, match="no record has one"):
        read_session(path, format="sharegpt")


@pytest.mark.parametrize("layout", [lines, indented])
def test_a_large_dataset_is_never_held(path: Path, layout: Callable[..., str]) -> None:
    """20 MB of 4,000 records: at no time are more than 5 MB of it in memory."""
    rows = [record(("human", "x" * 2500), ("gpt", f"{n} " * 500), id=n) for n in range(4000)]
    path.write_text(layout(rows))
    assert path.stat().st_size > 18_000_000
    del rows
    records._table.cache_clear()
    tracemalloc.start()
    names = members_of(path)
    session = read_session(f"{path}#3999")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(names) == 4000
    assert session.text(session.turns[1]).startswith("3999 ")
    assert peak < 5_000_000


CALL = ("function_call", '{"name": "f", "arguments": {"é": 1}}')
SEEDS = [
    layout([record(id=1), record(("human", "q"), CALL, ("tool", "r"), ("gpt", "a"), id=2)]).encode()
    for layout in LAYOUTS
]
SEEDS += [chatml(("user", "é"), CALL, ("assistant", "b")).encode()]
SEEDS += [lines([{"text": SEEDS[-1].decode()}, record()]).encode()]


@given(damaged(SEEDS, b"<|im_start|>", b"<|im_end|>"))
def test_damaged_bytes(path: Path, data: bytes) -> None:
    check(path, data, format="sharegpt")


@pytest.mark.parametrize("mark", [b'[{"conversations": [', b'{"conversations":', b'"', b"\\"])
def test_a_file_of_nothing_but_beginnings_is_read_in_reasonable_time(
    path: Path, mark: bytes
) -> None:
    with takes_less_than(5):
        check(path, SEEDS[1][:200] + mark * (400_000 // len(mark)), format="sharegpt")
