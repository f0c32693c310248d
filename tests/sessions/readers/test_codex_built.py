"""Rollouts built line by line, for what the real ones at hand do not hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Speaker, discover, read_session
from contextecho.sessions.readers import codex
from sessions.codex_lines import (
    answer,
    call,
    context,
    entry,
    event,
    given,
    item,
    meta,
    output,
    read,
    task,
    tokens,
    typed,
    uuid_at,
    write,
)
from sessions.looking import counts, said

AGENTS = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"
ENVIRONMENT = "<environment_context>\n  <cwd>/old/work</cwd>\n</environment_context>"


def humans(folder: Path, *lines: Any) -> list[str]:
    return [text for _, speaker, text in said(read(folder, *lines)) if speaker == "human"]


# What a human typed


def test_a_typed_message_counts_once_and_injected_blocks_are_the_clients(tmp_path: Path) -> None:
    skill = given("<skill>\n<name>x</name>\n</skill>")
    lines = [meta(), given(AGENTS, ENVIRONMENT), typed("fix it"), skill, answer("Done.")]
    session = read(tmp_path, *lines)
    assert said(session) == [
        ("user", "harness", AGENTS),
        ("user", "harness", ENVIRONMENT),
        ("user", "human", "fix it"),
        ("user", "harness", "<skill>\n<name>x</name>\n</skill>"),
        ("assistant", "model", "Done."),
    ]
    assert (session.prompts, session.steps, session.row_turns) == (1, 1, 4)
    assert counts(session)["typed message, said again"] == 1
    assert counts(session)["said again in an event"] == 1


@pytest.mark.parametrize("damage", ["glued", "behind NUL bytes"])
def test_a_damaged_line_with_the_only_event_counts_no_prompt_twice(
    tmp_path: Path, damage: str
) -> None:
    lines = [json.dumps(each) for each in (meta(), *typed("go"), *answer("Done."))]
    before_the_event = "" if damage == "glued" else "\n" + "\0" * 100
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(lines[:2]) + before_the_event + "\n".join(lines[2:]) + "\n")
    assert read_session(path).prompts == 1


def test_the_event_may_come_first(tmp_path: Path) -> None:
    lines = [meta(), event("user_message", message="go on"), task(), given("go on"), answer("Yes.")]
    assert humans(tmp_path, *lines) == ["go on"]


def test_two_messages_typed_at_once_are_two(tmp_path: Path) -> None:
    one, two = typed("yes"), typed("yes")
    lines = [meta(), one[0], two[0], one[1], two[1], answer("Twice.")]
    assert humans(tmp_path, *lines) == ["yes", "yes"]


def test_what_no_event_says_beside_one_was_typed_by_nobody(tmp_path: Path) -> None:
    lines = [meta(), given("Hook: run the tests."), typed("go"), answer("Done.")]
    session = read(tmp_path, *lines)
    assert ("user", "harness", "Hook: run the tests.") in said(session)
    assert session.prompts == 1


def test_turns_stand_in_the_order_of_the_lines(tmp_path: Path) -> None:
    note, note_of_client = given("The build is red."), given("Mode: plan.", role="developer")
    prompt = event("user_message", message="fix it")
    session = read(tmp_path, meta(), note, note_of_client, prompt, given("fix it"), answer("Done."))
    assert said(session) == [
        ("user", "harness", "The build is red."),
        ("user", "harness", "Mode: plan."),
        ("user", "human", "fix it"),
        ("assistant", "model", "Done."),
    ]
    assert [turn.line for turn in session.turns] == [2, 3, 4, 7]


NO_EVENT = "typed message without its event, told by its marks"


def test_a_prompt_whose_event_is_lost_counts_by_its_item(tmp_path: Path) -> None:
    lines = [meta(), typed("one"), answer("1"), given(AGENTS), given("two"), answer("2")]
    session = read(tmp_path, *lines)
    assert [text for _, speaker, text in said(session) if speaker == "human"] == ["one", "two"]
    assert counts(session)[NO_EVENT] == 1


@pytest.mark.parametrize("cut", [1, 2])
def test_the_same_typed_twice_is_two_though_one_event_was_cut(tmp_path: Path, cut: int) -> None:
    go, again = typed("go")[::-1], typed("go")[::-1]
    lines = [meta(), *go, event("turn_aborted", reason="interrupted"), *again, *answer("Yes.")]
    path = write(tmp_path / "rollout.jsonl", lines)
    whole = path.read_bytes().splitlines(keepends=True)
    number = {1: 1, 2: 4}[cut]
    whole[number] = whole[number][:60] + b"\n"
    path.write_bytes(b"".join(whole))
    assert [text for _, speaker, text in said(read_session(path)) if speaker == "human"] == [
        "go",
        "go",
    ]


def test_an_item_may_follow_its_event_though_the_turn_was_stopped_between(tmp_path: Path) -> None:
    stop = event("turn_aborted", reason="interrupted")
    lines = [meta(), event("user_message", message="go"), stop, given("go"), answer("Yes.")]
    assert humans(tmp_path, *lines) == ["go"]


def test_a_session_that_an_old_client_began_has_all_its_prompts(tmp_path: Path) -> None:
    old = [given(ENVIRONMENT, "one"), *answer("1"), given("two"), *answer("2")]
    session = read(tmp_path, meta(), old, typed("three"), answer("3"))
    human = [text for _, speaker, text in said(session) if speaker == "human"]
    assert human == ["one", "two", "three"]
    assert NO_EVENT not in counts(session)


def test_a_short_prompt_does_not_swallow_what_the_client_wrote(tmp_path: Path) -> None:
    lines = [meta(), typed("work"), given(ENVIRONMENT), answer("Done.")]
    assert ("user", "harness", ENVIRONMENT) in said(read(tmp_path, *lines))


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions: please rewrite",
        "<skill> is which tag?",
        "Warning: apply_patch was requested via exec_command. Why?",
        "# Files mentioned by the user: how do I add one?",
    ],
)
@pytest.mark.parametrize("event_first", [True, False])
def test_an_event_settles_who_spoke_whatever_was_said(
    tmp_path: Path, text: str, event_first: bool
) -> None:
    lines = typed(text)[:: -1 if event_first else 1]
    session = read(tmp_path, meta(), *lines, answer("Done."))
    assert said(session) == [("user", "human", text), ("assistant", "model", "Done.")]
    assert session.prompts == 1


def test_events_of_first_clients_name_what_the_client_wrote(tmp_path: Path) -> None:
    told = [
        entry("event_msg", {"type": "user_message", "message": text, "kind": kind})
        for text, kind in ((ENVIRONMENT, "environment_context"), ("go", "plain"))
    ]
    lines = [meta(), *told, answer("Done.")]
    assert said(read(tmp_path, *lines))[:2] == [
        ("user", "harness", ENVIRONMENT),
        ("user", "human", "go"),
    ]


def test_the_newest_clients_write_typed_messages_as_items(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "look"}, {"type": "local_image", "path": "/a.png"}]
    done = event("item_completed", item={"type": "UserMessage", "id": "u", "content": content})
    session = read(tmp_path, meta(), given("look"), done, answer("A cat."))
    assert [text for _, speaker, text in said(session) if speaker == "human"] == ["look"]
    assert next(session.contents(session.turns)).images == 1


def test_a_message_in_two_kinds_of_events_is_one(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "look"}]
    done = event("item_completed", item={"type": "UserMessage", "content": content})
    assert humans(tmp_path, meta(), typed("look"), done, answer("A cat.")) == ["look"]


@pytest.mark.parametrize(
    "injected",
    [
        AGENTS,
        ENVIRONMENT,
        "<user_instructions>\n\nx\n\n</user_instructions>",
        "<turn_aborted>\nstopped\n</turn_aborted>",
        "<skill>\n<name>x</name>\n</skill>",
        "<user_shell_command>\nls\n</user_shell_command>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        '<codex_internal_context source="goal">\ngo\n</codex_internal_context>',
        "Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead.",
    ],
)
def test_without_events_the_marks_of_injected_blocks_tell(tmp_path: Path, injected: str) -> None:
    lines = [meta(), given(injected), given("fix it"), answer("Done.")]
    session = read(tmp_path, *lines)
    assert said(session)[:2] == [("user", "harness", injected), ("user", "human", "fix it")]


def test_words_behind_injected_blocks_of_the_same_text_are_the_humans(tmp_path: Path) -> None:
    together = f"{AGENTS}\n{ENVIRONMENT}\n\nfix it\n"
    lines = [meta(), given(together), answer("Done.")]
    assert said(read(tmp_path, *lines))[:3] == [
        ("user", "harness", AGENTS),
        ("user", "harness", ENVIRONMENT),
        ("user", "human", "fix it"),
    ]


@pytest.mark.parametrize("head", ["# Context from my IDE setup:", "# Files mentioned by the user:"])
@pytest.mark.parametrize("has_event", [True, False])
def test_an_editors_context_in_front_is_not_the_humans(
    tmp_path: Path, head: str, has_event: bool
) -> None:
    text = f"{head}\n\n## a.py\n\n## My request for Codex:\nfix it"
    message = typed(text) if has_event else [given(text)]
    session = read(tmp_path, meta(), message, answer("Done."))
    assert said(session)[:2] == [
        ("user", "harness", f"{head}\n\n## a.py\n\n## My request for Codex:"),
        ("user", "human", "fix it"),
    ]
    assert session.prompts == 1


def test_pictures_are_counted_and_their_labels_left_out(tmp_path: Path) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    label = {"type": "input_text", "text": '<image name="[Image #1]">'}
    shown = item(
        "message", role="user", content=[label, picture, {"type": "input_text", "text": "see"}]
    )
    told = event("user_message", message="see", images=["data:image/png;base64,AAAA"])
    for lines in ([meta(), shown, answer("A cat.")], [meta(), shown, told, answer("A cat.")]):
        session = read(tmp_path, *lines)
        assert said(session)[0] == ("user", "human", "see")
        assert next(session.contents(session.turns)).images == 1
        assert len(session.turns) == 2


# What the model said


def test_a_step_is_one_response(tmp_path: Path) -> None:
    thought = item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}])
    session = read(
        tmp_path,
        *(meta(), context(), typed("go"), thought, answer("Looking.", "commentary")),
        *(call("c1"), call("c2"), output("a", "c1"), output("b", "c2")),
        *(thought, answer("All is well.", "final_answer")),
    )
    assert (session.prompts, session.steps) == (1, 2)
    assert [(t.kind.value, t.step) for t in session.turns[1:]] == [
        *(("thinking", 1), ("assistant", 1), ("tool_call", 1), ("tool_call", 1)),
        *(("tool_result", 1), ("tool_result", 1), ("thinking", 2), ("assistant", 2)),
    ]
    assert len({turn.message for turn in session.turns[1:5]}) == 1
    assert [t.final for t in session.turns if t.kind is Kind.ASSISTANT] == [False, True]


def test_a_phase_settles_what_is_final(tmp_path: Path) -> None:
    lines = [meta(), typed("go"), answer("Yes?", "commentary"), typed("yes"), answer("x", "odd")]
    session = read(tmp_path, *lines)
    assert [t.final for t in session.turns if t.kind is Kind.ASSISTANT] == [False, True]


def test_without_a_phase_a_message_that_calls_no_tool_is_final(tmp_path: Path) -> None:
    lines = [meta(), typed("go"), answer("Looking."), call(), output(), answer("One file.")]
    session = read(tmp_path, *lines)
    assert [t.final for t in session.turns if t.kind is Kind.ASSISTANT] == [False, True]


def test_reasoning_that_is_not_recorded_is_counted(tmp_path: Path) -> None:
    hidden = item("reasoning", summary=[], content=None, encrypted_content="gAAA")
    raw = item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "So."}])
    session = read(tmp_path, meta(), typed("go"), hidden, raw, answer("Done."))
    assert [t for kind, _, t in said(session) if kind == "thinking"] == ["So."]
    assert counts(session)["reasoning encrypted or not recorded"] == 1


TOOLS = [
    (call(), output(), "exec_command", {"cmd": "ls"}, "a.py"),
    (
        item("custom_tool_call", name="apply_patch", call_id="c1", input="*** Begin Patch"),
        item(
            "custom_tool_call_output", call_id="c1", output=[{"type": "input_text", "text": "ok"}]
        ),
        *("apply_patch", {}, "ok"),
    ),
    (
        item("local_shell_call", call_id="c1", action={"type": "exec", "command": ["ls"]}),
        output({"type": "input_text", "text": "b.py"}),
        *("local_shell", {"type": "exec", "command": ["ls"]}, "b.py"),
    ),
    (
        item("tool_search_call", call_id="c1", arguments={"query": "mail"}),
        item("tool_search_output", call_id="c1", tools=[{"name": "send"}]),
        *("tool_search", {"query": "mail"}, '[{"name":"send"}]'),
    ),
    (
        item("web_search_call", id="c1", action={"type": "search", "query": "x"}),
        event("web_search_end", call_id="c1", results=[{"title": "X"}]),
        *("web_search", {"type": "search", "query": "x"}, '[{"title":"X"}]'),
    ),
    (
        item("function_call", name="mcp__mail__send", call_id="c1", arguments="{}"),
        output({"content": "no such server", "success": False}),
        *("mcp__mail__send", {}, "no such server"),
    ),
]


@pytest.mark.parametrize(("calling", "result", "name", "arguments", "text"), TOOLS)
def test_tools_of_every_kind_are_linked_to_their_results(
    tmp_path: Path, calling: Any, result: Any, name: str, arguments: Any, text: str
) -> None:
    session = read(tmp_path, meta(), typed("go"), calling, result, answer("Done."))
    call_turn, result_turn = session.turns[1:3]
    assert (call_turn.kind, result_turn.kind) == (Kind.TOOL_CALL, Kind.TOOL_RESULT)
    assert (call_turn.tool, result_turn.tool, result_turn.call_id) == (name, name, "c1")
    call_content, result_content = session.contents([call_turn, result_turn])
    assert (call_content.arguments, result_content.text) == (arguments, text)
    assert result_turn.is_error == (text == "no such server")


def test_a_picture_that_was_made_is_counted_and_not_kept(tmp_path: Path) -> None:
    made = item("image_generation_call", id="i1", revised_prompt="a cat", result="iVBOR")
    session = read(tmp_path, meta(), typed("draw"), made, answer("Here."))
    called, result = session.contents(session.turns[1:3])
    assert (called.arguments, result.text, result.images) == ({"prompt": "a cat"}, "", 1)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Chunk ID: ab\nWall time: 1 seconds\nProcess exited with code 2\nOutput:\n", True),
        ("Chunk ID: ab\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\n", False),
        ("Wall time: 1 seconds\nProcess running with session ID 5\nOutput:\nExit code: 1", False),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\n", True),
        ('{"output":"\\"metadata\\":","metadata":{"exit_code":1,"duration_seconds":0.1}}', True),
        ('{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.1}}', False),
        ("Exit code: " + "9" * 5000, False),
    ],
)
def test_a_commands_exit_code_tells_whether_it_failed(
    tmp_path: Path, text: str, failed: bool
) -> None:
    session = read(tmp_path, meta(), typed("go"), call(), output(text), answer("Done."))
    assert session.turns[2].is_error is failed


# What is declared


def test_model_mode_and_personality_change_where_they_are_declared(tmp_path: Path) -> None:
    plan = {"mode": "plan", "settings": {}}
    change = given("<personality_spec> Be friendly. </personality_spec>", role="developer")
    later = context(model="gpt-b", personality="friendly", collaboration_mode=plan)
    lines = [meta(), context(), typed("a"), answer("A."), change, later, typed("b"), answer("B.")]
    session = read(tmp_path, *lines)
    first, _, _, second = session.turns[1:]
    assert (first.model, first.mode, first.personality) == ("gpt-a", "default", "pragmatic")
    assert (second.model, second.mode, second.personality) == ("gpt-b", "plan", "friendly")
    assert session.models == ("gpt-a", "gpt-b")
    assert ("user", "harness", change["payload"]["content"][0]["text"]) in said(session)
    assert session.system == "Be good."


def test_some_clients_have_the_system_prompt_in_the_context(tmp_path: Path) -> None:
    first, second = context(base_instructions="Be good."), context(base_instructions="Be bad.")
    lines = [meta(base_instructions=None), first, typed("a"), answer("A."), second]
    assert read(tmp_path, *lines).system == "Be good."


# Compactions


def test_a_compaction_counts_once_with_its_summary_and_tokens(tmp_path: Path) -> None:
    history = [
        given("fix it")["payload"],
        given("Another model began. It did nothing.")["payload"],
        given("cut to len")["payload"],
    ]
    compacted = {
        "timestamp": "2026-06-01T00:01:00Z",
        "type": "compacted",
        "payload": {"message": "It did nothing.", "replacement_history": history},
    }
    session = read(
        tmp_path,
        *(meta(), context(), typed("fix it"), answer("Done."), tokens(900), compacted),
        *(context(), tokens(100), event("context_compacted"), typed("more"), answer("OK.")),
        *(tokens(200), answer("Bye.")),
    )
    (compaction,) = session.compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (900, 100)
    assert compaction.kept == (0,)
    assert compaction.summary == 2
    summary = session.turns[2]
    assert (summary.kind, summary.speaker) == (Kind.SUMMARY, Speaker.SUMMARISER)
    assert session.text(summary) == "It did nothing."
    assert [turn.segment for turn in session.turns] == [0, 0, 1, 1, 1, 1]
    assert session.prompts == 2
    assert counts(session)["message kept by a compaction, no turn as it stands"] == 1


def test_the_tokens_of_a_later_answer_are_not_the_compactions(tmp_path: Path) -> None:
    compacted = {"type": "compacted", "payload": {"message": "Short."}}
    lines = [meta(), typed("a"), answer("A."), compacted, answer("B."), tokens(300)]
    (compaction,) = read(tmp_path, *lines).compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (None, None)


# Interrupts and going back


def test_a_message_that_was_stopped_is_broken_off_and_not_final(tmp_path: Path) -> None:
    stop = event("turn_aborted", reason="interrupted")
    session = read(tmp_path, meta(), task(), typed("go"), answer("I will"), stop)
    (turn,) = (turn for turn in session.turns if turn.kind is Kind.ASSISTANT)
    assert turn.broken_off
    assert not turn.final


def test_a_message_that_had_come_to_its_end_is_not_broken_off(tmp_path: Path) -> None:
    stop = event("turn_aborted", reason="interrupted")
    before = [task(), typed("a"), answer("A.", "final_answer"), task(), typed("b")]
    session = read(tmp_path, meta(), before, call(), output("all of it"), stop)
    assert not any(turn.broken_off for turn in session.turns)


def test_a_rollback_leaves_the_last_prompts_behind(tmp_path: Path) -> None:
    back = event("thread_rolled_back", num_turns=2)
    session = read(
        tmp_path,
        *(meta(), typed("a"), answer("A."), typed("b"), answer("B."), typed("c"), answer("C.")),
        *(back, typed("d"), answer("D."), event("thread_rolled_back", num_turns=1)),
        *(typed("e"), answer("E."), event("undo_completed", success=True)),
    )
    kept = [session.text(turn) for turn in session.turns if not turn.abandoned]
    assert kept == ["a", "A.", "e", "E."]
    assert session.prompts == 5


def test_a_rollback_of_more_than_there_is_leaves_the_beginning(tmp_path: Path) -> None:
    back = event("thread_rolled_back", num_turns=9)
    session = read(tmp_path, meta(), given(AGENTS), typed("a"), answer("A."), back)
    assert [turn.abandoned for turn in session.turns] == [False, True, True]


# Forks and sub-agents


def parent() -> list[dict[str, Any]]:
    """What a session of its own holds, begun at 0."""
    started = event("task_started", turn_id=uuid_at(1))
    asked, said_back = typed("the parent's"), answer("An answer to the parent.")
    return [meta(0), started, context(1), *asked, *said_back, event("task_complete")]


def copied(at: float) -> Iterator[dict[str, Any]]:
    """The parent's lines as a fork writes them: all anew, at once."""
    for number, line in enumerate(parent()):
        yield line | {"timestamp": meta(at + number / 1000)["timestamp"]}


