from __future__ import annotations

import math
import re
from pathlib import Path

import msgspec
import pytest

from contextecho.errors import UsageError
from contextecho.reports import Forest, Scatter, Trajectory, draw_figures, figures
from contextecho.reports.figures import (
    Figure,
    Station,
    compactions_before,
    compactions_between,
    marks_of,
    names_of,
)
from contextecho.reports.gallery import select
from contextecho.reports.maps import DRAWN
from contextecho.scoring import Measure, RunAnalysis
from reports.runs import make_analysis
from reports.shapes import SHAPES


def test_every_figure_of_a_judged_run_is_there(judged: RunAnalysis) -> None:
    families = [f.family for f in figures(judged)]
    assert families == [*["trajectory"] * 3, "arms", "contrasts", "fingerprint", "contracts"]


def test_a_trajectory_holds_the_arm_means_as_they_are(judged: RunAnalysis) -> None:
    figure = figures(judged)[0]
    assert isinstance(figure, Trajectory)
    expected = {
        (m.arm.value, m.position): (m.mean, m.interval.low, m.interval.high, m.n)
        for m in judged.arm_means
        if m.measure is Measure.REGISTER and m.position and m.interval
    }
    drawn = {
        (line.series, station.label): (mark.value, mark.low, mark.high, mark.n)
        for line in figure.lines
        for station, mark in zip(figure.stations, line.marks, strict=True)
    }
    assert drawn == expected
    assert len(drawn) == 4 * 12


def test_length_is_shown_in_characters(judged: RunAnalysis) -> None:
    figure = next(f for f in figures(judged) if "length" in f.id)
    assert isinstance(figure, Trajectory)
    mean = next(
        m
        for m in judged.arm_means
        if m.measure is Measure.LENGTH and m.battery == "coding-self" and m.position
    )
    assert mean.mean is not None
    assert figure.lines[0].marks[0].value == pytest.approx(math.pow(10, mean.mean))
    assert figure.axis.log


def test_a_forest_has_the_contrasts_in_its_margin(judged: RunAnalysis) -> None:
    figure = next(f for f in figures(judged) if f.family == "arms")
    assert isinstance(figure, Forest)
    margin = figure.panels[0].rows[0].margin
    overall = [
        c for c in judged.contrasts if c.measure is Measure.REGISTER and c.scope == "overall"
    ]
    assert [(m.value, m.n) for m in margin] == [(c.estimate, c.pairs) for c in overall]


def test_stations_keep_all_three_indices(judged: RunAnalysis) -> None:
    figure = figures(judged)[0]
    assert isinstance(figure, Trajectory)
    planned = judged.run.plan["positions"]
    assert [(s.row_turn, s.step, s.prompt) for s in figure.stations] == [
        (p["row_turn"], p["step"], p["prompt"]) for p in planned
    ]


def test_a_mean_that_does_not_exist_has_no_value_and_a_reason() -> None:
    holes = [m for f in figures(SHAPES["gapped"]()) for m in marks_of(f) if m.value is None]
    assert holes
    assert all(m.note and m.low is None and m.high is None for m in holes)


def test_figures_survive_json(shape: RunAnalysis) -> None:
    found = figures(shape)
    assert msgspec.json.decode(msgspec.json.encode(found), type=tuple[Figure, ...]) == found


def test_labels_are_unique_in_a_figure_and_ids_in_a_run(shape: RunAnalysis) -> None:
    found = figures(shape)
    assert len({f.id for f in found}) == len(found)
    for figure in found:
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", figure.id)
        labels = [mark.label for mark in marks_of(figure)]
        assert len(set(labels)) == len(labels)


def test_targets_that_differ_only_in_signs_get_files_of_their_own() -> None:
    full = make_analysis(3, targets=2, positions=5)
    names = {full.run.targets[0]: "a/b", full.run.targets[1]: "a-b"}
    text = msgspec.json.encode(full).decode()
    for old, new in names.items():
        text = text.replace(old, new)
    ids = [f.id for f in figures(msgspec.json.decode(text, type=RunAnalysis))]
    assert len(set(ids)) == len(ids)


def test_a_withheld_headline_leaves_no_finding_on_any_figure() -> None:
    found = figures(SHAPES["withheld"]())
    assert found
    assert all(f.finding.startswith("Headline withheld") for f in found)


def test_without_answers_there_is_no_figure() -> None:
    assert figures(SHAPES["empty"]()) == ()


def test_one_position_is_no_trajectory() -> None:
    assert "trajectory" not in {f.family for f in figures(SHAPES["one position"]())}


