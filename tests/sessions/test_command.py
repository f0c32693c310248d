"""`contextecho sessions list`, `show` and `check`."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commandline import exit_code
from contextecho.cli.main import main
from sessions import opencode_building as opencode
from sessions.claude_code_lines import assistant, call, line, record, result, user, write


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return exit_code("sessions", *words), *capsys.readouterr()


def test_show_prints_one_json_document_with_all_three_indices(
    capsys: pytest.CaptureFixture[str], shared: Path
) -> None:
    path = shared / "sessions/claude-code/entire-cd95adddad32-0.jsonl"
    code, out, err = run(capsys, "show", str(path), "--json")
    shown = json.loads(out)
    assert code == 0
    assert (shown["prompts"], shown["steps"], shown["row_turns"]) == (42, 225, 572)
    assert [c["trigger"] for c in shown["compactions"]] == ["auto"] * 3
    assert shown["compactions"][0]["tokens_before"] == 156_699
    assert err == f"Next: contextecho scan {path}\n"


def test_show_in_a_pipe_is_plain_and_without_control_characters(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    evil = "claude-\x1b[31mred\u202e"
    path = write(tmp_path, [user("a"), assistant("b", model=evil)])
    code, out, _ = run(capsys, "show", str(path))
    assert code == 0
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "claude-⟨U+001B⟩[31mred⟨U+202E⟩" in out


def test_show_says_which_call_started_a_sub_agent(
    capsys: pytest.CaptureFixture[str], shared: Path
) -> None:
    path = shared / "sessions/claude-code/cipherbox-c644f3afc869-1.jsonl"
    first = json.loads(run(capsys, "show", str(path), "--json")[1])["sidechains"][0]
    assert (first["agent_id"], first["kind"]) == ("a2ffcc6", "ui-design-discusser")
    assert first["path"] == str(path)
    started = next(
        row for row in run(capsys, "show", str(path))[1].splitlines() if "a2ffcc6" in row
    )
    assert started.split("\t")[-1] == first["call_id"] == "toolu_01KGWtk2Sp6yQwAB85DNs7dy"


def test_list_names_what_holds_no_conversation_with_the_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "good.jsonl").write_bytes(line(user("a")) + line(assistant("b")))
    (tmp_path / "bare.jsonl").write_bytes(line(user("a")))
    code, out, err = run(capsys, "list", str(tmp_path), "--json")
    rows = {Path(row["path"]).stem: row for row in json.loads(out)["sessions"]}
    assert code == 0
    assert (rows["good"]["prompts"], rows["good"]["steps"]) == (1, 1)
    assert rows["bare"]["steps"] is None
    assert "no conversation" in rows["bare"]["error"]
    assert err == ""


def test_list_on_a_terminal_gives_a_path_a_line_to_itself(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / ("a-long-name-" * 10)
    folder.mkdir()
    (folder / "s.jsonl").write_bytes(line(user("a")) + line(assistant("b")))
    code, out, _ = run(capsys, "list", str(tmp_path))
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    start, end = out.splitlines()[-1].strip().split("…")
    path = str(folder / "s.jsonl")
    assert path.startswith(start)
    assert path.endswith(end)
    assert len(start) + len(end) == 77  # two spaces and the dots are the rest
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "t.jsonl").write_bytes(line(user("a", cwd=f"{tmp_path}/w")) + line(assistant("b")))
    out = run(capsys, "list", str(tmp_path / "t.jsonl"))[1]
    assert out.splitlines()[-1] == "  ~/t.jsonl"
    assert "  ~/w · claude-x\n" in out


def test_list_without_sessions_is_a_usage_error_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, "list", str(tmp_path))
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert f"{tmp_path}: no sessions found (name a file or another folder" in err


def test_list_warns_that_the_client_deletes_sessions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_bytes(line(user("a")) + line(assistant("b")))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    code, out, err = run(capsys, "list")
    assert code == 0
    assert "s.jsonl" in out
    assert "30 days" in err
    assert json.loads(run(capsys, "show", "latest", "--json")[1])["path"] == str(folder / "s.jsonl")


def test_list_shows_no_more_than_the_limit_and_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_bytes(line(user("a")) + line(assistant("b")))
    _, out, err = run(capsys, "list", str(tmp_path), "--limit", "2")
    assert len(out.splitlines()) == 3  # the head and two sessions
    assert "1 older ones not shown" in err


@pytest.mark.parametrize(
    ("answers", "named"),
    [
        (11, ""),
        (12, "Next: contextecho plan {} --target local --positions even:12\n"),
        (24, "Next: contextecho scan {}\n"),
    ],
)
def test_the_newest_that_suits_something_is_named_next(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, answers: int, named: str
) -> None:
    short, long = tmp_path / "short.jsonl", tmp_path / "long.jsonl"
    long.write_bytes(b"".join(line(user("a")) + line(assistant("b")) for _ in range(answers)))
    short.write_bytes(line(user("a")) + line(assistant("b")))
    os.utime(long, (1_000, 1_000))
    assert run(capsys, "list", str(tmp_path))[2] == named.format(long)


def test_what_is_passed_over_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "short.jsonl").write_bytes(line(user("a")) + line(assistant("b")))
    said = [user("a", isSidechain=True), assistant("b", isSidechain=True)]
    (tmp_path / "agent-1.jsonl").write_bytes(b"".join(map(line, said)))
    _, _, err = run(capsys, "list", str(tmp_path))
    assert "1 session of sub-agents left out" in err
    main(["scan", str(tmp_path)])
    err = capsys.readouterr().err
    assert "1 session of sub-agents left out" in err
    assert err.endswith("Next: contextecho sessions list\n"), "it is too short for anything"


@pytest.mark.parametrize(
    "words", [("show", "missing"), ("list", "missing"), ("check", "missing"), ("keep", "missing")]
)
def test_a_missing_path_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_paths_that_are_missing_or_no_session_stop_nothing_and_end_with_two(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good, other = write(tmp_path, [user("a"), assistant("b")]), tmp_path / "other.jsonl"
    other.write_text("hello\n")
    missing = tmp_path / "missing"
    reason = run(capsys, "show", str(other))[2]
    assert reason.count("\n") == 1
    for command, shown in (("list", "claude-x"), ("check", "2 turns"), ("keep", "kept")):
        words = ("--to", str(tmp_path / "kept")) if command == "keep" else ()
        code, out, err = run(capsys, command, str(missing), str(good), str(other), *words)
        assert code == 2
        assert shown in out
        assert f"contextecho: {missing}: cannot be read: no such file or directory\n" in err
        assert err.endswith(reason)
    code, out, err = run(capsys, "keep", "deadbeef", str(good), "--to", str(tmp_path / "kept"))
    assert (code, "kept already" in out) == (2, True)
    assert "contextecho: deadbeef: no such path, and no session with such an id (" in err


def test_a_member_that_does_not_exist_is_answered_with_those_that_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    path = tmp_path / "many.jsonl"
    path.write_bytes(line({"messages": said}) * 7)
    code, _, err = run(capsys, "show", f"{path}#nope")
    assert code == 2
    assert err.endswith("holds no such session (it holds 1, 2, 3, 4, 5 and 2 more)\n")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two sessions of Claude Code and one of Codex's folder."""
    folder = tmp_path / ".claude" / "projects" / "-work-x"
    folder.mkdir(parents=True)
    for name, hour, answers in (("aaaaaa-1", 9, 1), ("aaaaaa-2", 8, 12)):
        at = {"sessionId": name, "timestamp": f"2026-01-02T{hour:02}:00:00Z", "cwd": "/work/x"}
        said = (
            line(user("a", **at)) + line(assistant("b", **at, model=f"claude-{name[-1]}"))
            for _ in range(answers)
        )
        (folder / f"{name}.jsonl").write_bytes(b"".join(said))
    other = tmp_path / ".codex" / "sessions"
    other.mkdir(parents=True)
    chat = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    (other / "chat.json").write_text(json.dumps(chat))
    os.utime(other / "chat.json", (1_000, 1_000))
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def test_the_newest_is_whose_last_turn_is_whenever_the_files_were_written(
    capsys: pytest.CaptureFixture[str], machine: Path
) -> None:
    """Both were written just now, the one with the earlier turns last."""
    rows = json.loads(run(capsys, "list", "--json")[1])["sessions"]
    assert [row["id"] for row in rows] == ["aaaaaa-1", "aaaaaa-2", "chat"]
    first, _, chat = rows
    assert first["folder"] == "/work/x"
    assert datetime.fromisoformat(first["last_time"]) == datetime(2026, 1, 2, 9, tzinfo=UTC)
    assert datetime.fromisoformat(first["modified"]).timestamp() == pytest.approx(
        Path(first["path"]).stat().st_mtime, abs=1
    )
    assert (chat["folder"], chat["first_time"], chat["last_time"]) == ("sessions", None, None)
    assert json.loads(run(capsys, "show", "latest", "--json")[1])["id"] == "aaaaaa-1"


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("--client", "claude"), ["aaaaaa-1", "aaaaaa-2"]),
        (("--client", "Chat"), ["chat"]),
        (("--model", "CLAUDE-2"), ["aaaaaa-2"]),
        (("--since", "2026-01-01"), ["aaaaaa-1", "aaaaaa-2"]),
        (("--suits", "trajectory"), ["aaaaaa-2"]),
    ],
)
def test_what_is_listed_can_be_narrowed(
    capsys: pytest.CaptureFixture[str], machine: Path, words: tuple[str, ...], ids: list[str]
) -> None:
    rows = json.loads(run(capsys, "list", "--json", *words)[1])["sessions"]
    assert [row["id"] for row in rows] == ids


