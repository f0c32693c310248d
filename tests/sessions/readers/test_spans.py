"""Exports of spans. No real ones are at hand: each is built by hand from its public schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import (
    Kind,
    Session,
    Span,
    Speaker,
    circumstances_of,
    look_inside,
    read_session,
)
from contextecho.sessions.readers import spans
from contextecho.sessions.readers.spans import grouping
from contextecho.sessions.readers.spans.grouping import grouped
from contextecho.sessions.readers.spans.nodes import Node
from contextecho.sessions.readers.spans.records import spans_of
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check, check_session
from sessions.damage import altered, damaged
from sessions.looking import counts, texts
from sessions.spanning import (
    A1,
    A2,
    A3,
    CALLS,
    EXPORTS,
    R1,
    U1,
    U2,
    S,
    as_lines,
    langsmith,
    node,
    of_openai,
)

OPENAI = langsmith(of_openai)


def lines_of(found: Any) -> str:
    return as_lines(found if isinstance(found, list) else [found])


def indented(found: Any) -> str:
    return json.dumps(found, indent=2)


@pytest.mark.parametrize("written", [lines_of, indented, json.dumps])
@pytest.mark.parametrize("form", EXPORTS)
def test_all_forms_hold_the_same_conversation(
    read_text: Callable[[str], Session], form: str, written: Callable[[Any], str]
) -> None:
    """By the construction of `CALLS`: 2 prompts, 3 steps, 1 call with its result."""
    session = read_text(written(EXPORTS[form](CALLS)))
    assert (session.format, session.member) == ("spans", None)
    assert session.id == "talk-1"
    assert (session.prompts, session.steps) == (2, 3)
    assert session.system == "Be brief."
    assert session.models == ("m-1",)
    assert [(turn.kind, turn.speaker) for turn in session.turns] == [
        (Kind.USER, Speaker.HUMAN),
        (Kind.ASSISTANT, Speaker.MODEL),
        (Kind.TOOL_CALL, Speaker.MODEL),
        (Kind.TOOL_RESULT, Speaker.TOOL),
        (Kind.ASSISTANT, Speaker.MODEL),
        (Kind.USER, Speaker.HUMAN),
        (Kind.ASSISTANT, Speaker.MODEL),
    ]
    said = texts(session)
    assert json.loads(said.pop(2)) == {"what": "it"}
    assert said == ["Where is it?", "I ask.", "in a.py", "In a.py.", "And the other?", "Gone."]
    assert [turn.final for turn in session.turns] == [False] * 4 + [True, False, True]
    call, result = session.turns[2:4]
    assert (call.tool, result.tool, result.call_id) == ("scout", "scout", "c1")
    assert session.compactions == ()
    check_session(session)


@pytest.mark.parametrize("form", EXPORTS)
def test_what_is_beside_the_conversation_is_listed_and_counted(
    read_text: Callable[[str], Session], form: str
) -> None:
    session = read_text(indented(EXPORTS[form](CALLS)))
    assert [(s.agent_id, s.records, s.models) for s in session.sidechains] == [
        ("scout agent", 1, ("m-1",)),
        ("thread 2", 1, ("m-1",)),
    ]
    assert counts(session) == {"span that is no call of a model": 4}


@pytest.mark.parametrize("form", EXPORTS)
def test_prompts_have_the_time_of_their_call_and_answers_of_its_end(
    read_text: Callable[[str], Session], form: str
) -> None:
    """2026-01-01T00:00:00Z is 1767225600 (by `date`); calls begin at their number's second."""
    session = read_text(indented(EXPORTS[form](CALLS)))
    begin = 1767225600
    expected = [2.0, 2.5, 2.5, 6.0, 6.5, 9.0, 9.5]
    assert [turn.time for turn in session.turns] == [begin + second for second in expected]


@pytest.mark.parametrize("form", EXPORTS)
def test_the_order_in_the_file_is_of_no_matter(
    read_text: Callable[[str], Session], form: str
) -> None:
    session = read_text(indented(EXPORTS[form](CALLS[::-1])))
    assert texts(session, final=True) == ["In a.py.", "Gone."]
    assert texts(session, speaker=Speaker.HUMAN) == ["Where is it?", "And the other?"]


def test_traces_that_name_no_conversation_are_sessions_of_their_own(tmp_path: Path) -> None:
    runs = OPENAI(CALLS)
    for run in runs:
        del run["extra"]["metadata"]["thread_id"]
    path = tmp_path / "runs.jsonl"
    path.write_text(as_lines(runs))
    assert members_of(path) == ["1", "2"]
    one, two = read_session(f"{path}#1"), read_session(f"{path}#2")
    assert [(s.id, s.prompts, s.steps) for s in (one, two)] == [("t1", 1, 2), ("t2", 2, 3)]
    with pytest.raises(SessionError, match="holds 2 sessions"):
        read_session(path)


