"""The command `scan` as a user meets it: output, streams, exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from commandline import exit_code


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Scan = Callable[..., Done]


@pytest.fixture
def scan(capsys: pytest.CaptureFixture[str]) -> Scan:
    def run(*arguments: str | Path) -> Done:
        return Done(exit_code("scan", *arguments), *capsys.readouterr())

    return run


def _chat(path: Path, text: str = "Done, the tests pass.") -> Path:
    rows = [{"role": "user", "content": "Fix it."}, {"role": "assistant", "content": text}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_claude_code_file_is_scanned_or_refused_in_one_line(
    claude_sessions: list[Path], scan: Scan
) -> None:
    done = {path: scan(path) for path in claude_sessions}
    refused = [path for path, one in done.items() if one.code]
    for path, one in done.items():
        if path in refused:
            assert (one.code, one.out, one.err.count("\n")) == (2, "", 1)
            assert "conversation" in one.err
        else:
            assert "a screen, never a diagnosis" in one.out
            following = f"plan {path} --target local"
            if "too short to tell" in one.out:  # twelve steps are enough for twelve forks
                steps = re.search(r"(\d+) agent step", one.out)
                assert steps is not None
                enough = int(steps[1]) >= 12
                following = f"{following} --positions even:12" if enough else "sessions list"
            assert one.err == f"Next: contextecho {following}\n"
    assert 0 < len(refused) < len(claude_sessions) / 2


def test_a_folder_lists_each_session_and_names_what_it_could_not_read(
    tmp_path: Path, scan: Scan
) -> None:
    _chat(tmp_path / "one.jsonl")
    _chat(tmp_path / "two.jsonl")
    (tmp_path / "broken.jsonl").write_bytes(b"\x00\x01\xff\xfe")
    (tmp_path / "empty.jsonl").touch()
    done = scan(tmp_path)
    assert done.code == 0
    assert done.out.count("too short to tell\tchat\t1\t1\t0\t-\t") == 2
    assert "broken.jsonl" in done.out
    assert "2 sessions read, 2 files not" in done.out
    assert done.err == "Next: contextecho sessions list\n"  # both are too short to plan with


def test_json_is_one_document_on_stdout(tmp_path: Path, scan: Scan) -> None:
    _chat(tmp_path / "one.jsonl")
    (tmp_path / "empty.jsonl").touch()
    document = json.loads(scan(tmp_path, "--json").out)
    assert document["label"] == "a screen, never a diagnosis"
    (screen,) = document["sessions"]
    assert (screen["prompts"], screen["steps"], screen["row_turns"]) == (1, 1, 2)
    assert [Path(item["path"]).name for item in document["unread"]] == ["empty.jsonl"]


@pytest.mark.parametrize("content", [None, b"", b"\x00\x01\x02\xff", b"hello\n", b'{"a": 1}\n'])
def test_what_is_no_session_is_one_line_and_exit_2(
    tmp_path: Path, content: bytes | None, scan: Scan
) -> None:
    path = tmp_path / "it.jsonl"
    if content is not None:
        path.write_bytes(content)
    done = scan(path)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "it.jsonl" in done.err


def test_a_folder_without_sessions_is_one_line_and_exit_2(tmp_path: Path, scan: Scan) -> None:
    done = scan(tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no session" in done.err


def test_no_argument_is_a_usage_error(scan: Scan) -> None:
    assert scan().code == 2


def test_control_characters_of_a_session_never_reach_the_terminal(
    tmp_path: Path, scan: Scan
) -> None:
    path = _chat(tmp_path / "a\x1b[31m\u202eb.jsonl", "hello \x1b[2J")
    done = scan(path)
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_bars_are_drawn_only_where_the_table_shows_a_difference(tmp_path: Path, scan: Scan) -> None:
    rows = []
    for number in range(60):  # one of 55 characters: the mean of its window is written 54 too
        rows.append({"role": "user", "content": "Go on."})
        rows.append({"role": "assistant", "content": "x" * (54 + (number == 30))})
    path = tmp_path / "even.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "over the windows" not in scan(path).out
    rows[-1]["content"] = "x" * 90
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "over the windows: chars ▁" in scan(path).out


def test_conditions_are_named_where_they_change_and_only_there(shared: Path, scan: Scan) -> None:
    """The client of the first file is updated between its steps 34 and 35; the second's never."""
    folder = shared / "sessions" / "claude-code"
    _, out, _ = scan(folder / "entire-995ebed6e4-2-glued-line.jsonl")
    assert "Texts are compared only under equal conditions:" in out
    assert "    - version 2.1.7: 2 final (too few), 12 commentary (too few)" in out
    assert "    - version 2.1.12: 2 final (too few), 4 commentary (too few)" in out
    _, out, _ = scan(folder / "entire-72a8d8fdb8-0.jsonl")
    assert "Texts are compared only" not in out