def own(at: float) -> list[dict[str, Any]]:
    return [task(at), context(at, "gpt-b"), *typed("the fork's", at), *answer("Forked.", at=at)]


def test_a_fork_is_a_session_of_its_own_without_the_copy(tmp_path: Path) -> None:
    head = meta(100, forked_from_id=uuid_at(0), id=uuid_at(100, 7))
    session = read(tmp_path, head, list(copied(100)), own(100.5))
    assert session.id == uuid_at(100, 7)
    assert session.parent is None
    assert [text for _, _, text in said(session)] == ["the fork's", "Forked."]
    assert (session.prompts, session.models) == (1, ("gpt-b",))
    assert counts(session)["copied from the session that this is a fork of"] == len(parent()) - 1
    assert counts(session)["metadata of another session"] == 1


def test_a_fork_of_an_old_client_ends_its_copy_with_a_pause(tmp_path: Path) -> None:
    lines = [line for line in copied(100) if line["type"] != "turn_context"]
    for line in lines:
        line["payload"] = {k: v for k, v in line["payload"].items() if k != "turn_id"}
    head = meta(100, id="an-old-id", timestamp="2026-06-01T00:01:40Z")
    session = read(tmp_path, head, lines, typed("the fork's", 160), answer("Forked.", at=161))
    assert [text for _, _, text in said(session)] == ["the fork's", "Forked."]


