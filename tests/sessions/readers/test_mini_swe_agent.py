"""mini-swe-agent's trajectories of 1.x and 2.x, and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.sessions import Kind, Session, Speaker, read_session
from sessions.any_bytes import check
from sessions.damage import altered, damaged, written
from sessions.looking import of_kind, reasons, said
from sessions.trajectories import document

SYSTEM = {"role": "system", "content": "You have bash."}
TASK = {"role": "user", "content": "Your task: mend it."}
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def run(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    """A trajectory as 1.x writes it."""
    config = {
        "model": {"model_name": "anthropic/claude-x"},
        "environment": {"cwd": "/testbed"},
    }
    stats = {"instance_cost": 0.1, "api_calls": 2}
    return {
        "info": {"exit_status": "Submitted", "model_stats": stats, "config": config}
        | {"mini_version": "1.14.0"}
        | info,
        "messages": [SYSTEM, TASK, *messages],
        "trajectory_format": "mini-swe-agent-1",
    }


def answer(thought: str, *commands: str, mark: str = "bash", **fields: Any) -> dict[str, Any]:
    blocks = "".join(f"\n\n```{mark}\n{command}\n```" for command in commands)
    return {"role": "assistant", "content": thought + blocks, **fields}


def told(text: str, **extra: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **({"extra": extra} if extra else {})}


def read(folder: Path, *messages: dict[str, Any], **info: Any) -> Session:
    return read_session(document(folder, run(*messages, **info)))


def test_a_run_of_the_first_version(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        answer("THOUGHT: I look.", "ls"),
        told("<returncode>0</returncode>\n<output>\na.py</output>"),
        answer("Nothing to run."),
        told("Please always provide EXACTLY ONE action."),
        answer("Two:", "ls", "pwd"),
        told("Please always provide EXACTLY ONE action."),
        answer("Done.", f"{SUBMIT} && git diff"),
        told("diff --git a/a.py b/a.py"),
    )
    assert (session.format, session.system, session.cwd) == (
        "mini-swe-agent",
        "You have bash.",
        "/testbed",
    )
    assert (session.prompts, session.steps) == (1, 4)
    assert (session.models, session.versions) == (("anthropic/claude-x",), ("1.14.0",))
    wrong = "Please always provide EXACTLY ONE action."
    assert said(session) == [
        (Kind.USER, Speaker.HUMAN, "Your task: mend it."),
        (Kind.ASSISTANT, Speaker.MODEL, "THOUGHT: I look."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"command": "ls"}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "<returncode>0</returncode>\n<output>\na.py</output>"),
        (Kind.ASSISTANT, Speaker.MODEL, "Nothing to run."),
        (Kind.USER, Speaker.HARNESS, wrong),
        (Kind.ASSISTANT, Speaker.MODEL, "Two:\n\n```bash\nls\n```\n\n```bash\npwd\n```"),
        (Kind.USER, Speaker.HARNESS, wrong),
        (Kind.ASSISTANT, Speaker.MODEL, "Done."),
        (Kind.TOOL_CALL, Speaker.MODEL, json.dumps({"command": f"{SUBMIT} && git diff"})),
        (Kind.TOOL_RESULT, Speaker.TOOL, "diff --git a/a.py b/a.py"),
    ]
    calls, results = of_kind(session, Kind.TOOL_CALL), of_kind(session, Kind.TOOL_RESULT)
    assert [(r.tool, r.call_id) for r in results] == [("bash", c.call_id) for c in calls]
    assert [turn.line for turn in session.turns if turn.final] == [9]
    assert session.skipped == ()


def test_a_run_of_the_second_version(tmp_path: Path) -> None:
    """The shape of `actions_toolcall.py` of 2.x: parallel calls, `extra`, the role `exit`."""

    def call(id: str, command: str) -> dict[str, Any]:
        arguments = json.dumps({"command": command})
        return {"id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}}

    session = read(
        tmp_path,
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "Hm.",
            "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}],
            "tool_calls": [call("c1", "ls"), call("c2", "false")],
            "extra": {"response": {"model": "claude-x-2026"}, "timestamp": 1780680349.5},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"returncode": 0}},
        {"role": "tool", "tool_call_id": "c2", "content": "", "extra": {"returncode": 1}},
        told("No tool calls found.", interrupt_type="FormatError", model_response="I am done"),
        {"role": "assistant", "content": "", "tool_calls": [call("c3", SUBMIT)], "extra": {}},
        {"role": "exit", "content": "the patch", "extra": {"exit_status": "Submitted"}},
        mini_version="2.3.0",
    )
    assert said(session)[1:] == [
        (Kind.THINKING, Speaker.MODEL, "Hm."),
        (Kind.ASSISTANT, Speaker.MODEL, "I look."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"command": "ls"}'),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"command": "false"}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "a.py"),
        (Kind.TOOL_RESULT, Speaker.TOOL, ""),
        (Kind.USER, Speaker.HARNESS, "No tool calls found."),
        (Kind.TOOL_CALL, Speaker.MODEL, json.dumps({"command": SUBMIT})),
        (Kind.USER, Speaker.HARNESS, "the patch"),
    ]
    assert [turn.call_id for turn in session.turns[3:7]] == ["c1", "c2", "c1", "c2"]
    assert [turn.is_error for turn in session.turns[5:7]] == [False, True]
    assert session.models == ("claude-x-2026", "anthropic/claude-x")
    assert session.turns[2].time == 1780680349.5
    assert [(s.reason, s.lines) for s in session.skipped] == [
        ("answer sent back and asked for again", (6,))
    ]


def test_answers_of_the_responses_api(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command":"ls"}'},
    ]
    session = read(
        tmp_path,
        {"object": "response", "model": "gpt-x", "output": output, "extra": {}},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {}},
    )
    assert said(session)[1:] == [
        (Kind.THINKING, Speaker.MODEL, "Hm."),
        (Kind.ASSISTANT, Speaker.MODEL, "I look."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"command":"ls"}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "a.py"),
    ]
    assert session.models == ("gpt-x",)


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        (
            "Command not executed. The user rejected your command with the following message: ",
            "not that way",
        ),
        (
            "Commands not executed. The user rejected your commands with the following message: ",
            "ask me first",
        ),
        ("Interrupted by user: ", "stop"),
        ("The user added a new task: ", "now the docs"),
    ],
)
def test_what_a_person_types_into_a_run_is_a_prompt(
    tmp_path: Path, before: str, typed: str
) -> None:
    session = read(tmp_path, answer("I look.", "ls"), told(before + typed), answer("Well."))
    assert session.prompts == 2
    assert said(session)[3:5] == [
        (Kind.USER, Speaker.HARNESS, before),
        (Kind.USER, Speaker.HUMAN, typed),
    ]
    assert of_kind(session, Kind.TOOL_RESULT) == []


@pytest.mark.parametrize(
    "notice",
    [
        "Command not executed. Switching to human mode",
        "Interrupted by user: Temporary interruption caught.",
        "Switched to human mode.",
    ],
)
def test_the_clients_notices_are_neither_prompts_nor_results(tmp_path: Path, notice: str) -> None:
    session = read(tmp_path, answer("I look.", "ls"), told(notice), answer("Well."))
    assert session.prompts == 1
    assert said(session)[3] == (Kind.USER, Speaker.HARNESS, notice)


@pytest.mark.parametrize(
    "typed",
    [
        {"role": "assistant", "content": "\n```bash\ngit status\n```"},
        told("User command: \n```bash\ngit status\n```", actions=[{"command": "git status"}]),
    ],
    ids=["1.x", "2.x"],
)
def test_a_command_that_a_person_runs_is_the_clients(tmp_path: Path, typed: dict[str, Any]) -> None:
    session = read(tmp_path, typed, told("clean"), answer("I see.", "ls"), told("a.py"))
    assert (session.prompts, session.steps) == (1, 1)
    assert [speaker for _, speaker, _ in said(session)][1:3] == [Speaker.HARNESS] * 2
    assert [text for kind, _, text in said(session) if kind is Kind.TOOL_RESULT] == ["a.py"]


@pytest.mark.parametrize("mark", ["mswea_bash_command", "xml"])
def test_the_marks_of_later_text_versions(tmp_path: Path, mark: str) -> None:
    """An example in `bash` marks is no command where the agent's own mark is used."""
    own = "```mswea_bash_command\nls\n```"
    if mark == "xml":
        own = "<mswea_bash_command>ls</mswea_bash_command>"
    content = f"As in\n```bash\nrm x\n```\n{own}"
    session = read(tmp_path, {"role": "assistant", "content": content}, told("a.py"))
    assert said(session)[1:3] == [
        (Kind.ASSISTANT, Speaker.MODEL, "As in\n```bash\nrm x\n```"),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"command": "ls"}'),
    ]


