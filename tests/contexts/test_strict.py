"""Strict snapshots: rules of both wire formats on every real session, and each case by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextecho.contexts import (
    Context,
    Rendering,
    Snapshot,
    context_tokens,
    find_positions,
    load_protocol,
    take_snapshot,
)
from contextecho.contexts.wording import wording
from contextecho.errors import UsageError
from contextecho.sessions import (
    Compaction,
    CompactionKind,
    Kind,
    Session,
    Speaker,
    read_session,
)
from contexts.conftest import COUNTER
from contexts.made_up import Row, called, result, said, session, summary, thought, user
from contexts.validity import assert_valid

STRICT = load_protocol("strict")


def snapshot_at(made: Session, place: str = "last", **choices: object) -> Snapshot:
    (position,) = find_positions(made, place)
    return take_snapshot(made, position, STRICT, counter=COUNTER, **choices)  # type: ignore[arg-type]


def shown(made: Session, place: str = "last", **choices: object) -> list[tuple[str, str]]:
    messages = snapshot_at(made, place, **choices).context.messages
    return [(message.role, message.text) for message in messages]


@pytest.mark.parametrize("rendering", list(Rendering))
@pytest.mark.parametrize("budget", [120, 1000, 8500])
def test_every_real_session_gives_valid_histories_within_budget_at_many_positions(
    real_sessions: list[Session], rendering: Rendering, budget: int
) -> None:
    checked = 0
    for made in real_sessions:
        places = sorted(
            {*range(1, made.row_turns + 1, max(1, made.row_turns // 9)), made.row_turns}
        )
        for position in find_positions(made, ",".join(map(str, places))):
            taken = take_snapshot(
                made, position, STRICT, counter=COUNTER, budget=budget, rendering=rendering
            )
            assert_valid(taken.context)
            assert taken.tokens == context_tokens(taken.context, COUNTER)
            if budget >= 1000:
                assert taken.tokens <= budget, (made.path, position)
            if rendering is not Rendering.NATIVE:
                assert not taken.context.tools
            checked += 1
    assert checked > 200


def test_a_whole_summary_is_always_kept_where_the_budget_can_hold_it(long_session: Session) -> None:
    for place in ("180", "290", "400", "560"):
        (position,) = find_positions(long_session, place)
        taken = take_snapshot(long_session, position, STRICT, counter=COUNTER)
        compaction = long_session.full_compactions[position.segment - 1]
        assert compaction.summary is not None
        text = long_session.text(long_session.turns[compaction.summary])
        assert taken.context.messages[0].role == "user"
        assert taken.context.messages[0].text.startswith(text)
        assert taken.summary_kept is True


def test_a_budget_is_overrun_only_where_no_shorter_prefix_is_possible(
    long_session: Session,
) -> None:
    def tokens(budget: int) -> int:
        return snapshot_at(long_session, "381", budget=budget).tokens

    # The summary alone may take three quarters, and the last message cannot be cut to the rest.
    shortest = tokens(60)
    assert shortest > 60
    assert all(tokens(budget) == shortest for budget in range(60, shortest))
    assert all(tokens(budget) <= budget for budget in range(shortest, 2 * shortest))


def test_no_thought_of_a_real_session_is_shown(long_session: Session) -> None:
    taken = snapshot_at(long_session, "120")
    everything = "".join(message.text for message in taken.context.messages)
    thoughts = [t for t in long_session.turns if t.kind is Kind.THINKING and t.row_turn <= 120]
    assert thoughts
    for thought_turn in thoughts:
        text = long_session.text(thought_turn)
        assert len(text) < 40 or text not in everything


def test_a_step_is_an_assistant_message_with_its_calls_and_their_results() -> None:
    made = session(
        user("look"),
        thought("hm", message=1),
        said("I look.", message=1),
        called("a", "Read", message=1, path="x"),
        result("a", "one"),
        called("b", "Bash", message=1, command="ls"),
        result("b", "", error=True),
        said("Seen.", message=2),
    )
    taken = snapshot_at(made)
    look, step, one, two, seen = taken.context.messages
    assert (look.role, look.text) == ("user", "look")
    assert (step.text, [call.name for call in step.tool_calls]) == ("I look.", ["Read", "Bash"])
    assert [call.id for call in step.tool_calls] == [one.call_id, two.call_id]
    assert (one.text, one.is_error) == ("one", False)
    assert (two.text, two.is_error) == (wording().no_output, True), "an empty text is never sent"
    assert seen.text == "Seen."
    assert [tool.name for tool in taken.context.tools] == ["Bash", "Read"]
    assert taken.context.tools[1].parameters == {
        "type": "object",
        "properties": {"path": {"type": "string"}},
    }


CLEARED = "[Old tool result content cleared]"  # as several public descriptions of the client say


def test_results_that_a_microcompaction_cleared_are_shown_as_the_clients_mark(
    shared: Path,
) -> None:
    made = read_session(
        shared / "sessions" / "claude-code" / "entire-99f72ee73a-0-microcompact.jsonl"
    )

    def results(place: str, **choices: object) -> list[str]:
        return [text for role, text in shown(made, place, **choices) if role == "tool"]

    # The boundary is line 199; all eleven results it names lie before (lines 19 to 52).
    before, after = results("line:198", budget=100_000), results("line:199", budget=100_000)
    assert before.count(CLEARED) == 0
    assert after.count(CLEARED) == 11
    kept = list(zip(before, after, strict=True))
    assert all(new in (old, CLEARED) for old, new in kept)
    # The client counts four characters a token, and says that it saved 20,801 tokens.
    gone = sum(map(len, before)) - sum(map(len, after)) + 11 * len(CLEARED)
    assert gone == pytest.approx(4 * 20_801, rel=0.001)


def test_results_that_were_cleared_hold_no_characters_when_the_prefix_is_loaded() -> None:
    rows = [user("go")]
    for number in range(20):
        rows += [called(f"c{number}"), result(f"c{number}", "x" * 5000)]
    made = session(*rows, said("done"))
    (position,) = find_positions(made, "last")
    micro = Compaction(
        line=len(made.turns),
        row_turn=made.row_turns,
        step=made.steps,
        prompt=made.prompts,
        cleared=tuple(f"c{number}" for number in range(20)),
        kind=CompactionKind.MICRO,
    )
    made = msgspec.structs.replace(made, compactions=(micro,))
    taken = take_snapshot(made, position, STRICT, counter=COUNTER, budget=1500)
    assert taken.dropped_turns == 0
    assert [m.text for m in taken.context.messages if m.role == "tool"] == [CLEARED] * 20


def test_the_sessions_own_system_prompt_stands_under_strict_unless_another_is_given() -> None:
    made = msgspec.structs.replace(session(user("ahoy"), said("Arr.")), system="Be a pirate.")
    assert snapshot_at(made).context.system == "Be a pirate."
    assert snapshot_at(made, system="Be mine.").context.system == "Be mine."
    published = load_protocol("published")
    (position,) = find_positions(made, "last")
    taken = take_snapshot(made, position, published, counter=COUNTER)
    assert taken.context.system == published.system
    assert snapshot_at(session(user("ahoy"), said("Arr."))).context.system == STRICT.system


def test_human_text_between_a_call_and_its_result_follows_the_result() -> None:
    made = session(user("go"), called("a"), user("hurry"), result("a", "done"), said("ok"))
    assert shown(made) == [
        ("user", "go"),
        ("assistant", ""),
        ("tool", "done"),
        ("user", "hurry"),
        ("assistant", "ok"),
    ]


def test_a_result_without_a_call_and_a_call_without_a_result_are_not_shown() -> None:
    made = session(
        result("lost", "orphan"), user("go"), said("Trying."), called("never"), said("Gave up.")
    )
    assert shown(made) == [("user", "go"), ("assistant", "Trying.\n\nGave up.")]


def test_a_call_whose_result_lies_after_the_fork_is_dropped_with_its_part() -> None:
    rows = (user("go"), said("Now.", message=1), called("a", message=1), result("a", "x"))
    made = session(*rows, said("Done."))
    assert shown(made, "3") == [("user", "go"), ("assistant", "Now.")]
    assert [role for role, _ in shown(made, "line:4")] == ["user", "assistant", "tool"]


def test_harness_text_is_shown_as_the_model_met_it() -> None:
    made = session(
        user("go"), said("ok"), user("[Request interrupted by user]", speaker=Speaker.HARNESS)
    )
    assert shown(made)[2:] == [
        ("user", "[Request interrupted by user]"),
        ("assistant", STRICT.acknowledgement),
    ]


def test_an_abandoned_branch_is_shown_only_to_a_fork_inside_it() -> None:
    made = session(
        user("go"),
        said("one way", abandoned=True),
        user("no", abandoned=True),
        said("other way"),
    )
    assert shown(made, "2")[1] == ("assistant", "one way")
    assert shown(made, "4") == [("user", "go"), ("assistant", "other way")]


def test_a_history_that_begins_with_the_model_gets_an_opening() -> None:
    made = session(said("first"), user("hm"), said("second"))
    assert shown(made)[0] == ("user", wording().opening)


def test_the_cut_is_made_between_messages_and_counted() -> None:
    long = "word " * 300
    made = session(user(long), said(long), user("short"), said("last words"))
    taken = snapshot_at(made, budget=100)
    assert [m.text for m in taken.context.messages] == ["short", "last words"]
    assert taken.dropped_turns == 2
    assert snapshot_at(made, budget=5000).dropped_turns == 0


def test_only_a_last_message_too_long_by_itself_is_cut_with_a_mark_in_its_middle() -> None:
    made = session(user("go"), called("a"), result("a", "begin " + "x y " * 4000 + " end"))
    taken = snapshot_at(made, "line:3", budget=500)
    text = taken.context.messages[-1].text
    assert text.startswith("begin ")
    assert text.endswith(" end")
    assert "characters are left out here" in text
    assert 350 < taken.tokens <= 500


def test_a_summary_stands_first_and_is_shortened_only_when_it_crowds_out_the_rest() -> None:
    made = session(user("old"), said("old"), summary("told " * 400), user("new"), said("newer"))
    whole = snapshot_at(made, budget=2000)
    assert whole.summary_kept is True
    assert whole.context.messages[0].text == "told " * 400 + "\n\nnew"
    small = snapshot_at(made, budget=200)
    assert small.summary_kept is False
    assert small.tokens <= 200
    assert small.context.messages[-1].text == "newer"


def test_renderings_differ_in_form_and_hold_the_same_words() -> None:
    made = session(
        user("go"), said("Look.", message=1), called("a", "Read", message=1, path="p"),
        result("a", "found"), said("Done."),
    )  # fmt: skip
    assert shown(made, rendering=Rendering.NATIVE_TEXT) == [
        ("user", "go"),
        ("assistant", 'Look.\n[Read {"path":"p"}]'),
        ("user", "[Result of Read]\nfound"),
        ("assistant", "Done."),
    ]
    assert shown(made, rendering=Rendering.QUOTED) == [
        (
            "user",
            '--- USER ---\ngo\n\n--- ASSISTANT ---\nLook.\n[Read {"path":"p"}]\n\n'
            "--- TOOL ---\nfound\n\n--- ASSISTANT ---\nDone.",
        ),
        ("assistant", STRICT.acknowledgement),
    ]


def test_the_deployers_system_prompt_replaces_ours() -> None:
    made = session(user("go"), said("ok"))
    assert snapshot_at(made, system="You are Bo.").context.system == "You are Bo."
    assert snapshot_at(made).context.system == STRICT.system


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="holds nothing"):
        snapshot_at(session(user("go")), budget=0)
    with pytest.raises(UsageError, match="used up by the system prompt"):
        snapshot_at(session(user("go")), budget=10)


def test_a_snapshot_counts_each_text_once(long_session: Session) -> None:
    counted: list[str] = []

    class Noting:
        name = "noting"

        def count(self, text: str) -> int:
            counted.append(text)
            return COUNTER.count(text)

    (position,) = find_positions(long_session, "last")
    taken = take_snapshot(long_session, position, STRICT, counter=Noting())
    assert taken.tokens == context_tokens(taken.context, COUNTER)
    assert taken.counter == "noting"
    assert len(counted) == len(set(counted)) > 10


def test_the_same_snapshot_twice_is_the_same_to_the_byte(long_session: Session) -> None:
    assert snapshot_at(long_session, "300") == snapshot_at(long_session, "300")


WORDS = st.text(st.sampled_from("ab c\n.é漢{\"'"), max_size=60)
CALLS = st.sampled_from(["a", "b", "c"])
ROWS = st.one_of(
    st.builds(user, WORDS),
    st.builds(said, WORDS, message=st.integers(0, 4)),
    st.builds(lambda call, text, m: called(call, "T.x", message=m, text=text), CALLS, WORDS,
              st.integers(0, 4)),
    st.builds(result, CALLS, WORDS),
    st.builds(summary, WORDS),
    st.builds(said, WORDS, abandoned=st.just(True)),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=25),
    rendering=st.sampled_from(list(Rendering)),
    budget=st.integers(40, 400),
)
def test_whatever_a_session_holds_the_history_is_valid(
    rows: list[Row], rendering: Rendering, budget: int
) -> None:
    made = session(*rows)
    if not made.row_turns:
        return
    context: Context = snapshot_at(made, rendering=rendering, budget=budget).context
    assert_valid(context)
