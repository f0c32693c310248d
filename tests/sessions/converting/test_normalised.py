"""`sessions convert`: the normalised lines are the session again, and an Inspect log is one."""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from commandline import exit_code
from contextecho.cli.main import main
from contextecho.errors import SessionError, UsageError
from contextecho.sessions import (
    Kind,
    Session,
    Span,
    Turn,
    convert_session,
    example_session,
    read_session,
)
from contextecho.sessions.converting.normalised import SHARED, Header, Line, lines_of
from contextecho.sessions.reading import members_of
from sessions import opencode_building as opencode
from sessions.claude_code_lines import assistant, call, chained, line, record, result, user, write
from sessions.damage import json_values

SAME = (
    "id",
    "compactions",
    "skipped",
    "sidechains",
    "models",
    "versions",
    "cwd",
    "system",
    "parent",
    "forked_from",
)
NOWHERE = Span(0, 0)


def again(session: Session, path: Path) -> Session:
    path.write_bytes(b"".join(lines_of(session)))
    return read_session(path)


def check_same(session: Session, read: Session) -> None:
    assert read.format == "contextecho"
    for field in SAME:
        assert getattr(read, field) == getattr(session, field), field
    assert list(read.row_turn_lines) == list(session.row_turn_lines)
    bare = [[replace(turn, span=NOWHERE) for turn in each.turns] for each in (session, read)]
    assert bare[0] == bare[1]
    contents = [list(each.contents(each.turns)) for each in (session, read)]
    assert contents[0] == contents[1]


def test_every_real_session_is_the_same_after_a_round_trip(shared: Path, tmp_path: Path) -> None:
    trips = 0
    for path in sorted((shared / "sessions").rglob("*")):
        try:
            members = members_of(path) if path.is_file() else ()
            sessions = [read_session(path if m is None else f"{path}#{m}") for m in members]
        except SessionError:
            continue
        for session in sessions:
            check_same(session, again(session, tmp_path / "again.jsonl"))
            trips += 1
    assert trips >= 34  # those that this version read when the format was made


def test_a_second_conversion_changes_only_where_it_came_from(tmp_path: Path) -> None:
    session = read_session(example_session())
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    again(again(session, first), second)
    headers, lines = zip(
        *(path.read_bytes().split(b"\n", 1) for path in (first, second)), strict=True
    )
    assert lines[0] == lines[1]
    changed = {"name", "source_format", "sha256", "bytes"}
    one, other = map(json.loads, headers)
    assert {key for key in one if one[key] != other[key]} == changed
    assert one["sha256"] == session.sha256


@pytest.mark.parametrize("at", ["120", "250"])
def test_a_converted_session_gives_a_model_the_same_to_see(
    capsys: pytest.CaptureFixture[str], converted: Path, at: str
) -> None:
    shown = []
    for path in (example_session(), converted):
        main(["snapshot", str(path), "--at", at, "--format", "json"])
        shown.append(json.loads(capsys.readouterr().out)["context_sha256"])
    assert shown[0] == shown[1]


EVERYTHING = [
    user("hello \u2028 \ud83d there"),
    assistant(
        {"type": "thinking", "thinking": "é🎉"},
        "looking",
        call("t1", "Bash", command="ls", n=1.5, deep={"a": [None, True]}),
        id="m1",
    ),
    user([result([{"type": "text", "text": "a"}, {"type": "image", "source": {}}], "t1")]),
    record(
        "system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9}
    ),
    user("This session is being continued from a previous conversation", isCompactSummary=True),
    b'{"broken',
    assistant("done", model="other"),
]


def test_everything_that_a_turn_can_be_survives(tmp_path: Path) -> None:
    written = [item if isinstance(item, bytes) else line(item) for item in EVERYTHING]
    (tmp_path / "a.jsonl").write_bytes(b"".join(written[:5]) + b"".join(written[6:]) + written[5])
    session = read_session(tmp_path / "a.jsonl")
    read = again(session, tmp_path / "again.jsonl")
    check_same(session, read)
    assert {turn.kind for turn in read.turns} == set(Kind)
    assert [c.summary for c in read.compactions] == [5]
    assert read.skipped[0].reason == "broken line"
    rows = [json.loads(row) for row in (tmp_path / "again.jsonl").read_bytes().splitlines()]
    assert rows[0]["format"] == "contextecho.session/1"
    assert rows[0]["counts"] == {"turns": 7, "prompts": 1, "steps": 2, "row_turns": 4}
    assert rows[1]["text"] == "hello \u2028 ��� there"  # three bytes that are no UTF-8
    assert rows[4]["arguments"] == {"command": "ls", "n": 1.5, "deep": {"a": [None, True]}}
    assert rows[5]["images"] == 1
    assert [row["index"] for row in rows[1:]] == list(range(7))


