"""What every command prints: whatever the names are, the encoding is and the disk holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commandline import FRESH, run_command, run_fresh
from contextecho.cli.printing import say_next
from sessions.claude_code_lines import assistant, line, user

SESSION = b"".join(line(record) for record in [user("a"), assistant("b" * 600)] * 4)
TALK = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b" * 600}] * 4
CHAT = json.dumps(TALK).encode()  # names no session: its file's name is its id
NOT_UTF8 = os.fsdecode(b"caf\xe9.jsonl")
SHOWN = "caf⟨U+DCE9⟩"


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """An encoding is for a Python that starts."""
    start = run_fresh if environment else run_command
    done = start(*words, cwd=folder, env=os.environ | environment)
    assert b"Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    "words",
    [
        ("sessions", "list", "."),
        ("sessions", "show", NOT_UTF8),
        ("scan", NOT_UTF8),
        ("plan", NOT_UTF8, "--target", "simulated"),
    ],
    ids=lambda words: " ".join(words[:2]) if words[0] == "sessions" else words[0],
)
def test_a_file_name_that_is_not_utf8_is_shown_by_its_bytes(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / NOT_UTF8).write_bytes(CHAT)
    document = run(tmp_path, *words, "--json")
    assert document.returncode == 0
    assert SHOWN in str(json.loads(document.stdout))  # strict: valid UTF-8, valid JSON
    lines = run(tmp_path, *words)
    assert lines.returncode == 0
    assert SHOWN in (lines.stdout + lines.stderr).decode()


@pytest.mark.parametrize("content", [SESSION, CHAT], ids=["claude-code", "chat"])
def test_a_session_with_such_a_name_is_probed_and_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NOT_UTF8).write_bytes(content)
    asked = ("--target", "simulated", "--judge", "none", "--store", "s", "-o", "report.html")
    done = run(tmp_path, "probe", NOT_UTF8, *asked, "--positions", "last", "--n", "1")
    assert done.returncode in (0, 3), done.stderr
    assert SHOWN in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_an_encoding_without_our_characters_gets_escapes(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "漢.jsonl").write_bytes(SESSION)
    done = run(tmp_path, "sessions", "list", ".", PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert rb"\u6f22.jsonl" in done.stdout
    document = run(tmp_path, "sessions", "list", ".", "--json", PYTHONIOENCODING=encoding)
    assert [row["path"] for row in json.loads(document.stdout)["sessions"]] == ["漢.jsonl"]


@pytest.mark.parametrize("words", ["--help", "stimuli list", "stimuli list --json"])
def test_a_full_disk_is_told_in_one_line(tmp_path: Path, words: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*FRESH, *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"contextecho: the output: no space left on device\n"


@pytest.mark.parametrize("words", ["--help", "stimuli list", "stimuli list --json", "--version"])
def test_a_command_that_nobody_reads_ends_as_the_system_ends_one(words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [*FRESH, *words.split()], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_a_closed_stdout_is_no_error(tmp_path: Path) -> None:
    program = f'exec "{sys.executable}" -m contextecho stimuli list >&-'
    done = subprocess.run(["sh", "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("SESSION", "SESSION"),
        ("PROVIDER/MODEL", "PROVIDER/MODEL"),
        ("UP PER;LS.JSONL", "'UP PER;LS.JSONL'"),
        ("$HOME", "'$HOME'"),
        ("A`B`", "'A`B`'"),
        ("IT'S", "'IT'\"'\"'S'"),
        ("A\nB", r"$'A\x0aB'"),
        ("A\tB", r"$'A\x09B'"),
        ("\x1b[31mIT'S\\A", r"$'\x1b[31mIT\'S\\A'"),
        ("FDP\u202e.JSONL", r"$'FDP\xe2\x80\xae.JSONL'"),
        (os.fsdecode(b"CAF\xe9 x"), r"$'CAF\xe9 x'"),
        ("漢👩\u200d💻", "'漢👩\u200d💻'"),
    ],
)
def test_the_next_command_can_be_pasted(
    capsys: pytest.CaptureFixture[str], word: str, written: str
) -> None:
    say_next("scan", word)
    assert capsys.readouterr().err == f"Next: contextecho scan {written}\n"
    echoed = subprocess.run(["bash", "-c", f"printf %s {written}"], capture_output=True, check=True)
    assert os.fsdecode(echoed.stdout) == word
