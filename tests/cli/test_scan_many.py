"""`scan` over folders and files of several clients: one table, one document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commandline import exit_code
from contextecho.cli.main import main
from contextecho.scoring import screen_all
from sessions.claude_code_lines import assistant, line, user


def chat(words: str) -> dict[str, Any]:
    said = [{"role": "user", "content": words}, {"role": "assistant", "content": words}]
    return {"messages": said}


def drifting(exchanges: int = 40) -> bytes:
    """Short answers that become long ones half-way."""
    said = [
        (user(f"Step {n}."), assistant("Done. " * (1 if n < exchanges / 2 else 20)))
        for n in range(exchanges)
    ]
    return b"".join(line(row) for pair in said for row in pair)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two clients' folders with all that may lie in them."""
    claude = tmp_path / "claude" / "projects" / "-w"
    claude.mkdir(parents=True)
    (claude / "short.jsonl").write_bytes(line(user("a")) + line(assistant("b")))
    (claude / "drifting.jsonl").write_bytes(drifting())
    aside = line(user("a", isSidechain=True)) + line(assistant("b", isSidechain=True))
    (claude / "agent-1.jsonl").write_bytes(aside)
    (claude / "history.jsonl").write_bytes(b'{"display": "x"}\n')
    (claude / "settings.json").write_bytes(b'{"cleanupPeriodDays": 9}')
    (claude / "notes.json").write_bytes(b"[1, 2]")
    other = tmp_path / "other"
    other.mkdir()
    (other / "many.jsonl").write_bytes(b"".join(line(chat(word)) for word in "abc"))
    (other / "one.json").write_text(json.dumps(chat("x")))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    return exit_code("scan", *words), *capsys.readouterr()


