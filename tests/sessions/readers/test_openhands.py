"""OpenHands V0: the real files by hand counts, and what they lack by built events."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.readers.openhands.delegates import UNANSWERED
from contextecho.sessions.readers.openhands.thread import Thread
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check
from sessions.claude_code_lines import line
from sessions.damage import QUIET, altered, damaged, written
from sessions.looking import counts, human_hashes, of_kind, reasons, said
from sessions.trajectories import document, read_all

ASKED_ON = "Please continue working on the task on whatever approach you think is suitable."
NO_ZONE = "times without a zone, taken as UTC from here on"


def action(id: int, name: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    return {"id": id, "source": source, "action": name, "args": args, "message": ""}


def observation(id: int, name: str, content: str, cause: int | None = None) -> dict[str, Any]:
    fields: dict[str, Any] = {} if cause is None else {"cause": cause}
    event = {"id": id, "source": "agent", "observation": name, "content": content, "extras": {}}
    return event | fields


def answered(event: dict[str, Any], call_id: str, name: str, **answer: Any) -> dict[str, Any]:
    """The event with the model's raw answer beside it."""
    call = {"id": call_id, "function": {"name": name, "arguments": '{"raw": true}'}}
    message = {"role": "assistant", "content": "Prose.", "tool_calls": [call]} | answer
    response = {"id": "r1", "model": "m-1", "choices": [{"message": message}]}
    metadata = {"tool_call_id": call_id, "function_name": name, "model_response": response}
    return event | {"tool_call_metadata": metadata}


ASK = action(0, "message", "user", content="Mend it.")


def read(folder: Path, *events: Any) -> Session:
    return read_session(document(folder, list(events)))


@pytest.mark.parametrize(
    ("file", "steps", "calls", "human", "quiet"),
    [
        ("basic.json", 2, 1, "2469bd16b6be094f", {}),
        (
            "basic_gui_mode.json",
            5,
            4,
            "84992c10d69123ff",
            {
                "client's event: agent_state_changed": 4,
                "client's event: change_agent_state": 1,
                "client's event: null": 3,
            },
        ),
    ],
)
def test_the_real_event_lists(
    shared: Path, file: str, steps: int, calls: int, human: str, quiet: dict[str, int]
) -> None:
    """Counted with jq over the array.

    Steps are the distinct `.tool_call_metadata.model_response.id` of the actions and the
    agent's `message` (one, in the second file); calls are the agent's actions but for
    `message` and `finish`; the prompt is the `message` of source user, by its sha256sum.
    """
    session = read_session(shared / "sessions/other/openhands" / file)
    assert (session.format, session.prompts, session.steps) == ("openhands", 1, steps)
    found = of_kind(session, Kind.TOOL_CALL)
    assert len(found) == len(of_kind(session, Kind.TOOL_RESULT)) == calls
    assert [t.call_id for t in of_kind(session, Kind.TOOL_RESULT)] == [t.call_id for t in found]
    assert human_hashes(session) == [human]
    assert counts(session) == quiet | {NO_ZONE: 1}
    assert session.models == ("claude-3-5-sonnet-20241022",)
    assert [turn.final for turn in of_kind(session, Kind.ASSISTANT)] == [False] * (steps - 1) + [
        True
    ]


def test_the_real_evaluation(shared: Path) -> None:
    """Counted with jq over each line's `.history`.

    Steps: distinct answer ids of actions; calls: the agent's actions but `finish` and
    `system`; results: observations with a `cause`, but `recall`; errors: `success` false.
    The one `error` of the second and third has no cause: the client's notice.
    """
    path = shared / "sessions/other/openhands/multi-swe-bench-output.jsonl"
    numbers = ("4595", "4593", "4588")
    assert members_of(path) == [f"ponylang__ponyc-{number}" for number in numbers]
    found = {}
    for session in read_all(path):
        results = of_kind(session, Kind.TOOL_RESULT)
        assert session.prompts == 1
        assert session.id == session.member
        assert len(results) == len(of_kind(session, Kind.TOOL_CALL))
        notices = sum(turn.speaker is Speaker.HARNESS for turn in session.turns)
        errors = sum(turn.is_error for turn in results)
        found[session.id[-4:]] = (session.steps, len(results), errors, notices)
        assert session.system is not None
        assert session.system.startswith("You are OpenHands agent")
        assert session.models == ("meta-llama/llama-4-maverick",)
        assert (session.versions, session.cwd) == (("0.35.0",), "/workspace/ponylang__ponyc__0.1")
        assert {turn.mode for turn in session.turns} == {"CodeActAgent"}
        assert counts(session) == {
            "client's event: recall": 2,
            NO_ZONE: 1,
        }
    assert found == {"4595": (23, 22, 5, 0), "4593": (33, 32, 2, 1), "4588": (49, 49, 12, 1)}
    hashes = [human_hashes(session) for session in read_all(path)]
    assert hashes == [["3b289d671c0181e8"], ["7c37f31cc3d9939d"], ["a2a13e288d6a7cab"]]


