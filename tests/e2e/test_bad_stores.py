"""Stores, reports and data files that cannot be used: one clear line, nothing lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from e2e.ledger import FILE
from e2e.refusing import SHORT, SIMULATED, refused, slowly
from e2e.terminal import Terminal


def test_a_store_that_is_a_text_file(terminal: Terminal, chat: str) -> None:
    (terminal.folder / "notes.txt").write_text("not a store\n" * 100)
    done = terminal.run("probe", chat, *SIMULATED, *SHORT, "--quiet", "--store", "notes.txt")
    refused(done, 2, "notes.txt", "not a usable SQLite file")
    assert (terminal.folder / "notes.txt").read_text() == "not a store\n" * 100


def test_a_store_of_another_program(terminal: Terminal, chat: str) -> None:
    with closing(sqlite3.connect(terminal.folder / "other.sqlite")) as db:
        db.execute("CREATE TABLE song (title TEXT)")
        db.commit()
    done = terminal.run("probe", chat, *SIMULATED, *SHORT, "--quiet", "--store", "other.sqlite")
    refused(done, 2, "other.sqlite", "not a contextecho store")


@pytest.mark.parametrize("command", ["probe", "plan", "report"])
def test_a_store_of_a_newer_version(kept: Terminal, command: str) -> None:
    with closing(sqlite3.connect(kept.folder / FILE)) as db:
        db.execute("PRAGMA user_version = 99")
    words = {"report": ("latest",)}.get(command, ("chat.jsonl", *SIMULATED, *SHORT))
    refused(kept.run(command, *words), 2, "schema 99", "upgrade contextecho")


def test_a_store_that_cannot_be_made(terminal: Terminal, chat: str) -> None:
    (terminal.folder / "file").write_text("in the way")
    words = ("probe", chat, *SIMULATED, *SHORT, "--quiet", "--store")
    refused(terminal.run(*words, "file/store"), 2, "file/store")
    if Path("/proc/self").exists():  # a file system where nobody may write, not even root
        refused(terminal.run(*words, "/proc/contextecho"), 2, "/proc/contextecho")


def test_a_damaged_store(kept: Terminal) -> None:
    damaged = kept.folder / "damaged.sqlite"
    content = bytearray((kept.folder / FILE).read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    damaged.write_bytes(content)
    refused(kept.run("report", "latest", "--store", "damaged.sqlite"), 2, "damaged.sqlite")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE attempt SET outcome = 'weird'", "a reply in the store"),
        ("UPDATE attempt SET outcome = 'failed', failure = 'zz'", "a reply in the store"),
        ("UPDATE attempt SET seconds = 'x'", "a reply in the store"),
        ("UPDATE attempt SET input = 'abc'", "a reply in the store"),
        ("UPDATE run SET plan = 'not json'", "a run in the store"),
        ("UPDATE run SET versions = 'x'", "a run in the store"),
        ("UPDATE run SET targets = '[]'", "a run in the store"),
        ("UPDATE cell SET arm = 'bogus'", "a cell in the store"),
        ("UPDATE cell SET paraphrase = 'q'", "a cell in the store"),
        (
            "INSERT INTO verdict SELECT key, 'register/x', '1', 2, NULL, '{bad' FROM cell LIMIT 1",
            "a verdict in the store",
        ),
        ("PRAGMA user_version = -3", "not a contextecho store"),
    ],
)
def test_a_store_that_somebody_changed(kept: Terminal, change: str, said: str) -> None:
    with closing(sqlite3.connect(kept.folder / FILE)) as db:
        db.execute(change)
        db.commit()
    refused(kept.run("report", "latest"), 2, said)


@pytest.mark.parametrize("command", ["report", slowly("figures")])
def test_no_store_and_no_run(terminal: Terminal, kept: Terminal, command: str) -> None:
    refused(terminal.run(command), 2, "there is no store here")
    assert not (terminal.folder / FILE).exists()
    refused(kept.run(command, "zzzz"), 2, "0 runs match 'zzzz'")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "report.docx"), "report.docx"),
        (("-o", "no/such/folder/report.html"), "no/such/folder"),
        slowly(("--format", "pdf"), "pdf"),
        slowly(("--judge", "openai/none"), "openai/none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_report_that_cannot_be_written(kept: Terminal, words: tuple[str, ...], said: str) -> None:
    refused(kept.run("report", *words), 2, said)


def test_a_battery_file_that_is_none(terminal: Terminal, chat: str) -> None:
    (terminal.folder / "mine.yaml").write_text("id: mine\nstimuli: 3\n")
    (terminal.folder / "study.toml").write_text("id = 'mine'\nquestionn = 'what?'\n")
    refused(terminal.run("plan", chat, *SIMULATED, "--battery", "mine.yaml"), 2, "mine.yaml")
    refused(
        terminal.run("plan", chat, *SIMULATED, "--study", "study.toml"),
        2,
        "study.toml",
        "questionn",
    )


def test_hostile_words_in_a_session_reach_no_terminal(terminal: Terminal) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e<script>alert(1)</script>"
    rows = [
        {"role": role, "content": f"{hostile} {number}"}
        for number in range(20)
        for role in ("user", "assistant")
    ]
    path = terminal.folder / "hostile\x1b[31m.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (("scan", path.name), ("plan", path.name, *SIMULATED, "--positions", "last")):
        done = terminal.run(*words)
        assert done.code == 0
        assert not set("\x1b\x07\u202e") & set(done.out + done.err)