def test_days_before_now_and_what_is_no_date(
    capsys: pytest.CaptureFixture[str], machine: Path
) -> None:
    days = (datetime.now(UTC) - datetime(2026, 1, 2, 8, 30, tzinfo=UTC)).total_seconds() / 86_400
    rows = json.loads(run(capsys, "list", "--json", "--since", f"{int(days) + 1}d")[1])["sessions"]
    assert {row["id"] for row in rows} >= {"aaaaaa-1"}
    assert "chat" not in {row["id"] for row in rows}
    code, _, err = run(capsys, "list", "--since", "soon")
    assert (code, "give 2026-01-31, or 7d" in err) == (2, True)
    code, _, err = run(capsys, "list", "--model", "none of them")
    assert (code, "no session is what the options ask for" in err) == (2, True)


def test_a_session_is_named_by_its_id_or_the_beginning_of_it(
    capsys: pytest.CaptureFixture[str], machine: Path
) -> None:
    for words in ("aaaaaa-2", "aaaaaa-1"):
        assert json.loads(run(capsys, "show", words, "--json")[1])["id"] == words
    code, _, err = run(capsys, "show", "aaaaaa")
    assert code == 2
    assert "aaaaaa: is the beginning of the ids of 2 sessions (name one of them: " in err
    assert "aaaaaa-1.jsonl, " in err
    neither = "no such path, and no session with such an id"
    for word, short in (("bbbbbb", ""), ("aaaaa", " (an id needs 6 characters)")):
        code, _, err = run(capsys, "show", word)
        see = "(see contextecho sessions list)"
        assert (code, err) == (2, f"contextecho: {word}: {neither}{short} {see}\n")