def test_parallel_calls_are_one_message_and_its_prose_is_said_once(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        ASK,
        answered(action(1, "run", thought="Prose.", command="ls"), "c1", "execute_bash"),
        observation(2, "run", "a.py", cause=1),
        answered(
            action(3, "think", thought="Prose.\nHm"), "c2", "think", reasoning_content="Because."
        ),
        observation(4, "think", "logged", cause=3),
    )
    assert (session.steps, session.models) == (1, ("m-1",))
    assert [(kind, text) for kind, _, text in said(session)][1:] == [
        (Kind.ASSISTANT, "Prose."),
        (Kind.TOOL_CALL, '{"raw": true}'),
        (Kind.TOOL_RESULT, "a.py"),
        (Kind.TOOL_CALL, '{"raw": true}'),
        (Kind.TOOL_RESULT, "logged"),
    ]
    assert [turn.call_id for turn in session.turns[2:]] == ["c1", "c1", "c2", "c2"]


def test_events_without_the_models_answer_are_linked_by_their_cause(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        ASK,
        action(1, "run", thought="I look.", command="ls"),
        action(2, "read", thought="", path="a.py"),
        observation(3, "read", "print()", cause=2),
        observation(4, "run", "a.py", cause=1),
        action(5, "message", content="Done.", wait_for_response=True),
    )
    assert session.steps == 3
    calls = [turn for turn in session.turns if turn.kind is Kind.TOOL_CALL]
    results = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert [turn.tool for turn in calls + results] == ["run", "read", "read", "run"]
    assert [turn.call_id for turn in results] == [calls[1].call_id, calls[0].call_id]
    assert next(session.contents(calls)).arguments == {"command": "ls"}
    assert session.turns[-1].final


def test_a_finish_is_the_final_answer(tmp_path: Path) -> None:
    done = action(1, "finish", thought="All is well.", final_thought="Mended.", task_completed="x")
    session = read(tmp_path, ASK, answered(done, "c1", "finish"))
    assert [(kind, text) for kind, _, text in said(session)][1:] == [
        (Kind.ASSISTANT, "All is well."),
        (Kind.ASSISTANT, "Mended."),
    ]
    assert [turn.final for turn in session.turns] == [False, True, True]
    assert session.steps == 1


def test_a_delegates_events_are_a_sidechain(tmp_path: Path) -> None:
    inner = answered(action(4, "browse", thought="", url="x"), "c9", "browser")
    session = read(
        tmp_path,
        ASK,
        action(1, "delegate", thought="Let another look.", agent="BrowsingAgent", inputs={}),
        action(2, "message", "user", content="TASK: look"),
        action(3, "delegate", agent="Deeper", inputs={}),
        inner,
        observation(5, "delegate", "deep", cause=3),
        observation(6, "delegate", "found", cause=1),
        action(7, "message", content="Found."),
    )
    assert (session.prompts, session.steps) == (1, 2)
    assert [text for _, _, text in said(session)][1:] == [
        "Let another look.",
        '{"agent": "BrowsingAgent", "inputs": {}}',
        "found",
        "Found.",
    ]
    assert [(c.agent_id, c.records, c.models) for c in session.sidechains] == [
        ("BrowsingAgent 1", 3, ()),
        ("Deeper 3", 1, ("m-1",)),
    ]


DELEGATED = [
    ASK,
    action(1, "delegate", thought="You look.", agent="Browser", inputs={"task": "look"}),
    observation(2, "null", "", cause=1),  # the client has nothing to run: no answer
    action(3, "message", "user", content="TASK: look"),
    action(4, "browse", url="x"),
]
WENT_ON = [
    action(7, "message", "user", content="Stop that."),
    action(8, "message", content="Stopped."),
]


