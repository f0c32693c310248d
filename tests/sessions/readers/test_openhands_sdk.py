"""OpenHands V1, the SDK: built events, since no real conversation is at hand.

Their fields are those of the SDK's event classes (`openhands/sdk/event`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from sessions.any_bytes import check
from sessions.claude_code_lines import line
from sessions.damage import altered, damaged, written
from sessions.looking import of_kind, reasons, said
from sessions.trajectories import document

STATE = {
    "id": "6f1c",
    "agent": {"kind": "Agent", "llm": {"model": "anthropic/claude-x"}},
    "workspace": {"kind": "LocalWorkspace", "working_dir": "/repo"},
    "execution_status": "finished",
}


def event(kind: str, id: str, source: str = "agent", **fields: Any) -> dict[str, Any]:
    time = {"timestamp": "2026-01-02T03:04:05.678901"}
    return {"id": id, **time, "source": source, "kind": kind, **fields}


def texts(*found: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in found]


def message(id: str, text: str, source: str = "user", **fields: Any) -> dict[str, Any]:
    role = "assistant" if source == "agent" else "user"
    return event(
        "MessageEvent", id, source, llm_message={"role": role, "content": texts(text)}, **fields
    )


def act(id: str, tool: str, call: str, *, prose: str = "", answer: str, **fields: Any) -> Any:
    return event(
        "ActionEvent",
        id,
        thought=texts(prose) if prose else [],
        tool_name=tool,
        tool_call_id=call,
        tool_call={"id": call, "name": tool, "arguments": '{"raw":1}', "origin": "completion"},
        llm_response_id=answer,
        **fields,
    )


def result(id: str, tool: str, call: str, text: str, **fields: Any) -> dict[str, Any]:
    found = {"kind": "Observation", "content": texts(text), "is_error": False}
    named = {"tool_name": tool, "tool_call_id": call, "action_id": "a"}
    return event("ObservationEvent", id, "environment", observation=found, **named, **fields)


EVENTS = [
    event(
        "SystemPromptEvent",
        "e0",
        system_prompt={"type": "text", "text": "You are an agent."},
        dynamic_context={"type": "text", "text": "Today."},
        tools=[],
    ),
    message("e1", "Mend it.", extended_content=texts("<skill>")),
    act(
        "e2",
        "terminal",
        "c1",
        prose="I look.",
        answer="r1",
        reasoning_content="Hm.",
        action={"command": "ls", "kind": "ExecuteBashAction"},
    ),
    act("e3", "file_editor", "c2", answer="r1", reasoning_content="Hm."),
    result("e4", "terminal", "c1", "a.py", extended_content=texts("<rule>")),
    event(
        "AgentErrorEvent", "e5", tool_name="file_editor", tool_call_id="c2", error="no such path"
    ),
    event("PauseEvent", "e6", "user"),
    act(
        "e7",
        "finish",
        "c3",
        prose="All is well.",
        answer="r2",
        action={"kind": "FinishAction", "message": "Mended."},
    ),
    result("e8", "finish", "c3", "Mended."),
]


def as_folder(folder: Path, events: Iterable[Any]) -> Path:
    (folder / "events").mkdir()
    for number, found in enumerate(events):
        path = folder / "events" / f"event-{number:05d}-0{number:07x}-aa.json"
        path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    (folder / "events" / ".eventlog.lock").touch()
    path = folder / "base_state.json"
    path.write_text(json.dumps(STATE))
    return path


def as_array(folder: Path, events: Iterable[Any]) -> Path:
    return document(folder, list(events))


def as_lines(folder: Path, events: Iterable[Any]) -> Path:
    path = folder / "events.jsonl"
    path.write_bytes(b"".join(map(line, events)))
    return path


def as_instance(folder: Path, events: Iterable[Any]) -> Path:
    path = folder / "output.jsonl"
    path.write_bytes(line({"instance_id": "i", "history": list(events), "error": None}))
    return path


SHAPES = [as_folder, as_array, as_lines, as_instance]


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_hold_the_same_conversation(
    tmp_path: Path, shape: Callable[[Path, Iterable[Any]], Path]
) -> None:
    session = read_session(shape(tmp_path, EVENTS))
    assert session.format == "openhands"
    assert session.system == "You are an agent.\n\nToday."
    assert (session.prompts, session.steps) == (1, 2)
    assert said(session) == [
        (Kind.USER, Speaker.HUMAN, "Mend it."),
        (Kind.USER, Speaker.HARNESS, "<skill>"),
        (Kind.THINKING, Speaker.MODEL, "Hm."),
        (Kind.ASSISTANT, Speaker.MODEL, "I look."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"raw":1}'),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"raw":1}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "a.py"),
        (Kind.USER, Speaker.HARNESS, "<rule>"),
        (Kind.TOOL_RESULT, Speaker.TOOL, "no such path"),
        (Kind.ASSISTANT, Speaker.MODEL, "All is well."),
        (Kind.ASSISTANT, Speaker.MODEL, "Mended."),
    ]
    results = of_kind(session, Kind.TOOL_RESULT)
    assert [(t.tool, t.call_id, t.is_error) for t in results] == [
        ("terminal", "c1", False),
        ("file_editor", "c2", True),
    ]
    assert [session.text(turn) for turn in session.turns if turn.final] == [
        "All is well.",
        "Mended.",
    ]
    assert [s.reason for s in session.skipped] == [
        "times without a zone, taken as UTC from here on",
        "client's event: PauseEvent",
        "result of a finish, which repeats the final message",
    ]


def test_a_folder_says_what_its_state_says(tmp_path: Path) -> None:
    path = as_folder(tmp_path, EVENTS)
    session = read_session(path)
    assert (session.id, session.cwd, session.path) == ("6f1c", "/repo", path)
    assert session.models == ("anthropic/claude-x",)
    assert [turn.line for turn in session.turns][:4] == [2, 2, 3, 3]
    files = [path, *sorted(tmp_path.glob("events/*.json"))]
    whole = b"".join(file.read_bytes() for file in files)
    assert (session.bytes, session.sha256) == (len(whole), sha256(whole).hexdigest())
    assert [row["id"] for _, row in session.source.records(2, 3)] == ["e1", "e2"]


def test_an_event_that_changed_is_not_loaded(tmp_path: Path) -> None:
    session = read_session(as_folder(tmp_path, EVENTS))
    next(tmp_path.glob("events/event-00001*")).write_text("{}")
    with pytest.raises(SessionError, match="changed while it was in use"):
        session.text(session.turns[0])
    assert session.text(session.turns[3]) == "I look."  # in a file that is still the same


def test_a_folder_keeps_the_order_of_its_numbers(tmp_path: Path) -> None:
    path = as_folder(tmp_path, EVENTS)
    last = message("e9", "Thanks.")
    (tmp_path / "events" / "event-100000-0a-bb.json").write_text(json.dumps(last))
    (tmp_path / "events" / "event-00009-0a-bb.json").write_text("{cut")
    session = read_session(path)
    assert (session.text(session.turns[-1]), session.turns[-1].line) == ("Thanks.", 11)
    assert reasons(session)["not an event"] == (10,)


def test_a_state_without_events_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "base_state.json"
    path.write_text(json.dumps(STATE))
    with pytest.raises(SessionError, match="no message of a model"):
        read_session(path)


def read(folder: Path, *events: Any) -> Session:
    return read_session(as_array(folder, events))


def test_a_condensation_keeps_what_it_does_not_forget(tmp_path: Path) -> None:
    forgotten = {"forgotten_event_ids": ["e2", "e3", "e4", "e5"], "llm_response_id": "s1"}
    session = read(
        tmp_path,
        *EVENTS[:6],
        event("CondensationRequest", "f0", "environment", reason="context_limit"),
        event("Condensation", "f1", "environment", summary="It looked.", **forgotten),
        event("CondensationSummaryEvent", "f2", "environment", summary="It looked."),
        message("f3", "Done.", "agent", llm_response_id="r3"),
    )
    (compaction,) = session.compactions
    assert compaction.summary is not None
    assert session.turns[compaction.summary].kind is Kind.SUMMARY
    assert [session.text(session.turns[t]) for t in compaction.kept] == ["Mend it.", "<skill>"]
    assert compaction.trigger == "context_limit"
    assert session.turns[-1].segment == 1
    assert session.turns[-1].final
    assert session.steps == 2
    assert "summary of the condensation before, again" in {s.reason for s in session.skipped}


def test_a_condensation_without_a_summary(tmp_path: Path) -> None:
    session = read(tmp_path, *EVENTS[:5], event("Condensation", "f1", forgotten_event_ids=["e1"]))
    (compaction,) = session.compactions
    assert compaction.summary is None
    assert of_kind(session, Kind.SUMMARY) == []
    assert 0 not in compaction.kept
    assert len(compaction.kept) == 6


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rejection_reason": "not that file"}, ["not that file"]),
        ({"rejection_reason": "User rejected the action"}, []),
        ({"rejection_reason": "blocked by a rule", "rejection_source": "hook"}, []),
    ],
)
def test_a_rejection_holds_a_persons_words_if_they_gave_any(
    tmp_path: Path, fields: dict[str, str], words: list[str]
) -> None:
    named = {"tool_name": "terminal", "tool_call_id": "c1", "action_id": "e2"}
    session = read(
        tmp_path,
        *EVENTS[:3],
        event("UserRejectObservation", "f1", "environment", **named, **fields),
    )
    rejected, *rest = session.turns[5:]
    assert (rejected.kind, rejected.is_error, rejected.call_id) == (Kind.TOOL_RESULT, True, "c1")
    assert [session.text(turn) for turn in rest if turn.quoted] == words
    assert session.prompts == 1 + len(words)


def test_who_else_speaks_as_a_user(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        *EVENTS[:3],
        message("f1", "Look at this.", sender="planner"),
        message("f2", "Hook says no.", "environment"),
        message("f3", "Please continue working on the task on whatever approach you think."),
    )
    assert session.prompts == 1
    assert [turn.speaker for turn in session.turns[-3:]] == [Speaker.HARNESS] * 3


def test_the_model_is_what_the_state_says_last(tmp_path: Path) -> None:
    change = {"llm": {"model": "m-2"}}
    session = read(
        tmp_path,
        event("ConversationStateUpdateEvent", "s0", "environment", key="full_state", value=STATE),
        *EVENTS[:3],
        event("ConversationStateUpdateEvent", "s1", "environment", key="agent", value=change),
        message("f1", "Done.", "agent", llm_response_id="r3"),
    )
    assert session.models == ("anthropic/claude-x", "m-2")
    assert (session.id, session.cwd) == ("6f1c", "/repo")


def test_older_calls_and_observations(tmp_path: Path) -> None:
    """LiteLLM's form of a call, a call of which only the action is kept, output by field."""
    function = {"name": "bash", "arguments": '{"command":"ls"}'}
    first = act("e2", "bash", "c1", answer="r1")
    first["tool_call"] = {"id": "c1", "type": "function", "function": function}
    second = act("e3", "bash", "c2", answer="r2", action={"kind": "A", "command": "pwd"})
    del second["tool_call"]
    old = result("e4", "bash", "c1", "") | {"observation": {"kind": "O", "output": "a.py"}}
    odd = result("e5", "bash", "c2", "") | {"observation": {"kind": "O", "matches": [1]}}
    session = read(tmp_path, EVENTS[1], first, second, old, odd)
    assert [text for _, _, text in said(session)][2:] == [
        '{"command":"ls"}',
        '{"command": "pwd"}',
        "a.py",
        '{"matches": [1]}',
    ]