texts = st.text(max_size=20) | st.text(st.characters(categories=["Cs", "Cc", "Zl"]), max_size=4)
records = st.one_of(
    texts.map(user),
    st.builds(assistant, texts, model=st.sampled_from(["m-1", "m-2"])),
    st.builds(
        lambda arguments, written: assistant({**call("t1"), "input": arguments or written}, "x"),
        st.dictionaries(st.text(max_size=5), json_values, max_size=3),
        json_values,
    ),
    st.builds(lambda text, error: user([result(text, is_error=error)]), texts, st.booleans()),
    st.just(record("system", subtype="compact_boundary", compactMetadata={"trigger": "manual"})),
    st.builds(lambda text: user(text, isCompactSummary=True), texts),
    st.just(record("progress")),
)


@given(st.lists(records, max_size=8))
def test_any_session_is_the_same_after_a_round_trip(tmp_path: Path, made: list[Any]) -> None:
    session = read_session(write(tmp_path, chained([user("a"), *made, assistant("b")])))
    check_same(session, again(session, tmp_path / "again.jsonl"))


@given(st.data())
def test_any_chat_is_the_same_after_a_round_trip(tmp_path: Path, data: st.DataObject) -> None:
    arguments = data.draw(json_values.map(json.dumps) | st.text(max_size=9))
    called = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    rows = [
        {"role": "system", "content": data.draw(texts)},
        {"role": "user", "content": data.draw(texts)},
        {"role": "assistant", "content": "x", "tool_calls": [called], "model": data.draw(texts)},
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(rows))
    session = read_session(path)
    check_same(session, again(session, tmp_path / "again.jsonl"))


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    path = tmp_path / "converted.jsonl"
    return convert_session(read_session(example_session()), path)


def test_lost_and_broken_lines_are_counted_and_references_stay_true(converted: Path) -> None:
    whole = read_session(converted)
    lines = converted.read_bytes().splitlines(keepends=True)
    summary = whole.compactions[-1].summary
    assert summary is not None
    lines[3] = lines[3][:20] + b"\n"  # the turn of index 2
    lines[5] = b'{"index":4,"kind":"shout","speaker":"human"}\n'
    del lines[8]
    converted.write_bytes(b"".join(lines))
    session = read_session(converted)
    assert len(session.turns) == len(whole.turns) - 3
    assert (session.prompts, session.steps) == (whole.prompts, whole.steps)
    assert session.compactions[-1].summary == summary - 3
    assert session.turns[summary - 3].kind is Kind.SUMMARY
    new = {s.reason: s.lines for s in session.skipped if s not in whole.skipped}
    assert new == {
        "broken line": (4,),
        "not a turn": (6,),
        "fewer turns than the header counts": (1,),
    }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "contextecho.session/2"}, "no header of this version's schema"),
        ({"counts": 7}, "its header is not valid: Expected `object`, got `int`"),
        ({"bytes": -1}, "its header is not valid"),
    ],
)
def test_a_header_that_is_none_is_refused(
    converted: Path, change: dict[str, Any], says: str
) -> None:
    first, _, rest = converted.read_bytes().partition(b"\n")
    converted.write_bytes(json.dumps(json.loads(first) | change).encode() + b"\n" + rest)
    with pytest.raises(SessionError, match=says) as refused:
        read_session(converted)
    assert "\n" not in str(refused.value)


@given(st.data())
def test_damaged_files_are_sessions_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "again.jsonl"
    written = write(tmp_path, [item for item in EVERYTHING if not isinstance(item, bytes)])
    again(read_session(written), path)
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        put = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"\n", b"null", b"}{", b"-1", b"99999999999"])
        )
        damaged[at : at + data.draw(st.integers(0, 30))] = put
    path.write_bytes(damaged)
    try:
        session = read_session(path)
    except SessionError:
        return
    for turn, content in zip(session.turns, session.contents(session.turns), strict=True):
        assert turn.chars >= len(content.text)
    for compaction in session.compactions:
        assert all(0 <= index < len(session.turns) for index in compaction.kept)


