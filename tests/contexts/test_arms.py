"""Arms differ only where they should; the control's tokens are counted by a tokenizer not ours."""

from __future__ import annotations

from collections import Counter

import pytest

from contextecho.contexts import (
    Arm,
    Context,
    Placement,
    Rendering,
    Snapshot,
    anchor_ids,
    apply_arm,
    context_tokens,
    find_positions,
    load_anchor,
    load_control,
    load_protocol,
    take_snapshot,
)
from contextecho.contexts.tokens import message_tokens
from contextecho.contexts.wording import wording
from contextecho.errors import UsageError
from contextecho.sessions import Session
from contexts.conftest import COUNTER, O200k
from contexts.made_up import called, result, said, session, user
from contexts.validity import assert_valid

STRICT = load_protocol("strict")
PUBLISHED = load_protocol("published")


def snapshots(
    made: Session, policy: str = "even:4", rendering: Rendering | None = None
) -> list[Snapshot]:
    return [
        take_snapshot(made, position, STRICT, counter=COUNTER, rendering=rendering)
        for position in find_positions(made, policy)
    ]


def control(snapshot: Snapshot) -> Context:
    return apply_arm(snapshot, Arm.CONTROL, STRICT, counter=COUNTER)


@pytest.mark.parametrize("rendering", list(Rendering))
def test_control_tokens_are_within_two_per_cent_by_an_independent_tokenizer(
    real_sessions: list[Session], o200k: O200k, rendering: Rendering
) -> None:
    large = sorted(real_sessions, key=lambda made: -made.bytes)[:10]
    ratios = [
        context_tokens(control(taken), o200k) / context_tokens(taken.context, o200k)
        for made in large
        for taken in snapshots(made, "even:3", rendering)
        if taken.tokens > 2000
    ]
    assert len(ratios) > 15
    outside = [ratio for ratio in ratios if abs(ratio - 1) > 0.02]
    assert len(outside) <= len(ratios) // 20, outside
    assert abs(sum(ratios) / len(ratios) - 1) < 0.01


def test_with_the_targets_own_tokenizer_the_match_is_all_but_exact(
    long_session: Session, o200k: O200k
) -> None:
    for position in find_positions(long_session, "even:4"):
        taken = take_snapshot(long_session, position, STRICT, counter=o200k)
        matched = apply_arm(taken, Arm.CONTROL, STRICT, counter=o200k)
        assert abs(context_tokens(matched, o200k) / taken.tokens - 1) < 0.002


@pytest.mark.parametrize("rendering", list(Rendering))
def test_the_control_has_the_sessions_messages_in_role_shape_and_length(
    real_sessions: list[Session], rendering: Rendering
) -> None:
    for made in real_sessions:
        for taken in snapshots(made, "last", rendering):
            matched = control(taken)
            assert_valid(matched)
            assert matched.system == taken.context.system
            assert len(matched.tools) == len(taken.context.tools)
            pairs = list(zip(taken.context.messages, matched.messages, strict=True))
            for shown, neutral in pairs:
                assert shown.role == neutral.role
                assert shown.call_id == neutral.call_id
                assert [c.id for c in shown.tool_calls] == [c.id for c in neutral.tool_calls]
                assert not neutral.is_error
            misses = [
                message_tokens(shown, COUNTER) - message_tokens(neutral, COUNTER)
                for shown, neutral in pairs
                if shown != neutral
            ]
            assert all(abs(miss) <= 40 for miss in misses[1:]), misses
            assert all(abs(miss) <= 80 for miss in misses[:1]), "it pays for the tools' names"


def test_no_words_of_the_session_are_left_in_the_control(long_session: Session) -> None:
    for taken in snapshots(long_session, "even:6"):
        mine, theirs = (
            {tuple(text[i : i + 5]) for text in texts for i in range(len(text) - 4)}
            for texts in (
                [m.text.split() for m in control(taken).messages],
                [m.text.split() for m in taken.context.messages],
            )
        )
        assert not mine & theirs


def test_control_prose_goes_on_from_message_to_message_without_repeating(
    long_session: Session,
) -> None:
    (taken,) = snapshots(long_session, "290")
    text = " ".join(m.text for m in control(taken).messages if m.role != "tool")
    pieces = Counter(text[i : i + 60] for i in range(0, min(len(text), 30_000) - 60))
    assert pieces.most_common(1)[0][1] == 1


def test_words_that_the_protocol_added_are_the_same_in_both_arms() -> None:
    made = session(said("one two three"), user("four five six"))
    (taken,) = snapshots(made, "last")
    matched = control(taken)
    assert matched.messages[0].text == wording().opening
    assert matched.messages[-1].text == STRICT.acknowledgement
    assert matched.messages[1].text != "one two three"


