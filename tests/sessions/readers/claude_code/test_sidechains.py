"""Sub-agents: found in all the places that clients have put them, and linked to their calls.

The calls of the real files were listed by a one-off script with `json`: each `Task` or `Agent`
block with its id, and the `agentId` of each `toolUseResult`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from contextecho.sessions import Session, Sidechain, read_session
from sessions.claude_code_lines import assistant, call, line, record, result, user, write

PROJECTS = "daaain/projects/"
REAL = {
    # two results of the Agent tool each come back in an order of their own
    PROJECTS + "-experiments-worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl": {
        "a4ca7529859c158c2": ("toolu_01GmrK6tgdD9D5xD6W5X9UUy", "general-purpose", 56),
        "a52886dc180afb356": ("toolu_016neBD9WjCCZqzRTP3afGDT", "general-purpose", 44),
        "ab1e6e141221a29ab": ("toolu_01EaAN7bPNQrMTGoKhbEjVrx", "general-purpose", 41),
        "a36efb2a1231c41e2": ("toolu_017y4gSjMWeQ3L2DAKiygU2y", "general-purpose", 18),
        "aef063ba534d73153": ("toolu_01N26s4U6vDxE1NRAH5CyCNf", "general-purpose", 16),
        "a6aa8ad077d9ea083": ("toolu_0151DrVyXBXfb63SXGNF1qDb", "general-purpose", 18),
    },
    PROJECTS + "-src-experiments-claude_p/29ccd257-68b1-427f-ae5f-6524b7cb6f20.jsonl": {
        "a2271d1": ("toolu_01SXaWzD5YZ73zGwchbcxeWi", "Explore", 59),
    },
    # beside the session; the two of two records are the client's "Warmup", which nothing called
    PROJECTS + "-Users-dain-workspace-coderabbit-review-helper/"
    "cb2e607c-c758-415a-8b45-c49e4631906a.jsonl": {
        "2b93909d": (None, None, 2),
        "645808c9": (None, None, 2),
        "ea02459f": ("toolu_01HD7PpSCWhP2gP8dXvJiyZN", "Plan", 33),
    },
    # only as progress in the main file; the first was launched in the background
    "cipherbox-c644f3afc869-1.jsonl": {
        "a2ffcc6": ("toolu_01KGWtk2Sp6yQwAB85DNs7dy", "ui-design-discusser", 25),
        "af26473": ("toolu_01ArhsAqpy9EGD2DWdFp2jUT", "ui-design-discusser", 17),
    },
    # in the main file, by what was asked; the parent of the last record is not in the excerpt
    "daaain/fixtures/sidechain.jsonl": {
        "a42c6fa0-5937-49b4-b1ad-42e99d44bef9": ("toolu_01VJzVGXqdaUe6AYX6CAJUHz", None, 6),
        "f1768ccb-8fe6-44a1-8248-55a42dadd364": (None, None, 1),
    },
    # bob's result has no structured side: only its text says "agentId: ..."
    "daaain/fixtures/teammates/ef000000-0000-4000-8000-000000000001.jsonl": {
        "aaaa111111111111": ("tu_Task_alice", "general-purpose", 3),
        "bbbb222222222222": ("tu_Task_bob", "general-purpose", 3),
    },
    # another session id than the parent's; the call has no id; the kind is in the agent's records
    "agent-sessions-subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl": {
        "a0ad4f44468bdf20d": (None, "general-purpose", 4),
    },
}


@pytest.mark.parametrize("file", REAL)
def test_every_sub_agent_of_a_real_file_is_linked_to_its_call(shared: Path, file: str) -> None:
    session = read_session(shared / "sessions" / "claude-code" / file)
    found = {
        agent.agent_id: (agent.call_id, agent.kind, agent.records) for agent in agents(session)
    }
    assert found == REAL[file]


def agents(session: Session) -> tuple[Sidechain, ...]:
    return session.sidechains


def links(session: Session) -> list[tuple[str, str | None, str | None]]:
    return [(agent.agent_id, agent.call_id, agent.kind) for agent in agents(session)]


def task(id: str, prompt: str, kind: str | None = None, name: str = "Task") -> dict[str, Any]:
    return call(id, name, prompt=prompt, **({} if kind is None else {"subagent_type": kind}))


def aside(kind: str, text: str, agent: str | None = None, **fields: Any) -> dict[str, Any]:
    """A record of a sub-agent; the first one has no parent."""
    make = user if kind == "user" else assistant
    return make(text, isSidechain=True, **({} if agent is None else {"agentId": agent}), **fields)


def progress(agent: str, call_id: str, message: dict[str, Any]) -> dict[str, Any]:
    data = {"message": message, "type": "agent_progress", "prompt": "look", "agentId": agent}
    return record("progress", data=data, toolUseID="x", parentToolUseID=call_id)


def agent_file(folder: Path, name: str, *records: Any, **meta: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"agent-{name}.jsonl"
    path.write_bytes(b"".join(map(line, records)))
    if meta:
        path.with_suffix(".meta.json").write_text(json.dumps(meta))
    return path


def test_two_sub_agents_in_the_file_are_told_apart_by_what_they_were_asked(read) -> None:
    session = read(
        user("go"),
        assistant(task("t1", "one", "Explore"), task("t2", "two", "Plan")),
        aside("user", "two", uuid="b1"),
        aside("user", "one", uuid="a1"),
        aside("assistant", "looking", uuid="b2", parentUuid="b1"),
        user([result("done", "t1")]),
        assistant("ok"),
    )
    assert links(session) == [("b1", "t2", "Plan"), ("a1", "t1", "Explore")]
    assert [agent.records for agent in agents(session)] == [2, 1]
    assert session.prompts == 1


def test_the_same_question_asked_twice_is_two_calls(read) -> None:
    session = read(
        user("go"),
        assistant(task("t1", "look"), task("t2", "look")),
        aside("user", "look", uuid="a"),
        aside("user", "look", uuid="b"),
        aside("user", "look", uuid="c"),
        assistant("ok"),
    )
    assert links(session) == [("a", "t1", None), ("b", "t2", None), ("c", None, None)]


def test_messages_told_of_as_progress_are_counted_once(read) -> None:
    spoken = assistant("I look", model="claude-small", uuid="p1")
    session = read(
        user("go"),
        assistant(task("t1", "look", "Explore")),
        progress("a1", "t1", spoken),
        progress("a1", "t1", spoken),
        record("progress", data={"type": "bash_progress", "output": '"agent_progress"'}),
        progress("a1", "t1", user([result("seen")], uuid="p2")),
        user([result("done", "t1")]),
        assistant("ok"),
    )
    (agent,) = agents(session)
    assert (agent.agent_id, agent.call_id, agent.kind) == ("a1", "t1", "Explore")
    assert (agent.records, agent.models) == (2, ("claude-small",))
    assert session.models == ("claude-x",)
    assert session.steps == 2
    assert [(s.reason, s.count) for s in session.skipped] == [("progress", 4)]


def test_an_agents_own_file_wins_over_the_progress_of_it(tmp_path: Path) -> None:
    spoken = assistant("I look", uuid="p1")
    path = write(
        tmp_path,
        [user("go"), assistant(task("t1", "look")), progress("a1", "t1", spoken), assistant("ok")],
    )
    own = agent_file(
        tmp_path / "s1" / "subagents",
        "a1",
        aside("user", "look, in words of its own", "a1", uuid="q"),
        aside("assistant", "I look", "a1", uuid="p1"),
        aside("assistant", "I look", "a1", uuid="p1"),
        agentType="Explore",
    )
    (agent,) = agents(read_session(path))
    assert (agent.path, agent.records, agent.call_id, agent.kind) == (own, 2, "t1", "Explore")


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ("Async agent launched successfully.\nagentId: a1 (internal ID)", None),
        ("done\nagentId: a1 (for resuming)\n<usage>total_tokens: 3</usage>", "Error: odd"),
        ("Launched.", {"isAsync": True, "agentId": "a1"}),
        ("I grepped for agentId: zz", {"status": "completed", "agentId": "a1"}),
    ],
)
def test_a_result_names_its_sub_agent(tmp_path: Path, text: str, beside: Any) -> None:
    path = write(
        tmp_path,
        [
            user("go"),
            assistant(task("t1", "first"), task("t2", "other words", "Explore", name="Agent")),
            user([result([{"type": "text", "text": text}], "t2")], toolUseResult=beside),
            assistant("ok"),
        ],
    )
    agent_file(tmp_path, "a1", aside("user", "in a form of its own", "a1"))
    assert links(read_session(path)) == [("a1", "t2", "Explore")]


def test_a_result_of_another_tool_links_nothing(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "agentId: a1"}]
    path = write(
        tmp_path, [user("go"), assistant(call("t1", "Read")), user([result(blocks, "t1")])]
    )
    agent_file(tmp_path, "a1", aside("user", "look", "a1"))
    assert links(read_session(path)) == [("a1", None, None)]


def test_the_note_beside_an_agents_file_names_call_and_kind(tmp_path: Path) -> None:
    path = write(tmp_path, [user("go"), assistant(task("t1", "look", "Explore"))])
    below = tmp_path / "s1" / "subagents"
    agent_file(below, "a1", aside("user", "x", "a1"), agentType="mine", toolUseId="t9")
    agent_file(below / "workflows" / "run-1", "a2", aside("user", "y", "a2"), agentType="worker")
    journal = {"type": "started", "key": "v2:k", "agentId": "a2"}
    (below / "workflows" / "run-1" / "journal.jsonl").write_bytes(line(journal))
    assert links(read_session(path)) == [("a1", "t9", "mine"), ("a2", None, "worker")]


def test_what_the_client_notes_of_requests_is_no_record_of_an_agent(tmp_path: Path) -> None:
    path = write(tmp_path, [user("go"), assistant(task("t1", "look")), assistant("ok")])
    note = {"sessionId": "s1", "agentId": "a1"}
    blob = {"role": "user", "content": "look"}
    agent_file(
        tmp_path / "s1" / "subagents",
        "a1",
        aside("user", "look", "a1"),
        {"type": "api-request-shape", "shape": {"system": "You are an agent."}, **note},
        {"type": "api-request-blob", "message": blob, **note},
        {"type": "api-request", "params": {"model": "claude-x"}, **note},
        aside("assistant", "seen", "a1"),
    )
    session = read_session(path)
    (agent,) = agents(session)
    assert (agent.records, agent.call_id) == (2, "t1")
    assert session.system is None


def test_a_side_question_is_kept_apart_and_bears_the_clients_name_for_it(tmp_path: Path) -> None:
    """`/btw` replays the main thread under its message ids, in a file of its own."""
    path = write(tmp_path, [user("go"), assistant("answer", id="m1")])
    agent_file(
        tmp_path / "s1" / "subagents",
        "aside_question-c5e5c961a7749e08",
        aside("user", "go", "aside_question-c5e5c961a7749e08"),
        aside("assistant", "answer", "aside_question-c5e5c961a7749e08", id="m1"),
        aside("assistant", "beside the point", "aside_question-c5e5c961a7749e08"),
    )
    session = read_session(path)
    assert [agent.kind for agent in agents(session)] == ["side_question"]
    assert (session.prompts, session.steps) == (1, 1)


def test_a_replayed_message_in_the_file_itself_is_no_step(read) -> None:
    session = read(
        user("go"), assistant("answer", id="m1"), aside("assistant", "answer", "a1", id="m1")
    )
    assert session.steps == 1
    assert [agent.records for agent in agents(session)] == [1]


def test_agents_of_other_sessions_and_odd_files_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, [user("go"), assistant("ok")])
    agent_file(tmp_path, "other", aside("user", "x", "other", sessionId="s2"))
    agent_file(tmp_path, "empty")
    (tmp_path / "agent-folder.jsonl").mkdir()
    mine = agent_file(tmp_path, "mine", aside("user", "x", "mine"), 42, {"message": "odd"})
    mine.with_suffix(".meta.json").write_bytes(b"\xff{")
    assert [(a.agent_id, a.records, a.kind) for a in agents(read_session(path))] == [
        ("mine", 3, None)
    ]


@pytest.mark.parametrize("name", ["..", "../elsewhere", "/elsewhere", ""])
def test_a_session_id_never_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    here = tmp_path / "project"
    here.mkdir()
    for place in (tmp_path / "subagents", tmp_path / "elsewhere" / "subagents"):
        agent_file(place, "a1", aside("user", "x", "a1"))
    name = name.replace("/elsewhere", f"{tmp_path}/elsewhere") if name[:1] == "/" else name
    path = write(here, [user("go", sessionId=name), assistant("ok", sessionId=name)])
    assert agents(read_session(path)) == ()


def test_an_agent_that_came_after_the_folder_was_listed_is_met(tmp_path: Path) -> None:
    path = write(tmp_path, [user("go"), assistant("ok")])
    agent_file(tmp_path, "first", aside("user", "x", "first"))
    os.utime(tmp_path, (1, 1))  # long ago: what is listed now is not listed again
    for _ in range(2):
        assert [agent.agent_id for agent in agents(read_session(path))] == ["first"]
    agent_file(tmp_path, "second", aside("user", "y", "second"))
    assert [agent.agent_id for agent in agents(read_session(path))] == ["first", "second"]
