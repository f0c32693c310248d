"""SWE-agent's trajectories: the real files by hand counts, and every other shape by built ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Speaker, read_session
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check
from sessions.damage import altered, damaged, written
from sessions.looking import human_hashes, of_kind, said
from sessions.trajectories import document

MARSHMALLOW = "marshmallow-1867-function-calling-replace-from-source.traj"


def entry(role: str, content: Any, agent: str = "main", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": agent, **fields}


def act(thought: str, action: str, **fields: Any) -> dict[str, Any]:
    """An answer in the form from before function calling."""
    text = f"{thought}\n```\n{action}\n```"
    return entry("assistant", text, thought=thought, action=action, **fields)


def step(thought: str, action: str, observation: str, **fields: Any) -> dict[str, Any]:
    response = act(thought, action)["content"]
    texts = {"thought": thought, "action": action, "response": response}
    return {**texts, "observation": observation, "state": {"working_dir": "/repo"}, **fields}


HISTORY = [
    entry("system", "You have a shell."),
    entry("user", "Here is a demonstration: submit", is_demo=True),
    entry("user", "ISSUE: it is broken"),
    act("Look first.", "ls"),
    entry("user", "a.py"),
    act("Done.", "submit"),
]


@pytest.mark.parametrize(
    ("file", "steps", "results", "harness", "human"),
    [
        ("ctf-web-i-got-id.traj", 21, 20, 0, "7749c2eed11ffec3"),
        ("function-calling-simple.traj", 5, 5, 0, "f870643260030e90"),
        (MARSHMALLOW, 13, 13, 0, "47aac5775b8991ee"),
        ("pydicom-1458.traj", 12, 11, 1, "7f2b850c7c51a6b5"),
    ],
)
def test_the_real_files(
    shared: Path, file: str, steps: int, results: int, harness: int, human: str
) -> None:
    """Counted with jq over `.history`.

    Steps and calls are the entries of role assistant (each has one `action`); results are
    the entries of role tool, or of role user after the first assistant (the last `submit`
    of two files has none); harness are those with `is_demo`. The only human message is
    `[.history[]|select(.role=="user" and (.is_demo|not))][0].content`, by its sha256sum.
    """
    session = read_session(shared / "sessions/swe-agent" / file)
    assert (session.format, session.prompts, session.steps) == ("swe-agent", 1, steps)
    calls = of_kind(session, Kind.TOOL_CALL)
    found = of_kind(session, Kind.TOOL_RESULT)
    assert (len(calls), len(found), len(of_kind(session, Kind.ASSISTANT))) == (
        steps,
        results,
        steps,
    )
    assert [turn.call_id for turn in found] == [turn.call_id for turn in calls][:results]
    assert sum(turn.speaker is Speaker.HARNESS for turn in session.turns) == harness
    assert human_hashes(session) == [human]
    finals = [turn for turn in session.turns if turn.final]
    assert finals == of_kind(session, Kind.ASSISTANT)[-1:]  # all four end in a submit
    assert session.skipped == ()
    assert session.models == ()  # two runs were replayed, two name no model
    assert session.system is not None
    assert session.system.startswith("SETTING: You are")


def test_what_a_run_says_of_itself(shared: Path) -> None:
    """Read by eye in `replay_config.problem_statement.id` and the first step's `state`."""
    session = read_session(shared / "sessions/swe-agent" / MARSHMALLOW)
    assert (session.id, session.cwd) == ("marshmallow-code__marshmallow-1867", "/testbed")


@pytest.mark.parametrize("file", [MARSHMALLOW, "pydicom-1458.traj"])
def test_a_run_without_its_history_is_read_from_its_steps(
    shared: Path, tmp_path: Path, file: str
) -> None:
    """The same run with `history` taken away has the same steps, calls and prose."""
    whole = shared / "sessions/swe-agent" / file
    run = json.loads(whole.read_text())
    del run["history"]
    session, expected = read_session(document(tmp_path, run)), read_session(whole)
    assert session.steps == expected.steps
    for kind in (Kind.ASSISTANT,):
        assert [text for k, _, text in said(session) if k is kind] == [
            text for k, _, text in said(expected) if k is kind
        ]
    assert session.prompts == (1 if file == MARSHMALLOW else 0)  # the other kept no queries
    assert session.cwd == expected.cwd
    observations = [step["observation"] for step in run["trajectory"]]
    assert [text for kind, _, text in said(session) if kind is Kind.TOOL_RESULT] == observations


