"""Each deliberate fault is flagged, where it is and nowhere else; what is void enters no mean."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from contextecho.release import Flag, Tree, cells_of_tree, read_release
from contextecho.store import Finding
from release.faults import FAULTS, Fault, copy_of

NEW_CELLS_FLAGS = {Flag.ARM_ALIAS, Flag.SELF_JUDGED}  # of a file that a fault adds


def flags(tree: Tree) -> Counter[tuple[str, str, str]]:
    return Counter((f.flag, f.path, f.detail) for f in tree.findings)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_flagged_where_it_is_and_nothing_else_is(
    name: str, few: Path, few_read: Tree, tmp_path: Path
):
    fault = FAULTS[name]
    results = copy_of(few, tmp_path / "faulty")
    fault.deed(results)
    faulty = read_release(tmp_path / "faulty")
    new = [Finding(flag=f, path=p, detail=d) for f, p, d in flags(faulty) - flags(few_read)]
    path = fault.file if fault.flag is Flag.MISSING_FILE else f"results/{fault.file}"
    (found,) = [f for f in new if (f.flag, f.path) == (fault.flag, path)]
    assert fault.says in found.detail
    others = {f.flag for f in new} - {fault.flag} - NEW_CELLS_FLAGS
    assert others <= EXPECTED_BESIDE.get(name, set())
    assert sum(f.flag == fault.flag for f in new) == fault.files
    assert faulty.id != few_read.id
    check_scores(fault, faulty, path)


EXPECTED_BESIDE = {
    "a provider's error": {Flag.LENGTH_MISMATCH},
    "two roots that disagree": {Flag.SELF_JUDGED},
}


def check_scores(fault: Fault, faulty: Tree, path: str) -> None:
    """What is void has no value and says why; other flags change no score."""
    verdicts = [v for cell in faulty.cells if cell.path == path for v in cell.verdicts]
    void = [v for v in verdicts if v.invalid == fault.flag]
    if fault.flag.voids:
        assert void
        assert all(v.value is None for v in void)
    elif fault.flag is Flag.COMPLIANCE_MISMATCH:
        assert [v.scorer for v in void] == ["compliance"]


def test_every_flag_has_a_fault_or_is_met_in_a_sound_tree(few_read: Tree):
    planted = {fault.flag for fault in FAULTS.values()}
    met = {Flag(finding.flag) for finding in few_read.findings}
    assert planted | met == set(Flag)


def test_a_void_score_is_in_no_mean_and_what_was_given_is_kept(few: Path, tmp_path: Path):
    for name in ("a score of -1", "no text"):
        place = tmp_path / name
        fault = FAULTS[name]
        fault.deed(copy_of(few, place))
        read = read_release(place)
        cells = cells_of_tree(read)
        (row,) = [n for n, c in enumerate(read.cells) if c.path == f"results/{fault.file}"]
        assert np.isnan(cells.score[row])
        given = cells.by_scorer["register"].given[row]
        assert given == (-1 if name == "a score of -1" else given)
        assert not np.isnan(given)
        assert cells.has(fault.flag)[row]
        assert cells.has(fault.flag).sum() == 1
