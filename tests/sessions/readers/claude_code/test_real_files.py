"""The Claude Code reader on real files: what their golden summaries (`test_golden`) do not say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, Turn, read_session
from sessions.claude_code_lines import check_lengths

PROJECTS = "daaain/projects/"


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "sessions" / "claude-code"


def test_row_turns_are_the_reference_implementations(shared: Path) -> None:
    outputs = json.loads((shared / "parity" / "reference_outputs.json").read_text())
    session = read_session(shared / "parity" / "synthetic_session.jsonl")
    assert session.row_turns == outputs["prefix_synthetic"]["total_turns"] == 1202


def test_every_refusal_is_one_line_that_says_why(claude_sessions: list[Path]) -> None:
    for path in claude_sessions:
        if not _readable(path):
            with pytest.raises(SessionError, match=r"holds (no|only)") as caught:
                read_session(path)
            assert "\n" not in str(caught.value)


def test_files_without_a_conversation_are_refused(folder: Path) -> None:
    refused = {path.stem for path in folder.rglob("*.jsonl") if not _readable(path)}
    agents = {path.stem for path in folder.rglob("agent-*.jsonl")}
    agents -= {"agent-sessions-schema-sampler"}
    metadata_only = {
        "62b71fe7-2de1-4d37-83e3-fddac2e2c43a",  # zero bytes
        "4e27c414-a885-46a0-b5c8-d58e1417377d",  # one summary
        "a95fea4a-b88a-4e49-ac07-4cc323d8700c",  # file-history snapshots
    }
    assert refused == agents | metadata_only


def test_loaded_content_has_the_length_that_was_indexed(claude_sessions: list[Path]) -> None:
    for session in _sessions(claude_sessions):
        contents = list(session.contents(session.turns))
        check_lengths(session.turns, contents)


def test_indices_never_run_backwards(claude_sessions: list[Path]) -> None:
    for session in _sessions(claude_sessions):
        for name in ("line", "row_turn", "step", "prompt", "segment"):
            values = [getattr(turn, name) for turn in session.turns]
            assert values == sorted(values), (session.path, name)


def test_every_tool_result_knows_the_tool_that_was_called(folder: Path) -> None:
    session = read_session(folder / "entire-cd95adddad32-0.jsonl")
    results = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert len(results) > 100
    assert all(turn.tool for turn in results)


def test_compactions_keep_trigger_and_tokens(folder: Path) -> None:
    session = read_session(folder / "entire-cd95adddad32-0.jsonl")
    assert [(c.line, c.trigger, c.tokens_before) for c in session.compactions] == [
        (230, "auto", 156_699),
        (517, "auto", 155_241),
        (871, "auto", 155_413),
    ]
    for compaction in session.compactions:
        assert compaction.summary is not None
        summary = session.turns[compaction.summary]
        assert summary.kind is Kind.SUMMARY
        assert summary.speaker is Speaker.SUMMARISER
        assert session.text(summary).startswith("This session is being continued")
    assert [c.prompt for c in session.compactions] == [14, 25, 42]


def test_a_manual_compaction_is_told_from_an_automatic_one(folder: Path) -> None:
    session = read_session(folder / "cipherbox-c644f3afc869-1.jsonl")
    assert [(c.trigger, c.tokens_before) for c in session.compactions] == [("manual", 132_627)]


def test_a_microcompaction_does_not_break_the_conversation(folder: Path) -> None:
    session = read_session(folder / "entire-99f72ee73a-0-microcompact.jsonl")
    (event,) = session.compactions
    assert (event.kind, event.tokens_before, event.tokens_after) == (
        "microcompaction",
        58_573,
        58_573 - 20_801,
    )
    assert session.full_compactions == ()
    assert {turn.segment for turn in session.turns} == {0}
    assert len(event.cleared) == 11
    answered = {turn.call_id: turn.line for turn in session.turns if turn.kind == "tool_result"}
    assert [answered[call_id] for call_id in sorted(event.cleared, key=answered.__getitem__)] == [
        19, 20, 25, 26, 29, 32, 36, 40, 44, 48, 52,
    ]  # fmt: skip


def test_remarks_that_live_only_in_the_queue_are_prompts(folder: Path) -> None:
    session = read_session(folder / "cipherbox-e89fb6a2d646-0.jsonl")
    said = _said_by_human(session)
    for remark in (
        "did we not go through this before, you dont have access to docker  here",
        "how many instances of this shit are running?",
        "getting 500 errors on upload and resolve calls",
        "its loaded",
    ):
        assert said.count(remark) == 1
    assert said.count("yeah") == 1  # queued, then written as a user record: once


def test_words_typed_during_a_tool_call_are_the_humans(folder: Path) -> None:
    session = read_session(folder / "entire-060566ec4b-0-steering-in-tool-result.jsonl")
    said = _said_by_human(session)
    assert "we are #169" in said
    assert "and make sure this is tested" in said


def test_answers_to_questions_are_the_humans_and_marked_as_quoted(folder: Path) -> None:
    session = read_session(folder / "cipherbox-c644f3afc869-1.jsonl")
    answers = [t for t in session.turns if t.quoted]
    assert len(answers) == 22
    assert session.text(answers[3]).startswith("what are the disadvantages of instant share?")


def test_a_rewind_leaves_the_earlier_branch_abandoned(folder: Path) -> None:
    session = read_session(
        folder / PROJECTS / "-experiments-ideas/03eb5929-52b3-4b13-ada3-b93ae35806b8.jsonl"
    )
    prompts = [t for t in session.turns if t.speaker is Speaker.HUMAN]
    assert [(t.line, t.abandoned) for t in prompts] == [
        (3, False),
        (18, True),
        (25, True),
        (32, True),
        (38, False),
        (45, False),
        (52, False),
    ]


def test_parallel_calls_and_progress_are_no_branches(claude_sessions: list[Path]) -> None:
    rewound = {s.path.stem for s in _sessions(claude_sessions) if any(_abandoned(s.turns))}
    assert rewound == {"03eb5929-52b3-4b13-ada3-b93ae35806b8", "dag_within_fork"}


def test_subagents_beside_and_below_are_kept_apart(folder: Path) -> None:
    beside = read_session(
        folder / PROJECTS / "-Users-dain-workspace-coderabbit-review-helper"
        "/cb2e607c-c758-415a-8b45-c49e4631906a.jsonl"
    )
    assert sorted((s.agent_id, s.records) for s in beside.sidechains) == [
        ("2b93909d", 2),
        ("645808c9", 2),
        ("ea02459f", 33),
    ]
    below = read_session(
        folder / PROJECTS / "-src-experiments-claude_p/29ccd257-68b1-427f-ae5f-6524b7cb6f20.jsonl"
    )
    (agent,) = below.sidechains
    assert (agent.agent_id, agent.records) == ("a2271d1", 59)
    assert agent.models == ("claude-haiku-4-5-20251001",)
    assert below.models == ("claude-opus-4-5-20251101",)


def test_subagents_inside_the_file_are_kept_apart(folder: Path) -> None:
    session = read_session(folder / "daaain/fixtures/sidechain.jsonl")
    assert sum(agent.records for agent in session.sidechains) == 7
    assert session.steps == 1


def test_versions_that_change_within_a_file_are_all_known(folder: Path) -> None:
    session = read_session(folder / "obra-large-conversation.jsonl")
    assert session.versions == ("1.0.120", "1.0.117")


def test_pictures_are_counted_and_not_loaded(folder: Path) -> None:
    session = read_session(folder / "packmind-74e4f052ad-1.jsonl")
    (turn,) = [t for t in session.turns if t.line == 56]
    (content,) = session.contents([turn])
    assert content.images == 1
    assert content.text.startswith("make the modal bigger")


def test_every_record_is_a_turn_or_accounted_for(folder: Path) -> None:
    path = folder / "cipherbox-e89fb6a2d646-0.jsonl"
    session = read_session(path)
    records = path.read_bytes().count(b"\n")
    spoken = {turn.line for turn in session.turns}
    boundaries = {event.line for event in session.compactions}
    left_out = sum(skipped.count for skipped in session.skipped)
    assert len(spoken | boundaries) + left_out == records


def _readable(path: Path) -> bool:
    try:
        read_session(path)
    except SessionError:
        return False
    return True


def _sessions(paths: list[Path]) -> Iterator[Session]:
    for path in paths:
        if _readable(path):
            yield read_session(path)


def _abandoned(turns: tuple[Turn, ...]) -> list[bool]:
    return [turn.abandoned for turn in turns]


def _said_by_human(session: Session) -> list[str]:
    turns = [turn for turn in session.turns if turn.speaker is Speaker.HUMAN]
    return [content.text for content in session.contents(turns)]