def test_no_field_of_a_turn_or_a_session_is_forgotten() -> None:
    assert set(SHARED) == set(Turn.__struct_fields__) - {"span"}
    elsewhere = {"path", "member", "turns", "source", "files"}  # `name`, the lines, this file
    assert set(Session.__struct_fields__) - set(Header.__struct_fields__) == elsewhere


def test_the_page_of_the_format_names_every_field() -> None:
    page = (Path(__file__).parents[3] / "docs/formats/contextecho.md").read_text()
    named = {row.split("`")[1] for row in page.splitlines() if row.startswith("| `")}
    structs: tuple[type[msgspec.Struct], ...] = (Header, Line)
    assert named == {name for struct in structs for name in struct.__struct_fields__}


# Inspect logs: what the library makes of them is in test_inspect_library.py.


def kinds(session: Session) -> Counter[tuple[str, str]]:
    live = (turn for turn in session.turns if not turn.abandoned)
    return Counter((turn.kind.value, turn.speaker.value) for turn in live)


@pytest.mark.parametrize("name", ["x.eval", "x.json"])
def test_an_inspect_log_holds_the_conversation(tmp_path: Path, name: str) -> None:
    session = read_session(example_session())
    read = read_session(convert_session(session, tmp_path / name, to="inspect"))
    assert (read.format, read.prompts, read.steps) == ("inspect", session.prompts, session.steps)
    assert kinds(read) == kinds(session)
    assert len(read.compactions) == len(session.compactions)
    assert [c.kind for c in read.compactions] == [c.kind for c in session.compactions]
    texts = [
        Counter(
            c.text
            for t, c in zip(s.turns, s.contents(s.turns), strict=True)
            if t.kind != "tool_call"
        )
        for s in (session, read)
    ]
    assert texts[0] == texts[1]


@given(st.lists(records, max_size=8))
def test_a_log_of_any_session_is_json_and_counts_the_same(tmp_path: Path, made: list[Any]) -> None:
    session = read_session(write(tmp_path, chained([user("a"), *made, assistant("b")])))
    assume(not any(turn.abandoned for turn in session.turns))  # they are no messages of a log
    path = convert_session(session, tmp_path / "x.json", to="inspect", force=True)
    json.loads(path.read_bytes())
    read = read_session(path)
    assert (read.prompts, read.steps) == (session.prompts, session.steps)
    assert len(read.compactions) == len(session.compactions)