@pytest.mark.parametrize(
    "answer",
    [
        observation(6, "delegate", "found", cause=1),
        observation(6, "error", "the agent was stopped", cause=1),
        observation(6, "error", "the agent was stopped")
        | {"tool_call_metadata": {"tool_call_id": "c"}},
        observation(6, "delegate", "found"),
    ],
    ids=["delegate", "error", "by its call", "naming none"],
)
def test_what_answers_a_delegates_call_ends_it(tmp_path: Path, answer: dict[str, Any]) -> None:
    """What a person says meanwhile is said to the delegate."""
    first, begun, *rest = DELEGATED
    begun = begun | {"tool_call_metadata": {"tool_call_id": "c"}}
    said_to_it = action(5, "message", "user", content="Look here.")
    session = read(tmp_path, first, begun, *rest, said_to_it, answer, *WENT_ON)
    assert (session.prompts, session.steps) == (2, 2)
    assert [c.records for c in session.sidechains] == [4]
    assert UNANSWERED not in reasons(session)


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        ([], (1, 1, 3, 1)),
        (WENT_ON, (2, 2, 3, 1)),
        ([action(6, "delegate", agent="Deeper"), *WENT_ON], (2, 2, 4, 2)),
        (
            [
                *WENT_ON,
                action(9, "delegate", agent="Other"),
                action(10, "think", thought="x"),
                observation(11, "delegate", "found", cause=9),
            ],
            (2, 3, 4, 1),
        ),
        ([action(6, "message", "user", content=ASKED_ON), action(7, "think")], (1, 1, 5, 1)),
    ],
    ids=["the end", "a prompt", "two at once", "another is answered", "an evaluation asks on"],
)
def test_a_delegate_without_an_answer_ends_where_a_person_speaks(
    tmp_path: Path, more: list[Any], numbers: tuple[int, int, int, int]
) -> None:
    session = read(tmp_path, *DELEGATED, *more)
    records = sum(chain.records for chain in session.sidechains)
    assert (session.prompts, session.steps, records, counts(session)[UNANSWERED]) == numbers


def test_a_delegate_inside_one_that_is_answered_ends_with_it(tmp_path: Path) -> None:
    inner = [action(5, "delegate", agent="Deeper"), action(6, "message", "user", content="Hm?")]
    answer = observation(9, "delegate", "found", cause=1)
    session = read(tmp_path, *DELEGATED, *inner, answer, *WENT_ON)
    assert (session.prompts, session.steps) == (2, 2)
    assert counts(session)[UNANSWERED] == 1


@pytest.mark.parametrize("shape", ["array", "lines", "pairs"])
def test_an_event_that_is_there_again_is_counted(tmp_path: Path, shape: str) -> None:
    """Each event twice, the call of a delegate among them: two prompts, two steps."""
    timed = [
        event | {"timestamp": f"2025-01-27T22:44:{number:02}"}
        for number, event in enumerate([*DELEGATED, observation(6, "error", "no", 1), *WENT_ON])
    ]
    twice = [event for event in timed for _ in range(2)]
    path = tmp_path / "events.json"
    if shape == "lines":
        path.write_bytes(b"".join(map(line, twice)))
    else:
        pairs = [twice[n : n + 2] for n in range(0, len(twice), 2)]
        path.write_text(json.dumps(pairs if shape == "pairs" else twice))
    session = read_session(path)
    assert (session.prompts, session.steps) == (2, 2)
    assert counts(session)["repeated event"] == len(timed) == 8
    assert [chain.records for chain in session.sidechains] == [3]


def test_an_id_that_another_event_has_too_is_no_repetition(tmp_path: Path) -> None:
    """As where a client began to count anew; the id of an event that has none is -1."""
    again = action(0, "message", "user", content="More.") | {"timestamp": "2025-01-27T22:44:56"}
    session = read(tmp_path, ASK, action(-1, "message", content="a"), again)
    assert (session.prompts, session.steps) == (2, 1)
    assert "repeated event" not in reasons(session)


@pytest.mark.parametrize(
    "forgotten",
    [
        {"forgotten_event_ids": [1, 2]},
        {"forgotten_events_start_id": 1, "forgotten_events_end_id": 2},
    ],
)
def test_a_condensation_is_a_compaction_and_what_it_does_not_forget_is_kept(
    tmp_path: Path, forgotten: dict[str, Any]
) -> None:
    session = read(
        tmp_path,
        ASK,
        action(1, "run", thought="I look.", command="ls"),
        observation(2, "run", "a.py", cause=1),
        action(3, "message", content="I see."),
        action(4, "condensation_request"),
        action(5, "condensation", summary="It looked.", **forgotten),
        action(6, "message", content="On."),
    )
    (compaction,) = session.compactions
    assert compaction.summary is not None
    assert session.turns[compaction.summary].speaker is Speaker.SUMMARISER
    assert session.text(session.turns[compaction.summary]) == "It looked."
    assert [session.text(session.turns[turn]) for turn in compaction.kept] == ["Mend it.", "I see."]
    assert (compaction.line, compaction.step, compaction.trigger) == (6, 2, "request")
    assert [turn.segment for turn in session.turns][-2:] == [1, 1]
    assert session.steps == 3


