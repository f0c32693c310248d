"""Positions: the reference's spacing, all three indices, and nothing moved in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.contexts import (
    EstimateCounter,
    choose_positions,
    find_positions,
    load_protocol,
    take_snapshot,
)
from contextecho.contexts.positions import even_indices
from contextecho.errors import SessionError, UsageError
from contextecho.sessions import Session, read_session
from contexts.made_up import Row, called, result, said, session, summary, user

Raw = dict[str, Any]


def chat(pairs: int) -> list[Row]:
    return [row for i in range(pairs) for row in (user(f"ask {i}"), said(f"answer {i}"))]


BOUNDARY: list[Raw] = [
    {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}},
    {
        "type": "user",
        "isCompactSummary": True,
        "message": {"role": "user", "content": "Summary of the talk so far."},
    },
]
"""A compaction as Claude Code writes it: the boundary, which is no row turn, and the summary."""


def talk(pairs: int) -> list[Raw]:
    """Row turns of a Claude Code file, two a pair."""
    spoken = []
    for i in range(pairs):
        block = {"type": "text", "text": f"answer {i}"}
        spoken += [
            {"type": "user", "message": {"role": "user", "content": f"ask {i}"}},
            {
                "type": "assistant",
                "message": {"id": f"m{i}", "role": "assistant", "model": "x", "content": [block]},
            },
        ]
    return spoken


def claude_session(path: Path, rows: list[Raw]) -> Session:
    envelope = {"sessionId": "s", "version": "2.0.0", "isSidechain": False}
    lines = [
        json.dumps({"uuid": f"u{i}", "timestamp": "2026-01-01T00:00:00Z", **envelope, **row})
        for i, row in enumerate(rows)
    ]
    path.write_text("\n".join(lines) + "\n")
    return read_session(path)


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
        "post_C3 stands 5 row turns from the nearest compaction or session end, not 40, "
        "because only 16 lie between",
    )


def test_a_file_that_begins_with_a_compaction_has_no_positions_before_it(tmp_path: Path) -> None:
    found = choose_positions(
        claude_session(tmp_path / "s.jsonl", [*BOUNDARY, *talk(10)]), "compactions", padding=3
    )
    assert [(p.label, p.row_turn, p.segment) for p in found.positions] == [
        ("P00_post_C1", 3, 1),
        ("P01_late", 21, 1),
    ]
    assert found.notes[0] == (
        "start and pre_C1 are left out: the session has no row turn between them"
    )


def test_a_file_that_ends_with_a_boundary_has_no_positions_behind_it(tmp_path: Path) -> None:
    made = claude_session(tmp_path / "s.jsonl", [*talk(10), BOUNDARY[0]])
    found = choose_positions(made, "compactions", padding=3)
    assert [(p.label, p.row_turn) for p in found.positions] == [
        ("P00_start", 3),
        ("P01_pre_C1", 17),
    ]
    assert found.notes[0] == (
        "post_C1 and late are left out: the session has no row turn between them"
    )


def test_two_boundaries_in_a_row_have_nothing_between_them(tmp_path: Path) -> None:
    made = claude_session(tmp_path / "s.jsonl", [*talk(5), BOUNDARY[0], *BOUNDARY, *talk(5)])
    found = choose_positions(made, "compactions", padding=2)
    assert [(p.label, p.row_turn, p.segment) for p in found.positions] == [
        ("P00_start", 2, 0),
        ("P01_pre_C1", 8, 0),
        ("P02_post_C2", 12, 2),
        ("P03_late", 21, 2),
    ]
    assert found.notes[0] == (
        "post_C1 and pre_C2 are left out: the session has no row turn between them"
    )


def test_a_segment_of_one_row_turn_has_one_position_inside_it(tmp_path: Path) -> None:
    made = claude_session(tmp_path / "s.jsonl", [talk(1)[0], *BOUNDARY, *talk(6)])
    found = choose_positions(made, "compactions", padding=1)
    assert [(p.label, p.row_turn, p.segment) for p in found.positions] == [
        ("P00_start", 1, 0),
        ("P01_post_C1", 2, 1),
        ("P02_late", 14, 1),
    ]
    assert found.notes[0] == "start and pre_C1 fall on row turn 1: one position is kept"


def test_compactions_that_give_few_positions_are_said_with_the_policy_that_gives_more() -> None:
    for compactions, positions in ((0, 2), (1, 4), (2, 6)):
        rows = [*chat(200), *([summary("s"), *chat(200)] * compactions)]
        found = choose_positions(session(*rows), "compactions")
        assert len(found.positions) == positions
        assert any("too few" in note and "even:N" in note for note in found.notes) == (
            positions < 5
        )


def test_a_session_of_one_row_turn_has_one_position(tmp_path: Path) -> None:
    (spoken,) = talk(1)[1:]
    for rows in ([spoken], [BOUNDARY[0], spoken], [spoken, BOUNDARY[0]]):
        made = claude_session(tmp_path / "s.jsonl", rows)
        assert [p.row_turn for p in find_positions(made, "compactions")] == [1]


@given(st.lists(st.sampled_from(["boundary", "summary", "talk"]), min_size=1, max_size=12))
def test_positions_around_compactions_lie_in_the_segment_they_are_named_after(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    parts = {"boundary": BOUNDARY[:1], "summary": BOUNDARY, "talk": talk(2)}
    rows = [row for kind in kinds for row in parts[kind]]
    try:
        made = claude_session(tmp_path_factory.getbasetemp() / "any.jsonl", rows)
        found = find_positions(made, "compactions")
    except SessionError:
        return
    last = len(made.full_compactions)
    for position in found:
        name = position.label.split("_", 1)[1]
        before, number = name.startswith("pre"), name.rpartition("_C")[2]
        named = {"start": 0, "late": last}.get(name)
        assert position.segment == (int(number) - before if named is None else named), name
        assert 1 <= position.row_turn <= made.row_turns


def test_onset_is_clipped_to_the_session_and_says_so() -> None:
    found = choose_positions(session(*chat(60)), "onset")
    assert [p.row_turn for p in found.positions] == [1, 5, 25, 100, 120]
    assert len(found.notes) == 4 + 3, "four moved to the end, three of them merged"


def test_positions_that_fall_together_are_one_and_that_is_said() -> None:
    found = choose_positions(session(*chat(10)), "5,20,step:10")
    assert [p.row_turn for p in found.positions] == [5, 20]
    assert found.notes[-1] == "t0020 and step10 fall on row turn 20: one position is kept"


@pytest.mark.parametrize("policy", ["5000", "step:99", "prompt:99", "line:9999", "even:50"])
def test_a_session_shorter_than_the_first_position_is_one_line_with_what_there_is(
    policy: str,
) -> None:
    with pytest.raises(SessionError) as refused:
        find_positions(session(*chat(10)), policy)
    assert "20 row turns, 10 agent steps, 10 prompts, 0 compactions" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        ("8800,9000", "row turn 8800"),
        ("step:99", "step:99"),
        ("5,8800", "row turn 8800"),
        ("1,step:99", "step:99"),
    ],
)
def test_a_place_that_the_session_does_not_reach_is_named_as_it_was_asked_for(
    policy: str, place: str
) -> None:
    with pytest.raises(SessionError, match=f"ends at row turn 20: there is no {place} "):
        find_positions(session(*chat(10)), policy)


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


def test_the_end_is_the_end_also_behind_the_last_row_turn() -> None:
    read = session(user("Look."), called("t1"), result("t1", "a.py"))
    (last,) = find_positions(read, "last")
    assert (last.row_turn, last.line) == (2, 3)
    shown = take_snapshot(read, last, load_protocol("strict"), counter=EstimateCounter())
    assert [message.role for message in shown.context.messages] == ["user", "assistant", "tool"]