def test_neutral_tools_have_as_many_parameters_and_say_nothing() -> None:
    made = session(user("go"), called("a", "Bash", command="ls", timeout=3), result("a", "x y z"))
    (taken,) = snapshots(made, "line:3")
    (tool,) = control(taken).tools
    assert tool.name == "passage1"
    assert list(tool.parameters["properties"]) == ["part1", "part2"]


def test_scratch_is_the_system_prompt_alone(long_session: Session) -> None:
    (taken,) = snapshots(long_session, "100")
    scratch = apply_arm(taken, Arm.SCRATCH, STRICT, counter=COUNTER)
    assert scratch == Context(system=STRICT.system)


def test_session_arm_is_the_snapshot_itself(long_session: Session) -> None:
    (taken,) = snapshots(long_session, "100")
    assert apply_arm(taken, Arm.SESSION, STRICT, counter=COUNTER) is taken.context


def test_published_control_is_exactly_as_many_characters_of_filler(synthetic: Session) -> None:
    (position,) = find_positions(synthetic, "470")
    taken = take_snapshot(synthetic, position, PUBLISHED, counter=COUNTER)
    filler, acknowledgement = apply_arm(taken, Arm.CONTROL, PUBLISHED, counter=COUNTER).messages
    unit = load_control().filler_unit
    assert len(filler.text) == len(taken.context.messages[0].text) == 11_854
    assert filler.text == (unit * 100)[:11_854]
    assert acknowledgement.text == PUBLISHED.acknowledgement


@pytest.mark.parametrize("arm", [Arm.SESSION_ANCHOR, Arm.CONTROL_ANCHOR])
@pytest.mark.parametrize("recipe", ["V0", "V2", "A", "C", "neutral", "small", "medium", "large"])
def test_an_anchor_stands_between_prefix_and_question(
    long_session: Session, arm: Arm, recipe: str
) -> None:
    (taken,) = snapshots(long_session, "100")
    anchor = load_anchor(recipe)
    bare = taken.context if arm is Arm.SESSION_ANCHOR else control(taken)
    anchored = apply_arm(taken, arm, STRICT, counter=COUNTER, anchor=anchor)
    assert anchored.messages == bare.messages + anchor.messages
    assert anchored.system == bare.system
    assert_valid(anchored)


def test_an_anchor_in_the_system_prompt_leaves_the_messages_alone(long_session: Session) -> None:
    (taken,) = snapshots(long_session, "100")
    anchored = apply_arm(
        taken,
        Arm.SESSION_ANCHOR,
        STRICT,
        counter=COUNTER,
        anchor=load_anchor("V0"),
        placement=Placement.SYSTEM,
    )
    assert anchored.messages == taken.context.messages
    assert anchored.system == f"{STRICT.system}\n\n{load_anchor('V0').messages[0].text}"


def test_an_anchored_arm_needs_an_anchor(long_session: Session) -> None:
    (taken,) = snapshots(long_session, "100")
    with pytest.raises(UsageError, match="needs an anchor"):
        apply_arm(taken, Arm.SESSION_ANCHOR, STRICT, counter=COUNTER)


def test_recipes_have_the_lengths_counted_in_the_reference() -> None:
    # reference.md 1.2 counts 189, 359 and 456 characters with its acknowledgement, "Understood."
    counted = {
        name: sum(len(m.text) for m in load_anchor(name).messages)
        - len(load_anchor(name).messages[1].text)
        for name in ("small", "medium", "large")
    }
    assert counted == {"small": 189 - 11, "medium": 359 - 11, "large": 456 - 11}


@pytest.mark.parametrize(("neutral", "recipe"), [("neutral", "V0"), ("neutral-A", "A")])
def test_a_neutral_reminder_is_as_long_as_its_recipe(neutral: str, recipe: str) -> None:
    ours, theirs = load_anchor(neutral).messages, load_anchor(recipe).messages
    for one, other in zip(ours, theirs, strict=True):
        assert (one.role, len(one.text)) == (other.role, len(other.text))
        assert abs(COUNTER.count(one.text) - COUNTER.count(other.text)) <= 3


def test_size_names_are_the_recipes_they_stand_for() -> None:
    assert load_anchor("small").messages == load_anchor("V0").messages
    assert load_anchor("medium").messages == load_anchor("A").messages
    assert len(anchor_ids()) == 9


def test_an_unknown_anchor_or_protocol_is_one_line_naming_the_known_ones() -> None:
    with pytest.raises(UsageError, match="use one of V0, V2, A, C, neutral"):
        load_anchor("V9")
    with pytest.raises(UsageError, match="use one of strict, published"):
        load_protocol("loose")