@pytest.mark.parametrize(
    "fields",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}},
        {"source": {"subagent": {"other": "guardian"}}, "parent_thread_id": "p"},
        {"thread_source": "subagent", "forked_from_id": "p"},
        {"thread_source": "subagent", "session_id": "p"},
    ],
)
def test_a_sub_agent_names_its_parent_and_has_no_human(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    session = read(tmp_path, meta(100, **fields), own(100.5))
    assert (session.parent, session.prompts, session.steps) == ("p", 0, 1)
    assert said(session)[0] == ("user", "harness", "the fork's")


def test_a_sub_agent_with_the_parents_metadata_alone_keeps_all_of_its_own(tmp_path: Path) -> None:
    head = meta(100, thread_source="subagent", forked_from_id=uuid_at(0))
    session = read(tmp_path, head, meta(0), own(100))
    assert [text for _, _, text in said(session)] == ["the fork's", "Forked."]
    assert session.parent == uuid_at(0)


def test_numbered_lines_say_where_a_sub_agents_own_begin(tmp_path: Path) -> None:
    head = meta(
        100, thread_source="subagent", subagent_history_start_ordinal=3, parent_thread_id="p"
    )
    numbered = [
        line | {"ordinal": n} for n, line in enumerate([given("copied"), *answer("No."), *own(101)])
    ]
    session = read(tmp_path, head, numbered)
    assert [text for _, _, text in said(session)] == ["the fork's", "Forked."]


def test_a_fork_without_a_turn_of_its_own_is_refused_in_one_line(tmp_path: Path) -> None:
    head = meta(100, forked_from_id=uuid_at(0))
    with pytest.raises(SessionError, match="holds only another session's history"):
        read(tmp_path, head, list(copied(100)))


def test_messages_of_other_agents_are_the_clients(tmp_path: Path) -> None:
    told = item("agent_message", author="/root/a", content=[{"type": "input_text", "text": "Done"}])
    hidden = item(
        "agent_message", content=[{"type": "encrypted_content", "encrypted_content": "g"}]
    )
    asked = {
        "type": "inter_agent_communication",
        "payload": {"author": "/root", "content": "Do it"},
    }
    session = read(tmp_path, meta(), typed("go"), told, hidden, asked, answer("OK."))
    assert said(session)[1:3] == [("user", "harness", "Done"), ("user", "harness", "Do it")]
    assert counts(session)["message without readable content"] == 1


# What clients since 0.98 write, as they were seen to: reviews, answers, compactions, goals


def reviewed(kind: str, text: str = "Review it.") -> list[dict[str, Any]]:
    """A review as the session that asked for it has it."""
    report = f"<user_action>\n<action>review</action>\n<results>{text}</results>\n</user_action>"
    done = answer("All is well.")
    if kind == "events":
        asked = event("user_message", message=text, images=[])
        entered = event("entered_review_mode", target={"type": "uncommittedChanges"})
        exited = event("exited_review_mode", review_output={"findings": []})
        return [entered, asked, asked, given(report), exited, *done[::-1]]
    entered, exited = (
        event("item_completed", item={"type": f"{name}ReviewMode"})
        for name in ("Entered", "Exited")
    )
    asked = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
    return [entered, task(), event("item_completed", item=asked), given(report), exited, *done]


@pytest.mark.parametrize("kind", ["events", "items"])
def test_a_review_is_another_sessions_and_its_report_the_clients(tmp_path: Path, kind: str) -> None:
    before, after = [typed("go"), answer("Done.")], [context(), typed("thanks"), answer("Sure.")]
    session = read(tmp_path, meta(), context(), *before, reviewed(kind), *after)
    assert [(speaker, text[:13]) for _, speaker, text in said(session)] == [
        ("human", "go"),
        ("model", "Done."),
        ("harness", "<user_action>"),
        ("human", "thanks"),
        ("model", "Sure."),
    ]
    asked = 2 if kind == "events" else 1
    assert counts(session)["request of a review, said to another session"] == asked
    assert counts(session)["report of a review, said again"] == 1


def test_a_review_that_never_ended_takes_nothing_of_what_follows(tmp_path: Path) -> None:
    cut = reviewed("events")[:3]
    same = [context(), typed("Review it."), answer("Done.")]
    other = [typed("go"), answer("Done.")]
    for lines in (same, other):
        assert len(humans(tmp_path, meta(), cut, *lines)) == 1


@pytest.mark.parametrize(
    ("name", "prompts"), [("request_user_input", 2), ("exec_command", 1), ("", 1)]
)
def test_answers_to_the_models_questions_are_the_humans(
    tmp_path: Path, name: str, prompts: int
) -> None:
    """Only where the tool that asks gave them back: another tool may print the same."""
    answers = '{"answers":{"a":{"answers":["Blue","user_note: the dark one"]}}}'
    known = {"type": "verified_answer", "call_id": "c1", "questions": []}
    asked = [call(name=name)] if name else []
    lines = [typed("go"), *asked, entry("retained_context", known), output(answers), answer("OK.")]
    session = read(tmp_path, meta(), *lines)
    assert session.prompts == prompts
    result = [("tool_result", "tool", answers)]
    words = [("user", "human", "Blue\nthe dark one")] if prompts == 2 else []
    assert said(session)[1 + len(asked) : -1] == result + words
    assert [turn.quoted for turn in session.turns].count(True) == len(words)
    assert not [reason for reason in counts(session) if reason.startswith("unknown")]


def test_what_is_typed_before_a_turn_ends_is_steering(tmp_path: Path) -> None:
    asking = call("q1", "request_user_input")
    answers = output('{"answers":{"a":{"answers":["Blue"]}}}', "q1")
    first = [task(), context(), typed("go"), call(), output(), typed("left"), typed("no, right")]
    stopped = event("turn_aborted", turn_id=uuid_at(0), reason="interrupted")
    second = [task(), context(), typed("go on"), asking, answers, answer("Blue it is.")]
    lines = [*first, stopped, *second, event("task_complete"), typed("thanks"), answer("Sure.")]
    session = read(tmp_path, meta(), *lines)
    steering = [session.text(turn) for turn in session.turns if turn.steering]
    assert steering == ["left", "no, right"]
    kinds = {str(kind): count for kind, count in session.prompt_kinds.items()}
    assert kinds == {"typed": 3, "steering": 2, "answer": 1, "feedback": 0}
    assert sum(kinds.values()) == session.prompts


def test_what_the_model_writes_for_a_compaction_is_no_answer(tmp_path: Path) -> None:
    summary = answer("We did this.")[1] | {"metadata": {"compaction_output": True}}
    compacted = entry("compacted", {"message": "Summary:\nWe did this.", "replacement_history": []})
    session = read(
        tmp_path, meta(), typed("go"), answer("Done."), task(), summary, compacted, answer("More.")
    )
    assert [text for kind, _, text in said(session) if kind is Kind.ASSISTANT] == ["Done.", "More."]
    assert (session.steps, len(session.compactions)) == (2, 1)
    assert counts(session)["compaction summary, said again"] == 1


def test_an_output_that_answers_no_call_is_the_clients(tmp_path: Path) -> None:
    goal = item("function_call_output", name="goal_objective", namespace="agent", output="Ship it")
    session = read(tmp_path, meta(), typed("go"), answer("Done."), goal, answer("On it."))
    assert ("user", "harness", "Ship it") in said(session)
    assert not [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]


def test_a_fork_of_numbered_lines_names_what_it_goes_on_from(tmp_path: Path) -> None:
    base = {"thread_id": uuid_at(0), "end_ordinal_exclusive": 45}
    head = meta(100, forked_from_id=uuid_at(0), history_base=base) | {"ordinal": 45}
    session = read(tmp_path, head, [line | {"ordinal": 46} for line in own(100)])
    assert (session.forked_from, session.parent) == (uuid_at(0), None)
    assert [text for _, _, text in said(session)] == ["the fork's", "Forked."]


# Old clients, odd lines, damage


def test_bare_lines_of_the_first_clients(tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    lines = [given(f"{ENVIRONMENT}"), given("fix it"), *answer("Done.")[1:], call(), output()]
    head = {"id": "old-1", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None}
    state = {"record_type": "state"}
    bare = [line["payload"] for line in lines]
    session = read_session(write(old, [head, state, *bare[:2], state, *bare[2:]]))
    assert (session.format, session.id, session.cwd) == ("codex", "old-1", "/old/work")
    assert (session.prompts, session.steps) == (1, 1)
    assert [kind for kind, _, _ in said(session)][2:] == ["assistant", "tool_call", "tool_result"]
    assert counts(session) == {"client metadata": 3}


def test_unknown_lines_events_items_and_blocks_are_counted_by_name(tmp_path: Path) -> None:
    odd = item(
        "message", role="user", content=[{"type": "hologram"}, {"type": "input_text", "text": "a"}]
    )
    session = read(
        tmp_path,
        *(meta(), typed("go"), odd, {"type": "novelty", "payload": {}}, event("novel_event")),
        *(item("novel_item"), {"type": "event_msg"}, {"type": "event_msg", "payload": {}}),
        *(event("turn.completed"), answer("Done.")),
    )
    assert {reason for reason in counts(session) if "unknown" in reason or "without" in reason} == {
        *("unknown content block: hologram", "unknown record type: novelty"),
        *("unknown record type: novel_event", "unknown record type: novel_item"),
        *("line without content", "record without type"),
    }
    assert ("user", "harness", "a") in said(session)


def test_a_leap_second_is_a_time(tmp_path: Path) -> None:
    prompt = typed("go")[1] | {"timestamp": "2026-06-30T23:59:60Z"}
    session = read(tmp_path, meta(), prompt, answer("Done."))
    assert session.turns[0].time == 1_782_864_000.0  # 2026-07-01 00:00:00 UTC, by `date`


def test_a_field_of_an_odd_type_costs_that_field(tmp_path: Path) -> None:
    odd = item(
        "message", role="assistant", phase=7, content=["bare", {"type": "output_text", "text": 5}]
    )
    session = read(tmp_path, meta(cwd=5), context(personality=[1]), typed("go"), odd)
    assert said(session)[-1] == ("assistant", "model", "bare")
    assert (session.cwd, session.turns[-1].personality) == (None, None)


def test_lines_glued_cut_and_full_of_nuls_are_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [meta(), *typed("go"), *answer("One."), *answer("Two.")])
    lines = path.read_bytes().splitlines(keepends=True)
    glued = lines[4].rstrip(b"\n") + lines[5]
    path.write_bytes(
        b"".join(
            [*lines[:3], b"\x00" * 99 + lines[3], glued, lines[5][:90] + lines[6], lines[0][:50]]
        )
    )
    session = read_session(path)
    assert [text for _, speaker, text in said(session) if speaker == "model"] == ["One.", "Two."]
    assert counts(session)["broken line, records saved"] == 3
    assert counts(session)["broken line"] == 1


def test_a_first_line_longer_than_the_head_is_recognised(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", [meta(dynamic_tools=["x" * 90_000]), *typed("go"), *answer("Hi.")]
    )
    assert codex.sniff(path.read_bytes()[: 1 << 16])
    assert [found.format for found in discover([tmp_path])] == ["codex"]


def test_the_clients_stream_of_events_is_no_rollout() -> None:
    """What `codex exec --json` prints has neither payloads nor metadata."""
    printed = b'{"type":"thread.started","thread_id":"x"}\n{"type":"turn.started"}\n'
    assert not codex.sniff(printed)
    assert not codex.sniff(b'{"role":"user","content":"\\"payload\\" \\"instructions\\""}\n')
