"""Every command on a real run: data on stdout, words on stderr, the next command named and true."""

from __future__ import annotations

import csv
import io
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contextecho.store import open_store
from e2e.conftest import write_chat
from e2e.terminal import Done, Terminal

MAKE = ("--positions", "even:3", "--n", "2", "--judge", "simulated/judge")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Terminal, Done]:
    """A terminal whose store holds one judged run, and what its `probe` left behind."""
    terminal = Terminal(tmp_path_factory.mktemp("audited"))
    write_chat(terminal.folder / "chat.jsonl")
    target = "simulated/gap=0.8,seed=3"
    return terminal, terminal.run("probe", "chat.jsonl", "--target", target, *MAKE)


def only_data(done: Done) -> Any:
    """The JSON document on stdout of a command that went well and named the next one."""
    assert (done.code, done.errors) == (0, [])
    assert done.out.endswith("\n")
    assert done.next
    return done.json


def test_probe_shows_the_plan_the_progress_and_the_findings(
    audited: tuple[Terminal, Done],
) -> None:
    _, done = audited
    assert done.code == 0
    assert "forks at" in done.err
    assert "200/200" in done.err  # 10 questions, 2 wordings, 3 arms at 3 positions and scratch once
    assert "n = " in done.out or "pairs" in done.out
    assert done.next.startswith("report ")


def test_the_command_that_probe_names_next_writes_the_report(
    audited: tuple[Terminal, Done],
) -> None:
    terminal, probe = audited
    report = terminal.run(*shlex.split(probe.next))
    assert (report.code, report.out) == (0, "")
    html = (terminal.folder / "report.html").read_text()
    assert html.lstrip().lower().startswith("<!doctype html>")
    figures = terminal.run(*shlex.split(report.next))
    assert figures.code == 0, figures.err
    drawn = [terminal.folder / line for line in figures.out.splitlines()]
    assert drawn
    assert all(path.read_bytes()[:5] == b"%PDF-" for path in drawn)
    assert figures.next.startswith("report ")


def test_the_same_probe_again_gives_the_same_analysis_and_asks_nothing(
    audited: tuple[Terminal, Done],
) -> None:
    terminal, _ = audited
    words = ("chat.jsonl", "--target", "simulated/gap=0.8,seed=3", *MAKE, "--json", "--quiet")
    first, second = (only_data(terminal.run("probe", *words)) for _ in range(2))
    assert first == second
    assert first["judge"]["judge"] == "simulated/judge"
    plan = only_data(terminal.run("plan", *words[:-1]))
    assert plan["estimate"]["stored"] == plan["estimate"]["requests"] == 200


def test_report_in_every_format(audited: tuple[Terminal, Done]) -> None:
    terminal, _ = audited
    document = only_data(terminal.run("report", "--format", "json"))
    (overall,) = [
        each
        for each in document["analysis"]["contrasts"]
        if (each["id"], each["scope"], each["measure"]) == ("gap", "overall", "register")
        and each["battery"] == "coding-self"
    ]
    rows = list(csv.DictReader(io.StringIO(terminal.run("report", "--format", "csv").out)))
    (row,) = [
        each
        for each in rows
        if (each["contrast"], each["scope"], each["measure"]) == ("gap", "overall", "register")
        and each["battery"] == "coding-self"
    ]
    assert float(row["estimate"]) == overall["estimate"]
    assert (float(row["low"]), float(row["high"])) == (
        overall["interval"]["low"],
        overall["interval"]["high"],
    )
    assert int(row["pairs"]) == overall["pairs"] == 30  # 5 questions, 2 wordings, 3 positions
    written = terminal.run("report", "-o", "gap.md")
    assert (written.code, written.out) == (0, "")
    markdown = (terminal.folder / "gap.md").read_text()
    assert f"{overall['pairs']}" in markdown
    assert f"{overall['estimate']:.2f}" in markdown
    html = terminal.run("report", "-o", "-").out
    assert f"{overall['estimate']:.2f}" in html


def test_plan_is_one_document_and_sends_nothing(terminal: Terminal, chat: str) -> None:
    done = terminal.run("plan", chat, "--target", "openai/gpt-4.1", "--json")
    plan = only_data(done)
    assert plan["targets"] == ["openai/gpt-4.1"]
    assert plan["estimate"]["cells"] > 0
    assert [p["row_turn"] for p in plan["positions"]] == sorted(
        p["row_turn"] for p in plan["positions"]
    )
    assert not (terminal.folder / ".contextecho").exists()


def test_plan_says_what_is_not_known_and_what_cannot_be_found(
    terminal: Terminal, long_path: Path
) -> None:
    words = ("plan", long_path, "--target", "openai/gpt-4.1", "--n", "1")
    done = terminal.run(*words, "--positions", "300,572")
    assert "no cached price known: cached tokens are counted in full" in done.out
    assert "nothing on the 0-3 scale, 4 times in 5 (2 positions x 5 pairs)" in done.out
    reading = f"contextecho snapshot {long_path} --at 572 --target openai/gpt-4.1"
    assert f"To read what is shown: {reading}\n" in done.err
    known = terminal.run("plan", long_path, "--target", "openai/gpt-4o", "--positions", "572")
    assert "no cached price" not in known.out


