"""The fake provider is itself tested: a validator that passes everything proves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from servers.rules import anthropic_faults, openai_faults
from waiting import PATIENCE

USER = {"role": "user", "content": "x"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "y"}


def blocks(role: str, *content: dict) -> dict:
    return {"role": role, "content": list(content)}


TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "c", "content": "y"}


def test_right_bodies_break_no_rule() -> None:
    assert openai_faults({"model": "m", "messages": [USER, CALL, RESULT, USER]}) == []
    turns = [blocks("user", TEXT), blocks("assistant", USE), blocks("user", ANSWER, TEXT)]
    assert anthropic_faults({"max_tokens": 1, "tools": [1], "messages": turns}) == []


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [USER]},
        {"model": "m", "messages": []},
        {"model": "m", "messages": [USER], "tools": []},
        {"model": "m", "messages": [USER], "tool_choice": "none"},
        {"model": "m", "messages": [USER, {"role": "system", "content": "s"}, USER]},
        {"model": "m", "messages": [USER, CALL, USER]},
        {"model": "m", "messages": [USER, RESULT]},
        {"model": "m", "messages": [USER, {"role": "assistant", "content": None}, USER]},
        {"model": "m", "messages": [USER], "max_tokens": 1, "max_completion_tokens": 1},
    ],
)
def test_wrong_chat_completions_bodies_are_caught(body: dict) -> None:
    assert openai_faults(body)


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [blocks("assistant", TEXT), blocks("user", TEXT)],
        [blocks("user", TEXT), blocks("user", TEXT)],
        [blocks("user", TEXT), blocks("assistant", USE), blocks("user", TEXT)],
        [blocks("user", TEXT), blocks("assistant", USE), blocks("user", TEXT, ANSWER)],
        [blocks("user", ANSWER)],
        [blocks("user", {"type": "text", "text": " "})],
        [blocks("user")],
        [blocks("user", *[TEXT | {"cache_control": {"type": "ephemeral"}}] * 5)],
    ],
)
def test_wrong_message_bodies_are_caught(turns: list) -> None:
    assert anthropic_faults({"max_tokens": 1, "tools": [1], "messages": turns})


def test_it_runs_as_a_process_and_reports_what_it_saw() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "servers.fake", "--faults", "rate_limit,ok"],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        body = json.dumps({"model": "m", "messages": [USER]}).encode()
        with pytest.raises(urllib.error.HTTPError, match="429"):
            urllib.request.urlopen(f"{url}/chat/completions", body)
        with urllib.request.urlopen(f"{url}/chat/completions", body) as answer:
            assert json.load(answer)["choices"][0]["message"]["content"] == "A plain answer."
        with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats") as answer:
            stats = json.load(answer)
        assert (stats["calls"], stats["answered"], stats["broken_rules"]) == (2, 1, 0)
    finally:
        process.terminate()
        process.wait(PATIENCE)