def test_a_command_without_output_has_an_empty_result(tmp_path: Path) -> None:
    """The fields beside an empty `content` (the command, its exit code) are no output."""
    quiet = result("e4", "terminal", "c1", "")
    quiet["observation"] |= {"command": "ls", "exit_code": 0, "metadata": {"pid": -1}}
    session = read(tmp_path, *EVENTS[1:3], quiet)
    assert said(session)[-1] == (Kind.TOOL_RESULT, Speaker.TOOL, "")


def linked(event: dict[str, Any], parent: str) -> dict[str, Any]:
    return event | {"parent_id": parent}


REWOUND = [
    linked(message("a", "Mend it."), "__root__"),
    linked(message("b", "First try.", "agent", llm_response_id="r1"), "a"),
    linked(event("Condensation", "c", forgotten_event_ids=["a"], summary="s"), "b"),
    linked(message("d", "Again."), "a"),
    linked(message("e", "Second try.", "agent", llm_response_id="r2"), "d"),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_rewind_leaves_behind_is_abandoned(
    tmp_path: Path, shape: Callable[[Path, Iterable[Any]], Path]
) -> None:
    session = read_session(shape(tmp_path, REWOUND))
    assert [session.text(turn) for turn in session.turns if turn.abandoned] == ["First try."]
    assert (session.prompts, session.steps, session.compactions) == (2, 2, ())
    assert "condensation on a branch that was left behind" in {s.reason for s in session.skipped}


def test_the_client_stands_where_its_state_says(tmp_path: Path) -> None:
    path = as_folder(tmp_path, REWOUND)
    path.write_text(json.dumps(STATE | {"leaf_event_id": "b"}))
    session = read_session(path)
    left = [session.text(turn) for turn in session.turns if turn.abandoned]
    assert left == ["Again.", "Second try."]


def test_events_of_an_older_client_are_one_line_of_descent(tmp_path: Path) -> None:
    """A resume may call its first event a root; the events before it name no parent at all."""
    old = [message("a", "Mend it."), message("b", "Done.", "agent", llm_response_id="r1")]
    resumed = linked(message("c", "More."), "__root__")
    gone = linked(message("d", "Done.", "agent", llm_response_id="r2"), "no such event")
    session = read(tmp_path, *old, resumed, gone)
    assert [turn.abandoned for turn in session.turns] == [False] * 4


def test_parents_in_a_circle_end(tmp_path: Path) -> None:
    circle = [linked(REWOUND[0], "b"), linked(REWOUND[1], "a")]
    assert [turn.abandoned for turn in read(tmp_path, *circle).turns] == [False, False]


def test_unknown_kinds_are_counted_by_name(tmp_path: Path) -> None:
    session = read(tmp_path, *EVENTS[:3], event("NovelEvent", "f1"), 7)
    assert reasons(session) == {
        "times without a zone, taken as UTC from here on": (2,),
        "unknown record type: NovelEvent": (4,),
        "not an event": (5,),
    }


@given(
    damaged([written(EVENTS), b"".join(map(line, EVENTS))])
    | altered([[*REWOUND, *EVENTS]]).map(written)
)
def test_any_damage_gives_a_session_or_one_line(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "events", data, format="openhands")
