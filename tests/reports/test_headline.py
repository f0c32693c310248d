from __future__ import annotations

import msgspec
import pytest

from contextecho.contexts import Arm
from contextecho.reports import brief
from contextecho.reports.headline import direction, headlines, meaning, numbers
from contextecho.reports.view import view_of
from contextecho.scoring import Contrast, Measure
from contextecho.stats import Interval
from reports.runs import make_analysis
from reports.shapes import SHAPES

GAP = Contrast(
    id="gap",
    target="openai/x",
    battery="coding-self",
    measure=Measure.REGISTER,
    scope="overall",
    minus_from=Arm.CONTROL,
    minus=Arm.SESSION,
    estimate=0.42,
    interval=Interval(low=0.11, high=0.73, level=0.95, method="cluster-t"),
    percentile=None,
    p=0.01,
    p_holm=0.02,
    family="overall",
    pairs=60,
    planned_pairs=60,
    clusters=12,
    units=12,
)


def changed(**fields: object) -> Contrast:
    return msgspec.structs.replace(GAP, **fields)


def interval(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, level=0.95, method="cluster-t")


def test_a_difference_is_written_with_interval_and_n() -> None:
    assert numbers(GAP) == "control − session = 0.42 [0.11, 0.73], 60 pairs in 12 clusters"


def test_missing_pairs_are_said() -> None:
    assert "48 of 60 pairs" in numbers(changed(pairs=48))


def test_a_length_contrast_is_a_ratio() -> None:
    ratio = changed(measure=Measure.LENGTH, estimate=0.25, interval=interval(0.2, 0.3))
    assert numbers(ratio).startswith("control ÷ session = 0.25× [0.20, 0.30]")
    assert "are shorter than in the session arm" in meaning(ratio)


@pytest.mark.parametrize(
    ("measure", "low", "high", "sign"),
    [
        (Measure.REGISTER, 0.11, 0.73, 1),
        (Measure.REGISTER, -0.73, -0.11, -1),
        (Measure.REGISTER, -0.1, 0.9, 0),
        (Measure.REGISTER, 0.0, 0.9, 0),
        (Measure.LENGTH, 0.5, 0.9, -1),
        (Measure.LENGTH, 0.5, 1.1, 0),
        (Measure.LENGTH, 1.2, 3.0, 1),
        (Measure.COMPLIANCE, 0.2, 0.6, 1),
    ],
)
def test_only_an_interval_clear_of_no_difference_has_a_direction(
    measure: Measure, low: float, high: float, sign: int
) -> None:
    assert direction(changed(measure=measure, interval=interval(low, high))) == sign


def test_an_interval_over_zero_shows_neither_a_difference_nor_its_absence() -> None:
    said = meaning(changed(interval=interval(-0.1, 0.9)))
    assert said == "The interval covers 0: a difference is not shown, and neither is its absence."


def test_a_number_without_interval_supports_no_conclusion() -> None:
    bare = changed(interval=None)
    assert direction(bare) is None
    assert "nothing follows" in meaning(bare)


def test_fewer_than_five_pairs_make_no_sentence() -> None:
    full = make_analysis(positions=5)
    few = tuple(msgspec.structs.replace(c, pairs=3, note="beware") for c in full.contrasts)
    (found,) = headlines(view_of(msgspec.structs.replace(full, contrasts=few)))
    assert {s.numbers for s in found.statements} == {"n too small to state: 3 pairs in 5 clusters"}
    assert not any("arm" in s.meaning for s in found.statements)
    assert [note.split(" units")[0] for note in found.notes] == [
        "A sentence takes at least 5 pairs and 3 independent"
    ]
    assert direction(changed(pairs=4)) is None
    assert direction(changed(pairs=5)) == 1


def test_two_units_make_no_sentence_because_no_p_lies_below_one_half() -> None:
    two = changed(
        measure=Measure.LENGTH, estimate=0.47, interval=interval(0.29, 0.77), units=2, clusters=2
    )
    assert direction(two) is None
    assert numbers(two).startswith("control ÷ session = 0.47× [0.29, 0.77]")  # for the tables
    assert meaning(two) == "control ÷ session stands in the table of differences."
    assert direction(msgspec.structs.replace(two, units=3)) == -1