def test_the_same_session_gives_the_same_log(tmp_path: Path) -> None:
    session = read_session(example_session())
    first, second = (convert_session(session, tmp_path / f"{n}.eval") for n in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_what_a_log_cannot_say_is_in_its_metadata(tmp_path: Path) -> None:
    """A call before both its results, arguments that are no object, and an abandoned branch."""
    start = user("a")
    first, second = (
        user("left behind", parentUuid=start["uuid"]),
        user("b", parentUuid=start["uuid"]),
    )
    answer = assistant("dropped", parentUuid=first["uuid"])
    parts = [
        assistant({**call(id), "input": input}, id="m1")
        for id, input in (("t1", {}), ("t2", "raw"))
    ]
    results = [user([result(f"of {id}", id)]) for id in ("t1", "t2")]
    rest = chained([second, parts[0], results[0], parts[1], results[1], assistant("end")])
    rest[0] |= {"parentUuid": start["uuid"]}
    session = read_session(write(tmp_path, [start, first, answer, *rest]))
    assert sum(turn.abandoned for turn in session.turns) == 2
    document = json.loads(convert_session(session, tmp_path / "x.json", to="inspect").read_bytes())
    (sample,) = document["samples"]
    said = [(m["role"], m.get("tool_call_id")) for m in sample["messages"]]
    assert said == [
        ("user", None),
        ("user", None),
        ("assistant", None),
        ("tool", "t1"),
        ("tool", "t2"),
        ("assistant", None),
    ]
    calls = sample["messages"][2]["tool_calls"]
    assert [c["id"] for c in calls] == ["t1", "t2"]
    assert calls[1]["arguments"] == {"text": '"raw"'}
    abandoned = sample["metadata"]["contextecho"]["abandoned"]
    assert [turn["text"] for turn in abandoned] == ["left behind", "dropped"]


# The command


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    return exit_code("sessions", "convert", *words), *capsys.readouterr()


def test_the_command_writes_for_its_owner_and_names_the_next(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    code, out, err = run(capsys, example_session(), "-o", path)
    assert (code, out) == (0, "")
    assert err.endswith(f"Next: contextecho sessions show {path}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["x.jsonl"]


def test_a_file_that_is_there_stays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_text("mine")
    code, _, err = run(capsys, example_session(), "-o", path)
    assert (code, path.read_text()) == (2, "mine")
    assert "give --force" in err
    assert run(capsys, example_session(), "-o", path, "--force")[0] == 0
    assert path.read_bytes().startswith(b"PK")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-o", "x.txt"], "end it in .jsonl, .eval or .json, or say --to jsonl or --to inspect"),
        (["-o", "y.jsonl", "--to", "inspect"], "end it in .eval or .json, or say --to jsonl"),
        (["-o", "y.eval", "--to", "jsonl"], "y.eval: its name is that of another format than"),
        (["-o", "y.json", "--to", "jsonl"], "end it in .jsonl, or say --to inspect"),
        (["-o", "no/such/folder.jsonl"], "cannot be written: no such file or directory"),
        (["-o", ".", "--to", "jsonl"], "is there already"),
        (["-o", ".", "--to", "jsonl", "--force"], "cannot be written: is a directory"),
        (["-o", "-", "--to", "inspect"], "not written to standard output"),
    ],
)
def test_a_place_that_cannot_be_is_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, example_session(), *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert list(tmp_path.iterdir()) == []


def test_what_fails_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    session = read_session(path)
    path.write_bytes(line(user("more")) + path.read_bytes())
    with pytest.raises(SessionError, match="changed while it was in use"):
        convert_session(session, tmp_path / "x.jsonl")
    with pytest.raises(UsageError, match="no such format: xml"):
        convert_session(session, tmp_path / "x.jsonl", to="xml")
    assert [found.name for found in tmp_path.iterdir()] == ["session.jsonl"]


def test_standard_output_is_lines(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    main(["sessions", "convert", str(example_session()), "-o", "-"])
    out, err = capsysbinary.readouterr()
    assert out == b"".join(lines_of(read_session(example_session())))
    assert b"Next: contextecho sessions show" in err


@pytest.mark.parametrize(
    ("name", "words", "begins"),
    [
        ("x.JSONL", [], b'{"format":"contextecho.session/1"'),
        ("x.log", ["--to", "jsonl"], b'{"format":"contextecho.session/1"'),
        ("x.json", [], b'{"version":2'),
        ("x.log", ["--to", "inspect"], b"PK"),
    ],
)
def test_the_ending_decides_where_it_can(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, words: list[str], begins: bytes
) -> None:
    code, _, err = run(capsys, example_session(), "-o", tmp_path / name, *words)
    assert code == 0
    assert (", a log of Inspect\n" in err) == (not begins.startswith(b'{"format"'))
    assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["x.jsonl", "x.eval"])
def test_what_is_not_written_is_said(
    capsys: pytest.CaptureFixture[str], shared: Path, tmp_path: Path, name: str
) -> None:
    """By `find`: six files `agent-*.jsonl` lie below this session's folder."""
    folder = shared / "sessions/claude-code/daaain/projects/-experiments-worktrees"
    path = folder / "ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl"
    _, _, err = run(capsys, path, "-o", tmp_path / name)
    said = "Not written: the conversations of 6 sub-agents"
    assert err.splitlines()[1] == said


def test_turns_left_behind_are_said_of_a_log_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    start, answer = user("a"), assistant("end")
    first, second = (user(text, parentUuid=start["uuid"]) for text in ("left behind", "b"))
    dropped = assistant("dropped", parentUuid=first["uuid"])
    answer["parentUuid"] = second["uuid"]
    path = write(tmp_path, [start, first, dropped, second, answer])
    _, _, err = run(capsys, path, "-o", tmp_path / "x.eval")
    said = f"Wrote 5 turns to {tmp_path / 'x.eval'}, a log of Inspect"
    aside = "; 2 of them, which a rewind left behind, in its metadata"
    assert err.splitlines()[0] == said + aside
    _, _, err = run(capsys, path, "-o", tmp_path / "x.jsonl")
    assert "left behind" not in err


def test_a_session_is_never_converted_onto_itself(tmp_path: Path) -> None:
    path = write(tmp_path, [user("a"), assistant("b")])
    before = path.read_bytes()
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    for target in (path, link):
        with pytest.raises(UsageError, match="is the session itself"):
            convert_session(read_session(path), target, to="jsonl", force=True)
    assert path.read_bytes() == before


def test_no_file_of_a_session_is_converted_onto(tmp_path: Path) -> None:
    """Of a tree of files each part is the session; of Claude Code what lies beside it too."""
    messages = [opencode.user("Look."), opencode.assistant("Looking.", opencode.tool())]
    tree, claude = tmp_path / "tree", tmp_path / "claude"
    tree.mkdir()
    claude.mkdir()
    paths = [opencode.as_tree(tree, messages), write(claude, [user("a"), assistant("b")])]
    agent = record("user", isSidechain=True, agentId="x", message={"role": "user", "content": "c"})
    for name, data in {
        "subagents/agent-x.jsonl": line(agent),
        "subagents/agent-x.meta.json": b"{}",
        "tool-results/one.txt": b"long",
    }.items():
        (claude / "s1" / name).parent.mkdir(parents=True, exist_ok=True)
        (claude / "s1" / name).write_bytes(data)
    for folder, path in zip((tree, claude), paths, strict=True):
        files = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        assert len(files) > 3
        for file in files:
            to = "inspect" if file.suffix == ".json" else "jsonl"
            with pytest.raises(UsageError, match=r"is (the|a file of the) session"):
                convert_session(read_session(path), file, to=to, force=True)
        assert {file: file.read_bytes() for file in files} == files


def test_the_log_of_a_database_is_never_converted_onto(tmp_path: Path) -> None:
    path = opencode.as_database(tmp_path, [opencode.user("a"), opencode.assistant("b")])
    log = path.with_name(f"{path.name}-wal")
    log.touch()
    with pytest.raises(UsageError, match="is a file of the session"):
        convert_session(read_session(path), log, to="jsonl", force=True)


IDS = (
    *(
        "a\0b",
        "a/b",
        "../../../x",
        "..",
        "a#b",
        "a\\..\\b",
        "C:\\x",
        "\x1b[2J",
        " a  b ",
        "\u202ex\ufeff",
    ),
    *("é" * 300, "samples", "x_epoch_1", "a\nb\r\nc", "half \ud800 of one", "⟨U+0000⟩", "%23"),
)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("name", ["x.jsonl", "x.eval", "x.json"])
def test_whatever_its_id_a_converted_session_has_it_again(
    tmp_path: Path, id: str, name: str
) -> None:
    records = [user("a", sessionId=id), assistant("b", sessionId=id)]
    session = read_session(write(tmp_path, records))
    read = read_session(convert_session(session, tmp_path / name))
    assert (read.id, read.steps, read.skipped) == (session.id, 1, session.skipped)


@pytest.mark.parametrize("id", IDS)
def test_an_entry_of_a_log_leads_nowhere_else(tmp_path: Path, id: str) -> None:
    session = replace(read_session(write(tmp_path, [user("a"), assistant("b")])), id=id)
    with ZipFile(convert_session(session, tmp_path / "x.eval")) as log:
        (entry,) = (name for name in log.namelist() if name.startswith("samples/"))
        sample = json.loads(log.read(entry))
        (summary,) = json.loads(log.read("summaries.json"))
    assert re.fullmatch(r"samples/[\w@+=-][\w.@+=-]*_epoch_1\.json", entry)
    assert entry == f"samples/{sample['id']}_epoch_1.json"  # as Inspect looks for it
    assert summary["id"] == sample["id"]


@pytest.mark.parametrize("name", ["x.jsonl", "x.eval", "x.json"])
def test_a_session_of_more_than_4_gib_is_read_back(tmp_path: Path, name: str) -> None:
    session = read_session(write(tmp_path, [user("a"), assistant("b")]))
    read = read_session(convert_session(replace(session, bytes=5 << 30), tmp_path / name))
    assert (read.steps, read.skipped) == (1, ())