def test_who_spoke_in_the_old_form(tmp_path: Path) -> None:
    session = read_session(document(tmp_path, {"history": HISTORY}))
    assert session.system == "You have a shell."
    assert said(session) == [
        (Kind.USER, Speaker.HARNESS, "Here is a demonstration: submit"),
        (Kind.USER, Speaker.HUMAN, "ISSUE: it is broken"),
        (Kind.ASSISTANT, Speaker.MODEL, "Look first."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"action": "ls"}'),
        (Kind.TOOL_RESULT, Speaker.TOOL, "a.py"),
        (Kind.ASSISTANT, Speaker.MODEL, "Done."),
        (Kind.TOOL_CALL, Speaker.MODEL, '{"action": "submit"}'),
    ]
    call, result = session.turns[3:5]
    assert (call.tool, result.tool, result.call_id) == ("action", "action", call.call_id)
    assert next(session.contents([call])).arguments == {"action": "ls"}
    assert [turn.final for turn in session.turns] == [False] * 5 + [True, False]


def test_a_demonstration_step_by_step_is_nobodys(tmp_path: Path) -> None:
    demo = [
        entry("user", "ISSUE: another", "primary", is_demo=True),
        act("I was another agent.", "ls", agent="primary", is_demo=True),
        entry("user", "b.py", "primary", is_demo=True),
    ]
    session = read_session(document(tmp_path, {"history": [HISTORY[0], *demo, *HISTORY[2:]]}))
    assert [speaker for _, speaker, _ in said(session)][:4] == [Speaker.HARNESS] * 3 + [
        Speaker.HUMAN
    ]
    assert (session.prompts, session.steps, session.sidechains) == (1, 2, ())


def test_another_agents_messages_are_a_sidechain(tmp_path: Path) -> None:
    other = [entry("system", "Review it.", "reviewer"), act("Fine.", "ok", agent="reviewer")]
    session = read_session(document(tmp_path, {"history": [*HISTORY[:5], *other, HISTORY[5]]}))
    assert (session.prompts, session.steps) == (1, 2)
    assert [(chain.agent_id, chain.records) for chain in session.sidechains] == [("reviewer", 2)]
    assert session.system == "You have a shell."


def test_where_the_client_speaks_for_the_model_nothing_is_said(tmp_path: Path) -> None:
    gone = entry("assistant", "Exit due to cost limit", thought="Exit due to cost limit", action="")
    old = act("Exit due to context window", "exit_context")
    for notice in (gone, old):
        history = [*HISTORY[:5], notice, entry("user", "Exited (autosubmitted)")]
        session = read_session(document(tmp_path, {"history": history}))
        assert session.steps == 1
        assert said(session)[-1] == (Kind.USER, Speaker.HARNESS, "Exited (autosubmitted)")
        (left,) = session.skipped
        assert (left.reason, left.lines) == ("the client's notice that it stopped", (6,))


def test_an_answer_without_an_action_is_not_final_and_gets_a_notice(tmp_path: Path) -> None:
    lost = entry("assistant", "Hmm.", thought="Hmm.", action="")
    history = [*HISTORY[:3], lost, entry("user", "Your output was not formatted."), *HISTORY[3:]]
    session = read_session(document(tmp_path, {"history": history}))
    assert said(session)[3] == (Kind.USER, Speaker.HARNESS, "Your output was not formatted.")
    assert not session.turns[2].final
    assert session.prompts == 1


def test_reasoning_from_a_step_joins_its_answer_and_answers_sent_back_are_counted(
    tmp_path: Path,
) -> None:
    trajectory = [
        step("No action", "", ""),
        step("Look first.", "ls", "a.py", reasoning_content="Where am I?"),
        step("Done.", "submit", ""),
    ]
    run = {
        "trajectory": trajectory,
        "history": HISTORY,
        "info": {"swe_agent_version": "1.1.0"},
        "replay_config": json.dumps({"agent": {"model": {"name": "openai/gpt-x"}}}),
    }
    session = read_session(document(tmp_path, run))
    assert (session.steps, session.models, session.versions) == (2, ("openai/gpt-x",), ("1.1.0",))
    assert said(session)[2] == (Kind.THINKING, Speaker.MODEL, "Where am I?")
    assert session.turns[2].message == session.turns[3].message
    (left,) = session.skipped
    assert (left.reason, left.lines) == ("answer sent back and asked for again", (1,))


