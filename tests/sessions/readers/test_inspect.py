"""Logs of Inspect: both shapes, who typed what, compactions, and damage.

The logs are written by `inspect_logs`, not by the library (test_inspect_library.py uses
it where it is installed), so every expected value below can be read off the test itself.
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
from contextecho.sessions import CompactionKind, Kind, Speaker, read_session
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check, check_file
from sessions.damage import damaged, json_values
from sessions.inspect_logs import (
    DEFLATED,
    STORED,
    ZSTD,
    assistant,
    call,
    model_event,
    result,
    sample,
    user,
    write_document,
    write_eval,
    zip_of,
)
from sessions.looking import format_of, said

MESSAGES = [
    {"id": "sys", "role": "system", "content": "Be brief."},
    user(
        [{"type": "text", "text": "Look."}, {"type": "image", "image": "data:image/png;base64,AA"}]
    ),
    assistant(
        [{"type": "reasoning", "reasoning": "I need ls."}, {"type": "text", "text": "I look."}],
        "a1",
        call("c1", "bash", cmd="ls"),
        call("c2", "bash", cmd="no"),
        model="lab/model-2",
    ),
    result("a.py", "c1"),
    result("", "c2", error={"type": "timeout", "message": "too slow"}),
    assistant("One file.", "a2"),
    user("Please proceed.", "u2", source=None),
    assistant("Done: a.py", "a3"),
]
EVENTS = [
    {"event": "sample_init", "timestamp": "2026-01-01T00:00:00+00:00"},
    model_event("a1", "2026-01-01T00:00:01+00:00", completed="2026-01-01T00:00:02+00:00"),
    {
        "event": "tool",
        "timestamp": "2026-01-01T00:00:03Z",
        "message_id": "r-c1",
        "type": "function",
    },
    {"event": "input", "timestamp": "2026-01-01T00:00:04Z", "input": "typed", "input_ansi": ""},
    model_event("elsewhere", "2026-01-01T00:00:05+00:00"),
]
SHAPES: dict[str, Callable[..., Path]] = {
    "zstd": lambda path, *samples: write_eval(path, *samples, method=ZSTD),
    "deflate": lambda path, *samples: write_eval(path, *samples, method=DEFLATED),
    "stored": lambda path, *samples: write_eval(path, *samples, method=STORED),
    "document": write_document,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_hold_the_same_session(tmp_path: Path, shape: str) -> None:
    path = SHAPES[shape](tmp_path / "log", sample(*MESSAGES, events=EVENTS))
    session = read_session(path)
    assert (session.format, session.id, session.system) == ("inspect", "uuid-s1-1", "Be brief.")
    assert (session.prompts, session.steps, session.row_turns) == (1, 3, 5)
    assert (session.models, session.versions) == (("lab/model-2", "lab/model-1"), ("0.3.200",))
    assert said(session) == [
        ("user", "human", "Look."),
        ("thinking", "model", "I need ls."),
        ("assistant", "model", "I look."),
        ("tool_call", "model", '{"cmd":"ls"}'),
        ("tool_call", "model", '{"cmd":"no"}'),
        ("tool_result", "tool", "a.py"),
        ("tool_result", "tool", "too slow"),
        ("assistant", "model", "One file."),
        ("user", "harness", "Please proceed."),
        ("assistant", "model", "Done: a.py"),
    ]
    assert [turn.line for turn in session.turns] == [2, 3, 3, 3, 3, 4, 5, 6, 7, 8]
    assert [turn.time for turn in session.turns[1:6]] == [1767225602.0] * 4 + [1767225603.0]
    assert [turn.final for turn in session.turns if turn.kind is Kind.ASSISTANT] == [
        False,
        True,
        True,
    ]
    assert [turn.is_error for turn in session.turns[5:7]] == [False, True]
    assert [turn.chars for turn in session.turns] == [len(text) for *_, text in said(session)]
    assert next(session.contents(session.turns[:1])).images == 1
    assert next(session.contents(session.turns[3:4])).arguments == {"cmd": "ls"}
    (elsewhere,) = session.skipped
    assert elsewhere.reason == "model call whose answer is not in the messages"
    assert elsewhere.lines == (5,)
    assert [number for number, _ in session.source.records(2, 3)] == [2, 3]


def test_samples_are_named_by_id_and_by_epoch_if_there_are_several(tmp_path: Path) -> None:
    turns = [user("a"), assistant("b")]
    one = write_eval(tmp_path / "one", *(sample(*turns, id=id) for id in ("x/1", 7, "a#b")))
    assert members_of(one) == ["x/1", "7", "a%23b"]
    assert read_session(f"{one}#x/1").name == f"{one}#x/1"
    assert read_session(f"{one}#a%23b").id == "uuid-a#b-1"
    with pytest.raises(SessionError, match=r"holds 3 sessions \(name one of them"):
        read_session(one)
    for write in (write_eval, write_document):
        two = write(tmp_path / "two", *(sample(*turns, epoch=epoch) for epoch in (1, 2)))
        assert members_of(two) == ["s1/1", "s1/2"]
        assert read_session(f"{two}#s1/2").id == "uuid-s1-2"
    with pytest.raises(SessionError, match="holds no such session"):
        read_session(f"{two}#s1/3")


def test_other_samples_are_never_unpacked(tmp_path: Path) -> None:
    good = json.dumps(sample(user("a"), assistant("b"), id="good")).encode()
    bad = (ZSTD, good)
    data = zip_of(
        {
            "_journal/start.json": (STORED, b"{}"),
            "samples/bad_epoch_1.json": bad,
            "samples/good_epoch_1.json": (ZSTD, good),
        }
    )
    begin = data.index(b"samples/bad_epoch_1.json") + len("samples/bad_epoch_1.json")
    path = tmp_path / "log.eval"
    path.write_bytes(data[:begin] + b"\xff" * 40 + data[begin + 40 :])
    assert read_session(f"{path}#good").steps == 1
    with pytest.raises(SessionError, match=r"entry samples/bad_epoch_1\.json: is damaged"):
        read_session(f"{path}#bad")


@pytest.mark.parametrize(
    ("messages", "prompts"),
    [
        # marked: what the sample began with and what an operator typed
        ([user("a"), assistant("b"), user("go on", "u2", None), assistant("c", "a2")], 1),
        ([user("a"), assistant("b"), user("no, so", "u2", "operator"), assistant("c", "a2")], 2),
        ([user("a"), assistant("b"), user("simulated", "u2", "generate"), assistant("c", "a2")], 1),
        # the model's messages are marked, no user's is: the sample's input is the prompt
        ([user("Find the tide.", source=None), assistant("b"), user("go on", "u2", None)], 1),
        # nothing is marked: the log does not tell
        ([user("a", source=None), assistant("b", source=None), user("c", "u2", None)], 2),
    ],
)
def test_who_typed_a_user_message(tmp_path: Path, messages: Any, prompts: int) -> None:
    session = read_session(write_eval(tmp_path / "log", sample(*messages)))
    assert session.prompts == prompts
    humans = [turn for turn in session.turns if turn.speaker is Speaker.HUMAN]
    assert len(humans) == prompts
    assert session.turns[0] in humans


def test_an_answer_that_the_sample_began_with_is_not_the_models(tmp_path: Path) -> None:
    shot = [user("1+1"), assistant("2", "a0", source="input"), user("2+2", "u2")]
    session = read_session(write_eval(tmp_path / "log", sample(*shot, assistant("4", "a1"))))
    assert (session.prompts, session.steps) == (2, 1)
    assert [turn.speaker for turn in session.turns] == ["human", "harness", "human", "model"]


def summarised(**event: Any) -> Any:
    """Three messages, a compaction with its summary, and what was shown next."""
    summary = user("[SUMMARY] so far", "sum", None, metadata={"summary": True})
    compaction = {
        "event": "compaction",
        "timestamp": "2026-01-01T00:00:02Z",
        "type": "summary",
        "tokens_before": 900,
        "tokens_after": 100,
        "metadata": {"trigger": "threshold"},
    } | event
    events = [
        model_event("a1", "2026-01-01T00:00:01Z", ("u1",)),
        compaction,
        model_event("a2", "2026-01-01T00:00:03Z", ("u1", "sum")),
    ]
    return sample(user("a"), assistant("b"), summary, assistant("c", "a2"), events=events)


def test_a_compaction_is_where_its_summary_is_and_knows_what_was_kept(tmp_path: Path) -> None:
    session = read_session(write_eval(tmp_path / "log", summarised()))
    (compaction,) = session.compactions
    assert (compaction.kind, compaction.trigger) == (CompactionKind.FULL, "threshold")
    assert (compaction.tokens_before, compaction.tokens_after) == (900, 100)
    assert (compaction.line, compaction.summary, compaction.kept) == (3, 2, (0,))
    assert session.turns[2].kind is Kind.SUMMARY
    assert [turn.segment for turn in session.turns] == [0, 0, 1, 1]
    assert (session.prompts, session.steps) == (1, 2)


def test_what_was_shown_next_is_found_in_the_pool_of_newer_logs(tmp_path: Path) -> None:
    log = summarised()
    log["events"][2] |= {"input": [], "input_refs": [[0, 1], [2, 3]]}
    log["events_data"] = {"messages": [{"id": id} for id in ("u1", "a1", "sum")], "calls": []}
    (compaction,) = read_session(write_eval(tmp_path / "log", log)).compactions
    assert compaction.kept == (0,)


def test_a_summary_without_events_is_a_compaction_all_the_same(tmp_path: Path) -> None:
    session = read_session(write_document(tmp_path / "log", summarised() | {"events": []}))
    (compaction,) = session.compactions
    assert (compaction.line, compaction.summary, compaction.tokens_before) == (3, 2, None)


def test_cleared_tool_results_are_a_microcompaction(tmp_path: Path) -> None:
    log = summarised(type="edit")
    del log["messages"][2]
    session = read_session(write_eval(tmp_path / "log", log))
    (compaction,) = session.compactions
    assert (compaction.kind, compaction.line, compaction.summary) == (CompactionKind.MICRO, 3, None)
    assert {turn.segment for turn in session.turns} == {0}


def test_texts_that_were_moved_to_attachments_are_found_again(tmp_path: Path) -> None:
    picture = {"type": "image", "image": "attachment://bb"}
    log = sample(
        user([{"type": "text", "text": "attachment://aa"}, picture]),
        assistant("attachment://cc"),
        attachments={"aa": "a long text", "bb": "data:image/png;base64,AAAA"},
    )
    session = read_session(write_eval(tmp_path / "log", log))
    assert [text for *_, text in said(session)] == ["a long text", "attachment://cc"]
    assert next(session.contents(session.turns)).images == 1


def test_tools_run_by_the_provider_and_content_of_unknown_type(tmp_path: Path) -> None:
    search = {"type": "tool_use", "id": "w1", "name": "search", "arguments": "tides"}
    content = [
        search | {"result": "high"},
        {"type": "data", "data": {}},
        {"type": "text", "text": "ok"},
    ]
    secret = {
        "type": "reasoning",
        "reasoning": "c2VjcmV0",
        "redacted": True,
        "summary": "I search.",
    }
    session = read_session(
        write_eval(tmp_path / "log", sample(user("a"), assistant([secret, *content])))
    )
    assert said(session)[1:] == [
        ("thinking", "model", "I search."),
        ("tool_call", "model", "tides"),
        ("tool_result", "tool", "high"),
        ("assistant", "model", "ok"),
    ]
    assert [(s.reason, s.lines) for s in session.skipped] == [("unknown content type: data", (2,))]


def test_reasoning_of_older_logs_is_a_field_of_the_message(tmp_path: Path) -> None:
    """`ChatMessageAssistant.reasoning` of `inspect_ai` 0.3.64; its logs are packed by deflate."""
    old = assistant("I look.", "a1", reasoning="I need ls.")
    session = read_session(write_eval(tmp_path / "log", sample(user("a"), old), method=DEFLATED))
    assert said(session)[1:] == [
        ("thinking", "model", "I need ls."),
        ("assistant", "model", "I look."),
    ]
    assert session.steps == 1


def test_numbers_and_characters_that_json_does_not_know(tmp_path: Path) -> None:
    text = json.dumps(sample(user("a"), assistant("half \ud83d"), scores={"x": float("nan")}))
    path = tmp_path / "log.eval"
    path.write_bytes(
        zip_of({"header.json": (STORED, b"{}"), "samples/s_epoch_1.json": (ZSTD, text.encode())})
    )
    assert said(read_session(path))[1] == ("assistant", "model", "half �")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data[:-40], "has no directory at its end"),
        (lambda data: data.replace(b"\x5d\x00", b"\x5e\x00"), "packed by method 94"),
    ],
)
def test_a_damaged_zip_file_is_refused_in_one_line(
    tmp_path: Path, damage: Callable[[bytes], bytes], says: str
) -> None:
    path = write_eval(tmp_path / "log", sample(user("a"), assistant("b")))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(SessionError, match=says) as refused:
        read_session(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", [ZSTD, DEFLATED])
def test_an_entry_unpacks_to_no_more_than_the_directory_says(tmp_path: Path, method: int) -> None:
    name = "samples/s_epoch_1.json"
    path = tmp_path / "log.eval"
    path.write_bytes(zip_of({name: (method, b" " * 50_000_000)}, {name: 100}))
    with pytest.raises(SessionError, match="is damaged"):
        read_session(path)
    path.write_bytes(zip_of({name: (method, b" ")}, {name: (1 << 32) - 2}))
    with pytest.raises(SessionError, match="too many to read"):
        read_session(path)


@pytest.mark.parametrize("method", [ZSTD, DEFLATED])
def test_an_entry_unpacks_to_no_more_than_so_many_times_its_bytes(
    tmp_path: Path, method: int
) -> None:
    """30 MB of empty lists are packed to some 30 kB by deflate, and to less by zstd."""
    path = tmp_path / "log.eval"
    messages = b"[]," * 10_000_000
    data = b'{"id":"s","epoch":1,"messages":[' + messages + b"[]]}"
    path.write_bytes(zip_of({"samples/s_epoch_1.json": (method, data)}))
    with pytest.raises(SessionError, match=r"unpacks to 30,000,036 bytes, too many") as refused:
        read_session(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("shift", [0, 1, 29])
def test_entries_that_share_bytes_are_refused(tmp_path: Path, shift: int) -> None:
    """A directory may name one sample thousands of times, and unpack to any number of bytes."""
    path = write_eval(tmp_path / "log", sample(user("a"), assistant("b")), method=STORED)
    data = path.read_bytes()
    begin = data.index(b"PK\x01\x02")
    local = data.index(b"samples/") - 30
    place = (local + shift).to_bytes(4, "little")
    path.write_bytes(data[:begin] + data[begin:].replace(bytes(4) + b"_jou", place + b"_jou"))
    with pytest.raises(SessionError, match="is damaged: its entries overlap") as refused:
        read_session(path)
    assert "\n" not in str(refused.value)


def test_all_entries_unpack_to_no_more_than_so_many_times_their_bytes(tmp_path: Path) -> None:
    """Ten samples of 16 MB each, which a single one may have, of a few hundred bytes by zstd."""
    empty = json.dumps(sample(user("a"), assistant("b"))).encode() + b" " * 16_000_000
    path = tmp_path / "log.eval"
    path.write_bytes(zip_of({f"samples/{n}_epoch_1.json": (ZSTD, empty) for n in range(1)}))
    assert read_session(path).steps == 1
    path.write_bytes(zip_of({f"samples/{n}_epoch_1.json": (ZSTD, empty) for n in range(10)}))
    with pytest.raises(SessionError, match=r"log\.eval: unpacks to 160,0.* bytes, too many"):
        members_of(path)


@pytest.mark.parametrize("id", ["a//b", "x/", "./y", "a/../b", "a" * 3000])
def test_a_sample_of_any_id_can_be_named(tmp_path: Path, id: str) -> None:
    """A `Path` cannot hold all of these names, so they are given as text."""
    samples = [sample(user("a"), assistant("b"), id=one) for one in (id, "other")]
    path = write_document(tmp_path / "log.json", *samples)
    assert read_session(f"{path}#{id}").member == id


def test_a_log_without_samples_and_a_sample_without_answers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="holds no samples"):
        read_session(write_eval(tmp_path / "a"))
    with pytest.raises(SessionError, match="no message of a model"):
        read_session(write_eval(tmp_path / "b", sample(user("a"))))
    with pytest.raises(SessionError, match="has no messages"):
        read_session(write_eval(tmp_path / "c", sample() | {"messages": None}))


@pytest.mark.parametrize("many", ["messages", "events"])
def test_a_sample_of_more_than_any_sample_has_is_refused_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: str
) -> None:
    """Some 300,000 messages or events of a few bytes: 1 MB of them was 200 MB of memory."""
    said = sample(user("a"), assistant("b"))
    said |= {many: said.get(many, []) + [{}] * 300_000}
    path = write_eval(tmp_path / "log", said)
    built = "contextecho.sessions.readers.inspect.samples._written"
    monkeypatch.setattr(built, lambda _: pytest.fail("it was built"))
    with pytest.raises(SessionError, match="more than 262,144 elements") as raised:
        read_session(path)
    assert raised.value.where == str(path)


def test_a_log_that_changed_is_not_read_on(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log", sample(user("a"), assistant("b")))
    session = read_session(path)
    write_eval(path, sample(user("other"), assistant("b")))
    with pytest.raises(SessionError, match="changed while it was in use"):
        session.text(session.turns[0])


def test_other_formats_are_not_taken_for_logs(shared: Path, tmp_path: Path) -> None:
    files = [path for path in (shared / "sessions").rglob("*") if path.is_file()]
    assert len(files) > 80
    assert "inspect" not in {format_of(path) for path in files}
    for name in ("word/document.xml", "samples/s.json", "headers.json"):
        (tmp_path / "other").write_bytes(zip_of({name: (STORED, b"{}")}))
        assert format_of(tmp_path / "other") is None
    (tmp_path / "other").write_text('{"version": 2, "status": "ok", "eval": "x"}')
    assert format_of(tmp_path / "other") is None


@given(st.data())
def test_damaged_logs_are_sessions_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    write = data.draw(st.sampled_from([write_document, *SHAPES.values()]))
    path = write(tmp_path / "log", summarised(), sample(*MESSAGES, id="s2", events=EVENTS))
    check(path, data.draw(damaged([path.read_bytes()])))


KEYS = [
    "id",
    "role",
    "content",
    "source",
    "tool_calls",
    "metadata",
    "error",
    "model",
    "type",
    "event",
]
KEYS += ["timestamp", "output", "input", "input_refs", "message_id", "messages", "events", "uuid"]


@given(
    st.lists(st.tuples(st.sampled_from(KEYS), json_values), min_size=1, max_size=4), st.randoms()
)
def test_fields_of_any_type_are_sessions_or_refused(
    tmp_path: Path, changes: list[tuple[str, Any]], random: Any
) -> None:
    log = json.loads(json.dumps(summarised()))
    places = [log, *log["messages"], *log["events"]]
    for key, value in changes:
        random.choice(places)[key] = value
    if not isinstance(log["id"], str | int):
        log["id"] = "s"
    path = write_eval(tmp_path / "log", log, method=STORED)
    check_file(path)
