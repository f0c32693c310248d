"""`contextecho sessions list`, `show` and `check`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from contextecho.cli.main import main
from sessions.building import assistant, line, record, user, write


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = 0
    try:
        main(["sessions", *words])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


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
    assert out.splitlines()[-1].strip() == str(folder / "s.jsonl")


def test_list_without_sessions_is_a_usage_error_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, "list", str(tmp_path))
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "no sessions found" in err
    assert "contextecho scan PATH" in err


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


@pytest.mark.parametrize("words", [("show", "missing"), ("list", "missing")])
def test_a_missing_path_is_one_line_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


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
        *("format", "prompts", "steps", "compactions", "suits", "models", "session")
    ]
    assert first[2:-1] == ["claude-code", "12", "12", "0", "trajectory", "claude-x"]
    assert second[2:-1] == [
        *("claude-code", "-", "-", "-", "-"),
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