def test_runs_inside_runs_and_lists_under_a_key(read_text: Callable[[str], Session]) -> None:
    runs = OPENAI(CALLS)
    by_id = {run["id"]: run for run in runs}
    for run in runs:
        if run["parent_run_id"]:
            by_id[run["parent_run_id"]].setdefault("child_runs", []).append(run)
    roots = [run for run in runs if not run["parent_run_id"]]
    # With all in one list, each run is read with those below it: 7 + 1 + 3 + 2 + 1 + 1 + 1
    # in the first trace and 2 + 1 in the second, of which 9 are not repeated.
    for text, again in (
        (json.dumps({"runs": runs}), 10),
        (indented(roots), 0),
        (as_lines(roots), 0),
    ):
        session = read_text(text)
        assert (session.prompts, session.steps, len(session.sidechains)) == (2, 3, 2)
        assert counts(session).get("repeated span", 0) == again
        check_session(session)
    for key in ("data", "spans"):
        assert read_text(indented({key: EXPORTS["openinference flat"](CALLS)})).steps == 3


def call(second: int, heard: list[Any], said: Any, **fields: Any) -> dict[str, Any]:
    return node(str(second), "call", None, heard=heard, said=said, **fields)


def test_a_history_that_lost_its_beginning_was_compacted(
    read_text: Callable[[str], Session],
) -> None:
    note = {"role": "user", "content": "What was done: it is in a.py."}
    session = read_text(
        as_lines(
            OPENAI(
                [
                    call(1, [S, U1], A1),
                    call(2, [S, U1, A1, R1], A2),
                    call(3, [S, note, A2, U2], A3),
                ]
            )
        )
    )
    (compaction,) = session.compactions
    assert compaction.summary is not None
    assert session.turns[compaction.summary].speaker is Speaker.SUMMARISER
    assert session.text(session.turns[compaction.summary]) == note["content"]
    assert [session.text(session.turns[i]) for i in compaction.kept] == ["In a.py."]
    assert (session.prompts, session.steps) == (2, 3)
    assert (compaction.prompt, compaction.step) == (1, 2)
    check_session(session)


def test_messages_of_responses_and_of_anthropic(read_text: Callable[[str], Session]) -> None:
    """Of each: one prompt, and two steps, the first with a thought and a call."""
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    function = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}
    spoken = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    output = {"type": "function_call_output", "call_id": "c", "output": "b"}
    responses = OPENAI([call(1, [U1], A2), call(2, [U1], A2)])
    responses[0] |= {
        "inputs": {"input": "Where is it?", "instructions": "Be brief."},
        "outputs": {"output": [reasoning, function], "model": "m-2"},
    }
    responses[1] |= {
        "inputs": {"input": [U1, reasoning, function, output], "instructions": "Be brief."},
        "outputs": {"output": [spoken], "model": "m-2"},
    }
    session = read_text(as_lines(responses))
    assert (session.prompts, session.steps, session.system) == (1, 2, "Be brief.")
    assert texts(session) == ["Where is it?", "Hm.", "{}", "b", "a"]
    asked = {"type": "tool_use", "id": "c", "name": "ls", "input": {}}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    first = {"role": "assistant", "content": [thought, asked]}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "b"}]}
    anthropic = OPENAI([call(1, [U1], A2), call(2, [U1], A2)])
    anthropic[0] |= {"inputs": {"messages": [U1], "system": "Be brief."}, "outputs": first}
    anthropic[1] |= {
        "inputs": {"messages": [U1, first, {"role": "user", "content": [result]}]},
        "outputs": {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
    }
    anthropic[1]["inputs"]["system"] = "Be brief."
    session = read_text(as_lines(anthropic))
    assert (session.prompts, session.steps, session.system) == (1, 2, "Be brief.")
    assert texts(session) == ["Where is it?", "Hm.", "{}", "b", "a"]


def test_inputs_and_outputs_that_are_texts_of_json(read_text: Callable[[str], Session]) -> None:
    (run,) = OPENAI([call(1, [S, U1], A2)])
    for key in ("inputs", "outputs", "extra"):
        run[key] = json.dumps(run[key])
    session = read_text(json.dumps(run))
    assert texts(session) == ["Where is it?", "In a.py."]
    assert (session.id, session.models) == ("talk-1", ("m-1",))


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_times_in_numbers_of_any_unit(read_text: Callable[[str], Session], unit: int) -> None:
    (run,) = OPENAI([call(1, [S, U1], A2)])
    run |= {"start_time": 1767225600 * unit, "end_time": 1767225601 * unit}
    assert [turn.time for turn in read_text(json.dumps(run)).turns] == [1767225600.0, 1767225601.0]


def test_parts_that_are_no_words(read_text: Callable[[str], Session]) -> None:
    thought = {"type": "reasoning", "content": "Hm."}
    blob = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"}
    export = EXPORTS["otel attributes"](CALLS[1:2])
    (span,) = export["resourceSpans"][0]["scopeSpans"][0]["spans"]
    heard = [{"role": "user", "parts": [{"type": "text", "content": '["x"]'}, blob]}]
    said = [{"role": "assistant", "parts": [thought, {"type": "text", "content": "a"}]}] * 2
    span["attributes"] = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(heard)}},
        {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps(said)}},
    ]
    session = read_text(json.dumps(export))
    assert texts(session) == ['["x"]', "Hm.", "a"]
    assert next(session.contents(session.turns)).images == 1
    assert counts(session) == {"another choice of an answer": 1}


