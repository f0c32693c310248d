"""pi's sessions: a real one of version 1, and built ones of version 3, which are trees."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.building import conversation
from contextecho.sessions.model import CompactionKind
from contextecho.sessions.readers import pi
from contextecho.sessions.readers.pi.assembly import Assembly
from sessions.any_bytes import check, check_session
from sessions.claude_code_lines import line
from sessions.damage import altered, damaged
from sessions.looking import counts, texts

HEADER = {
    "type": "session",
    "version": 3,
    "id": "5e55",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "cwd": "/work",
    "parentSession": "/s/2025_old.jsonl",
}
_serial = count(1)


def entry(kind: str, id: str | None = None, below: str | None = None, **fields: Any) -> Any:
    """An entry; one of version 1 has no id."""
    ids = {"id": id, "parentId": below} if id else {}
    stamp = f"2026-01-01T00:01:{next(_serial) % 60:02}.500Z"
    return {"type": kind, **ids, "timestamp": stamp, **fields}


def said(
    role: str, content: Any, id: str | None = None, below: str | None = None, **more: Any
) -> Any:
    return entry("message", id, below, message={"role": role, "content": content, **more})


def answer(
    *blocks: Any, id: str | None = None, below: str | None = None, stop: str = "stop"
) -> Any:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return said("assistant", content, id, below, model="m-1", provider="p", stopReason=stop)


def call(id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def result(text: str, of: str, id: str | None = None, below: str | None = None) -> Any:
    blocks = [{"type": "text", "text": text}, {"type": "image", "data": "AAAA", "mimeType": "x"}]
    return said("toolResult", blocks, id, below, toolCallId=of, toolName="bash", isError=True)


TREE = [
    HEADER,
    entry("model_change", "m0", None, provider="p", modelId="m-1"),
    said("user", "first", "u1", "m0"),
    answer({"type": "thinking", "thinking": "hm"}, "looking", call("c1", x=1), id="a1", below="u1"),
    result("out", "c1", "r1", "a1"),
    answer("done", id="a2", below="r1"),
    said("user", "a way that is left", "u2", "a2"),
    answer("left", id="a3", below="u2"),
    entry("branch_summary", "b1", "a2", fromId="a3", summary="It went nowhere."),
    said("user", [{"type": "text", "text": "second"}], "u3", "b1"),
    answer("yes", id="a4", below="u3"),
    entry("compaction", "k1", "a4", summary="So far.", firstKeptEntryId="u3", tokensBefore=900),
    entry("custom_message", "x1", "k1", customType="t", content="note", display=False),
    said("user", "third", "u4", "x1"),
    answer("fine", id="a5", below="u4"),
    entry("label", "l1", "a5", targetId="a1", label="here"),
]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Session]:
    def _read(*entries: Any) -> Session:
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"".join(map(line, entries)))
        return read_session(path)

    return _read


@pytest.fixture(scope="module")
def real(shared: Path) -> Session:
    return read_session(shared / "sessions/other/pi/before-compaction.jsonl")


def test_the_real_session_has_the_counts_of_its_lines(real: Session) -> None:
    """Counts by jq over the file, with no line of the reader.

    55 messages of role user; 484 of role assistant, of which 13 have `content: []`
    (12 aborted, 1 error); 454 toolCall, 253 text and 49 thinking blocks, none blank;
    448 toolResult; 3 bashExecution; 10 messages aborted with content, of 11 blocks.
    """
    assert (real.format, real.prompts, real.steps) == ("pi", 55, 484 - 13)
    assert Counter((turn.kind, turn.speaker) for turn in real.turns) == {
        (Kind.USER, Speaker.HUMAN): 55,
        (Kind.USER, Speaker.HARNESS): 3,
        (Kind.ASSISTANT, Speaker.MODEL): 253,
        (Kind.THINKING, Speaker.MODEL): 49,
        (Kind.TOOL_CALL, Speaker.MODEL): 454,
        (Kind.TOOL_RESULT, Speaker.TOOL): 448,
        (Kind.SUMMARY, Speaker.SUMMARISER): 2,
    }
    assert counts(real) == {
        "change of the thinking level": 5,
        "change of the model": 5,
        "aborted before a word": 12,
        "error in place of an answer": 1,
    }
    assert real.models == ("claude-opus-4-5",)
    assert sum(turn.is_error for turn in real.turns) == 12
    assert not any(turn.abandoned for turn in real.turns)


def test_the_real_sessions_final_answers_are_those_that_stopped(
    real: Session, shared: Path
) -> None:
    """31 messages have stopReason "stop" (by jq), and each holds one text."""
    assert sum(turn.final for turn in real.turns) == 31
    rows = [json.loads(row) for row in real.path.read_text().split("\n") if row]
    stopped = [
        n for n, row in enumerate(rows, 1) if row.get("message", {}).get("stopReason") == "stop"
    ]
    assert [turn.line for turn in real.turns if turn.final] == stopped
    aborted = [
        row["message"] for row in rows if row.get("message", {}).get("stopReason") == "aborted"
    ]
    assert sum(turn.broken_off for turn in real.turns) == sum(len(m["content"]) for m in aborted)


def test_the_real_sessions_compactions_keep_from_a_prompt_on(real: Session) -> None:
    """Read by eye: both `firstKeptEntryIndex` (293, 551) are prompts when the header is 0.

    Lines 294 ("i reviwed what we have") to 359, and 552 ("can leave it") to 628, which
    hold 88 and 96 blocks (by jq: `[.message.content[]] | length`, summed over the lines).
    """
    one, two = real.compactions
    assert [(c.line, c.tokens_before) for c in (one, two)] == [(360, 175004), (629, 185014)]
    assert [c.prompt for c in (one, two)] == [12, 27]  # user messages above, counted by eye
    assert [c.summary is not None and real.turns[c.summary].line for c in (one, two)] == [360, 629]
    for compaction, first, last, text in (
        (one, 294, 359, "i reviwed"),
        (two, 552, 628, "can leave"),
    ):
        kept = [real.turns[index] for index in compaction.kept]
        assert kept == [turn for turn in real.turns if first <= turn.line <= last]
        assert real.text(kept[0]).startswith(text)
    assert [turn.segment for turn in real.turns if turn.kind is Kind.SUMMARY] == [1, 2]
    assert real.text(real.turns[one.summary or 0]).startswith("# Context Checkpoint")


def test_the_real_sessions_first_and_last_prompts(real: Session) -> None:
    """Hashes by jq: `.message.content[0].text` of the first and the last user message."""
    prompts = texts(real, speaker=Speaker.HUMAN)
    assert prompts[0].startswith("alright, read @packages/coding-agent/src/main.ts")
    assert prompts[-1] == "ok"
    rows = [json.loads(row) for row in real.path.read_text().split("\n") if row]
    typed = [r["message"] for r in rows if r.get("message", {}).get("role") == "user"]
    assert [sha256(p.encode()).digest() for p in prompts] == [
        sha256(m["content"][0]["text"].encode()).digest() for m in typed
    ]


def test_the_real_session_says_what_it_is_a_copy_of(real: Session) -> None:
    assert real.id == "ffae836b-9420-4060-ac13-7745215f90ff"
    assert real.cwd == "/Users/badlogic/workspaces/pi-mono"
    assert real.forked_from is not None
    assert "d97339c6-6c10-4827-846b-9ff1d9c3dc37" in real.forked_from
    assert real.turns[0].time == 1765233665.306  # 2025-12-08T22:41:05.306Z, by `date`
    # By jq: all lines but the last, a change of the thinking level, are older than the header.
    assert real.inherited == len(real.turns)


def test_every_turn_of_the_real_session_loads(real: Session) -> None:
    check_session(real)


def test_the_branch_that_the_file_ends_in_is_the_conversation(read: Callable[..., Session]) -> None:
    session = read(*TREE)
    assert texts(session, abandoned=True) == ["a way that is left", "left"]
    assert texts(session, speaker=Speaker.HUMAN, abandoned=False) == ["first", "second", "third"]
    assert (session.id, session.cwd, session.forked_from) == ("5e55", "/work", "/s/2025_old.jsonl")
    assert counts(session) == {"change of the model": 1, "client metadata": 1}
    check_session(session)


@pytest.mark.parametrize(
    ("target", "left"),
    [
        ("a2", ["a way that is left", "left"]),
        (None, ["first", "hm", "looking", '{"x":1}', "out", "done", "a way that is left", "left"]),
        ("no entry", []),
        (7, []),
    ],
)
def test_a_leaf_moves_the_client(read: Callable[..., Session], target: Any, left: Any) -> None:
    session = read(*TREE[:8], entry("leaf", "l2", "a3", targetId=target))
    assert texts(session, abandoned=True) == left


def test_what_follows_a_leaf_is_where_the_client_stands(read: Callable[..., Session]) -> None:
    leaf, below = entry("leaf", "l2", "a3", targetId="a2"), said("user", "on", "u3", "a2")
    orphan = said("user", "on", "u3", "a broken line")
    for last in (below, orphan):
        session = read(*TREE[:8], leaf, last)
        assert texts(session, abandoned=True) == ["a way that is left", "left"]


def test_a_forks_first_turns_are_those_older_than_its_header(read: Callable[..., Session]) -> None:
    header = HEADER | {"timestamp": "2026-01-01T00:02:00.000Z"}
    own = {"timestamp": "2026-01-01T00:02:01.000Z"}
    lines = [said("user", "own", "u3", "a3") | own, answer("yes", id="a4", below="u3") | own]
    session = read(header, *TREE[1:8], *lines)
    copied = ["first", "hm", "looking", '{"x":1}', "out", "done", "a way that is left", "left"]
    assert [content.text for content in session.contents(session.turns[:8])] == copied
    assert (session.inherited, session.prompts, session.inherited_prompts) == (8, 3, 2)
    anew = {key: value for key, value in header.items() if key != "parentSession"}
    assert read(anew, *TREE[1:8], *lines).inherited == 0
    assert read(HEADER, *TREE[1:8], *lines).inherited == 0


def test_what_is_no_ones_words_is_neither_a_prompt_nor_a_step(read: Callable[..., Session]) -> None:
    session = read(*TREE)
    assert (session.prompts, session.steps) == (4, 5)
    assert texts(session, kind=Kind.SUMMARY) == ["It went nowhere.", "So far."]
    assert texts(session, speaker=Speaker.HARNESS) == ["note"]
    finals = texts(session, final=True)
    assert finals == ["done", "left", "yes", "fine"]
    (tool_result,) = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert (tool_result.tool, tool_result.call_id, tool_result.is_error) == ("bash", "c1", True)
    assert next(session.contents([tool_result])).images == 1
    (tool_call,) = [turn for turn in session.turns if turn.kind is Kind.TOOL_CALL]
    assert next(session.contents([tool_call])).arguments == {"x": 1}


def test_a_compaction_of_a_tree_keeps_what_its_branch_held(read: Callable[..., Session]) -> None:
    (compaction,) = read(*TREE).compactions
    session = read(*TREE)
    kept = [session.turns[index] for index in compaction.kept]
    assert [session.text(turn) for turn in kept] == ["second", "yes"]
    assert compaction.tokens_before == 900
    assert compaction.summary is not None
    assert session.text(session.turns[compaction.summary]) == "So far."


@pytest.mark.parametrize(
    ("fields", "kept", "counted"),
    [
        ({"firstKeptEntryId": "k1"}, [], {}),
        ({"firstKeptEntryId": "u2"}, [], {"kept messages not found": 1}),
        ({}, [], {"kept messages not found": 1}),
        ({"retainedTail": [{"role": "assistant"}]}, ["yes"], {}),
        ({"retainedTail": [{}, {}, {}]}, ["It went nowhere.", "second", "yes"], {}),
    ],
    ids=["itself", "another branch's", "nothing named", "a tail of one", "a tail of three"],
)
def test_other_ways_to_say_what_is_kept(
    read: Callable[..., Session], fields: Any, kept: list[str], counted: dict[str, int]
) -> None:
    here = entry("compaction", "k1", "a4", summary="So far.", tokensBefore=900, **fields)
    session = read(*TREE[:11], here, *TREE[12:])
    (compaction,) = session.compactions
    assert [session.text(session.turns[index]) for index in compaction.kept] == kept
    assert counts(session) == {"change of the model": 1, "client metadata": 1} | counted


def test_a_compaction_of_a_branch_that_was_left_is_none_of_the_conversation(
    read: Callable[..., Session],
) -> None:
    gone = entry("compaction", "k0", "a3", summary="Lost.", firstKeptEntryId="u2", tokensBefore=1)
    session = read(*TREE[:8], gone, *TREE[8:])
    assert [c.line for c in session.compactions] == [13]
    assert counts(session)["compaction of an abandoned branch"] == 1
    assert texts(session, kind=Kind.SUMMARY, abandoned=True) == ["Lost."]


def test_a_broken_line_does_not_cut_the_tree(tmp_path: Path) -> None:
    rows = [line(row) for row in TREE]
    rows[9] = rows[9][:40] + b"\n"  # the prompt "second"
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(rows))
    session = read_session(path)
    assert texts(session, speaker=Speaker.HUMAN, abandoned=False) == ["first", "third"]
    assert counts(session)["broken line"] == 1


def test_a_circle_of_parents_ends(read: Callable[..., Session]) -> None:
    session = read(HEADER, said("user", "a", "u", "a"), answer("b", id="a", below="u"))
    assert (session.prompts, session.steps) == (1, 1)


def test_an_entry_written_twice_counts_once(read: Callable[..., Session]) -> None:
    session = read(*TREE, TREE[2], HEADER)
    assert session.prompts == 4
    assert counts(session)["repeated record"] == 1
    assert counts(session)["another session's header"] == 1


def test_what_the_client_puts_in_front_of_the_typed_words_is_its_own(
    read: Callable[..., Session],
) -> None:
    skill = '<skill name="x" location="/x/SKILL.md">\nDo it.\n</skill>\n\n'
    files = '<file name="/a.py">\nprint()\n</file>\n<file name="/b.png"></file>\n'
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    session = read(
        HEADER | {"version": 1},
        said("user", skill + "with care"),
        said("user", [{"type": "text", "text": files + "why?"}, picture]),
        said("user", skill),
        answer("ok"),
    )
    assert texts(session, speaker=Speaker.HUMAN) == ["with care", "why?"]
    assert texts(session, speaker=Speaker.HARNESS) == [skill, files, skill]
    assert session.prompts == 2
    assert [content.images for content in session.contents(session.turns)] == [0, 0, 0, 1, 0, 0]


def test_shell_commands_are_the_clients_and_hidden_ones_are_counted(
    read: Callable[..., Session],
) -> None:
    def shell(**fields: Any) -> Any:
        return entry("message", message={"role": "bashExecution", "command": "ls", **fields})

    hidden = shell(output="b", excludeFromContext=True)
    session = read(HEADER, shell(output="a\n"), hidden, shell(output=""), answer("ok"))
    assert texts(session, speaker=Speaker.HARNESS) == [
        "Ran `ls`\n```\na\n\n```",
        "Ran `ls`\n(no output)",
    ]
    assert session.prompts == 0
    assert counts(session) == {"command kept from the model": 1}


def test_answers_that_did_not_come_are_counted(read: Callable[..., Session]) -> None:
    session = read(
        HEADER,
        answer(stop="aborted"),
        answer(stop="error"),
        answer({"type": "thinking", "thinking": ""}, {"type": "song"}),
        answer("half a", stop="aborted"),
        answer("too long to", stop="length"),
        answer("whole"),
        said("narrator", "x"),
        entry("weather"),
    )
    assert session.steps == 3
    assert [(t.final, t.broken_off) for t in session.turns] == [
        *[(False, True)] * 2,
        (True, False),
    ]
    assert counts(session) == {
        "aborted before a word": 1,
        "error in place of an answer": 1,
        "empty message": 1,
        "thinking without text": 1,
        "unknown content block: song": 1,
        "unknown message role: narrator": 1,
        "unknown record type: weather": 1,
    }


def test_system_prompts_and_edits_of_the_context(read: Callable[..., Session]) -> None:
    session = read(
        *TREE[:1],
        said("system", "Be kind.", "s0"),
        said("user", "go", "u1", "s0"),
        answer("looking", call("c1"), id="a1", below="u1"),
        result("long", "c1", "r1", "a1"),
        entry("context_edit", "e1", "r1", targetId="r1", replacement=None),
        entry("context_edit", "e2", "e1", targetId="a1", replacement={"content": "x"}),
        said("system", "Be brief.", "s1", "e2"),
        answer("done", id="a2", below="s1"),
    )
    assert session.system == "Be kind."
    assert texts(session, speaker=Speaker.HARNESS) == ["Be brief."]
    (cleared,) = session.compactions
    assert (cleared.kind, cleared.cleared) == (CompactionKind.MICRO, ("c1",))
    assert {turn.segment for turn in session.turns} == {0}
    assert counts(session) == {"edit of the context": 1}


def test_the_events_that_the_client_prints_are_read_by_their_ends(
    read: Callable[..., Session],
) -> None:
    def event(kind: str, **fields: Any) -> Any:
        return {"type": kind, **fields}

    prompt, said_by_model = said("user", "go")["message"], answer("ok")["message"]
    session = read(
        HEADER,
        event("agent_start"),
        event("message_start", message=prompt),
        event("message_end", message=prompt),
        event("message_update", message=said_by_model),
        event("message_end", message=said_by_model),
        event("turn_end", message=said_by_model, toolResults=[]),
    )
    assert texts(session) == ["go", "ok"]
    assert counts(session) == {"event of a run": 4}


def test_a_session_without_an_answer_is_refused(read: Callable[..., Session]) -> None:
    with pytest.raises(SessionError, match="no message of a model"):
        read(HEADER, said("user", "hello"))


def test_no_other_format_is_taken_for_pi(shared: Path) -> None:
    for path in (shared / "sessions").rglob("*"):
        if path.is_file():
            head = path.read_bytes()[: 1 << 16]
            assert pi.sniff(head) is (path.parent.name == "pi"), path


@given(damaged([b"".join(map(line, TREE))]))
def test_any_damage_to_the_bytes(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "f", data)


@given(altered([TREE]))
def test_any_values_in_the_wrong_places(tmp_path: Path, values: list[Any]) -> None:
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in values)
    check(tmp_path / "f", rows, format="pi")


def test_a_compaction_looks_at_no_more_than_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 compactions that kept one prompt each: a walk to the root would look at 90,000."""
    looked = []
    onward = Assembly._from

    def counted(assembly: Assembly, turn: int) -> Iterator[int]:
        for one in onward(assembly, turn):
            looked.append(one)
            yield one

    monkeypatch.setattr(Assembly, "_from", counted)
    entries = [HEADER, said("user", "first", "u0", None), answer("done", id="k0", below="u0")]
    for n in range(1, 301):
        entries.append(said("user", "next", f"u{n}", f"k{n - 1}"))
        kept = {"firstKeptEntryId": f"u{n}"} if n % 2 else {"retainedTail": [{}]}
        entries.append(entry("compaction", f"k{n}", f"u{n}", summary="So far.", **kept))
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)))
    session = read_session(path)
    assert [session.text(session.turns[c.kept[0]]) for c in session.compactions] == ["next"] * 300
    assert {len(compaction.kept) for compaction in session.compactions} == {1}
    assert len(looked) == 300


@pytest.mark.parametrize("version", [1, 3])
def test_compactions_that_keep_everything_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """The k-th of them would keep k turns. Of 10 in all, the first four keep 1 + 2 + 3 + 4."""
    monkeypatch.setattr(conversation, "MOST_KEPT", 10)
    entries, above = [HEADER | {"version": version}], None
    for n in range(6):
        ids = {"id": f"a{n}", "below": above} if version == 3 else {}
        entries.append(answer("done", **ids))
        ids, above = ({"id": f"k{n}", "below": f"a{n}"}, f"k{n}") if version == 3 else ({}, None)
        first = {"firstKeptEntryId": "a0"} if version == 3 else {"firstKeptEntryIndex": 1}
        entries.append(entry("compaction", **ids, summary="So far.", **first))
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)))
    session = read_session(path)
    assert [len(compaction.kept) for compaction in session.compactions] == [1, 2, 3, 4, 0, 0]
    assert counts(session) == {"kept turns, too many to hold": 2}
