"""The catalog, and what a level changes in what a model is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextecho.api import plan, plans
from contextecho.contexts import Arm, Context, History, Message, load_anchor, load_idle
from contextecho.errors import DataError, SessionError, UsageError
from contextecho.sessions import Session, read_session
from contextecho.studies import Plan, load_study, studies_of, study_ids

TARGET = "openai/gpt-4.1"
NO_COMPACTION = "cipherbox-8f57dd43e3-0.jsonl"

# The list of experiments; `demo` is what the program shows itself with.
EXPERIMENTS = {
    "trajectory", "panel", "replication", "reset", "onset", "length", "mitigation", "recipes",
    "sizes", "placement", "persistence", "stressors", "negative-controls", "framing",
    "agreement", "full25", "heterogeneity", "rendering",
}  # fmt: skip


@pytest.fixture(scope="module")
def long_session(shared: Path) -> Session:
    """Three compactions, 572 row turns."""
    return read_session(shared / "sessions" / "claude-code" / "entire-cd95adddad32-0.jsonl")


@pytest.fixture(scope="module")
def other_sessions(shared: Path) -> list[Session]:
    folder = shared / "sessions" / "claude-code"
    names = ("cipherbox-c644f3afc869-1.jsonl", "entire-cd95adddad32-0.jsonl")
    found = [read_session(folder / name) for name in names]
    return [*found, read_session(shared / "parity" / "synthetic_session.jsonl")]


def at(session: Session, study: str, level: str, **choices: Any) -> Plan:
    given = {"paraphrases": 1, **choices}
    return plan(session, target=TARGET, study=study, level=level, **given)


def shown(made: Plan, arm: Arm) -> list[Context]:
    """The contexts of an arm, by position."""
    prefixes = dict.fromkeys(cell.prefix for cell in made.cells if cell.arm is arm)
    return [made.contexts[prefix] for prefix in prefixes]


def test_every_experiment_has_a_study_that_says_what_it_estimates() -> None:
    assert {*study_ids()} >= EXPERIMENTS
    for name in study_ids():
        study = load_study(name)
        assert study.question.endswith("?")
        assert study.estimand
        assert study.contrasts
        assert all(level.choices for level in study.levels)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_study_can_be_planned(
    name: str, long_session: Session, other_sessions: list[Session]
) -> None:
    study = load_study(name)
    sessions = other_sessions if study.sessions > 1 else [long_session]
    choices = {"positions": "even:2"} if study.positions == "even:12" else {}
    made = plans(sessions, target=TARGET, study=name, paraphrases=1, **choices)
    assert len(made) == len(sessions) * max(1, len(study.levels))
    for one in made:
        arms, asked = {cell.arm for cell in one.cells}, {cell.battery for cell in one.cells}
        assert arms == {*study.arms}
        assert asked >= {*study.batteries}
        assert len({cell.id for cell in one.cells}) == len(one.cells)


def test_crossings_are_both_sides_of_each_compaction(long_session: Session, shared: Path) -> None:
    made = at(long_session, "reset", "summary")
    names = [position.label.partition("_")[2] for position in made.positions]
    assert names == ["pre_C1", "post_C1", "pre_C2", "post_C2", "pre_C3", "post_C3"]
    with pytest.raises(SessionError, match="no compaction with turns on both sides"):
        at(read_session(shared / "sessions" / "claude-code" / NO_COMPACTION), "reset", "summary")


def test_without_its_summary_a_compaction_leaves_only_what_followed(long_session: Session) -> None:
    with_summary = at(long_session, "reset", "summary", positions="last")
    without = at(long_session, "reset", "no-summary", positions="last")
    summary = next(
        long_session.text(long_session.turns[c.summary])
        for c in reversed(long_session.full_compactions)
        if c.summary is not None
    )
    (first,), (second,) = shown(with_summary, Arm.SESSION), shown(without, Arm.SESSION)
    assert first.messages[0].text == summary
    assert all(summary not in message.text for message in second.messages)
    assert first.messages[-1] == second.messages[-1]
    assert with_summary.snapshots[0].summary_kept is True
    assert without.snapshots[0].summary_kept is False


def test_the_whole_history_reaches_past_every_compaction(long_session: Session) -> None:
    made = at(long_session, "length", "whole")
    (context,) = shown(made, Arm.SESSION)
    said = "\n".join(message.text for message in context.messages)
    typed = [t for t in long_session.turns if t.prompt == 1 and t.kind == "user"]
    assert long_session.text(typed[0]).strip()[:200] in said
    assert all(
        long_session.text(long_session.turns[c.summary]) not in said
        for c in long_session.full_compactions
        if c.summary is not None
    )
    assert made.snapshots[0].summary_kept is None
    assert made.snapshots[0].dropped_turns == 0


def test_longer_levels_show_more_of_the_same_end(long_session: Session) -> None:
    made = [at(long_session, "length", level) for level in ("850", "2.8k", "8.5k", "28k")]
    tokens = [one.snapshots[0].tokens for one in made]
    assert tokens == sorted(tokens)
    assert all(n <= limit for n, limit in zip(tokens, (850, 2800, 8500, 28000), strict=True))
    ends = {shown(one, Arm.SESSION)[0].messages[-1].text[-100:] for one in made}
    assert len(ends) == 1


def test_idle_turns_stand_between_the_anchor_and_the_question(long_session: Session) -> None:
    made = at(long_session, "persistence", "ordinary-5")
    idle, anchor = load_idle("ordinary", 5).messages, load_anchor("A").messages
    assert len(idle) == 10
    (anchored,), (bare,) = shown(made, Arm.SESSION_ANCHOR), shown(made, Arm.SESSION)
    assert anchored.messages[-10:] == bare.messages[-10:] == idle
    assert anchored.messages[-10 - len(anchor) : -10] == anchor
    assert anchored.messages[: -10 - len(anchor)] == bare.messages[:-10]
    assert made.control_ratio["P00_last"] == pytest.approx(1.0, abs=0.02)


def test_more_idle_turns_than_there_are_begin_again() -> None:
    forty = load_idle("terse", 40).messages
    assert forty[:40] == forty[40:]
    assert [m.role for m in forty] == ["user", "assistant"] * 40
    with pytest.raises(UsageError, match="use terse or ordinary"):
        load_idle("loud", 1)


def test_without_framing_the_question_is_the_probe_alone(long_session: Session) -> None:
    framed, bare = (at(long_session, "framing", level) for level in ("framed", "bare"))
    cell = next(cell for cell in framed.cells if cell.battery == "coding-self")
    (asked,), (plain,) = framed.question(cell), bare.question(cell)
    battery = framed.batteries["coding-self"]
    assert plain == Message(role="user", text=framed.stimulus(cell).wordings[0])
    assert asked.text == f"{battery.framing}\n\n{plain.text}"


def test_a_level_may_change_the_protocol(long_session: Session) -> None:
    native, quoted, published = (
        at(long_session, "rendering", level, positions="last")
        for level in ("native", "quoted", "published")
    )
    assert [p.protocol.id for p in (native, quoted, published)] == ["strict", "strict", "published"]
    assert len(shown(quoted, Arm.SESSION)[0].messages) == 2
    assert len(shown(native, Arm.SESSION)[0].messages) > 2


def test_the_foreign_arm_is_as_far_into_the_other_session(
    long_session: Session, other_sessions: list[Session]
) -> None:
    foreign = other_sessions[2]
    arms = ["session", "foreign"]
    made = plan(
        long_session,
        target=TARGET,
        study="panel",
        arms=arms,
        foreign=foreign,
        positions="286,572",  # half of its 572 row turns, and all
        paraphrases=1,
    )
    alone = plan(foreign, target=TARGET, study="panel", arms=["session"], positions="601,1202")
    assert [c.messages for c in shown(made, Arm.FOREIGN)] == [
        c.messages for c in shown(alone, Arm.SESSION)
    ]
    assert {c.system for c in shown(made, Arm.FOREIGN)} == {shown(made, Arm.SESSION)[0].system}
    with pytest.raises(UsageError, match="name its file with --foreign"):
        plan(long_session, target=TARGET, study="panel", arms=arms, positions="last")


def test_what_a_study_varies_cannot_be_chosen_for_all_its_levels(long_session: Session) -> None:
    with pytest.raises(UsageError, match=r"length varies .*budget_tokens"):
        plans([long_session], target=TARGET, study="length", budget_tokens=500)
    with pytest.raises(UsageError, match="placement varies anchor_placement"):
        plans([long_session], target=TARGET, study="placement", placement="user")
    with pytest.raises(UsageError, match='no level "medium"'):
        studies_of(load_study("placement"), ["medium"])
    with pytest.raises(UsageError, match="has 2 levels, and a plan is of one"):
        plan(long_session, target=TARGET, study="placement")
    with pytest.raises(UsageError, match="it needs 2 or more"):
        plans([long_session, long_session], target=TARGET, study="replication")


def test_history_and_levels_of_a_study_file_are_checked(tmp_path: Path) -> None:
    written = """
id = "mine"
version = "1"
question = "?"
positions = "last"
arms = ["control", "session+anchor"]
batteries = ["coding-self"]
paraphrases = 1
replicates = 1
anchor_placement = "user"
protocol = "strict"
contrasts = []

[[levels]]
id = "a"
anchor = "A"

[[levels]]
id = "a"
anchor = "Z"
idle = { kind = "loud", turns = -1 }

[[levels]]
id = "empty"
"""
    file = tmp_path / "mine.toml"
    file.write_text(written)
    with pytest.raises(DataError) as error:
        load_study(str(file))
    for problem in (
        "`varies` is missing",
        '`levels.id` is "a" more than once',
        'levels.a: `anchor` is "Z"',
        '`idle.kind` is "loud"',
        "`idle.turns` is -1",
        "levels.empty chooses nothing",
        "`anchor` is missing",
    ):
        assert problem in str(error.value)
    file.write_text(written.replace('anchor = "A"', 'anker = "A"'))
    with pytest.raises(DataError, match=r"unknown keys: levels\.anker"):
        load_study(str(file))


def test_an_older_plan_has_the_history_that_its_model_had() -> None:
    assert load_study("trajectory").history is History.SEGMENT
