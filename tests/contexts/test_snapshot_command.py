"""`contextecho snapshot`: bytes on standard output, words for people on standard error."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from commandline import run_command
from contextecho.api import plan
from contextecho.cli.options import ARM, PLACEMENT, PROTOCOL, RENDERING
from contextecho.contexts import Arm, Placement, Rendering, load_protocol, protocol_ids
from contextecho.models import find_provider, open_model
from contextecho.sessions import read_session


def snapshot(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return run_command("snapshot", *arguments)


@pytest.fixture
def synthetic_path(shared: Path) -> str:
    return str(shared / "parity" / "synthetic_session.jsonl")


@pytest.fixture
def long_path(shared: Path) -> str:
    return str(shared / "sessions" / "claude-code" / "entire-cd95adddad32-0.jsonl")


@pytest.mark.parametrize("turn", ["451", "5000"])
def test_published_text_is_the_references_prefix_to_the_byte(
    shared: Path, synthetic_path: str, turn: str
) -> None:
    expected = json.loads((shared / "parity" / "reference_outputs.json").read_text())
    done = snapshot(synthetic_path, "--at", turn, "--protocol", "published", "--format", "text")
    assert done.returncode == 0
    sha256 = hashlib.sha256(done.stdout).hexdigest()
    assert sha256 == expected["prefix_synthetic"]["sha256"][turn]
    assert b"Next: contextecho plan " in done.stderr
    assert (b"ends at row turn 1202" in done.stderr) == (turn == "5000")


def test_messages_are_what_is_sent_and_json_adds_hashes_and_indices(long_path: str) -> None:
    messages = json.loads(snapshot(long_path, "--at", "300", "--format", "messages").stdout)
    document = json.loads(snapshot(long_path, "--at", "300", "--format", "json").stdout)
    assert document["context"]["messages"] == messages
    assert messages[0]["role"] == "user"
    assert document["position"]["row_turn"] == 300
    assert len(document["context_sha256"]) == 64
    assert document["tokens"] <= load_protocol("strict").budget


@pytest.mark.parametrize(
    "target",
    [
        "simulated",
        "openai/gpt-4.1",
        pytest.param("local", marks=pytest.mark.local),
    ],
)
def test_for_a_target_it_prints_the_context_that_a_plan_for_it_holds(
    long_path: str, target: str
) -> None:
    made = plan(read_session(long_path), target=target, positions="300,572")
    for position in made.positions:
        for arm in ("session", "control", "session+anchor"):
            done = snapshot(
                long_path, "--at", str(position.row_turn), "--target", target, "--arm", arm,
                "--format", "json",
            )  # fmt: skip
            document = json.loads(done.stdout)
            (planned,) = {
                cell.prefix
                for cell in made.cells
                if (cell.position, cell.arm) == (position.label, arm)
            }
            assert document["context_sha256"] == planned
            assert document["tokens"] == made.prefix_tokens[planned]


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "openai/o3", "mistral/m", "anthropic/m"])
def test_the_body_is_what_the_targets_wire_sends(
    long_path: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = "anthropic" if target.startswith("anthropic") else "openai"
    done = snapshot(long_path, "--at", "300", "--target", target, "--format", wire)
    assert done.returncode == 0
    assert b"QUESTION stands where" in done.stderr
    for variable in find_provider(target).key_env:
        monkeypatch.setenv(variable, "a-test-key")
    made = plan(read_session(long_path), target=target, positions="300", arms=["session"])
    request = made.request(made.cells[0])
    sent = open_model(target).body(request)  # type: ignore[attr-defined]
    ends = sent.index(json.dumps(request.ask[0].text)[1:-1].encode())
    assert done.stdout[:ends] == sent[:ends]
    assert done.stdout[ends:].startswith(b"QUESTION")
    assert json.loads(done.stdout).keys() == json.loads(sent).keys()


def test_a_body_without_a_target_is_for_a_model_called_model(long_path: str) -> None:
    for wire in ("openai", "anthropic"):
        done = snapshot(long_path, "--at", "300", "--arm", "scratch", "--format", wire)
        assert json.loads(done.stdout)["model"] == "MODEL"


def test_latest_without_any_session_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    done = snapshot("latest", "--at", "last")
    assert (done.returncode, done.stderr.count(b"\n"), done.stdout) == (2, 1, b"")
    assert b"no session found" in done.stderr


def test_text_of_strict_stands_under_role_headers_without_a_last_newline(long_path: str) -> None:
    done = snapshot(long_path, "--at", "step:40", "--budget", "1000")
    assert done.stdout.startswith(b"--- SYSTEM ---\n")
    assert b"\n\n--- ASSISTANT ---\n" in done.stdout
    assert b"step 40" in done.stderr


def test_arms_anchors_and_the_deployers_prompt(long_path: str, tmp_path: Path) -> None:
    prompt = tmp_path / "system.txt"
    prompt.write_text("You are Bo.\n")
    done = snapshot(
        long_path, "--at", "last", "--arm", "control+anchor", "--anchor", "V0", "--budget", "600",
        "--system", str(prompt), "--format", "json",
    )  # fmt: skip
    document = json.loads(done.stdout)
    assert document["context"]["system"] == "You are Bo.\n"
    assert document["context"]["messages"][-2]["text"].startswith("[Reminder] You are an AI")
    scratch = snapshot(long_path, "--at", "5", "--arm", "scratch", "--format", "messages")
    assert scratch.stdout == b"[]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--at", "5000"], b"ends at row turn 572"),
        (["--at", "even:3"], b"is not one position"),
        (["--at", "abc"], b"(use a row turn from 1 on, step:N, prompt:N, line:N or last)"),
        (["--at", "0"], b'--at: "0" is not one position (use a row turn from 1 on, step:N'),
        (["--at", "onset"], b"is not one position"),
        (["--at", "step:0"], b"is not one position"),
        (["--at", "5", "--protocol", "loose"], b"not one of 'strict', 'published'"),
        (["--at", "5", "--arm", "elsewhere"], b"not one of 'scratch', 'control'"),
        (["--at", "5", "--budget", "0"], b"holds nothing"),
        (["--at", "5", "--system", "/nowhere"], b"cannot be read"),
        (["--at", "5", "--format", "openai", "--target", "anthropic/x"], b"--format anthropic"),
        (["--at", "5", "--format", "openai", "--target", "local"], b"answers on this machine"),
        (
            ["--at", "5", "--rendering", "native", "--protocol", "published"],
            b"use --protocol strict",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    long_path: str, arguments: list[str], said: bytes
) -> None:
    done = snapshot(long_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1


def test_without_a_place_it_shows_the_end(long_path: str) -> None:
    end, named = snapshot(long_path), snapshot(long_path, "--at", "last")
    assert (end.returncode, end.stdout) == (0, named.stdout)
    assert b"row turn 572," in end.stderr  # as test_real_files counts


def test_context_and_budget_are_one_option_and_json_one_format(long_path: str) -> None:
    short = snapshot(long_path, "--context", "1000", "--json")
    assert short.stdout == snapshot(long_path, "--budget", "1000", "--format", "json").stdout
    assert json.loads(short.stdout)["tokens"] <= 1000


@pytest.mark.parametrize(
    ("form", "says"),
    [
        (["--protocol", "published"], b"the acknowledgement, and then the framing and a question"),
        (["--format", "messages"], b"after it the framing and a question are sent"),
        ([], b"after it the framing and a question are sent"),
    ],
)
def test_where_the_question_stands_is_said(long_path: str, form: list[str], says: bytes) -> None:
    assert says in snapshot(long_path, "--at", "300", *form).stderr


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (ARM, {*Arm} - {Arm.FOREIGN}),
        (PLACEMENT, Placement),
        (RENDERING, Rendering),
        (PROTOCOL, protocol_ids()),
    ],
)
def test_help_lists_what_the_rooms_know(choice: click.Choice[str], names: Iterable[str]) -> None:
    assert sorted(choice.choices) == sorted(names)


def test_a_missing_session_is_one_line() -> None:
    done = snapshot("/nowhere.jsonl", "--at", "5")
    assert (done.returncode, done.stderr.count(b"\n"), done.stdout) == (2, 1, b"")