def test_show_says_when_the_session_was_and_how_long(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = [
        user("a", timestamp="2026-01-02T08:00:00Z"),
        assistant("b", timestamp="2026-01-02T11:59:00Z"),
    ]
    path = write(tmp_path, said)
    _, out, _ = run(capsys, "show", str(path))
    (shown,) = (row for row in out.splitlines() if row.startswith("time\t"))
    first, last = (datetime(2026, 1, 2, *at, tzinfo=UTC).astimezone() for at in ((8, 0), (11, 59)))
    assert shown == f"time\t{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} (3 hours)"
    assert "prompts\t1 message that a human wrote\n" in out
    document = json.loads(run(capsys, "show", str(path), "--json")[1])
    assert datetime.fromisoformat(document["last_time"]) == last


def test_show_counts_the_calls_of_tools(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Two calls in one message, of which one result came, and one in the next: three."""
    said = [
        user("a"),
        assistant("b", call("t1"), call("t2", "Read")),
        user([result("c", "t1")]),
        assistant(call("t3")),
    ]
    path = write(tmp_path, said)
    out = run(capsys, "show", str(path))[1]
    assert "steps\t2 messages of the model\ntool calls\t3 calls by the model\n" in out
    assert json.loads(run(capsys, "show", str(path), "--json")[1])["tool_calls"] == 3


def test_a_small_file_is_not_nothing_and_one_of_several_has_no_size_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    (tmp_path / "one.json").write_text(json.dumps(said))
    (tmp_path / "two.jsonl").write_bytes(line({"messages": said}) * 2)
    rows = json.loads(run(capsys, "list", str(tmp_path), "--json")[1])["sessions"]
    length = (tmp_path / "one.json").stat().st_size
    assert {Path(row["name"]).name: row["bytes"] for row in rows} == {
        "one.json": length,
        "two.jsonl#1": None,
        "two.jsonl#2": None,
    }
    out = run(capsys, "list", str(tmp_path))[1]
    assert sorted(row.split("\t")[1] for row in out.splitlines()[1:]) == ["-", "-", f"{length} B"]


def test_check_names_the_lines_of_what_was_left_out(
    capsys: pytest.CaptureFixture[str], shared: Path
) -> None:
    # By eye: line 128 is two records on one line; 132, 133, 149, 157 and 170 are progress.
    path = shared / "sessions/claude-code/entire-995ebed6e4-2-glued-line.jsonl"
    code, out, err = run(capsys, "check", str(path))
    assert (code, err) == (0, f"Next: contextecho sessions show {path}\n")
    assert "broken line, records saved\t1\t128\n" in out
    assert "progress\t5\t132-133, 149, 157, 170\n" in out
    progress = [
        number
        for number, row in enumerate(path.read_bytes().split(b"\n"), 1)
        if b'"type":"progress"' in row
    ]
    assert progress == [132, 133, 149, 157, 170]


def test_check_counts_on_after_a_hundred_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    noise = [x for _ in range(150) for x in (record("progress"), record("mode"))]
    path = write(tmp_path, [user("a"), assistant("b"), *noise])
    _, out, _ = run(capsys, "check", str(path), "--json")
    (found,) = json.loads(out)
    by_reason = {s["reason"]: s for s in found["skipped"]}
    assert by_reason["progress"]["count"] == 150
    assert by_reason["progress"]["lines"] == list(range(3, 203, 2))
    _, out, _ = run(capsys, "check", str(path))
    assert "progress\t150\t3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25 and 138 more\n" in out


def test_list_takes_several_paths_and_says_what_each_session_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "s.jsonl").write_bytes(line(user("a")) + line(assistant("b")))
    said = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    (tmp_path / "b.json").write_text(json.dumps(said))
    os.utime(tmp_path / "b.json", (1_000, 1_000))
    code, out, err = run(capsys, "list", str(tmp_path / "a"), str(tmp_path / "b.json"), "--json")
    document = json.loads(out)
    newest, oldest = document["sessions"]
    assert code == 0
    assert (newest["format"], oldest["format"]) == ("claude-code", "chat")
    assert (newest["id"], newest["member"], newest["name"]) == ("s1", None, newest["path"])
    assert newest["suits"] == []
    assert newest["lacks"]["trajectory"] == "needs 12 steps, has 1"
    assert {k: document[k] for k in ("found", "shown", "sub_agents", "unread", "note")} == {
        "found": 2,
        "shown": 2,
        "sub_agents": 0,
        "unread": [],
        "note": None,
    }
    assert err == ""


def test_list_in_a_pipe_has_a_column_for_what_a_session_suits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    long = b"".join(line(user("a")) + line(assistant("b")) for _ in range(12))
    (tmp_path / "long.jsonl").write_bytes(long)
    (tmp_path / "bare.jsonl").write_bytes(line(user("a")))
    os.utime(tmp_path / "bare.jsonl", (1_000, 1_000))
    _, out, _ = run(capsys, "list", str(tmp_path))
    heads, first, second = (row.split("\t") for row in out.splitlines())
    assert heads[2:] == [
        *("format", "prompts", "steps", "compactions", "suits", "folder", "models", "lacks"),
        "session",
    ]
    assert first[2:-1] == [
        *("claude-code", "12", "12", "0", "trajectory", "/work", "claude-x"),
        "scan needs 24 texts of one voice under equal conditions, has 12",
    ]
    assert second[2:-1] == [
        *("claude-code", "-", "-", "-", "-", tmp_path.name, ""),
        "holds no conversation: 1 prompt, no message of a model",
    ]


def test_list_names_each_of_several_sessions_so_that_it_can_be_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    (tmp_path / "two.jsonl").write_bytes(line({"messages": said}) * 2)
    _, out, _ = run(capsys, "list", str(tmp_path), "--json")
    names = [row["name"] for row in json.loads(out)["sessions"]]
    assert names == [f"{tmp_path}/two.jsonl#1", f"{tmp_path}/two.jsonl#2"]
    shown = json.loads(run(capsys, "show", names[1], "--json")[1])
    assert (shown["member"], shown["steps"]) == ("2", 1)


def test_list_says_that_it_reads_when_that_takes_long(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextecho.cli.finding._MANY_BYTES", 1)
    path = tmp_path / "a.jsonl"
    path.write_bytes(line(user("a")) + line(assistant("b")))
    os.utime(path, (1_000, 1_000))
    _, _, err = run(capsys, "list", str(tmp_path))
    assert err.splitlines()[0] == "reading 1 file (0 MB); the next time only changes"


def test_where_paths_lead_is_asked_only_for_files_that_were_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 5,000 sessions it took longer than all else that a list of known files takes."""
    path = write(tmp_path, [user("a"), assistant("b")])
    (tmp_path / "link.jsonl").symlink_to(path)
    asked: list[Path] = []
    resolve = Path.resolve

    def asking(path: Path, strict: bool = False) -> Path:
        asked.append(path)
        return resolve(path, strict)

    monkeypatch.setattr(Path, "resolve", asking)
    assert run(capsys, "list", str(tmp_path))[0] == 0
    assert asked == []
    assert run(capsys, "list", str(path), str(tmp_path / "link.jsonl"))[0] == 0
    assert path in asked


def test_a_time_that_no_calendar_has_stops_no_list(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    never = {"created": -1e18}
    messages = [opencode.user("a", time=never), opencode.assistant("b", time=never)]
    path = opencode.as_export(tmp_path, messages)
    for words in (["list", str(tmp_path)], ["show", str(path)]):
        assert run(capsys, *words)[0] == 0
    code, out, _ = run(capsys, "list", str(tmp_path), "--json")
    assert (code, len(json.loads(out)["sessions"])) == (0, 1)
