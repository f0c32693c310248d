"""Each planted value is found again, each fault is told of, and nothing void is in a number."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from contextecho.errors import UsageError
from contextecho.models import targets
from contextecho.paper import exhibits
from contextecho.release import (
    Flag,
    Tree,
    cells_of_store,
    cells_of_tree,
    import_release,
    read_release,
)
from contextecho.reproducing import ReproducedNumber, Reproduction, Verdict, reproduce
from contextecho.reproducing.names import paper_names
from contextecho.reproducing.registry import FAMILIES, NOT_IN_DATA
from contextecho.store import open_store, release_findings
from release.faults import FAULTS, copy_of
from release.planted import (
    ANTHROPIC,
    AUDIT,
    FRAMING,
    HAIKU_AGAIN,
    KIMI,
    LENGTH_RATIO,
    ONSET,
    PANEL,
    PLACEMENT,
    SIZES,
    TURNS,
)
from release.writing import CODING, write_tree

SMALL = [*ANTHROPIC, KIMI, "nvidia-nemotron-3-super-120b-a12b", "gpt-5"]
NAMES = {
    folder: name for name, target in paper_names().targets.items() for folder in target.folders
}


def of_tree(tree: Tree, *only: str) -> Reproduction:
    return reproduce(cells_of_tree(tree), tree.findings, tree.id, only)


def by_id(found: Reproduction) -> dict[str, ReproducedNumber]:
    return {
        f"{line.exhibit}/{line.row}/{line.column}": line
        for exhibit in found.exhibits
        for line in exhibit.lines
    }


@pytest.fixture(scope="module")
def small(tree: Tree) -> Mapping[str, ReproducedNumber]:
    return by_id(of_tree(tree))


def check_scores(
    found: Mapping[str, ReproducedNumber], names: Sequence[str], positions: int
) -> None:
    for folder in names:
        row, count = f"appendix-B/{NAMES[folder]}", 5 * (1 if folder == KIMI else positions)
        sums = [round(mean * count) for mean in PANEL[folder]]
        for column, total in zip(("filler", "claude"), sums, strict=True):
            assert found[f"{row}/{column}"].found == pytest.approx(total / count)
            assert found[f"{row}/{column}"].n == count
        gap = found[f"{row}/gap"]
        assert gap.found == pytest.approx((sums[0] - sums[1]) / count)
        assert gap.interval is not None
        assert gap.interval.low < gap.found < gap.interval.high
        assert found[f"{row}/positions"].found == count / 5
    for folder in set(names) & set(AUDIT):
        for column, fifths in zip(("Sonnet", "GPT-5"), AUDIT[folder], strict=True):
            line = found[f"table-5/{NAMES[folder]}/{column}"]
            assert line.found == pytest.approx(fifths / 5)
        assert found[f"table-5/{NAMES[folder]}/agree"].verdict is Verdict.FITS


def check_others(found: Mapping[str, ReproducedNumber], onset: Sequence[str]) -> None:
    for folder, sums in SIZES.items():
        for size, total in zip(("small", "medium", "large"), sums, strict=True):
            assert found[f"figure-9/{NAMES[folder]}/{size}"].found == pytest.approx(total / 5)
    for row, framing in (("with", "with_framing"), ("without", "without_framing")):
        for probe, tenths in zip(CODING, FRAMING[framing], strict=True):
            assert found[f"table-6/{row}/{probe}"].found == pytest.approx(tenths / 10)
    for folder, (_, sixtieths) in PLACEMENT.items():
        assert found[f"appendix-I/{NAMES[folder]}/system"].found == pytest.approx(sixtieths / 60)
    for column, arm in (("filler", "filler"), ("claude", "claude_session")):
        for judge, total in zip(("Sonnet 4.6", "GPT-5"), HAIKU_AGAIN[arm], strict=True):
            assert found[f"appendix-O/{judge}/{column}"].found == pytest.approx(total / 125)
    for folder in onset:
        for turn, gap in zip(TURNS, ONSET[folder], strict=True):
            assert found[f"table-4/{NAMES[folder]} at {turn}/gap"].found == pytest.approx(gap / 25)
        ratio = found[f"table-1/{NAMES[folder]}/Session 1"].found
        assert ratio == pytest.approx(LENGTH_RATIO[folder], abs=0.005)
    for offset in ("0", "1", "5", "10", "20"):
        assert found[f"figure-8/{offset}/score"].found == 3


def test_each_planted_value_is_found(small: Mapping[str, ReproducedNumber]):
    check_scores(small, SMALL, positions=4)
    check_others(small, ANTHROPIC[:2])


def test_what_is_not_found_says_why(small: Mapping[str, ReproducedNumber]):
    missing = [line for line in small.values() if line.verdict is Verdict.NOT_IN_DATA]
    assert missing
    assert all(line.note and line.found is None and line.n == 0 for line in missing)
    assert small["figure-11/difference of scores/value"].note == NOT_IN_DATA["figure-11"]


def test_every_exhibit_is_computed_or_says_why_not():
    computed = {exhibit for gives in FAMILIES.values() for exhibit in gives}
    assert computed <= set(exhibits())
    assert set(exhibits()) - computed <= set(NOT_IN_DATA)
    assert {key.partition("/")[0] for key in NOT_IN_DATA} <= set(exhibits())


def test_each_number_of_the_paper_stands_once_and_in_its_order(
    small: Mapping[str, ReproducedNumber],
):
    printed = [value.id for exhibit in exhibits().values() for value in exhibit.values()]
    assert [name for name, line in small.items() if line.paper is not None] == printed


def test_the_targets_are_those_of_the_paper_and_the_folders_those_of_the_release():
    assert list(paper_names().targets) == [target.name for target in targets()]
    assert set(NAMES) == set(PANEL)
    assert len({target.maker for target in paper_names().targets.values()}) == 10


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_of(name: str, few: Path, few_read: Tree, tmp_path: Path):
    fault = FAULTS[name]
    fault.deed(copy_of(few, tmp_path / "faulty"))
    before = of_tree(few_read, "appendix-K").flags
    after = of_tree(read_release(tmp_path / "faulty"), "appendix-B", "table-1", "appendix-M")
    assert after.flags[fault.flag] == before.get(fault.flag, 0) + fault.files


def test_a_void_score_is_in_no_number_and_what_was_published_stands_beside(
    few: Path, few_read: Tree, tmp_path: Path
):
    sound = by_id(of_tree(few_read, "appendix-B"))["appendix-B/Kimi K2.6/claude"]
    FAULTS["a score of -1"].deed(copy_of(few, tmp_path / "faulty"))
    tree = read_release(tmp_path / "faulty")
    line = by_id(of_tree(tree, "appendix-B"))["appendix-B/Kimi K2.6/claude"]
    scores = [
        verdict.value
        for cell in tree.cells
        if cell.arm == "session" and cell.stimulus in CODING and cell.target == KIMI
        for verdict in cell.verdicts
        if cell.experiment == "probes_at_crosscompaction" and verdict.value is not None
    ]
    assert (sound.n, sound.left_out, sound.as_published) == (5, 0, None)
    assert (line.n, line.left_out) == (4, 1)
    assert line.found == pytest.approx(np.mean(scores))
    assert line.as_published == pytest.approx(np.mean([*scores, -1]))


def test_a_cell_that_two_files_claim_is_in_no_pair(few: Path, tmp_path: Path):
    results = copy_of(few, tmp_path / "twice")
    late = results / "probes_at_crosscompaction" / KIMI / "P5_pre_C6"
    (late / "claude").mkdir()
    os.link(late / "claude_session" / "C01.json", late / "claude" / "C01.json")
    line = by_id(of_tree(read_release(tmp_path / "twice"), "appendix-B"))
    assert (line["appendix-B/Kimi K2.6/gap"].note or "").startswith("ours, of 4 pairs")


def test_a_folder_that_no_target_is_known_by_is_named_and_in_no_number(few: Path, tmp_path: Path):
    results = copy_of(few, tmp_path / "renamed")
    panel = results / "probes_at_crosscompaction"
    shutil.move(panel / KIMI, panel / "kimi")
    found = of_tree(read_release(tmp_path / "renamed"), "appendix-B")
    assert found.strange_targets == ("kimi",)
    assert by_id(found)["appendix-B/Kimi K2.6/gap"].verdict is Verdict.NOT_IN_DATA


def test_a_store_gives_what_its_tree_gives(few_read: Tree, tmp_path: Path):
    with open_store(tmp_path / "kept") as store:
        release, _ = import_release(store, few_read)
        cells = cells_of_store(store, release)
        kept = reproduce(cells, release_findings(store, release.id), release.id)
    assert kept == of_tree(few_read)


def test_an_exhibit_that_the_paper_has_not_is_refused(few_read: Tree):
    with pytest.raises(UsageError, match="figure-99"):
        of_tree(few_read, "figure-99")


@pytest.mark.slow
def test_on_the_whole_release_each_planted_value_is_the_papers(tmp_path: Path):
    write_tree(tmp_path)
    found = by_id(of_tree(read_release(tmp_path)))
    check_scores(found, list(PANEL), positions=12)
    check_others(found, ANTHROPIC)
    whole = ("appendix-B", "figure-3", "figure-8", "figure-9", "table-5", "table-6", "appendix-I",
             "appendix-J", "appendix-K", "appendix-O")  # fmt: skip
    planted = [
        line
        for line in found.values()
        if line.paper is not None
        and (line.exhibit in whole or (line.exhibit, line.column) == ("table-4", "gap"))
    ]
    assert {f"{line.exhibit}/{line.row}/{line.column}" for line in planted
            if line.verdict is not Verdict.FITS} == set()  # fmt: skip
    assert len(planted) == 92 + 7 + 7 + 6 + 57 + 18 + 12 + 3 + 4 + 6 + 32
    assert Flag.SELF_JUDGED in of_tree(read_release(tmp_path), "text").flags