def test_a_crowded_map_says_how_many_replies_it_draws() -> None:
    full = make_analysis(positions=5)
    point = full.fingerprints[0].points[0]
    crowd = tuple(
        msgspec.structs.replace(point, reply_key=f"{i:04d}", pc1=float(i)) for i in range(1000)
    )
    crowded = msgspec.structs.replace(full.fingerprints[0], points=crowd)
    found = figures(msgspec.structs.replace(full, fingerprints=(crowded,)))
    figure = next(f for f in found if isinstance(f, Scatter))
    (cloud,) = figure.clouds
    assert (len(cloud.points), cloud.n) == (DRAWN, 1000)
    assert cloud.x == pytest.approx(499.5)  # the centre is of all replies
    assert "300 of 1,000 replies drawn" in figure.caption


def _map_with(**changes: object) -> Scatter:
    full = make_analysis(positions=5)
    changed = msgspec.structs.replace(full.fingerprints[0], **changes)
    found = figures(msgspec.structs.replace(full, fingerprints=(changed,)))
    return next(f for f in found if isinstance(f, Scatter))


def test_a_map_says_what_auc_chance_would_show() -> None:
    known = _map_with(auc_by_chance=0.5634, auc_note="only 3 clusters; PC1 is turned")
    assert "AUC 0.83 [0.77, 0.89] (arms that do not differ would show 0.56)" in known.finding
    assert "Only 3 clusters; PC1 is turned." in known.caption
    assert known.separation.note == "only 3 clusters; PC1 is turned"
    assert "(0.5 is no better than a coin)" in _map_with(auc_by_chance=None).finding


def test_a_map_without_an_auc_says_why() -> None:
    missing = _map_with(auc=None, auc_interval=None, auc_note="one of the groups has no scores")
    assert missing.finding.endswith("could not be computed: one of the groups has no scores.")


def test_compactions_stand_between_the_positions_they_part() -> None:
    segments = [0, 0, 1, 1, 4, None, 5]
    stations = tuple(
        Station(label=str(i), row_turn=i, step=i, prompt=i, segment=s)
        for i, s in enumerate(segments)
    )
    assert list(compactions_between(stations)) == [(2, "C1"), (4, "C2–C4")]


@pytest.mark.parametrize(
    ("segment", "said"),
    [(None, None), (0, None), (1, "C1 lies"), (3, "C1–C3 lie")],
)
def test_compactions_before_the_first_position_are_named(
    segment: int | None, said: str | None
) -> None:
    station = Station(label="P00", row_turn=1, step=1, prompt=1, segment=segment)
    assert compactions_before((station,)) == said


def test_a_name_does_not_say_the_row_turn_again() -> None:
    def station(label: str) -> Station:
        return Station(label=label, row_turn=48, step=1, prompt=1, segment=0)

    labels = ("P00_t0048", "P01_t0049", "P02_post_C1", "last")
    assert names_of(tuple(map(station, labels))) == (
        ("P00", ""),
        ("P01", "t0049"),
        ("P02", "post C1"),
        ("last", ""),
    )


def with_units(full: RunAnalysis, *, at_all: int, at_one: int) -> str:
    """What the figure of categories and positions finds."""
    contrasts = tuple(
        msgspec.structs.replace(c, units=at_one if "position" in c.scope else at_all)
        for c in full.contrasts
    )
    found = figures(msgspec.structs.replace(full, contrasts=contrasts))
    return next(f for f in found if f.family == "contrasts").finding


def test_a_floor_of_the_p_values_is_explained(judged: RunAnalysis) -> None:
    # 2 contrasts x 5 surfaces x 5 categories are one family; 2 / 2**3 = 0.25
    said = with_units(judged, at_all=3, at_one=20)
    assert "with 3 no p lies below 0.250, and Holm multiplies it by up to 50" in said


def test_at_one_position_the_questions_are_what_is_flipped(judged: RunAnalysis) -> None:
    # 5 questions in several wordings: the pairs are more than the units; 2 / 2**5 = 0.0625
    many = tuple(msgspec.structs.replace(c, pairs=100) for c in judged.contrasts)
    full = msgspec.structs.replace(judged, contrasts=many)
    assert "with 5 no p lies below 0.062" in with_units(full, at_all=30, at_one=5)


def test_a_test_with_enough_units_needs_no_such_word(judged: RunAnalysis) -> None:
    assert "no p lies" not in with_units(judged, at_all=60, at_one=60)


def test_figures_are_chosen_by_family_or_id(judged: RunAnalysis) -> None:
    found = figures(judged)
    assert select(found, ()) == found
    assert {f.family for f in select(found, ["trajectory"])} == {"trajectory"}
    assert select(found, [found[3].id]) == (found[3],)
    with pytest.raises(UsageError, match=r"no figure is called 'forest'.*trajectory, arms"):
        select(found, ["forest"])


@pytest.mark.slow
def test_a_full_disk_is_one_clear_line(judged: RunAnalysis, tmp_path: Path) -> None:
    first, *_ = draw_figures(judged, tmp_path, only=["trajectory"])
    first.unlink()
    first.symlink_to("/dev/full")
    with pytest.raises(UsageError, match="cannot write the figures: No space left on device"):
        draw_figures(judged, tmp_path, only=["trajectory"])
