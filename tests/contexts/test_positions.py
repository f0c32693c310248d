"""Positions: the reference's spacing, all three indices, and nothing moved in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.contexts import choose_positions, find_positions
from contextecho.contexts.positions import even_indices
from contextecho.errors import SessionError, UsageError
from contextecho.sessions import Session
from contexts.made_up import Row, called, result, said, session, summary, user


def chat(pairs: int) -> list[Row]:
    return [row for i in range(pairs) for row in (user(f"ask {i}"), said(f"answer {i}"))]


def test_even_spacing_is_the_references(shared: Path) -> None:
    parity = json.loads((shared / "parity" / "reference_outputs.json").read_text())
    expected = parity["even_positions_synthetic"]
    indices = [index for _, index in expected["plan"]]
    assert even_indices(expected["n"], len(indices)) == tuple(indices)


def test_even_positions_end_at_the_end_and_none_is_a_single_row() -> None:
    found = find_positions(session(*chat(600)), "even:12")
    assert [p.row_turn for p in found] == [100 * i for i in range(1, 13)]
    assert [p.label for p in found][:2] == ["P00_t0100", "P01_t0200"]


def test_a_position_names_row_turn_step_prompt_and_line() -> None:
    made = session(
        user("a"),
        called("1", message=1),
        result("1", "x"),
        said("b", message=2),
        user("c"),
        said("d"),
    )
    (position,) = find_positions(made, "3")
    # rows: user 1, call 2, result (no turn), text 3
    assert (position.row_turn, position.step, position.prompt, position.line) == (3, 2, 1, 4)


def test_step_prompt_and_line_are_places_too() -> None:
    made = session(
        user("a"),
        called("1", message=1),
        result("1", "x"),
        said("b", message=2),
        user("c"),
        said("d"),
    )
    by = {
        place: find_positions(made, place)[0] for place in ("step:1", "prompt:1", "line:3", "last")
    }
    assert by["step:1"].line == 2, "the end of step 1"
    assert by["prompt:1"].line == 4, "the end of the exchange that prompt 1 began"
    assert (by["line:3"].line, by["line:3"].row_turn) == (3, 2), "with the result on line 3"
    assert by["last"].row_turn == 5


def test_positions_stand_before_and_after_each_compaction() -> None:
    made = session(*chat(200), summary("one"), *chat(200), summary("two"), *chat(200))
    found = choose_positions(made, "compactions", padding=50)
    assert [p.label for p in found.positions] == [
        "P00_start",
        "P01_pre_C1",
        "P02_post_C1",
        "P03_pre_C2",
        "P04_post_C2",
        "P05_late",
    ]
    assert [p.row_turn for p in found.positions] == [50, 350, 450, 751, 851, 1202]
    assert [p.segment for p in found.positions] == [0, 0, 1, 1, 2, 2]
    assert not found.notes


def test_the_papers_session_has_its_paddings_from_its_own_compactions(
    long_session: Session,
) -> None:
    # Counted by hand with the paper's rule: compactions after row turns 140, 330, 556 of 572.
    found = choose_positions(long_session, "compactions", padding=40)
    assert [p.row_turn for p in found.positions] == [40, 100, 180, 290, 370, 516, 561, 572]
    assert found.notes == (
        "post_C3 and late: 5 row turns from the border instead of 40, "
        "because the segment between holds 16",
    )


def test_onset_is_clipped_to_the_session_and_says_so() -> None:
    found = choose_positions(session(*chat(60)), "onset")
    assert [p.row_turn for p in found.positions] == [1, 5, 25, 100, 120]
    assert len(found.notes) == 4 + 3, "four moved to the end, three of them merged"


def test_positions_that_fall_together_are_one_and_that_is_said() -> None:
    found = choose_positions(session(*chat(10)), "5,900,800")
    assert [p.row_turn for p in found.positions] == [5, 20]
    assert found.notes[-1] == "t0020 fall on row turn 20: one position is kept"


@pytest.mark.parametrize("policy", ["5000", "step:99", "prompt:99", "line:9999", "even:50"])
def test_a_session_shorter_than_the_first_position_is_one_line_with_what_there_is(
    policy: str,
) -> None:
    with pytest.raises(SessionError) as refused:
        find_positions(session(*chat(10)), policy)
    assert "20 row turns, 10 agent steps, 10 prompts, 0 compactions" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("policy", ["", "x", "0", "-1", "even:", "even:0", "turn:4", "1,,2", "1.5"])
def test_what_is_no_policy_is_refused(policy: str) -> None:
    with pytest.raises(UsageError, match="is not a position policy"):
        find_positions(session(*chat(10)), policy)


@given(
    segments=st.lists(st.integers(0, 40), min_size=1, max_size=4),
    policy=st.sampled_from(
        ["compactions", "onset", "last", "even:1", "even:3", "1,7,30", "line:1"]
    ),
    padding=st.none() | st.integers(1, 60),
)
def test_positions_are_in_order_unique_and_inside(
    segments: list[int], policy: str, padding: int | None
) -> None:
    rows = [user("x"), said("y")]
    for index, pairs in enumerate(segments):
        rows += [*([summary("s")] if index else []), *chat(pairs)]
    made = session(*rows)
    try:
        found = find_positions(made, policy, padding=padding)
    except SessionError:
        return
    assert len({p.label for p in found}) == len(found) > 0
    assert [p.order for p in found] == list(range(len(found)))
    places = [(p.row_turn, p.line) for p in found]
    assert places == sorted(set(places))
    for position in found:
        before = [turn for turn in made.turns if turn.line <= position.line]
        assert 1 <= position.row_turn <= made.row_turns
        assert position.step == max(turn.step for turn in before)
        assert position.prompt == max(turn.prompt for turn in before)
        assert position.segment == sum(c.line <= position.line for c in made.full_compactions)