def test_contents_of_openinference(read_text: Callable[[str], Session]) -> None:
    message = "llm.input_messages.0.message"
    (span,) = EXPORTS["openinference flat"](CALLS[1:2])
    span["attributes"] = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "reasoning",
        "llm.output_messages.0.message.contents.0.message_content.text": "Hm.",
        "llm.output_messages.0.message.contents.1.message_content.type": "text",
        "llm.output_messages.0.message.contents.1.message_content.text": "A cat.",
        f"{message}.role": "user",
        f"{message}.contents.0.message_content.type": "text",
        f"{message}.contents.0.message_content.text": "See?",
        f"{message}.contents.1.message_content.type": "image",
        f"{message}.contents.1.message_content.image.image.url": "data:image/png;base64,AAAA",
    }
    session = read_text(json.dumps(span))
    assert texts(session) == ["See?", "Hm.", "A cat."]
    assert next(session.contents(session.turns)).images == 1


@pytest.mark.parametrize("written", [list, json.dumps])
def test_contents_with_dotted_keys_may_be_a_text(
    read_text: Callable[[str], Session], written: Callable[[Any], Any]
) -> None:
    contents = [
        {"message_content.type": "text", "message_content.text": "See?"},
        {"message_content.type": "image", "message_content.image.image.url": "data:,"},
    ]
    (span,) = EXPORTS["openinference"]([call(1, [U1], A2)])
    asked = {"message.role": "user", "message.contents": written(contents)}
    span["attributes"]["llm.input_messages"] = written([asked])
    session = read_text(json.dumps(span))
    assert texts(session) == ["See?", "In a.py."]
    assert next(session.contents(session.turns)).images == 1


OF_TOOLS = {"a.b": "x", "c": {"0": "d"}}


@pytest.mark.parametrize("form", ["otel attributes", "otel texts of JSON"])
def test_keys_of_what_a_tool_is_given_or_gives_are_its_own(
    read_text: Callable[[str], Session], form: str
) -> None:
    """Dots and numbers in them name no structure."""
    used = {"name": "f", "arguments": json.dumps(OF_TOOLS)}
    asked = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": used}]}
    given = {"role": "tool", "tool_call_id": "c1", "content": OF_TOOLS}
    session = read_text(json.dumps(EXPORTS[form]([call(1, [S, U1, asked, given], A2)])))
    assert [turn.kind for turn in session.turns[1:3]] == [Kind.TOOL_CALL, Kind.TOOL_RESULT]
    assert [json.loads(text) for text in texts(session)[1:3]] == [OF_TOOLS, OF_TOOLS]


def test_calls_that_lack_something_are_counted(read_text: Callable[[str], Session]) -> None:
    failed, silent, bare, whole = OPENAI([call(n, [U1], A2) for n in (1, 2, 3, 4)])
    failed |= {"error": "429", "outputs": None}
    silent |= {"outputs": {}}
    bare |= {"inputs": {}, "outputs": {}}
    session = read_text(as_lines([failed, silent, bare, whole, {"x": 1}]))
    assert counts(session) == {
        "not a span": 1,
        "failed call": 1,
        "call without an answer": 1,
        "call whose messages were not recorded": 1,
    }
    assert (session.prompts, session.steps) == (1, 1)


def standing(number: int, work: str, parent: int | None) -> Node:
    """A span of one trace; its name is its number."""
    above = None if parent is None else str(parent)
    nothing = dict.fromkeys(("begin", "end", "conversation", "model"))
    place = {"line": number, "span": Span(0, 0), "trace": "t", "failed": False}
    id = str(number)
    return Node(**place, **nothing, id=id, parent=above, name=id, work=work)


