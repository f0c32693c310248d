"""The real Codex rollouts. Counts were taken without the reader, as each test says."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.readers import codex
from sessions.looking import counts, human_hashes


@pytest.fixture(scope="module")
def rollouts(shared: Path) -> Path:
    return shared / "sessions" / "codex"


def of(session: Session, speaker: Speaker, kind: Kind) -> int:
    return sum(turn.speaker is speaker and turn.kind is kind for turn in session.turns)


def first_and_last_typed(session: Session) -> list[str]:
    hashes = human_hashes(session)
    return [hashes[0], hashes[-1]]


def test_a_long_session_with_two_compactions(rollouts: Path) -> None:
    """jq: 10 `user_message` events; 161 function and 16 custom calls, as many outputs; 39
    assistant items, 9 of them `final_answer` (lines 156 to 860). Steps: runs of the model's
    items between outputs, user and developer items, compactions and beginnings of tasks, counted
    by a script over the types alone; also the 183 `token_count` less 2 that follow a
    compaction and 1 that repeats the one before it. Hashes by Python's json.
    """
    session = read_session(rollouts / "agentv-34f597b72d-1.jsonl")
    assert (session.format, session.prompts, session.steps) == ("codex", 10, 180)
    assert of(session, Speaker.MODEL, Kind.TOOL_CALL) == 177
    assert of(session, Speaker.TOOL, Kind.TOOL_RESULT) == 177
    assert of(session, Speaker.MODEL, Kind.ASSISTANT) == 39
    assert [t.line for t in session.turns if t.final] == [
        *(156, 175, 184, 193, 246, 259, 495, 528, 860)
    ]
    assert first_and_last_typed(session) == ["9f812ff77e781e47", "5468985ab59ce6d9"]
    assert session.models == ("gpt-5.3-codex-spark",)
    assert session.versions == ("0.142.2",)
    assert session.id == "019f03e0-321f-7eb2-83cc-b54ecd71be23"
    assert session.cwd == "/home/entity/projects/EntityProcess/agentv"
    assert session.system is not None
    assert session.system.startswith("You are Codex, a coding agent based on GPT-5.")
    assert {(t.mode, t.personality) for t in session.turns if t.speaker is Speaker.MODEL} == {
        ("default", "pragmatic")
    }


def test_compactions_with_encrypted_summaries(rollouts: Path) -> None:
    """Lines, and tokens in the `token_count` before and after each (lines 271, 274, 572, 575), by
    jq. The first replacement history, read by eye: the six prompts before, the developer message
    (six blocks), the instructions and the environment, and the prompt that was being worked on.
    """
    session = read_session(rollouts / "agentv-34f597b72d-1.jsonl")
    first, second = session.compactions
    assert (first.line, first.tokens_before, first.tokens_after) == (272, 88_246, 13_290)
    assert (second.line, second.tokens_before, second.tokens_after) == (573, 95_808, 13_682)
    assert (first.prompt, second.prompt) == (7, 10)
    assert (first.summary, first.trigger) == (None, None)
    kept = [session.turns[number] for number in first.kept]
    assert [turn.speaker for turn in kept].count(Speaker.HUMAN) == 7
    assert [turn.line for turn in kept if turn.speaker is Speaker.HARNESS] == [3] * 6 + [4] * 2
    assert (
        sum(t.speaker is Speaker.HUMAN for t in map(session.turns.__getitem__, second.kept)) == 10
    )
    assert session.turns[-1].segment == 2
    assert counts(session)["compaction summary encrypted or not recorded"] == 2


def test_failed_commands(rollouts: Path) -> None:
    """grep over the outputs' first lines: `exited with code` 1 six times, 2 seven times, 3
    once, 5 twice; the patch that could not be applied (line 711) has no exit code.
    """
    session = read_session(rollouts / "agentv-34f597b72d-1.jsonl")
    failed = [turn.line for turn in session.turns if turn.is_error]
    assert len(failed) == 16
    assert {30, 60, 203, 836} < set(failed)


def test_a_session_with_steering_and_an_interrupt(rollouts: Path) -> None:
    """jq: 26 `user_message` events; 117 assistant items of the phase `commentary` and 17
    `final_answer`; 148 function calls, one patch, one web search (which has no output), and no
    output for the last call; 86 reasoning items, none with a summary. Steps as above.
    """
    session = read_session(rollouts / "agentv-162d1d8ad4-1.jsonl")
    assert (session.prompts, session.steps, session.compactions) == (26, 134, ())
    assert of(session, Speaker.MODEL, Kind.ASSISTANT) == 117 + 17
    assert sum(turn.final for turn in session.turns) == 17
    assert of(session, Speaker.MODEL, Kind.TOOL_CALL) == 148 + 1 + 1
    assert of(session, Speaker.TOOL, Kind.TOOL_RESULT) == 147 + 1
    assert of(session, Speaker.MODEL, Kind.THINKING) == 0
    assert counts(session)["reasoning encrypted or not recorded"] == 86
    assert first_and_last_typed(session) == ["a11b677c0e3b3187", "1107f0854fa97d26"]


def test_a_model_switch_is_declared(rollouts: Path) -> None:
    """`turn_context` names the second model from line 63 on (jq); `<model_switch>` is line 62."""
    session = read_session(rollouts / "agentv-162d1d8ad4-1.jsonl")
    assert session.models == ("gpt-5.3-codex-spark", "gpt-5.5")
    by_model = [turn for turn in session.turns if turn.speaker is Speaker.MODEL]
    assert {turn.model for turn in by_model if turn.line < 63} == {"gpt-5.3-codex-spark"}
    assert {turn.model for turn in by_model if turn.line > 63} == {"gpt-5.5"}
    (switch, mode) = (turn for turn in session.turns if turn.line == 62)
    assert (switch.speaker, mode.speaker) == (Speaker.HARNESS, Speaker.HARNESS)
    assert session.text(switch).startswith("<model_switch>")


def test_an_interrupt_breaks_off_the_message_whose_tool_it_stopped(rollouts: Path) -> None:
    """By eye: lines 594 and 595 are the last message before `turn_aborted` (598); its tool's
    result (596) is "aborted by user after 29.7s". The note to the model (597) is the client's.
    """
    session = read_session(rollouts / "agentv-162d1d8ad4-1.jsonl")
    assert [turn.line for turn in session.turns if turn.broken_off] == [594, 595]
    (note,) = (turn for turn in session.turns if turn.line == 597)
    assert note.speaker is Speaker.HARNESS


def test_an_old_session_from_an_editor(rollouts: Path) -> None:
    """SOURCES.md and jq: one prompt, 9 assistant items without a phase, 18 function calls and one
    patch, 19 outputs; 19 `token_count`, one a response. The prompt's text read by eye.
    """
    session = read_session(rollouts / "vct-zh-tw-codex.jsonl")
    assert (session.prompts, session.steps) == (1, 19)
    assert of(session, Speaker.MODEL, Kind.TOOL_CALL) == 19
    assert of(session, Speaker.MODEL, Kind.ASSISTANT) == 9
    assert not any(turn.final for turn in session.turns)  # every message of the model calls a tool
    environment, heading, prompt = session.turns[:3]
    assert (environment.line, heading.line, prompt.line) == (2, 4, 4)
    assert (environment.speaker, heading.speaker) == (Speaker.HARNESS, Speaker.HARNESS)
    assert session.text(prompt).startswith("幫我檢查一下 go.mod 裡面")
    assert session.text(heading).startswith("# Context from my IDE setup:")
    assert (session.system, session.versions) == (None, ("0.39.0",))


def test_a_sampler_of_all_kinds_of_lines(rollouts: Path) -> None:
    """Not a session but one line of every kind, so counted line by line by eye.

    Prompts: `user_message` events on lines 4 and 71, and line 101, where the form of numbered
    lines has the typed message in an `item_completed` event and nowhere else. Line 85 is one
    that follows `entered_review_mode`: a request to the reviewer.
    Steps: lines 7 to 10, 12, 14, 23, 43, 49, 103, 114. Compactions: 26, 47, 69, 81, 89, 111.
    """
    session = read_session(rollouts / "agent-sessions-small.jsonl")
    human = [turn.line for turn in session.turns if turn.speaker is Speaker.HUMAN]
    assert human == [4, 71, 101]
    steps = {turn.step: turn.line for turn in reversed(session.turns) if turn.speaker == "model"}
    assert sorted(steps.values()) == [7, 12, 14, 23, 43, 49, 103, 114]
    assert [compaction.line for compaction in session.compactions] == [26, 47, 69, 81, 89, 111]
    assert session.id == "019fc8be-3658-7ca3-9e29-000000000000"
    assert session.parent is None
    assert counts(session)["metadata of another session"] == 6
    assert not [reason for reason in counts(session) if reason.startswith("unknown")]


def test_a_file_of_events_alone_is_no_conversation(rollouts: Path) -> None:
    with pytest.raises(SessionError, match="no message of a model"):
        read_session(rollouts / "agent-sessions-codex-050-legacy.jsonl")


@pytest.mark.parametrize(
    "name",
    ["agentv-34f597b72d-1", "agentv-162d1d8ad4-1", "vct-zh-tw-codex", "agent-sessions-small"],
)
def test_what_was_indexed_is_loaded_again(rollouts: Path, name: str) -> None:
    session = read_session(rollouts / f"{name}.jsonl")
    contents = list(session.contents(session.turns))
    assert [len(content.text) for content in contents] == [turn.chars for turn in session.turns]
    calls = (c for t, c in zip(session.turns, contents, strict=True) if t.kind is Kind.TOOL_CALL)
    assert all(call.arguments is not None for call in calls)
    assert [line for line, _ in session.source.records(5, 7)] == [5, 6, 7]


def test_results_are_linked_to_their_calls(rollouts: Path) -> None:
    session = read_session(rollouts / "agentv-34f597b72d-1.jsonl")
    called = {t.call_id: t.tool for t in session.turns if t.kind is Kind.TOOL_CALL}
    results = [turn for turn in session.turns if turn.kind is Kind.TOOL_RESULT]
    assert all(called[turn.call_id] == turn.tool for turn in results)
    assert {turn.tool for turn in results} >= {"exec_command", "apply_patch"}


def test_only_codex_files_are_taken_for_one(shared: Path) -> None:
    taken = set()
    for path in (shared / "sessions").rglob("*"):
        if path.is_file():
            head = path.read_bytes()[: 1 << 16]
            if any(codex.sniff(head[:size]) for size in (1 << 16, 4096, 200)):
                taken.add(path)
    assert taken == set((shared / "sessions" / "codex").glob("*.jsonl"))
