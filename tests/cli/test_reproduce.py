"""`contextecho reproduce`: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextecho.cli.main import app, main
from release.faults import FAULTS
from release.writing import write_tree

FRAMING, KIMI = "probe_framing_ablation/", "probes_at_crosscompaction/moonshotai-Kimi-K2-6/"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The cells of table 6, and of one target's late position."""
    folder = tmp_path / "tree"
    kept = (FRAMING, KIMI)
    write_tree(folder, small=True, change=lambda p, keys: keys if p.startswith(kept) else None)
    return folder


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["reproduce", *map(str, words)], catch_exceptions=False)


def test_all_that_fits_ends_with_0(tree: Path):
    done = call("table-6", "--data", tree)
    assert done.exit_code == 0
    assert "table-6\teffect\tC01\t-0.9\t-0.9\t20\tfits\t" in done.stdout
    assert "table-6: The text gives the wording of C03 for C05." in done.stdout
    assert "18 fits, 0 differs, 0 no number printed, 0 not in the data" in done.stdout


def test_a_number_that_differs_ends_with_1_and_shows_what_was_left_out(tree: Path):
    FAULTS["a score of -1"].deed(tree / "results")
    done = call("appendix-B", "--data", tree)
    (line,) = [line for line in done.stdout.splitlines() if "Kimi K2.6\tclaude" in line]
    assert done.exit_code == 1
    assert "\tdiffers\t1 left out; the published analysis averaged them: " in line
    assert "flagged invalid-score: 1 file" in done.stdout


def test_nothing_to_compare_ends_with_4(tree: Path):
    done = call("table-5", "figure-11", "--data", tree)
    assert done.exit_code == 4
    assert "no activations or steered replies are released" in done.stdout


def test_our_interval_stands_beside_the_papers_gap(tree: Path):
    done = call("appendix-B", "--data", tree, "--json")
    (exhibit,) = json.loads(done.stdout)["exhibits"]
    gap = next(e for e in exhibit["lines"] if (e["row"], e["column"]) == ("Kimi K2.6", "gap"))
    assert (gap["paper"], gap["found"], gap["verdict"]) == (1.0, 1.0, "fits")
    assert gap["interval"]["low"] < 1 < gap["interval"]["high"]


def test_what_was_imported_gives_the_same(tree: Path, tmp_path: Path):
    kept = tmp_path / "kept"
    CliRunner().invoke(app, ["import", "release", str(tree), "--store", str(kept)])
    assert call("all", "--store", kept).stdout == call("all", "--data", tree).stdout


def test_an_unknown_exhibit_is_told_with_those_that_there_are(
    tree: Path, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "table-9", "--data", str(tree)])
    assert stop.value.code == 2
    assert "the paper has no 'table-9'" in capsys.readouterr().err