def test_the_snapshot_that_plan_names_is_the_one_that_is_stored(
    terminal: Terminal, long_path: Path
) -> None:
    words = (long_path, "--target", "simulated", "--positions", "300", "--n", "1")
    words = (*words, "--context", "900", "--rendering", "native-text")
    named = terminal.run("plan", *words).err.splitlines()[0].partition(": contextecho ")[2]
    document = terminal.run(*shlex.split(named), "--format", "json").json
    assert terminal.run("probe", *words, "-o", "report.md").next.startswith("figures ")
    with open_store(terminal.folder / ".contextecho", create=False) as store:
        stored = store.context(document["context_sha256"])
    assert (
        msgspec.json.decode(msgspec.json.encode(stored.messages)) == document["context"]["messages"]
    )


def test_sessions_list_and_show(terminal: Terminal, long_path: Path) -> None:
    folder = terminal.folder / ".claude" / "projects" / "-home-me-toy"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_bytes(long_path.read_bytes())
    listed = only_data(terminal.run("sessions", "list", "--json"))
    (row,) = listed["sessions"]
    assert (row["prompts"], row["steps"], row["row_turns"], row["compactions"]) == (42, 225, 572, 3)
    assert "30 days" in listed["note"]
    shown = only_data(terminal.run("sessions", "show", row["path"], "--json"))
    assert len(shown["compactions"]) == 3
    scanned = terminal.run("scan", "latest", "--json")
    assert only_data(scanned)["sessions"][0]["row_turns"] == 572


def test_stimuli_list_and_show(terminal: Terminal) -> None:
    batteries = only_data(terminal.run("stimuli", "list", "--json"))
    assert {"coding-self", "identity25", "negative-controls", "stressors"} <= {
        battery["id"] for battery in batteries
    }
    for battery in batteries:
        shown = only_data(terminal.run("stimuli", "show", battery["id"], "--json"))
        assert shown["sha256"] == battery["sha256"]
        assert len(shown["stimuli"]) == battery["stimuli"]


def test_snapshot_in_every_format(terminal: Terminal, long_path: Path) -> None:
    at = ("snapshot", long_path, "--at", "300", "--format")
    text, messages, document = (terminal.run(*at, form) for form in ("text", "messages", "json"))
    for done in (text, messages, document):
        assert done.code == 0
        assert done.next.startswith("plan ")
        assert not done.out.endswith("\n")
    assert document.json["context"]["messages"] == messages.json
    for message in messages.json:
        assert message.get("text", "") in text.out


def test_doctor_says_what_is_missing_and_shows_no_key(tmp_path: Path) -> None:
    secret = "sk-secret-0123456789abcdef"
    done = Terminal(tmp_path, OPENAI_API_KEY=secret).run("doctor", "--json")
    findings = {finding["name"]: finding for finding in only_data(done)}
    assert findings["key: openai"]["ok"] is True
    assert findings["key: anthropic"]["ok"] is False
    assert "ANTHROPIC_API_KEY" in findings["key: anthropic"]["todo"]
    assert findings["embedded model"]["ok"] is False
    assert secret not in done.out + done.err


def test_local_status_is_json_and_exits_6_without_the_model(terminal: Terminal) -> None:
    done = terminal.run("local", "status", "--json")
    assert done.code == 6
    assert done.json["installed"] is False
    assert done.next == "local install"


def test_scan_of_the_whole_folder_leaves_no_file_out(
    terminal: Terminal, shared: Path, claude_sessions: list[Path]
) -> None:
    document = only_data(terminal.run("scan", shared / "sessions" / "claude-code", "--json"))
    named = {Path(each["path"]) for each in document["sessions"] + document["unread"]}
    main_threads = {
        path
        for path in claude_sessions
        if not path.name.startswith("agent-") and "subagents" not in path.parts
    }
    assert main_threads <= named
    assert all(each["reason"] for each in document["unread"])
    assert document["label"] == "a screen, never a diagnosis"


@pytest.mark.slow
def test_scan_of_every_file_is_0_or_2_with_a_reason(
    terminal: Terminal, claude_sessions: list[Path]
) -> None:
    codes = []
    for path in claude_sessions:
        done = terminal.run("scan", path)
        codes.append(done.code)
        if done.code == 0:
            assert done.errors == []
            assert "a screen, never a diagnosis" in done.out
        else:
            assert (done.code, done.out, len(done.errors)) == (2, "", 1)
            assert "conversation" in done.errors[0]
    assert len(claude_sessions) > 35
    assert codes.count(0) > len(codes) / 2


def test_every_command_explains_itself(terminal: Terminal) -> None:
    listed = terminal.run("--help")
    assert listed.code == 0
    section = listed.out.split("Commands:")[1].split("Exit codes:")[0]
    names = re.findall(r"^  (\w+)  ", section, re.MULTILINE)
    assert {"demo", "doctor", "plan", "probe", "report", "scan", "snapshot"} <= set(names)
    assert sorted(names) == names
