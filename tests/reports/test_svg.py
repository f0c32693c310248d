from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.contexts import Arm
from contextecho.reports import Figure, Forest, Trajectory, figures
from contextecho.reports.axes import axis_over, ticks
from contextecho.reports.figures import Axis, marks_of
from contextecho.reports.palette import ESTIMATE, LOOKS
from contextecho.reports.svg import draw
from contextecho.reports.typeset import Quantity
from contextecho.scoring import RunAnalysis
from contextecho.untrusted import make_visible
from reports.runs import HOSTILE_TARGET
from reports.shapes import SHAPES


def parsed(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(str(draw(figure)))


def drawn_marks(figure: Figure) -> dict[str, ElementTree.Element]:
    return {e.get("data-label", ""): e for e in parsed(figure).iter("g") if e.get("data-label")}


def test_every_figure_is_well_formed(shape: RunAnalysis) -> None:
    for figure in figures(shape):
        assert parsed(figure).tag == "svg"


def test_what_is_drawn_carries_the_exact_numbers(shape: RunAnalysis) -> None:
    for figure in figures(shape):
        if isinstance(figure, Trajectory | Forest):
            numbers = {
                label: tuple(
                    None if (text := e.get(f"data-{key}")) is None else float(text)
                    for key in ("value", "low", "high")
                )
                for label, e in drawn_marks(figure).items()
            }
            written = {make_visible(m.label): m for m in marks_of(figure)}
            assert numbers == {
                label: (m.value, m.low, m.high)
                for label, m in written.items()
                if label in numbers or m.value is not None
            }


@pytest.mark.parametrize("index", range(3))
def test_a_mark_stands_where_its_value_belongs(judged: RunAnalysis, index: int) -> None:
    figure = figures(judged)[index]
    assert isinstance(figure, Trajectory)
    scale = math.log10 if figure.axis.log else float
    low, high = scale(figure.axis.low), scale(figure.axis.high)
    for element in drawn_marks(figure).values():
        bar = element.find("line")
        assert bar is not None
        for key, coordinate in (("low", "y1"), ("high", "y2")):
            value = scale(float(element.get(f"data-{key}", "nan")))
            share = (value - low) / (high - low)
            # the plot is 270 high and ends at 346
            assert float(bar.get(coordinate, "nan")) == pytest.approx(346 - 270 * share, abs=0.01)


def test_each_row_is_reached_by_keyboard_and_read_in_full(judged: RunAnalysis) -> None:
    figure = figures(judged)[0]
    rows = [e for e in parsed(figure).iter("g") if e.get("tabindex") == "0"]
    assert len(rows) == 12
    for row in rows:
        spoken = row.get("aria-label", "")
        assert row.get("role") == "img"
        assert all(f"{arm}, P" in spoken for arm in ("scratch", "control", "session"))
        assert "5 of 5 replies" in spoken


def test_a_missing_number_is_not_drawn_and_breaks_the_line() -> None:
    for figure in figures(SHAPES["gapped"]()):
        if isinstance(figure, Trajectory):
            missing = sum(m.value is None for m in marks_of(figure))
            total = sum(1 for _ in marks_of(figure))
            assert missing
            assert len(drawn_marks(figure)) == total - missing


def test_hostile_names_stay_text() -> None:
    for figure in figures(SHAPES["hostile"]()):
        written = str(draw(figure))
        assert "<img" not in written
        assert "\x1b" not in written
        assert "\u202e" not in written


def test_a_hostile_target_is_named_in_its_rows() -> None:
    figure = next(f for f in figures(SHAPES["hostile"]()) if f.family == "arms")
    labels = [e.get("aria-label", "") for e in parsed(figure).iter("g")]
    assert any(make_visible(HOSTILE_TARGET) in label for label in labels)


def test_every_arm_has_a_colour_and_a_shape_of_its_own() -> None:
    assert set(LOOKS) == {arm.value for arm in Arm} | {ESTIMATE}
    arms = [LOOKS[arm.value] for arm in Arm]
    for aspect in ("light", "dark", "shape"):
        assert len({getattr(look, aspect) for look in arms}) == len(arms)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_and_inside_the_axis(low: float, width: float) -> None:
    axis = axis_over([low, low + width], "", Quantity.SCORE)
    found = ticks(axis)
    slack = 1e-6 * max(abs(axis.low), abs(axis.high), 1)
    assert 2 <= len(found) <= 8
    assert all(axis.low - slack <= t <= axis.high + slack for t in found)


@given(st.floats(1e-3, 1e6), st.floats(1.01, 1e4))
def test_log_ticks_are_inside_the_axis(low: float, factor: float) -> None:
    found = ticks(axis_over([low, low * factor], "", Quantity.RATIO))
    axis = axis_over([low, low * factor], "", Quantity.RATIO)
    assert found
    assert all(axis.low * 0.999 <= t <= axis.high * 1.001 for t in found)


def test_a_bounded_axis_is_widened_only_by_what_leaves_it() -> None:
    inside = axis_over([1.0, 2.0], "", Quantity.SCORE, bounds=(0.0, 3.0))
    outside = axis_over([1.0, 3.2], "", Quantity.SCORE, bounds=(0.0, 3.0))
    assert (inside.low, inside.high) == (0.0, 3.0)
    assert (outside.low, outside.high) == (0.0, 3.2)


def test_a_share_is_drawn_from_0_to_100_percent_whatever_its_interval() -> None:
    axis = axis_over([0.4, 1.1], "", Quantity.SHARE, bounds=(0.0, 1.0))
    assert (axis.low, axis.high) == (0.0, 1.0)


def test_a_contrast_line_runs_from_mark_to_mark_below_them(judged: RunAnalysis) -> None:
    figure = next(f for f in figures(judged) if f.family == "arms")
    circle = drawn_marks(figure)[f"{judged.run.targets[0]}, control"].find("circle")
    assert circle is not None
    gaps = [e for e in parsed(figure).iter("g") if e.get("data-gap")]
    first, _, across = gaps[0].findall("line")
    assert (first.get("x1"), first.get("y1")) == (circle.get("cx"), circle.get("cy"))
    assert first.get("x2") == across.get("x1")
    assert float(across.get("y1", "nan")) > float(circle.get("cy", "nan"))


def test_an_arm_that_is_not_drawn_is_joined_to_nothing() -> None:
    for figure in figures(SHAPES["gapped"]()):
        if isinstance(figure, Forest):
            for row in (row for panel in figure.panels for row in panel.rows):
                known = {m.series for m in row.marks if m.value is not None}
                joined = {m.label for m in row.margin if m.between and set(m.between) <= known}
                drawn = {e.get("data-gap") for e in parsed(figure).iter("g")}
                assert drawn & {m.label for m in row.margin} == joined


def test_a_register_axis_is_ticked_in_whole_points() -> None:
    axis = Axis(label="", quantity=Quantity.SCORE, low=0.0, high=3.0)
    assert set(ticks(axis)) >= {0.0, 1.0, 2.0, 3.0}
