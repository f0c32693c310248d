"""One figure model, two renderers: what a paper shows is what the page shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from contextecho.errors import UsageError
from contextecho.reports import Figure, Forest, draw_figures, drawing, figures
from contextecho.reports.figures import marks_of
from contextecho.reports.svg import draw as draw_svg
from contextecho.scoring import RunAnalysis
from contextecho.untrusted import make_visible
from reports.runs import make_analysis
from reports.shapes import SHAPES

mpl = pytest.importorskip("contextecho.reports.mpl", reason="needs the extra `figures`")

Number = tuple[str, float, float | None, float | None]


def svg_numbers(figure: Figure) -> Iterator[Number]:
    """What the page draws, read from its elements."""
    for element in ElementTree.fromstring(str(draw_svg(figure))).iter("g"):
        if "mark" in (element.get("class") or "").split() and element.get("data-label"):
            value, low, high = (element.get(f"data-{key}") for key in ("value", "low", "high"))
            assert value is not None
            yield (
                str(element.get("data-label")),
                float(value),
                None if low is None else float(low),
                None if high is None else float(high),
            )


def mpl_numbers(figure: Figure) -> Iterator[Number]:
    """What the paper's figure draws, read back from the coordinates of its artists."""
    artists = {}
    for axes in mpl.draw(figure).axes:
        for line in axes.get_lines():
            if line.get_gid() and not line.get_gid().endswith(mpl.GAP):
                artists[line.get_gid()] = line
    for label, line in artists.items():
        if label.endswith((mpl.INTERVAL, mpl.FLAT)):
            continue
        upright = figure.family == "trajectory"
        (value,) = line.get_ydata() if upright else line.get_xdata()
        bar = artists.get(label + mpl.INTERVAL)
        ends = (None, None) if bar is None else bar.get_ydata() if upright else bar.get_xdata()
        yield make_visible(label), value, ends[0], ends[1]


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_both_renderers_draw_the_same_numbers(name: str) -> None:
    for figure in figures(SHAPES[name]()):
        assert sorted(mpl_numbers(figure), key=str) == sorted(svg_numbers(figure), key=str)


def test_both_mark_the_means_that_have_no_spread() -> None:
    figure = figures(SHAPES["gapped"]())[0]
    (axes,) = mpl.draw(figure).axes
    gids = [line.get_gid() or "" for line in axes.get_lines()]
    in_paper = {gid.removesuffix(mpl.FLAT) for gid in gids if gid.endswith(mpl.FLAT)}
    on_page = {
        element.get("data-label")
        for element in ElementTree.fromstring(str(draw_svg(figure))).iter("g")
        if any(child.get("class") == "flat" for child in element)
    }
    bare = {m.label for m in marks_of(figure) if m.value is not None and m.low is None and m.n > 1}
    assert in_paper == on_page == bare != set()
    assert "A stroke across a mark: no spread" in figure.caption


def test_there_are_numbers_to_agree_on(judged: RunAnalysis) -> None:
    drawn = [len(list(mpl_numbers(f))) for f in figures(judged)]
    assert drawn == [48, 48, 48, 4, 18, 0, 8]  # the map's points have no label of their own


def test_both_maps_draw_the_same_replies(judged: RunAnalysis) -> None:
    figure = next(f for f in figures(judged) if f.family == "fingerprint")
    (axes,) = mpl.draw(figure).axes
    clouds = {c.get_gid(): c.get_offsets() for c in axes.collections if c.get_gid()}
    tree = ElementTree.fromstring(str(draw_svg(figure)))
    points = {
        (float(e.attrib["data-x"]), float(e.attrib["data-y"]))
        for e in tree.iter("g")
        if "data-x" in e.attrib
    }
    assert {(float(x), float(y)) for offsets in clouds.values() for x, y in offsets} == points
    assert len(points) == 4 * 12 * 5


def test_margins_of_both_write_the_same_words(judged: RunAnalysis) -> None:
    figure = next(f for f in figures(judged) if f.family == "arms")
    (axes,) = mpl.draw(figure).axes
    written = [t.get_text() for t in axes.texts if t.get_gid()]
    tree = ElementTree.fromstring(str(draw_svg(figure)))
    margin = [
        ", ".join("".join(t.itertext()) for t in e)
        for e in tree.iter("g")
        if e.get("class") == "written"
    ]
    assert written == margin
    assert len(written) == 2