def test_a_fingerprint_headline_gives_the_auc_beside_chance_and_no_side() -> None:
    full = make_analysis(positions=5)
    apart = tuple(msgspec.structs.replace(c, interval=interval(-1.2, -0.1)) for c in full.contrasts)
    maps = tuple(msgspec.structs.replace(f, auc_by_chance=0.57) for f in full.fingerprints)
    run = msgspec.structs.replace(full, contrasts=apart, fingerprints=maps)
    (found,) = headlines(view_of(run))
    (said,) = (s.meaning for s in found.statements if s.measure == "fingerprint")
    assert said == (
        "PC1 tells a session reply from a control reply with AUC 0.83 [0.77, 0.89] "
        "(arms that do not differ would show 0.57)."
    )
    assert not any(word in brief(run) for word in ("lie higher", "lie lower"))


def test_a_judge_of_whom_nothing_can_be_read_is_said_with_no_estimate() -> None:
    run = SHAPES["unreadable judge"]()
    (found,) = headlines(view_of(run))
    register = found.statements[0]
    assert register.measure == "register"
    assert register.numbers.startswith("control − session = no estimate, 0 of 25 pairs")
    assert register.meaning == "No number: 25 of 25 planned pairs lack a score."
    assert found.notes[0] == (
        "anthropic/claude-sonnet-4-6: of its verdicts on 494 answers not one could be read, "
        "so the register is not measured. Ask another judge."
    )
    assert found.notes[0] in brief(run)


def test_an_incomplete_run_says_why_replies_are_more_than_requests() -> None:
    holed = make_analysis(positions=5)
    assert brief(holed).splitlines()[0] == (
        "run 3fa91c07: 782 of 800 planned replies answered "
        "(scratch is asked once and counts at every position)"
    )
    whole = tuple(msgspec.structs.replace(d, answered=d.planned) for d in holed.denominators)
    said = brief(msgspec.structs.replace(holed, denominators=whole)).splitlines()[0]
    assert said == "run 3fa91c07: 800 of 800 planned replies answered"


def test_pairs_that_are_too_few_of_the_planned_are_said_even_if_no_measure_has_a_number() -> None:
    full = make_analysis(positions=5)
    lacking = tuple(
        msgspec.structs.replace(c, estimate=None, interval=None, units=0, note="5 lack a score")
        for c in full.contrasts
    )
    (found,) = headlines(view_of(msgspec.structs.replace(full, contrasts=lacking)))
    assert {s.meaning for s in found.statements} == {"No number: 5 lack a score."}


def test_no_estimate_says_why() -> None:
    said = meaning(
        changed(estimate=None, interval=None, note="20 of 60 planned pairs lack a score")
    )
    assert said == "No number: 20 of 60 planned pairs lack a score."


def test_a_moved_negative_control_withholds_the_headline_of_its_target_only() -> None:
    full = make_analysis(3, targets=3, positions=5)
    guards = tuple(
        msgspec.structs.replace(g, moved=g.target == full.run.targets[1]) for g in full.guards
    )
    found = headlines(view_of(msgspec.structs.replace(full, guards=guards)))
    assert [bool(h.withheld) for h in found] == [False, True, False]


def test_withheld_headlines_carry_the_evidence() -> None:
    (found,) = headlines(view_of(SHAPES["withheld"]()))
    assert found.withheld == (
        "right answers: moved (control − session = 40 pp [20, 60], 25 pairs in 5 clusters)",
    )


def test_without_answers_there_is_nothing_to_say() -> None:
    run = SHAPES["empty"]()
    (found,) = headlines(view_of(run))
    assert found.statements == ()
    assert "  nothing could be estimated" in brief(run).splitlines()


def test_a_note_shared_by_all_statements_is_given_once() -> None:
    full = make_analysis(positions=5)
    warned = tuple(
        msgspec.structs.replace(c, note="only 5 clusters: beware") for c in full.contrasts
    )
    run = msgspec.structs.replace(full, contrasts=warned)
    (found,) = headlines(view_of(run))
    assert found.notes == ("Only 5 clusters: beware.",)
    assert brief(run).count("beware") == 1


def test_a_withheld_headline_has_no_statement_in_the_terminal_either() -> None:
    said = brief(SHAPES["withheld"]())
    assert "withheld: right answers: moved" in said
    assert "coding-self" not in said


def test_the_terminal_is_not_steered_by_a_run() -> None:
    said = brief(SHAPES["hostile"]())
    assert "\x1b" not in said
    assert "\u202e" not in said