def test_each_span_is_passed_once_however_deep_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents below agents, a call in each: walks to the root would pass 250,000 spans."""
    passed = []
    above = grouping._above
    monkeypatch.setattr(grouping, "_above", lambda n: passed.append(n) or above(n))
    agents = [standing(n, "agent", n - 1 if n else None) for n in range(500)]
    calls = [standing(1000 + n, "call", n) for n in range(500)]
    (group,) = grouped([*agents, *calls])
    assert [call.name for call in group.calls] == ["1000"]
    assert {name: [n.name for n in own] for name, own in group.below.items()} == {
        str(n): [str(1000 + n)] for n in range(1, 500)
    }
    assert len(passed) <= 3 * 1000


def test_a_circle_of_spans_ends_where_it_closes() -> None:
    """Around the circle stand two agents, below it a third."""
    circle = [standing(1, "agent", 3), standing(2, "other", 1), standing(3, "agent", 2)]
    below = [
        standing(4, "agent", 2),
        standing(5, "call", 4),
        standing(6, "call", 1),
        standing(7, "call", 2),
    ]
    for order in ([*circle, *below], [*below, *circle[::-1]]):
        (group,) = grouped(order)
        assert [call.name for call in group.calls] == ["6", "7"]
        assert {name: [n.name for n in own] for name, own in group.below.items()} == {"4": ["5"]}


def test_prompts_of_one_call_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call holds the whole history in one place, which is decoded once for all languages."""
    read = []
    whole = spans.exchange_of
    monkeypatch.setattr(spans, "exchange_of", lambda value: read.append(1) or whole(value))
    path = tmp_path / "session"
    path.write_text(as_lines(OPENAI([call(1, [U1, A1] * 100, A2)])))
    session = read_session(path)
    read.clear()
    assert len([*circumstances_of(session)]) == len(session.turns) > 200
    assert len(read) == 1


def test_spans_without_a_call_are_refused(read_text: Callable[[str], Session]) -> None:
    with pytest.raises(SessionError, match="no message of a model"):
        read_text(as_lines(OPENAI(CALLS[:1])))


def test_spans_of_something_else_are_not_taken() -> None:
    other = {"traceId": "a", "spanId": "b", "attributes": [], "name": "GET /"}
    scope = {"resourceSpans": [{"scopeSpans": [{"spans": [other]}]}]}
    assert not spans.sniff(json.dumps(scope).encode())
    assert not spans.sniff(json.dumps({"data": [1], "llm": "x"}).encode())


def test_parents_in_a_circle_end(read_text: Callable[[str], Session]) -> None:
    nodes = [
        node("1", "tool", "2"),
        node("2", "tool", "1"),
        node("3", "call", "1", heard=[U1], said=A2),
    ]
    assert read_text(as_lines(OPENAI(nodes))).steps == 1


@given(st.data())
def test_any_damage_to_the_bytes(tmp_path: Path, data: Any) -> None:
    export = EXPORTS[data.draw(st.sampled_from(sorted(EXPORTS)))](CALLS)
    written = data.draw(st.sampled_from([lines_of, indented, json.dumps]))
    check(tmp_path / "f", data.draw(damaged([written(export).encode()])))


@given(st.data())
def test_any_values_in_the_wrong_places(tmp_path: Path, data: Any) -> None:
    export = data.draw(altered([EXPORTS[data.draw(st.sampled_from(sorted(EXPORTS)))](CALLS)]))
    written = data.draw(st.sampled_from([lines_of, indented]))
    check(tmp_path / "f", written(export).encode(), format="spans")


def test_a_file_is_grouped_once_for_all_its_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By construction: nine traces of one call, and one line that is no span."""
    passes = []

    def counted(*arguments: Any) -> Any:
        passes.append(arguments)
        return spans_of(*arguments)

    monkeypatch.setattr(spans, "spans_of", counted)
    calls = [node(str(n), "call", None, f"t{n}", heard=[S, U1], said=A2) for n in range(1, 10)]
    runs = OPENAI(calls)
    for run in runs:
        del run["extra"]["metadata"]["thread_id"]
    path = tmp_path / "runs.jsonl"
    path.write_text(as_lines([*runs, {"what": "else"}]))
    inside = look_inside(path, lambda session: (session.id, counts(session)))
    assert [made for _, made in inside.sessions] == [
        (f"t{n}", {"not a span": 1}) for n in range(1, 10)
    ]
    assert len(passes) == 1