def test_steps_alone_tell_an_answer_that_was_sent_back(tmp_path: Path) -> None:
    asked = HISTORY[:3]
    failed = step("No action", "", "")
    error = entry("user", "Format error", message_type="user")
    again = [*asked, entry("assistant", failed["response"], message_type="assistant"), error]
    trajectory = [
        {**failed, "query": asked},
        step("Look first.", "ls", "a.py", query=again),
        step("Done.", "submit", "", query=[*asked, HISTORY[3], HISTORY[4]]),
    ]
    session = read_session(document(tmp_path, {"trajectory": trajectory}))
    assert [text for _, _, text in said(session)] == [
        "Here is a demonstration: submit",
        "ISSUE: it is broken",
        "Look first.",
        '{"action": "ls"}',
        "a.py",
        "Done.",
        '{"action": "submit"}',
        "",
    ]
    assert (session.prompts, session.steps, session.system) == (1, 2, "You have a shell.")
    assert [(s.reason, s.lines) for s in session.skipped] == [
        ("answer sent back and asked for again", (1,))
    ]


def test_each_attempt_is_a_session(tmp_path: Path) -> None:
    second = {"history": [*HISTORY[:5], act("Better.", "submit")], "trajectory": []}
    run = {"attempts": [{"history": HISTORY, "trajectory": []}, second], **second}
    path = document(tmp_path, run)
    assert members_of(path) == ["1", "2"]
    first, chosen = read_session(f"{path}#1"), read_session(f"{path}#2")
    assert [session.text(session.turns[-2]) for session in (first, chosen)] == ["Done.", "Better."]
    assert chosen.member == "2"


def test_function_calls_thoughts_and_cache_marks(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    marked = [{"type": "text", "text": "a.py", "cache_control": {"type": "ephemeral"}}]
    history = [
        *HISTORY[:3],
        entry(
            "assistant",
            "I look.",
            thought="I look.",
            action="ls",
            tool_calls=[call],
            thinking_blocks=[{"type": "thinking", "thinking": "Hm", "signature": "x"}],
        ),
        entry("tool", marked, tool_call_ids=["c1"]),
    ]
    session = read_session(document(tmp_path, {"history": history}))
    assert said(session)[2:] == [
        (Kind.THINKING, Speaker.MODEL, "Hm"),
        (Kind.ASSISTANT, Speaker.MODEL, "I look."),
        (Kind.TOOL_CALL, Speaker.MODEL, "{}"),
        (Kind.TOOL_RESULT, Speaker.TOOL, "a.py"),
    ]
    assert [turn.tool for turn in session.turns[-2:]] == ["bash", "bash"]


def test_a_cut_run_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = json.dumps({"history": HISTORY})
    path = tmp_path / "cut"
    path.write_text(text[: text.index("Done.")])
    session = read_session(path)
    assert (session.prompts, session.steps) == (1, 1)
    assert [left.reason for left in session.skipped] == ["cut document"]


def test_a_run_in_which_no_model_spoke_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no message of a model"):
        read_session(document(tmp_path, {"history": HISTORY[:3]}))


RUN = {
    "environment": "main",
    "trajectory": [step("Look é🎉 first.", "ls", "a.py", query=HISTORY[:3], reasoning_content="r")],
    "history": HISTORY,
    "info": {"submission": None},
}
SHAPES = [RUN, {"trajectory": RUN["trajectory"]}, {"attempts": [RUN, RUN]}]
SEEDS = [
    json.dumps(RUN, ensure_ascii=False).encode(),
    json.dumps({"trajectory": RUN["trajectory"]}).encode(),
    json.dumps({"attempts": [RUN, RUN]}).encode(),
]


@given(damaged(SEEDS) | altered(SHAPES).map(written))
def test_any_damage_gives_sessions_or_one_line(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "run", data, format="swe-agent")