@pytest.mark.parametrize("is_range", [False, True])
def test_condensations_look_at_what_they_forget_and_not_at_all_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_range: bool
) -> None:
    """Of `n` events, `n` condensations forget one each: `n` looks, not the square of it."""
    looked: list[str] = []

    class Watched(dict[str, range]):
        def __iter__(self) -> Iterator[str]:
            for id in super().__iter__():
                looked.append(id)
                yield id

        def pop(self, id: str, *default: Any) -> Any:
            looked.append(id)
            return super().pop(id, *default)

    made = Thread.__init__

    def watched(self: Thread, *args: Any) -> None:
        made(self, *args)
        self._turns_of = Watched()

    monkeypatch.setattr(Thread, "__init__", watched)
    events = 50
    said = [action(1 + n, "message", content=f"No. {n}") for n in range(events)]
    forgets = [
        {"forgotten_events_start_id": 1 + n, "forgotten_events_end_id": 1 + n}
        if is_range
        else {"forgotten_event_ids": [1 + n]}
        for n in range(events)
    ]
    condensed = [
        action(1 + events + n, "condensation", summary="s", **forgets[n]) for n in range(events)
    ]
    session = read(tmp_path, ASK, *said, *condensed)
    assert len(session.compactions) == events
    assert [session.text(session.turns[n]) for n in session.compactions[-1].kept][:1] == [
        "Mend it."
    ]
    assert looked == [str(1 + n) for n in range(events)]


def test_what_no_person_typed_is_no_prompt(tmp_path: Path) -> None:
    on = "Please continue working on the task on whatever approach you think is suitable.\nIf ..."
    session = read(
        tmp_path,
        action(0, "system", content="You are an agent.", openhands_version="0.50"),
        ASK | {"id": 1},
        action(2, "recall", "user", query="Mend it."),
        observation(3, "recall", "Added", cause=2),
        action(4, "message", content="What now?"),
        action(5, "message", "user", content=on),
        action(6, "run", "user", command="git status"),
        observation(7, "run", "clean", cause=6),
        action(8, "message", "environment", content="Time is short."),
        action(9, "run", command="rm a.py"),
        observation(10, "user_rejected", "", cause=9),
        action(11, "message", "user", content="No."),
        action(12, "system", content="You are an agent."),
    )
    assert session.prompts == 2
    assert [text for _, speaker, text in said(session) if speaker is Speaker.HUMAN] == [
        "Mend it.",
        "No.",
    ]
    assert [text for _, speaker, text in said(session) if speaker is Speaker.HARNESS] == [
        on,
        '{"command": "git status"}',
        "clean",
        "Time is short.",
    ]
    rejected = of_kind(session, Kind.TOOL_RESULT)
    assert [(turn.is_error, turn.tool) for turn in rejected] == [(True, "run")]
    assert {s.reason for s in session.skipped} == {
        "client's event: recall",
        "system prompt again",
    }


def test_pairs_without_source_or_ids(tmp_path: Path) -> None:
    """The oldest histories: the first message is the task, all others are the agent's."""

    def half(kind: str, name: str, **fields: Any) -> dict[str, Any]:
        return {kind: name, **fields}

    null = half("observation", "null", content="", extras={})
    history = [
        [half("action", "message", args={"content": "Mend it."}), null],
        [
            half("action", "run", args={"command": "ls", "thought": "I look."}),
            half("observation", "run", content="a.py", extras={}),
        ],
        [half("action", "message", args={"content": "Done."}), null],
    ]
    path = tmp_path / "output.jsonl"
    metadata = {"agent_class": "CodeActAgent", "llm_config": {"model": "gpt-x"}}
    instance = {"instance_id": 7, "metadata": metadata, "history": history}
    path.write_bytes(line(instance) + line({"instance_id": 8, "history": []}))
    assert members_of(path) == (None,)
    session = read_session(path)
    assert (session.id, session.models, session.member) == ("7", ("gpt-x",), None)
    assert said(session) == [
        (Kind.USER, Speaker.HUMAN, "Mend it."),
        (Kind.ASSISTANT, Speaker.MODEL, "I look."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"command": "ls"}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "a.py"),
        (Kind.ASSISTANT, Speaker.MODEL, "Done."),
    ]
    assert session.turns[2].call_id == session.turns[3].call_id
    assert [turn.line for turn in session.turns] == [1, 2, 2, 2, 3]
    assert reasons(session) == {
        "line without an instance": (2,),
        "client's event: null": (1, 3),
    }