def test_both_join_the_arms_of_a_contrast_where_their_marks_are(judged: RunAnalysis) -> None:
    figure = next(f for f in figures(judged) if f.family == "arms")
    assert isinstance(figure, Forest)
    (row,) = figure.panels[0].rows
    values = {mark.series: mark.value for mark in row.marks}
    (axes,) = mpl.draw(figure).axes
    drawn = {
        line.get_gid(): tuple(line.get_xdata())
        for line in axes.get_lines()
        if (line.get_gid() or "").endswith(mpl.GAP)
    }
    assert drawn == {
        f"{mark.label}{mpl.GAP}": (values[mark.between[0]], values[mark.between[1]])
        for mark in row.margin
        if mark.between
    }
    joined = {label.removesuffix(mpl.GAP) for label in drawn}
    tree = ElementTree.fromstring(str(draw_svg(figure)))
    assert {e.get("data-gap") for e in tree.iter("g") if e.get("data-gap")} == joined
    assert len(joined) == 2


def test_both_name_the_positions_alike_and_each_row_of_numbers() -> None:
    run = make_analysis(positions=5)
    text = msgspec.json.encode(run).decode()
    for p in run.run.plan["positions"]:
        text = text.replace(p["label"], f"P{p['order']:02d}_t{p['row_turn']:04d}")
    figure = figures(msgspec.json.decode(text, type=RunAnalysis))[0]
    (axes,) = mpl.draw(figure).axes
    third = run.run.plan["positions"][2]
    numbers = [f"{third[key]:,}" for key in ("row_turn", "step", "prompt")]
    assert axes.get_xticklabels()[2].get_text().split("\n") == ["P02", *numbers]
    names = ["row turn", "agent step", "user prompt"]
    written = [t.get_text().split("\n") for t in axes.texts]
    assert ["", *names] in written  # beside the numbers, one line below the position
    tree = ElementTree.fromstring(str(draw_svg(figure)))
    seen = ["".join(e.itertext()) for e in tree.iter("text")]
    assert {"P02", *numbers, *names} <= set(seen)
    assert not any(f"t{third['row_turn']}" in words for words in seen)


def test_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    run = make_analysis(positions=5)
    formats = ("pdf", "svg", "png")
    first = draw_figures(run, tmp_path / "a", formats, ["arms"])
    second = draw_figures(run, tmp_path / "b", formats, ["arms"])
    assert [p.name for p in first] == [f"arms-register-coding-self.{f}" for f in formats]
    for one, other in zip(first, second, strict=True):
        hashes = {hashlib.sha256(p.read_bytes()).hexdigest() for p in (one, other)}
        assert len(hashes) == 1


def test_pdf_fonts_are_embedded_truetype(tmp_path: Path) -> None:
    (path,) = draw_figures(make_analysis(positions=5), tmp_path, ["pdf"], ["arms"])
    content = path.read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


def test_a_hostile_run_can_be_drawn(tmp_path: Path) -> None:
    paths = draw_figures(SHAPES["hostile"](), tmp_path, ["svg"], ["arms"])
    assert all(p.stat().st_size for p in paths)
    assert all(p.parent == tmp_path for p in paths)


def test_unknown_formats_and_figures_are_refused_before_drawing(
    judged: RunAnalysis, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"no figure format 'gif' \(choose pdf, svg and png\)"):
        draw_figures(judged, tmp_path / "new", ["gif"])
    with pytest.raises(UsageError, match="no figure is called 'dose'"):
        draw_figures(judged, tmp_path / "new", ["pdf"], ["dose"])
    assert not (tmp_path / "new").exists()


def test_without_matplotlib_the_command_to_install_it_is_named(
    judged: RunAnalysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install 'contextecho\[figures\]'"):
        draw_figures(judged, tmp_path)


def test_a_file_where_the_folder_should_be_is_one_clear_line(
    judged: RunAnalysis, tmp_path: Path
) -> None:
    (tmp_path / "figures").write_text("")
    with pytest.raises(UsageError, match="cannot write the figures"):
        draw_figures(judged, tmp_path / "figures")