def test_folders_of_several_clients_give_one_table_the_most_to_show_first(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    code, out, err = run(capsys, tree / "claude", tree / "other")
    heads, first, *rows = [row.split("\t") for row in out.splitlines()]
    assert code == 0
    assert heads[:2] == ["screen", "format"]
    drifted = str(tree / "claude/projects/-w/drifting.jsonl")
    assert first == ["worth probing", "claude-code", "40", "40", "0", "chars", "claude-x", drifted]
    names = [row[-1] for row in rows if row[0] == "too short to tell"]
    assert names == [
        str(tree / name)
        for name in (
            "claude/projects/-w/short.jsonl",
            *(f"other/many.jsonl#{n}" for n in (1, 2, 3)),
            "other/one.json",
        )
    ]
    assert out.splitlines()[-2].startswith("not read\t")
    assert "history.jsonl" in out.splitlines()[-2]
    assert out.splitlines()[-1].startswith("6 sessions read, 1 file not;")
    assert err.splitlines() == [
        "1 session of sub-agents left out: part of those that started them",
        f"Next: contextecho plan {drifted} --target local",
    ]


def test_the_document_is_in_the_order_of_the_table(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    """What stands out first, then by length: what the files' order is changes nothing."""
    _, out, _ = run(capsys, tree / "other", tree / "claude", "--json")
    document = json.loads(out)
    names = [Path(screen["path"]).name for screen in document["sessions"]]
    _, table, _ = run(capsys, tree / "other", tree / "claude")
    rows = [row.split("\t") for row in table.splitlines()]
    assert names == [Path(row[-1]).name for row in rows if len(row) == 8][1:]
    assert names[0] == "drifting.jsonl"
    assert [Path(item["path"]).name for item in document["unread"]] == ["history.jsonl"]


def test_two_processes_find_what_one_finds(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = screen_all([tree], processes=1)
    monkeypatch.setattr("contextecho.processes._LEAST_SPREAD", 0)
    together = screen_all([tree], processes=2)
    assert together.screens == alone.screens
    assert len(alone.screens) == 6
    assert list(map(str, together.unread)) == list(map(str, alone.unread))
    assert (together.sub_agents, alone.sub_agents) == (1, 1)


def test_what_screening_takes_is_loaded_when_it_is_shared_out_and_brings_no_threads() -> None:
    """numpy starts some unless it is told, and then each worker would begin from nothing."""
    program = (
        "import sys, contextecho.cli.scan, contextecho.scoring.screening as screening\n"
        "from contextecho.processes import _context\n"
        "assert not {'numpy', 'scipy', 'py3langid'} & set(sys.modules)\n"
        "print(_context(screening._load).get_start_method())\n"
        "print(*sorted({'numpy', 'py3langid'} & set(sys.modules)))"
    )
    environment = {n: v for n, v in os.environ.items() if n != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    copied = sys.platform == "linux"
    expected = "fork\nnumpy py3langid\n" if copied else "spawn\n\n"
    assert done.stdout == expected, done.stderr


def test_a_named_file_is_screened_whatever_its_name_and_only_once(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    odd = tree / "other" / "session.txt"
    odd.write_bytes(drifting())
    code, out, _ = run(capsys, odd, odd, tree / "other", tree / "other" / "one.json", "--json")
    names = [Path(screen["path"]).name for screen in json.loads(out)["sessions"]]
    assert code == 0
    assert names == ["session.txt", *(f"many.jsonl#{n}" for n in (1, 2, 3)), "one.json"]


def test_one_session_of_several_is_shown_in_full(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    code, out, _ = run(capsys, f"{tree}/other/many.jsonl#2")
    assert code == 0
    assert out.splitlines()[0] == f"{tree}/other/many.jsonl#2"
    assert run(capsys, f"{tree}/other/many.jsonl#9")[0] == 2


def test_a_sub_agents_file_that_is_named_is_refused_with_the_reason(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    code, out, err = run(capsys, tree / "claude/projects/-w/agent-1.jsonl")
    assert (code, out) == (2, "")
    assert "holds only a sub-agent's conversation" in err


def test_a_missing_file_among_others_is_named_and_stops_nothing(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    code, out, err = run(capsys, tree / "gone.jsonl", tree / "other", "--json")
    document = json.loads(out)
    assert code == 2
    assert err.splitlines()[-1] == (
        f"contextecho: {tree}/gone.jsonl: cannot be read: no such file or directory"
    )
    assert len(document["sessions"]) == 4
    assert document["unread"] == [
        {"path": str(tree / "gone.jsonl"), "reason": "cannot be read: no such file or directory"}
    ]


def test_an_id_that_no_session_has_is_named_and_stops_nothing(
    capsys: pytest.CaptureFixture[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tree))
    reason = "no such path, and no session with such an id"
    code, out, err = run(capsys, "deadbeef", tree / "other", "--json")
    document = json.loads(out)
    assert code == 2
    assert len(document["sessions"]) == 4
    assert document["unread"] == [{"path": "deadbeef", "reason": reason}]
    last = f"contextecho: deadbeef: {reason} (see contextecho sessions list)\n"
    assert err.endswith(last)
    assert run(capsys, "deadbeef")[1:] == ("", last)


def test_a_session_too_short_for_a_screen_says_what_it_lacks_and_is_planned_if_it_can_be(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    path = tree / "other" / "session.txt"
    path.write_bytes(drifting(23))
    _, out, err = run(capsys, path)
    lines = out.splitlines()
    assert lines[3].endswith(": too short to tell")
    assert lines[4] == "  needs 24 texts of one voice under equal conditions, has 23"
    assert err == f"Next: contextecho plan {path} --target local --positions even:12\n"
    path.write_bytes(drifting(11))
    assert run(capsys, path)[2] == "Next: contextecho sessions list\n"
    path.write_bytes(drifting(24))
    _, out, err = run(capsys, path)
    assert "needs" not in out
    assert err == f"Next: contextecho plan {path} --target local\n"


def test_rare_words_are_shown_in_a_unit_in_which_they_are_no_zeros(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    """One hedge in 24 answers of 1,000 characters, eight of them in a window: by hand."""
    path = tree / "other" / "session.txt"
    said = [f"{'I lack ' if n == 0 else ''}{'x' * (993 if n == 0 else 1000)}" for n in range(24)]
    path.write_bytes(b"".join(line(user("a")) + line(assistant(text)) for text in said))
    lines = run(capsys, path)[1].splitlines()
    rows = [row.split() for row in lines if row.startswith(("    1-8 ", "    9-16 "))]
    # 1 in 1,000 characters is 10 in 10,000; over the eight texts of a window 1.25.
    assert [row[:4] for row in rows] == [["1-8", "8", "1000", "1.2"], ["9-16", "8", "1000", "0.0"]]
    (bars,) = (row for row in lines if "over the windows" in row)
    assert "hedges █▁▁" in bars
    assert "chars" not in bars
    assert "matches per 10,000 characters" in "\n".join(lines)


def test_files_that_are_missing_are_named_each(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    code, out, err = run(capsys, tree / "nowhere", tree / "good")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"contextecho: {tree}/{name}: cannot be read: no such file or directory"
        for name in ("nowhere", "good")
    ]


def test_where_nothing_can_be_read_the_first_files_are_named_each_with_the_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "foreign.jsonl").write_bytes(b'{"display": "x"}\n')
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "broken.json").write_bytes(b'{"messages": [')
    foreign = "not a session in any format this version reads"
    reasons = {
        f"{tmp_path}/foreign.jsonl: {foreign}",
        f"{tmp_path}/empty.jsonl: is empty, and holds no conversation",
        f"{tmp_path}/broken.json: a JSON document that was cut or is damaged, and {foreign}",
    }
    code, out, err = run(capsys, tmp_path)
    *named, last = err.splitlines()
    assert (code, out) == (2, "")
    assert (len(named), set(named)) == (3, reasons)
    assert last == (
        f"contextecho: {tmp_path}: holds no session that can be read (3 files tried) "
        "(try contextecho demo)"
    )
    for n in range(4):
        (tmp_path / f"more-{n}.jsonl").write_bytes(b'{"display": "x"}\n')
    *named, more, last = run(capsys, tmp_path)[2].splitlines()
    assert (len(named), more) == (5, "and 2 more files")
    assert "(7 files tried)" in last


def test_a_list_of_nothing_leads_to_the_scan_that_says_why_and_it_not_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_bytes(b'{"messages": [')
    with pytest.raises(SystemExit):
        main(["sessions", "list", str(tmp_path)])
    assert f"(contextecho scan {tmp_path} says why)" in capsys.readouterr().err
    err = run(capsys, tmp_path)[2]
    assert err.startswith(f"contextecho: {tmp_path}/broken.json: a JSON document that was cut")
    assert "sessions list" not in err
    (tmp_path / "broken.json").unlink()
    err = run(capsys, tmp_path)[2]
    assert err == f"contextecho: {tmp_path}: holds no session (try contextecho demo)\n"


@pytest.mark.parametrize("command", [["sessions", "list"], ["scan"]])
def test_where_nothing_was_looked_at_it_is_said_what_was_passed_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tree: Path, command: list[str]
) -> None:
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    for name in ("mine/talk.txt", "mine/export.zip", "mine/deep/notes.md"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "mine" / "elsewhere").symlink_to(tree)
    (tmp_path / "mine" / "nowhere.lnk").symlink_to(tmp_path / "gone")
    with pytest.raises(SystemExit) as stop:
        main([*command, str(tmp_path / "mine")])
    link, last = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2
    assert link == (
        f"1 link to folders not followed: {tmp_path}/mine/elsewhere (name one to look there)"
    )
    assert "; 4 files of other names not looked at: name one" in last
    main([*command, str(tmp_path / "mine" / "elsewhere")])


def test_one_of_several_that_is_named_beside_its_file_counts_once(
    capsys: pytest.CaptureFixture[str], tree: Path
) -> None:
    many = tree / "other" / "many.jsonl"
    _, out, _ = run(capsys, f"{many}#2", many, "--json")
    names = [screen["path"] for screen in json.loads(out)["sessions"]]
    assert sorted(names) == [f"{many}#1", f"{many}#2", f"{many}#3"]


def test_the_latest_is_the_newest_that_is_long_enough_and_is_named(
    capsys: pytest.CaptureFixture[str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tree / "claude"))
    monkeypatch.setenv("HOME", str(tree))
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(tree / "cache"))
    folder = tree / "claude" / "projects" / "-w"
    os.utime(folder / "drifting.jsonl", (1_000, 1_000))
    _, out, err = run(capsys, "latest")
    assert out.splitlines()[0] == str(folder / "drifting.jsonl")
    assert err.splitlines()[0] == f"latest: {folder}/drifting.jsonl"
    (folder / "drifting.jsonl").unlink()
    assert run(capsys, "latest")[2].splitlines()[0] == f"latest: {folder}/short.jsonl"


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_the_table_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], tree: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("HOME", str(tree))
    folder = tree / "long" / ("a-long-name-" * 10) / ("another-" * 9)
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_bytes(drifting().replace(b"claude-x", b"claude-" + b"x" * 150))
    out = run(capsys, tree / "long", tree / "other")[1].splitlines()
    table = out[:-1]
    assert max(map(len, table)) <= columns
    assert sum("…" in row for row in table) == 2, "the path and the model"
    assert "  ~/other/many.jsonl#1" in table