def test_output_that_looks_like_a_persons_words_is_none(tmp_path: Path) -> None:
    text = "Interrupted by user: no"
    session = read(tmp_path, answer("I look.", "cat log"), told(text, returncode=0))
    assert session.prompts == 1
    assert said(session)[-1] == (Kind.TOOL_RESULT, Speaker.TOOL, text)


def test_an_output_with_an_empty_id_and_no_command_open_is_no_result(tmp_path: Path) -> None:
    stray = {"type": "function_call_output", "call_id": "", "output": "x", "extra": {}}
    session = read(tmp_path, answer("Hi."), stray)
    assert all(kind is not Kind.TOOL_RESULT for kind, _, _ in said(session))


def test_strangers_are_counted(tmp_path: Path) -> None:
    session = read(tmp_path, answer("Hi."), {"role": "narrator", "content": "x"}, {"role": [1]})
    assert reasons(session) == {
        "unknown record type: narrator": (4,),
        "not a message": (5,),
    }


def test_the_instance_names_the_session(tmp_path: Path) -> None:
    whole = run(answer("Hi.")) | {"instance_id": "astropy__astropy-1"}
    assert read_session(document(tmp_path, whole)).id == "astropy__astropy-1"


def test_a_bare_list_of_messages_stays_a_chat(shared: Path, tmp_path: Path) -> None:
    """The real list of messages has no mark of the agent: 11 user messages, 10 answers (jq)."""
    path = shared / "sessions/other/openai-chat/mini-swe-agent-github-issue.json"
    assert read_session(path).format == "chat"
    whole = run()
    whole["messages"] = json.loads(path.read_text())
    session = read_session(document(tmp_path, whole))
    assert (session.format, session.prompts, session.steps) == ("mini-swe-agent", 1, 10)
    assert len(of_kind(session, Kind.TOOL_CALL)) == len(of_kind(session, Kind.TOOL_RESULT)) == 10


def test_an_opening_mark_without_end_costs_no_time(tmp_path: Path) -> None:
    session = read(tmp_path, {"role": "assistant", "content": "```bash\n" * 300_000})
    assert of_kind(session, Kind.TOOL_CALL) == []


SEED = json.dumps(
    run(
        answer("Ich sehe é🎉.", "ls"),
        told("a.py"),
        {"object": "response", "output": [{"type": "function_call", "arguments": "{}"}]},
        {"type": "function_call_output", "call_id": "c1", "output": "x", "extra": {}},
        told("Interrupted by user: no"),
        {"role": "exit", "content": "", "extra": {}},
    ),
    ensure_ascii=False,
).encode()


@given(damaged([SEED]) | altered([json.loads(SEED)]).map(written) | st.binary(max_size=200))
def test_any_damage_gives_a_session_or_one_line(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "run", data, format="mini-swe-agent")