def test_instances_of_one_id_are_named_by_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    instance = {"instance_id": "x", "history": [ASK, action(1, "message", content="é")]}
    path.write_bytes(line(instance) + b"\n" + line(instance | {"test_result": "no"}) + b'{"inst')
    assert members_of(path) == ["1", "3"]
    session = read_session(f"{path}#3")
    assert session.text(session.turns[-1]) == "é"
    assert [(s.reason, s.lines) for s in session.skipped] == [("line without an instance", (4,))]


def test_a_byte_order_mark_costs_no_instance(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    history = [ASK, action(1, "message", content="é")]
    lines = (line({"instance_id": name, "history": history}) for name in "ab")
    path.write_bytes(BOM_UTF8 + b"\n".join(lines))
    assert members_of(path) == ["a", "b"]
    session = read_session(f"{path}#a")
    assert (session.text(session.turns[-1]), session.skipped) == ("é", ())


@pytest.mark.parametrize("key", ["trajectory", "events"])
def test_a_list_in_an_object_is_read_too(tmp_path: Path, key: str) -> None:
    events = [ASK, action(1, "message", content="Done.")]
    assert read_session(document(tmp_path, {key: events})).steps == 1


def test_pictures_and_times(tmp_path: Path) -> None:
    """The first time has no zone; the second is the same moment written with one."""
    shot = observation(2, "browse", "page", cause=1)
    shot["extras"] = {"screenshot": "data:image/png;base64,AAAA", "error": True}
    session = read(
        tmp_path,
        action(0, "message", "user", content="See.", image_urls=["a", "b"])
        | {"timestamp": "2025-01-27T22:44:56.500000"},
        action(1, "browse", url="x") | {"timestamp": "2025-01-27T14:44:56.500000-08:00"},
        shot | {"timestamp": "never"},
    )
    assert [content.images for content in session.contents(session.turns)] == [2, 0, 1]
    moment = datetime(2025, 1, 27, 22, 44, 56, 500_000, tzinfo=UTC).timestamp()
    assert [turn.time for turn in session.turns] == [moment, moment, None]
    assert session.turns[2].is_error


def test_one_event_alone_is_no_session(tmp_path: Path) -> None:
    """The client keeps each event in a file of its own; none of these is a conversation."""
    path = tmp_path / "0.json"
    path.write_text(json.dumps(ASK))
    with pytest.raises(SessionError, match="not a"):
        read_session(path)


@pytest.mark.parametrize("name", ["delegate", "run", "message"])
def test_an_action_without_arguments_is_no_event(tmp_path: Path, name: str) -> None:
    """Though it be an observation too."""
    both = observation(2, "run", "a.py") | {"action": name}
    session = read(tmp_path, ASK, both, action(3, "message", content="Hm."))
    assert (session.prompts, session.steps, reasons(session)["not an event"]) == (1, 1, (2,))


@pytest.mark.parametrize("depth", [500, 900, 960, 980, 1_000, 100_000])
def test_arguments_nested_deeper_than_can_be_written(tmp_path: Path, depth: int) -> None:
    events = json.dumps([ASK, action(1, "run", command="HERE"), action(2, "message", content="Hm")])
    deep = "[" * depth + "]" * depth
    check(tmp_path / "deep", events.replace('"HERE"', deep).encode(), format="openhands")


EVENTS = [
    action(0, "system", content="s", agent_class="A"),
    ASK | {"timestamp": "2025-01-27T22:44:56"},
    answered(action(1, "run", thought="é🎉", command="ls"), "c1", "run"),
    observation(2, "run", "a.py", cause=1),
    action(3, "condensation", forgotten_event_ids=[1, 2], summary="s"),
    action(4, "delegate", agent="B"),
    action(5, "message", content="in"),
    observation(6, "delegate", "out", cause=4),
    action(7, "finish", thought="t", final_thought="f"),
]
SHAPES = [
    EVENTS,
    {"instance_id": "a", "history": EVENTS, "metadata": {"llm": {"model": "m"}}},
    {"instance_id": "b", "history": [EVENTS[1:3], EVENTS[3:5]]},
]
SEEDS = [
    json.dumps(EVENTS, ensure_ascii=False).encode(),
    b"".join(map(line, EVENTS)),
    line({"instance_id": "a", "history": EVENTS, "metadata": {"llm": {"model": "m"}}})
    + line({"instance_id": "b", "history": [EVENTS[1:3], EVENTS[3:5]]}),
]


@QUIET
@given(damaged(SEEDS) | altered(SHAPES).map(written))
def test_any_damage_gives_sessions_or_one_line(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "events", data, format="openhands")
