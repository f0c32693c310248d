"""Plans: every cell once, ordered by prefix, and nothing left unsaid."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rs_bpe.bpe import openai

from contextecho.contexts import Arm, context_tokens
from contextecho.errors import SessionError, UsageError
from contextecho.sessions import Session, read_session
from contextecho.studies import Plan, load_study, make_plan


@pytest.fixture(scope="module")
def long_session(shared: Path) -> Session:
    return read_session(shared / "sessions" / "claude-code" / "entire-cd95adddad32-0.jsonl")


def plan(session: Session, **choices: Any) -> Plan:
    given = {"positions": "100,300,500", "paraphrases": 2, **choices}
    return make_plan(load_study("trajectory"), session, ["openai/x"], **given)


def test_a_plan_has_every_cell_once(long_session: Session) -> None:
    made = plan(long_session, replicates=3)
    # 3 positions x 4 arms x (5 coding-self + 5 negative controls) x 2 wordings x 3 replicates
    assert len(made.cells) == 3 * 4 * 10 * 2 * 3
    assert len({cell.id for cell in made.cells}) == len(made.cells)


def test_a_plan_says_what_its_session_says_of_itself(shared: Path) -> None:
    name = "cipherbox-c644f3afc869-1.jsonl"
    session = read_session(shared / "sessions" / "claude-code" / name)
    origin = plan(session, positions="100").origin
    # Counted in the file itself, see tests/sessions/golden; first and last time of its messages.
    assert (origin.format, origin.models) == ("claude-code", ("claude-opus-4-6",))
    assert (origin.prompts, origin.steps) == (31, 82)
    begins, ends = datetime(2026, 2, 21, 5, tzinfo=UTC), datetime(2026, 2, 21, 7, tzinfo=UTC)
    assert origin.began
    assert origin.ended
    assert begins.timestamp() < origin.began < origin.ended < ends.timestamp()


def test_scratch_is_asked_once_for_all_positions(long_session: Session) -> None:
    made = plan(long_session)
    keys = {made.request(cell).key for cell in made.cells}
    # scratch has one prefix, the other three arms one a position
    assert len(made.contexts) == 1 + 3 * 3
    assert len(keys) == (1 + 3 * 3) * 10 * 2
    assert len([cell for cell in made.cells if cell.arm is Arm.SCRATCH]) == 3 * 10 * 2


def test_cells_of_one_target_and_prefix_stand_together(long_session: Session) -> None:
    study = load_study("trajectory")
    made = make_plan(
        study, long_session, ["openai/x", "anthropic/y"], positions="100,300", paraphrases=1
    )
    runs = [
        (cell.target, cell.prefix)
        for cell, before in zip(made.cells, (None, *made.cells), strict=False)
        if before is None or (cell.target, cell.prefix) != (before.target, before.prefix)
    ]
    assert len(runs) == len(set(runs)) == 2 * (1 + 2 * 3)
    assert sum(len(cells) for _, cells in made.by_prefix()) == len(made.cells)


def test_every_cell_makes_a_request_whose_context_is_its_arm(long_session: Session) -> None:
    made = plan(long_session)
    systems = {made.request(cell).context.system for cell in made.cells}
    assert systems == {made.protocol.system}, "identical in all arms"
    for cell in made.cells:
        request = made.request(cell)
        assert request.ask[0].role == "user"
        assert (len(request.context.messages) == 0) == (cell.arm is Arm.SCRATCH)


def test_tokens_are_counted_by_the_counter_that_is_given(long_session: Session) -> None:
    class Exact:
        name = "o200k"
        vocabulary = openai.o200k_base()

        def count(self, text: str) -> int:
            return self.vocabulary.count(text)

    made = plan(long_session, counter=Exact(), budget_tokens=3000)
    assert made.token_counter == "o200k"
    for sha256, context in made.contexts.items():
        assert made.prefix_tokens[sha256] == context_tokens(context, Exact())
    assert all(abs(ratio - 1) < 0.01 for ratio in made.control_ratio.values())
    assert list(made.control_ratio) == [p.label for p in made.positions]


def test_published_sends_one_wording_and_says_how_far_its_control_is_off(
    long_session: Session,
) -> None:
    made = make_plan(
        load_study("trajectory"), long_session, ["x/y"], protocol="published", positions="300"
    )
    assert {cell.paraphrase for cell in made.cells} == {0}
    assert made.study.protocol == made.protocol.id == "published"
    assert made.decoding.temperature is None
    (ratio,) = made.control_ratio.values()
    assert abs(ratio - 1) > 0.02
    assert any("times the session's tokens, counted by estimate" in note for note in made.notes)


def test_arms_that_are_left_out_take_their_contrasts_with_them_and_it_is_said(
    long_session: Session,
) -> None:
    made = plan(long_session, arms=["session", "control", "session"])
    assert made.study.arms == (Arm.SESSION, Arm.CONTROL)
    assert [contrast.id for contrast in made.study.contrasts] == ["gap"]
    assert sum("is left out" in note for note in made.notes) == 3


def test_what_the_session_could_not_give_is_in_the_notes(long_session: Session) -> None:
    made = plan(long_session, positions="compactions", budget_tokens=1500)
    assert any("from the nearest compaction" in note for note in made.notes)
    assert any("compaction summary is not wholly in view" in note for note in made.notes)
    assert all("\n" not in note for note in made.notes)


def test_a_plan_says_whose_system_prompt_stands_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(
        '[{"role": "system", "content": "Be a pirate."}, {"role": "user", "content": "hi"},'
        ' {"role": "assistant", "content": "Arr."}]'
    )

    def made(**choices: Any) -> tuple[set[str | None], str, bool]:
        taken = plan(read_session(path), positions="last", **choices)
        said = any("system prompt of all arms is the session's own" in n for n in taken.notes)
        return {context.system for context in taken.contexts.values()}, taken.protocol.system, said

    assert made() == ({"Be a pirate."}, "Be a pirate.", True)
    assert made(system="Be mine.") == ({"Be mine."}, "Be mine.", False)
    (published,), stored, said = made(protocol="published")
    assert published == stored != "Be a pirate."
    assert not said


def test_a_budget_that_no_prefix_fits_is_said_with_what_the_prefix_holds(
    long_session: Session,
) -> None:
    made = plan(long_session, positions="100,300", budget_tokens=60)
    for snapshot in made.snapshots:
        label, held = snapshot.position.label, snapshot.tokens
        assert held > 60
        assert (
            f"{label} holds {held} tokens, more than the budget of 60: "
            "no shorter prefix is possible there"
        ) in made.notes
    assert not any("more than the budget" in note for note in plan(long_session).notes)


def test_a_plan_is_the_same_twice_and_survives_storage(long_session: Session) -> None:
    made = plan(long_session)
    assert made == plan(long_session)
    whole = msgspec.structs.replace(made, cells=tuple(made.cells))  # a store has them as rows
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Plan) == made


def test_cells_are_small(long_session: Session) -> None:
    made = plan(long_session, replicates=100)
    assert len(made.cells) > 20_000
    assert sys.getsizeof(made.cells[0]) <= 120
    one, other = made.cells[0], made.cells[1]
    assert one.prefix is other.prefix, "strings are shared, not copied"


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"arms": ["elsewhere"]}, 'there is no arm "elsewhere"'),
        ({"arms": []}, "needs an arm"),
        ({"rendering": "html"}, 'there is no rendering "html"'),
        ({"protocol": "loose"}, 'there is no protocol "loose"'),
        ({"protocol": "published", "budget_tokens": 900}, "counts characters, always 30000"),
        ({"anchor": "Z"}, 'there is no anchor "Z"'),
        ({"placement": "top"}, 'there is no anchor placement "top"'),
        ({"paraphrases": -1}, "-1 paraphrases ask nothing"),
        ({"paraphrases": 0}, "0 paraphrases ask nothing"),
        ({"replicates": 0}, "0 replicates ask nothing"),
        ({"budget_tokens": 0}, "holds nothing"),
    ],
)
def test_a_choice_that_cannot_be_is_one_line(
    long_session: Session, choices: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        plan(long_session, **choices)


def test_a_plan_needs_a_target_and_a_session_that_reaches_its_first_position(
    long_session: Session,
) -> None:
    study = load_study("trajectory")
    with pytest.raises(UsageError, match="needs a target"):
        make_plan(study, long_session, [])
    with pytest.raises(SessionError, match="ends at row turn 572"):
        make_plan(study, long_session, ["x/y"], positions="5000")


def test_a_system_prompt_that_leaves_the_session_little_room_is_noted(shared: Path) -> None:
    """Codex keeps its system prompt: 21,335 characters by jq, about 4,400 tokens of the 8,500."""
    session = read_session(shared / "sessions" / "codex" / "agentv-34f597b72d-1.jsonl")
    assert session.system is not None
    assert len(session.system) == 21_335
    plan = make_plan(load_study("trajectory"), session, ["simulated"])
    (heavy,) = (note for note in plan.notes if note.startswith("the system prompt takes 4,"))
    assert "of the 8,500 tokens" in heavy
    thin = [note.split()[0] for note in plan.notes if "tokens of messages, with room for" in note]
    assert thin == ["P01_pre_C1", "P04_post_C2", "P05_late"]
    (missing,) = (note for note in plan.notes if note.startswith("the file does not hold"))
    assert "P02_post_C1, P03_pre_C2, P04_post_C2, P05_late (encrypted" in missing
