"""The Copilot CLI reader: the real log against counts by jq and by eye, and built ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from contextecho.errors import SessionError
from contextecho.sessions import CompactionKind, Kind, Session, Speaker, read_session
from sessions.any_bytes import check
from sessions.claude_code_lines import check_lengths
from sessions.damage import damaged, odd_values
from sessions.looking import of_kind, reasons, spoken
from timing import takes_less_than

_serial = count(1)
REAL = "sessions/other/copilot/vct-zh-tw-copilot.jsonl"


def test_counts_of_the_real_log(shared: Path) -> None:
    """By jq: 6 assistant.message with 11 toolRequests and 4 reasoningText; 13 results.

    Of the 2 user.message one has no content: the client's, to keep autopilot going. Two
    results (lines 35, 37) answer calls that no message requests: its project added them.
    """
    session = read_session(shared / REAL)
    assert session.format == "copilot"
    assert (session.prompts, session.steps) == (1, 6)
    kinds = (Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.THINKING)
    assert tuple(len(of_kind(session, kind)) for kind in kinds) == (11, 13, 4)
    (prompt,) = [turn for turn in session.turns if turn.speaker is Speaker.HUMAN]
    assert session.text(prompt).startswith("請不要修改任何代碼 我希望你幫我調查一下")
    assert session.text(prompt).endswith("請幫我調查 不要產生代碼或編輯代碼")
    assert prompt.time == 1776964276.238  # date -u -d 2026-04-23T17:11:16.238Z +%s
    (answer,) = of_kind(session, Kind.ASSISTANT)
    assert (answer.line, answer.final, answer.chars) == (45, True, 1265)  # jq: content|length
    assert reasons(session)["tool result without a request"] == (35, 37)
    assert reasons(session)["repeated system prompt"] == (47,)


def test_facts_of_the_real_log(shared: Path) -> None:
    session = read_session(shared / REAL)
    assert session.id == "96ef38f0-9d09-45c3-8124-6448c36090ed"
    assert session.cwd == "/home/wei/repo/VibeCodingTracker"
    assert (session.models, session.versions) == (("claude-sonnet-4.6",), ("1.0.34",))
    assert session.system is not None
    assert len(session.system) == 37_833  # jq: content|length of system.message
    assert {turn.mode for turn in session.turns} == {"autopilot"}
    results = {turn.call_id: turn.tool for turn in of_kind(session, Kind.TOOL_RESULT)}
    assert results["toolu_015mmFQgTioWn3quiaKRMYX3"] == "report_intent"
    assert results["toolu_01Glob4RustDocFiles0001"] == "glob"  # from its execution_start
    check_lengths(session.turns, list(session.contents(session.turns)))


# Built logs


def event(type: str, agent: str | None = None, **data: Any) -> dict[str, Any]:
    envelope = {"type": type, "data": data, "id": "", "parentId": None}
    envelope["timestamp"] = "2026-05-01T10:00:00.000Z"
    return envelope | ({} if agent is None else {"agentId": agent})


def start(**data: Any) -> dict[str, Any]:
    context = {"cwd": "/work"}
    return event("session.start", sessionId="s1", copilotVersion="1.0.9", context=context, **data)


def user(content: str, **data: Any) -> dict[str, Any]:
    return event("user.message", content=content, **data)


def answer(content: str, *calls: str, **data: Any) -> dict[str, Any]:
    requests = [{"toolCallId": id, "name": "bash", "arguments": {"command": id}} for id in calls]
    return event("assistant.message", content=content, toolRequests=requests, **data)


def result(id: str, content: str = "ok", **data: Any) -> dict[str, Any]:
    fields = {"success": True, "result": {"content": content}} | data
    return event("tool.execution_complete", toolCallId=id, **fields)


def as_log(*records: Any) -> bytes:
    """The records as lines, with an id each unless they have one."""
    return b"".join(
        record if isinstance(record, bytes) else json.dumps(numbered(record)).encode() + b"\n"
        for record in records
    )


def numbered(record: Any) -> Any:
    unnamed = isinstance(record, dict) and record.get("id") == ""
    return record | {"id": f"e{next(_serial)}"} if unnamed else record


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Session]:
    def _read(*records: Any, name: str = "session.jsonl") -> Session:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(as_log(*records))
        session = read_session(path)
        check_lengths(session.turns, list(session.contents(session.turns)))
        lines = [turn.line for turn in session.turns]
        assert lines == sorted(lines)
        return session

    return _read


def test_commentary_calls_results_and_the_final_answer(read: Callable[..., Session]) -> None:
    failed = {"success": False, "result": None, "error": {"message": "denied"}}
    session = read(
        *(start(selectedModel="gpt-a"), event("system.message", content="Be brief.")),
        *(user("list", transformedContent="<current_datetime>x</current_datetime>list"),),
        answer("Let me look.", "c", "d", messageId="m", reasoningText="hm"),
        event("tool.execution_start", toolCallId="c", toolName="bash"),
        *(result("c", "a.py"), result("d", **failed), answer("One file.", messageId="n")),
    )
    assert spoken(session) == [
        *(("human", "list"), ("model", "hm"), ("model", "Let me look.")),
        *(("model", '{"command": "c"}'), ("model", '{"command": "d"}')),
        *(("tool", "a.py"), ("tool", "denied"), ("model", "One file.")),
    ]
    assert (session.system, session.cwd, session.id) == ("Be brief.", "/work", "s1")
    assert [turn.final for turn in of_kind(session, Kind.ASSISTANT)] == [False, True]
    results = of_kind(session, Kind.TOOL_RESULT)
    assert [(r.tool, r.call_id, r.is_error) for r in results] == [
        ("bash", "c", False),
        ("bash", "d", True),
    ]
    assert (session.prompts, session.steps) == (1, 2)


def test_model_mode_and_agent_hold_from_where_they_are_declared(
    read: Callable[..., Session],
) -> None:
    session = read(
        *(start(selectedModel="a"), user("1", agentMode="plan"), answer("x")),
        event("session.model_change", newModel="b"),
        event("session.mode_changed", newMode="autopilot"),
        *(
            user("2"),
            answer("y"),
            answer("z", model="c"),
            event("subagent.selected", agentName="q"),
        ),
        *(answer("v"), event("subagent.deselected"), event("session.resume", selectedModel="d")),
        answer("w"),
    )
    found = [(turn.model, turn.mode) for turn in of_kind(session, Kind.ASSISTANT)]
    assert found == [
        *(("a", "plan"), ("b", "autopilot"), ("c", "autopilot")),
        *(("b", "q"), ("d", "autopilot")),
    ]
    assert session.models == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("sent", "text", "human"),
    [
        (user("fix it"), "fix it", True),
        (user("fix it", source="user"), "fix it", True),
        (user("fix it", parentAgentTaskId="t1", delivery="idle"), "fix it", True),
        (user("fix it <reminder>todo</reminder>"), "fix it", True),
        (user("<reminder a=1>x</reminder>\n fix <reminder>y</reminder> it"), "fix\nit", True),
        (user("what is <reminder> for?"), "what is <reminder> for?", True),
        (user("", transformedContent="You have not yet"), "You have not yet", False),
        (user("go on", isAutopilotContinuation=True), "go on", False),
        (user("body", source="skill-pdf"), "body", False),
        (user("<skill-context name=a>b</skill-context>"), "<skill-context", False),
        (user("report", source="agent-7"), "report", False),
        (user("ls", agentMode="shell"), "ls", False),
        (user("from afar", crossSession={"version": 1}), "from afar", False),
        (
            user("from afar", transformedContent="<cross_session_message>\nfrom_session_id: s9\n"),
            "from afar",
            False,
        ),
        (
            user("why <cross_session_message>?", transformedContent="why <cross_session_message>?"),
            "why",
            True,
        ),
        (event("system.notification", content="shell done"), "shell done", False),
        (result("c", "out", isUserRequested=True), "out", False),
    ],
)
def test_who_spoke(read: Callable[..., Session], sent: Any, text: str, human: bool) -> None:
    session = read(start(), sent, answer("ok"))
    turn = session.turns[0]
    assert (turn.kind, turn.speaker) == (Kind.USER, Speaker.HUMAN if human else Speaker.HARNESS)
    assert session.text(turn).startswith(text)
    assert session.prompts == human


def test_attachments_are_counted(read: Callable[..., Session]) -> None:
    pictures = {"content": "shot", "binaryResultsForLlm": [{"data": "iVBOR"}]}
    session = read(
        *(start(), user("", attachments=[{"type": "blob", "data": "iVBOR"}]), answer("", "c")),
        *(result("c", result=pictures), answer("A cat.")),
    )
    assert [content.images for content in session.contents(session.turns)] == [1, 0, 1, 0]
    assert session.prompts == 1


def test_parts_of_one_response_are_one_message(read: Callable[..., Session]) -> None:
    session = read(
        *(start(), user("hi"), answer("First.", apiCallId="r", messageId="m", chunkIndex=0)),
        *(answer("", "c", apiCallId="r", messageId="n", chunkIndex=1), result("c"), answer("End.")),
    )
    assert session.steps == 2
    assert [turn.final for turn in of_kind(session, Kind.ASSISTANT)] == [False, True]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_reasoning_told_twice_is_taken_once(
    read: Callable[..., Session], order: tuple[int, int]
) -> None:
    both = [
        event("assistant.reasoning", content="hm", reasoningId="x"),
        answer("ok", messageId="m", reasoningText="hm"),
    ]
    session = read(start(), user("hi"), *(both[n] for n in order))
    assert spoken(session) == [("human", "hi"), ("model", "hm"), ("model", "ok")]
    assert session.steps == 1
    assert "repeated reasoning" in reasons(session)


def test_reasoning_without_text_is_none(read: Callable[..., Session]) -> None:
    empty = event("assistant.reasoning", content="", reasoningId="x")
    session = read(start(), user("hi"), answer("ok", messageId="m"), empty)
    assert spoken(session) == [("human", "hi"), ("model", "ok")]
    assert reasons(session) == {"session event": (1,), "assistant event": (4,)}


def test_reasoning_apart_belongs_to_the_message_after_it(read: Callable[..., Session]) -> None:
    thought = event("assistant.reasoning", content="hm", reasoningId="x")
    session = read(start(), user("hi"), thought, answer("ok", messageId="m"), user("go"), thought)
    assert [(turn.kind, turn.step, turn.broken_off) for turn in session.turns] == [
        *((Kind.USER, 0, False), (Kind.THINKING, 1, False), (Kind.ASSISTANT, 1, False)),
        *((Kind.USER, 1, False), (Kind.THINKING, 2, True)),
    ]


def test_an_abort_breaks_the_message_before_it_off(read: Callable[..., Session]) -> None:
    abort = event("abort", reason="user_initiated")
    begin, end = event("assistant.turn_start", turnId="0"), event("assistant.turn_end", turnId="0")
    session = read(
        *(start(), user("1"), begin, answer("half an", messageId="m"), event("hook.end"), abort),
        *(
            user("2"),
            begin,
            answer("I will", "c"),
            end,
            abort,
            user("3"),
            answer("half"),
            end,
            abort,
        ),
        *(user("4"), answer("done"), end, begin, abort),
    )
    answers = of_kind(session, Kind.ASSISTANT)
    assert [(turn.broken_off, turn.final) for turn in answers] == [
        *((True, False), (False, False), (True, False), (False, True)),
    ]
    assert reasons(session)["abort"] == (6, 11, 15, 20)


def test_sub_agents_are_kept_apart(read: Callable[..., Session]) -> None:
    old = {"parentToolCallId": "old"}
    session = read(
        *(start(), user("hi"), answer("", "new", "old")),
        event("subagent.started", "a1", toolCallId="new", agentName="explore"),
        event("subagent.started", toolCallId="old", agentName="explore"),
        event("system.message", "a1", content="You explore."),
        event("user.message", "a1", content="Find it.", source="agent-a1"),
        event("assistant.message", "a1", content="Found.", model="small"),
        event("session.compaction_complete", "a1", success=True, summaryContent="s"),
        *(answer("Seen.", model="tiny", **old), result("x", **old)),
        event("subagent.completed", "a1", toolCallId="new", agentName="explore"),
        *(result("new", "Found."), result("old", "Seen."), answer("Both found it.")),
    )
    assert [turn.line for turn in session.turns] == [2, 3, 3, 13, 14, 15]
    assert [(s.agent_id, s.records, s.models) for s in session.sidechains] == [
        ("a1", 4, ("small",)),
        ("old", 2, ("tiny",)),
    ]
    assert (session.system, session.compactions, session.steps) == (None, (), 2)
    assert reasons(session)["sub-agent record"] == (6, 7, 8, 9, 10, 11)


def test_results_of_a_sub_agents_calls_are_its_own_without_a_mark_of_it(
    read: Callable[..., Session],
) -> None:
    session = read(
        *(start(), user("hi"), answer("", "task", "c")),
        event("subagent.started", "a1", toolCallId="task", agentName="explore"),
        answer("", "view", "c") | {"agentId": "a1"},
        event("tool.execution_start", "a1", toolCallId="grep", toolName="grep"),
        *(event("tool.execution_start", toolCallId="view", toolName="view"), result("view")),
        *(result("grep"), result("c"), result("task"), answer("Done.")),
    )
    assert [turn.line for turn in session.turns] == [2, 3, 3, 10, 11, 12]
    assert [(s.agent_id, s.records) for s in session.sidechains] == [("a1", 5)]


def test_compactions(read: Callable[..., Session]) -> None:
    tokens = {"preCompactionTokens": 150_000, "postCompactionTokens": 20_000}
    session = read(
        *(start(), user("1"), answer("one"), event("session.compaction_start", trigger="manual")),
        event("session.compaction_complete", success=False, error="timeout"),
        event("session.compaction_start", trigger="threshold"),
        event("session.compaction_complete", success=True, summaryContent="So far: 1.", **tokens),
        *(user("2"), answer("two"), event("session.truncation", performedBy="x")),
        event("session.context_cleared", messagesCleared=5, initialMessage="Anew."),
        *(user("3"), answer("three")),
    )
    compacted, cleared = session.compactions
    assert compacted.kind is cleared.kind is CompactionKind.FULL
    assert (compacted.line, compacted.trigger, compacted.prompt) == (7, "threshold", 1)
    assert (compacted.tokens_before, compacted.tokens_after) == (150_000, 20_000)
    assert compacted.summary is not None
    summary = session.turns[compacted.summary]
    assert (summary.kind, summary.speaker) == (Kind.SUMMARY, Speaker.SUMMARISER)
    assert session.text(summary) == "So far: 1."
    assert (cleared.line, cleared.trigger, cleared.summary) == (11, "context_cleared", None)
    assert [turn.segment for turn in session.turns] == [0, 0, 1, 1, 1, 2, 2, 2]
    assert spoken(session)[5] == ("harness", "Anew.")
    assert reasons(session)["failed compaction"] == (5,)
    assert reasons(session)["context truncated"] == (10,)
    assert session.steps == 3


def test_an_event_that_is_there_again_is_counted(read: Callable[..., Session]) -> None:
    """Two prompts of the same words, and the second of them written twice."""
    again = numbered(user("go on"))
    session = read(start(), user("go on"), answer("a"), again, answer("b"), again, result("c"))
    assert (session.prompts, session.steps) == (2, 2)
    assert reasons(session)["repeated event"] == (6,)


def test_every_event_is_a_turn_or_counted_by_name(read: Callable[..., Session]) -> None:
    session = read(
        *(start(), user("hi"), event("session.poem", lines=3), event("permission.requested")),
        *({"type": "session.info"}, {"data": {}}, event("system.message", content="a")),
        *(event("system.message", content="b"), answer("ok")),
    )
    assert reasons(session) == {
        "session event": (1,),
        "unknown record type: session.poem": (3,),
        "permission event": (4,),
        "record without type or data": (5, 6),
        "changed system prompt": (8,),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "session.usage_record",
        "model.turn_started",
        "model.turn_ended",
        "model.model_call_success",
        "model.response",
    ],
)
def test_events_of_later_clients_are_known(read: Callable[..., Session], kind: str) -> None:
    """Written by 1.0.102: of every request, and of the one for a summary."""
    session = read(start(), user("hi"), event(kind), answer("ok"))
    part = kind.partition(".")[0]
    assert reasons(session)[f"{part} event"][-1] == 3
    assert len(session.turns) == 2


def test_a_log_without_an_answer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(as_log(start(), user("hi"), event("assistant.message", "a1", content="x")))
    with pytest.raises(SessionError, match="holds no conversation"):
        read_session(path)


def test_a_log_without_its_start_is_named_by_its_folder(read: Callable[..., Session]) -> None:
    assert read(user("hi"), answer("ok"), name="f00/events.jsonl").id == "f00"


# Damage


def raw_lines(record: dict[str, Any]) -> bytes:
    """The record with its line ends written as they are, as some clients did."""
    return json.dumps(record).encode().replace(b"\\n", b"\n") + b"\n"


def test_line_ends_inside_a_string_are_mended(read: Callable[..., Session]) -> None:
    text = 'def f() {\n}\n"quoted"\n{"type": "x"}\n\nend'
    session = read(
        *(start(), user("hi"), answer("", "c"), raw_lines(result("c", text)), answer("ok")),
    )
    assert [(turn.line, session.text(turn)) for turn in session.turns] == [
        *((2, "hi"), (3, '{"command": "c"}'), (4, text), (10, "ok")),
    ]
    assert reasons(session)["event over several lines"] == (4,)


def test_a_cut_event_does_not_swallow_those_after_it(read: Callable[..., Session]) -> None:
    one, two, three = (as_log(answer("whole")) for _ in range(3))
    cut = as_log(answer("cut in the middle", messageId="m"))
    session = read(
        *(start(), user("hi"), cut[:60] + one, cut[:60] + b"\n", two.rstrip() + three),
        *(b"\x00" * 20 + as_log(user("bye")), cut[:70]),
    )
    assert [text for _, text in spoken(session)] == ["hi", "whole", "whole", "whole", "bye"]
    assert reasons(session)["broken line, records saved"] == (3, 5, 6)
    assert reasons(session)["broken line"] == (4, 7)


def test_a_string_that_never_ends_costs_no_more_than_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    tail = as_log(user("hi"), answer("ok"))
    for filler in (b'"}\n', b"x\n", b'{"type":"a\n', b'x"\n'):
        path.write_bytes(as_log(start()) + b'{"type":"user.message","data":{"content":"' + filler)
        with path.open("ab") as file:
            file.write(filler * 12_000 + tail)
        with takes_less_than(3):
            session = read_session(path)
        assert [text for _, text in spoken(session)] == ["hi", "ok"]


def test_text_made_of_nothing_but_marks_is_read_in_reasonable_time(
    read: Callable[..., Session],
) -> None:
    with takes_less_than(3):
        for text in ("<reminder>", " ", "<reminder ", "\n", "<reminder></skill-context>"):
            assert read(start(), user("x" + text * 50_000 + "y"), answer("ok")).prompts == 1


# The older history

OLD = [
    {"role": "user", "content": "<current_datetime>now</current_datetime>\n\nlist"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": '{"a":1}'}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "a.py"},
    {"role": "assistant", "content": "One file."},
    {"role": "user", "content": "<reminder>still there?</reminder>"},
    {"role": "assistant", "content": "Yes."},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_older_history(tmp_path: Path, indent: int | None) -> None:
    """The schema is known from two projects that read it; no real file was at hand."""
    path = tmp_path / "session_s1_1.json"
    document = {"sessionId": "s1", "startTime": "2025-10-01T10:00:00Z", "selectedModel": "gpt-a"}
    document |= {"chatMessages": [*OLD, 7], "timeline": [{"type": "user", "text": "list"}]}
    path.write_text(json.dumps(document, indent=indent))
    session = read_session(path)
    assert (session.format, session.id, session.models) == ("copilot", "s1", ("gpt-a",))
    assert spoken(session) == [
        *(("human", "list"), ("model", '{"a":1}'), ("tool", "a.py"), ("model", "One file.")),
        *(("harness", "<reminder>still there?</reminder>"), ("model", "Yes.")),
    ]
    assert (session.prompts, session.steps) == (1, 3)
    assert reasons(session) == {"not a message": (7,)}
    check_lengths(session.turns, list(session.contents(session.turns)))


SEEDS = [
    as_log(
        *(start(), user("é🎉"), event("assistant.reasoning", content="hm", reasoningId="x")),
        *(answer("look", "c", messageId="m", reasoningText="hm"), raw_lines(result("c", "a\nb"))),
        *(
            event("subagent.started", "a", toolCallId="c"),
            event("assistant.message", "a", content=""),
        ),
        *(event("session.compaction_complete", success=True, summaryContent="s"), event("abort")),
        *(event("session.model_change", newModel="b"), user("more"), answer("end")),
    ),
    json.dumps({"sessionId": "s", "chatMessages": OLD, "timeline": []}, indent=1).encode(),
]


def test_a_value_of_any_type_anywhere_is_no_trouble(tmp_path: Path) -> None:
    events = [start(), user("hi"), answer("look", "c", messageId="m", reasoningText="hm")]
    events += [result("c"), event("assistant.reasoning", "", content="hm"), answer("end")]
    events += [event("subagent.started", "a", toolCallId="c"), event("session.compaction_complete")]
    for number, whole in enumerate(events):
        for odd in odd_values(whole):
            log = as_log(*events[:number], odd, *events[number + 1 :])
            check(tmp_path / "f", log, format="copilot")
    for odd in odd_values({"sessionId": "s", "chatMessages": OLD[:3], "selectedModel": "a"}):
        check(tmp_path / "f", json.dumps(odd, indent=1).encode(), format="copilot")


@given(damaged(SEEDS))
def test_any_damage_gives_a_session_or_a_refusal(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data, format="copilot")


def test_the_real_log_cut_anywhere_gives_a_session_or_a_refusal(
    shared: Path, tmp_path: Path
) -> None:
    data = (shared / REAL).read_bytes()
    for end in range(0, len(data), len(data) // 37):
        check(tmp_path / "f", data[:end], format="copilot")
