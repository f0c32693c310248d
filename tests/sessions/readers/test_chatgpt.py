"""ChatGPT's export: the live branch and the others, who speaks, calls, and any tree.

No real export was at hand: shapes are those of docs/formats/chatgpt.md's sources.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, discover, read_session
from contextecho.sessions.building import records
from contextecho.sessions.readers import chatgpt
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check
from sessions.damage import altered, damaged
from sessions.looking import format_of, reasons, said

Nodes = dict[str, dict[str, Any]]


def node(id: str, parent: str | None, message: dict[str, Any] | None) -> Nodes:
    return {id: {"id": id, "message": message, "parent": parent, "children": []}}


def message(role: str, *parts: Any, at: float | None = None, **fields: Any) -> dict[str, Any]:
    """A message of text; a field with two underscores lies in `metadata`."""
    metadata = {key[2:]: fields.pop(key) for key in [*fields] if key.startswith("__")}
    author = {"role": role, "name": fields.pop("name", None), "metadata": {}}
    content = fields.pop("content", {"content_type": "text", "parts": list(parts)})
    return {
        **{"author": author, "create_time": at, "content": content, "weight": 1.0},
        **{"status": "finished_successfully", "recipient": "all", "metadata": metadata},
        **fields,
    }


def conversation(nodes: Nodes, current: str | None, id: str = "c-1") -> dict[str, Any]:
    for key, each in nodes.items():
        if (above := nodes.get(each["parent"] or "")) is not None:
            above["children"].append(key)
    return {
        **{"title": "Rain", "create_time": 1.0, "update_time": 2.0, "mapping": nodes},
        **{"moderation_results": [], "current_node": current, "conversation_id": id, "id": id},
    }


def plain(id: str = "c-1") -> dict[str, Any]:
    nodes = {
        **node("root", None, None),
        **node("u", "root", message("user", "Is it raining? ☔", at=1_700_000_000.5)),
        **node("a", "u", message("assistant", "Yes.", at=1_700_000_002, __model_slug="gpt-4o")),
    }
    return conversation(nodes, "a", id)


@pytest.fixture
def told(tmp_path: Path) -> Callable[[Nodes, str | None], Session]:
    """The session of one conversation."""

    def _told(nodes: Nodes, current: str | None) -> Session:
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps([conversation(nodes, current)]))
        return read_session(path)

    return _told


@pytest.mark.parametrize("indent", [None, 2])
def test_each_conversation_of_an_export_is_a_session(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "conversations.json"
    export = [plain(), plain("c-2")]
    path.write_text(json.dumps(export, indent=indent, ensure_ascii=False), encoding="utf-8")
    assert format_of(path) == "chatgpt"
    assert members_of(path) == ["c-1", "c-2"]
    session = read_session(f"{path}#c-2")
    assert said(session) == [
        (Kind.USER, Speaker.HUMAN, "Is it raining? ☔"),
        (Kind.ASSISTANT, Speaker.MODEL, "Yes."),
    ]
    assert (session.id, session.models, session.skipped) == ("c-2", ("gpt-4o",), ())
    assert [turn.time for turn in session.turns] == [1_700_000_000.5, 1_700_000_002]
    assert session.turns[1].final
    assert [raw["id"] for _, raw in session.source.records(1, 9)] == ["u", "a"]
    assert sorted(found.name for found in discover([tmp_path])) == [f"{path}#c-1", f"{path}#c-2"]


def test_one_conversation_by_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(plain(), indent=1))
    assert list(members_of(path)) == [None]
    assert read_session(path).steps == 1


def test_an_edited_prompt_and_an_answer_made_again_are_abandoned_where_they_were_left(
    told: Callable[..., Session],
) -> None:
    nodes = {
        **node("root", None, None),
        **node("a2", "u2", message("assistant", "again", at=5)),
        **node("u2", "root", message("user", "edited", at=3)),
        **node("a1", "u2", message("assistant", "first", at=4)),
        **node("u1", "root", message("user", "typed", at=1)),
        **node("a0", "u1", message("assistant", "to that", at=2)),
    }
    session = told(nodes, "a2")
    assert [(session.text(turn), turn.abandoned) for turn in session.turns] == [
        ("typed", True),
        ("to that", True),
        ("edited", False),
        ("first", True),
        ("again", False),
    ]
    assert (session.prompts, session.steps, session.skipped) == (2, 3, ())
    assert [turn.line for turn in session.turns] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("current", [None, "gone"])
def test_without_a_current_node_the_newest_message_is_it(
    told: Callable[..., Session], current: str | None
) -> None:
    nodes = {
        **node("u", None, message("user", "q", at=1)),
        **node("new", "u", message("assistant", "newer", at=9)),
        **node("old", "u", message("assistant", "older", at=8)),
    }
    session = told(nodes, current)
    assert [(session.text(turn), turn.abandoned) for turn in session.turns] == [
        ("q", False),
        ("older", True),
        ("newer", False),
    ]
    assert reasons(session) == {"no current node: the newest message is taken for it": (1,)}


def test_what_the_client_puts_before_a_conversation_is_the_system_prompt(
    told: Callable[..., Session],
) -> None:
    custom = {
        "content_type": "user_editable_context",
        "user_profile": "I am Ann.",
        "user_instructions": "Be brief.",
    }
    memory = {"content_type": "model_editable_context", "model_set_context": "Ann likes rain."}
    hidden = {"__is_visually_hidden_from_conversation": True}
    older = {"about_user_message": "Old profile.", "about_model_message": "Old wishes."}
    nodes = {
        **node("1", None, message("system", "", weight=0.0, **hidden)),
        **node("2", "1", message("user", content=custom, **hidden)),
        **node("3", "2", message("assistant", content=memory)),
        **node(
            "4",
            "3",
            message("system", "", __is_user_system_message=True, __user_context_message_data=older),
        ),
        **node("5", "4", message("user", "Hello")),
        **node("6", "5", message("assistant", "Hello, Ann.")),
        **node("7", "6", message("user", "Continue.", **hidden)),
        **node("8", "7", message("user", "Later.", weight=0)),
        **node("9", "8", message("system", "Later, too.")),
    }
    session = told(nodes, "9")
    assert session.system == (
        "I am Ann.\n\nBe brief.\n\nAnn likes rain.\n\nOld profile.\n\nOld wishes."
    )
    assert said(session) == [
        (Kind.USER, Speaker.HUMAN, "Hello"),
        (Kind.ASSISTANT, Speaker.MODEL, "Hello, Ann."),
        (Kind.USER, Speaker.HARNESS, "Continue."),
        (Kind.USER, Speaker.HARNESS, "Later."),
        (Kind.USER, Speaker.HARNESS, "Later, too."),
    ]
    assert reasons(session) == {"empty message": (1,)}


def test_thoughts_calls_results_and_words(told: Callable[..., Session]) -> None:
    thoughts = {
        "content_type": "thoughts",
        "thoughts": [{"summary": "Plan", "content": "Add."}, {"content": "Check."}],
    }
    recap = {"content_type": "reasoning_recap", "content": "Thought for 2s"}
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    output = {"content_type": "execution_output", "text": "2"}
    drawn = {"messages": [{"message_type": "image"}, {"message_type": "stream"}]}
    error = {"content_type": "system_error", "name": "E", "text": "no network"}
    nodes = {
        **node("u", None, message("user", "Add.")),
        **node("t", "u", message("assistant", content=thoughts, __model_slug="o3")),
        **node("r", "t", message("assistant", content=recap)),
        **node("w", "r", message("assistant", "Let me add.", channel="commentary")),
        **node("c", "w", message("assistant", content=code, recipient="python")),
        **node("o", "c", message("tool", content=output, name="python", __aggregate_result=drawn)),
        **node("e", "o", message("tool", content=error, name="python")),
        **node("a", "e", message("assistant", "Two.", channel="final", __model_slug="o3-mini")),
    }
    session = told(nodes, "a")
    assert said(session)[1:] == [
        (Kind.THINKING, Speaker.MODEL, "Plan\nAdd.\n\nCheck."),
        (Kind.ASSISTANT, Speaker.MODEL, "Let me add."),
        (Kind.TOOL_CALL, Speaker.MODEL, "1 + 1"),
        (Kind.TOOL_RESULT, Speaker.TOOL, "2"),
        (Kind.TOOL_RESULT, Speaker.TOOL, "no network"),
        (Kind.ASSISTANT, Speaker.MODEL, "Two."),
    ]
    _, thought, words, call, result, failed, answer = session.turns
    assert thought.message == words.message == call.message != answer.message
    assert (call.tool, call.call_id, result.call_id, failed.call_id) == ("python", "c", "c", "c")
    assert (result.is_error, failed.is_error) == (False, True)
    assert next(session.contents([result])).images == 1
    assert (words.final, answer.final) == (False, True)
    assert (session.steps, session.models) == (2, ("o3", "o3-mini"))
    assert reasons(session) == {"recap of the reasoning, which the client wrote": (3,)}


def test_words_before_a_call_are_commentary_where_the_file_does_not_say_so(
    told: Callable[..., Session],
) -> None:
    nodes = {
        **node("u", None, message("user", "Draw.")),
        **node("w", "u", message("assistant", "I draw.")),
        **node("c", "w", message("assistant", '{"prompt": "rain"}', recipient="dalle.text2im")),
        **node("r", "c", message("tool", "done", name="dalle.text2im")),
        **node("a", "r", message("assistant", "Here.")),
    }
    session = told(nodes, "a")
    _, words, call, _, answer = session.turns
    assert (words.final, answer.final) == (False, True)
    assert next(session.contents([call])).arguments == {"prompt": "rain"}


def test_pictures_are_counted_and_what_was_said_aloud_is_text(
    told: Callable[..., Session],
) -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"},
        {"content_type": "audio_transcription", "text": "What is this?"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_2"},
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    nodes = {
        **node("u", None, message("user", content=content, __attachments=[{"name": "a.pdf"}])),
        **node("a", "u", message("assistant", "A cat.")),
    }
    session = told(nodes, "a")
    (content,) = session.contents(session.turns[:1])
    assert (content.text, content.images) == ("What is this?", 2)
    assert reasons(session) == {"attached file": (1,)}


@pytest.mark.parametrize(
    "how",
    [
        {"status": "in_progress"},
        {"status": "finished_partial_completion"},
        {"__finish_details": {"type": "interrupted"}},
        {"__finish_details": {"type": "max_tokens"}, "channel": "final"},
    ],
)
def test_an_answer_broken_off_is_no_final_one(
    told: Callable[..., Session], how: dict[str, Any]
) -> None:
    nodes = {
        **node("u", None, message("user", "q")),
        **node("a", "u", message("assistant", "half", **how)),
    }
    answer = told(nodes, "a").turns[1]
    assert (answer.broken_off, answer.final) == (True, False)


def test_what_is_not_known_is_counted(told: Callable[..., Session]) -> None:
    widget = {"content_type": "super_widget", "parts": ["x"]}
    nodes = {
        **node("u", None, message("user", "q")),
        **node("w", "u", message("assistant", content=widget)),
        **node("n", "w", message("narrator", "x")),
        **node("s", "n", message("tool", content={"content_type": "scene", "depth": 3})),
        **node("e", "s", message("tool", content={"content_type": "execution_output"})),
        **node("a", "e", message("assistant", "a")),
    }
    assert reasons(told(nodes, "a")) == {
        "unknown content: super_widget": (2,),
        "unknown content: scene": (4,),
        "unknown role: narrator": (3,),
    }


def test_parents_that_are_not_named_are_found_by_their_children(tmp_path: Path) -> None:
    whole = plain()
    for each in whole["mapping"].values():
        del each["parent"]
    (tmp_path / "c.json").write_text(json.dumps([whole]))
    session = read_session(tmp_path / "c.json")
    assert [turn.abandoned for turn in session.turns] == [False, False]


def test_a_conversation_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    text = json.dumps([plain(), plain("c-2")])
    path.write_text(text[: text.rindex('"moderation_results"')])
    assert members_of(path) == ["1", "2"]
    session = read_session(f"{path}#2")
    assert [turn.kind for turn in session.turns] == [Kind.USER, Kind.ASSISTANT]
    path.write_text(text[: text.rindex('"Yes."')])
    with pytest.raises(SessionError, match="no message of a model before the place where"):
        read_session(f"{path}#2")


def test_an_export_without_a_conversation_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('[{"title": "x"}]')
    with pytest.raises(SessionError, match="no record has one"):
        read_session(tmp_path / "c.json", format="chatgpt")


def test_nobody_elses_file_is_an_export(shared: Path) -> None:
    for path in sorted((shared / "sessions").rglob("*.*")):
        if path.is_file():
            assert not chatgpt.sniff(path.read_bytes()[:65_536]), path


ids = st.sampled_from("abcdefg")


@given(
    st.lists(st.tuples(ids, st.none() | ids, st.sampled_from(["user", "assistant", "tool", ""]))),
    st.none() | ids,
)
def test_any_tree_is_told_once_and_the_live_branch_is_a_way_up(
    tmp_path: Path, links: list[tuple[str, str | None, str]], current: str | None
) -> None:
    """Circles, missing nodes, several beginnings: each message once, its parent before it."""
    nodes = {id: each for id, above, role in links for each in [link(id, above, role)]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps([conversation(nodes, current)]))
    try:
        session = read_session(path, format="chatgpt")
    except SessionError:
        assert not any(each["message"]["author"]["role"] == "assistant" for each in nodes.values())
        return
    told = {session.text(turn): turn for turn in session.turns}
    assert len(told) == len(session.turns)
    spoken = {id for id, each in nodes.items() if each["message"]["author"]["role"]}
    assert told.keys() == spoken
    way = set()
    here = current if current in nodes else None
    while here is not None and here in nodes and here not in way:
        way.add(here)
        here = nodes[here]["parent"]
    if way:
        assert {id for id, turn in told.items() if not turn.abandoned} == way & spoken
    assert sum(turn.abandoned is False for turn in session.turns) <= len(nodes)


def link(id: str, above: str | None, role: str) -> dict[str, Any]:
    return node(id, above, message(role, id))[id]


def test_a_deep_tree_and_a_circle_are_no_trouble(told: Callable[..., Session]) -> None:
    nodes: Nodes = {}
    for n in range(5_000):
        nodes |= node(str(n), str(n - 1), message("assistant" if n % 2 else "user", "x"))
    nodes["0"]["parent"] = "4999"
    session = told(nodes, "4999")
    assert (session.steps, sum(turn.abandoned for turn in session.turns)) == (2_500, 0)


def test_a_large_export_is_never_held(tmp_path: Path) -> None:
    """20 MB of 4,000 conversations: at no time are more than 6 MB of it in memory."""
    path = tmp_path / "conversations.json"
    padded = [plain(f"c-{n}") | {"title": "x" * 4_500} for n in range(4_000)]
    path.write_text(json.dumps(padded, indent=0))  # of one line, as much as 32 MB is the head
    assert path.stat().st_size > 20_000_000
    del padded
    records._export.cache_clear()
    tracemalloc.start()
    names = members_of(path)
    session = read_session(f"{path}#c-3999")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(names), session.id) == (4_000, "c-3999")
    assert peak < 6_000_000


def test_however_many_conversations_are_listed_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextecho.sessions.finding.inside._MOST_REREAD", 1)
    (tmp_path / "c.json").write_text(json.dumps([plain(f"c-{n}") for n in range(300)]))
    assert len(discover([tmp_path])) == 300


def test_the_bytes_looked_at_grow_as_the_conversations_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many conversations, read one by one, cost twice as many bytes looked at."""
    looked = [0]
    scan = records._scan

    def counting(text: str, begin: int) -> tuple[Any, int]:
        value, end = scan(text, begin)
        looked[0] += end - begin
        return value, end

    monkeypatch.setattr(records, "_scan", counting)
    sizes = []
    for many in (500, 1_000):
        path = tmp_path / f"{many}.json"
        path.write_text(json.dumps([plain(f"c-{n}") for n in range(many)]))
        looked[0] = 0
        for name in members_of(path)[::100]:
            assert read_session(f"{path}#{name}").steps == 1
        sizes.append(looked[0] / path.stat().st_size)
    assert all(0.9 < times <= 1 for times in sizes)


BRANCHED = conversation(
    {
        **node("r", None, None),
        **node("u", "r", message("user", "é", __attachments=[{}])),
        **node("c", "u", message("assistant", "{}", recipient="python", __model_slug="m")),
        **node("t", "c", message("tool", {"content_type": "image_asset_pointer"}, name="python")),
        **node("a", "t", message("assistant", "a", at=1.5)),
        **node("b", "t", message("assistant", "b", at=2)),
    },
    "a",
)
WHOLES = [[plain(), BRANCHED], BRANCHED]
SEEDS = [
    json.dumps(whole, indent=i, ensure_ascii=False).encode() for whole in WHOLES for i in (None, 1)
]


@given(damaged(SEEDS, b'"mapping": {', b'"parent": "a"'))
def test_damaged_bytes(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "c", data, format="chatgpt")


@given(altered(WHOLES))
def test_values_of_the_wrong_shape(tmp_path: Path, value: Any) -> None:
    check(tmp_path / "c", json.dumps(value).encode(), format="chatgpt")
