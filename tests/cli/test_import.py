"""`contextecho import release`: what it prints, keeps and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from contextecho.cli.main import app, main
from contextecho.release import Flag
from contextecho.store import open_store, releases
from release.faults import FAULTS
from release.writing import write_tree
from store.raw import query


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """One target's cells of S2, with one empty reply."""
    folder = tmp_path / "tree"
    kimi = "cross_compaction/moonshotai-Kimi-K2-6/"
    write_tree(folder, small=True, change=lambda p, keys: keys if p.startswith(kimi) else None)
    fault = FAULTS["white space"]
    fault.deed(folder / "results")
    return folder


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["import", "release", *map(str, words)], catch_exceptions=False)


def test_it_counts_cells_and_flags_with_their_first_example(tree: Path, tmp_path: Path):
    done = call(tree, "--store", tmp_path / "kept")
    assert ": 6 files, 6 cells" in done.stdout
    assert "41,921 are stated by: paper" in done.stdout
    assert "cross_compaction\t6\t5\t1" in done.stdout
    empty = "results/cross_compaction/moonshotai-Kimi-K2-6/P5_pre_C6/v01/filler.json"
    assert f"empty-reply\t1\tthe reply has no text: no score\t{empty}" in done.stdout
    assert "arm-alias\t3\t" in done.stdout
    assert "kept as release" in done.stderr


def test_a_second_import_adds_nothing_and_says_so(tree: Path, tmp_path: Path):
    call(tree, "--store", tmp_path / "kept")
    before = query(tmp_path / "kept", "SELECT count(*) FROM imported_cell")
    again = call(tree, "--store", tmp_path / "kept")
    assert "is there already" in again.stderr
    assert query(tmp_path / "kept", "SELECT count(*) FROM imported_cell") == before == [(6,)]


def test_json_has_the_flags_and_a_dry_run_keeps_nothing(tree: Path, tmp_path: Path):
    done = call(tree, "--store", tmp_path / "kept", "--json", "--dry-run")
    document = json.loads(done.stdout)
    assert document["cells"] == 6
    assert [stated["cells"] for stated in document["stated"]] == [41921, 8700]
    flags = {flag["flag"]: (flag["files"], flag["voids"]) for flag in document["flags"]}
    assert flags == {Flag.EMPTY_REPLY: (1, True), Flag.ARM_ALIAS: (3, False)}
    assert not (tmp_path / "kept").exists()


def test_the_store_tells_of_it_and_collected_runs_are_elsewhere(tree: Path, tmp_path: Path):
    call(tree, "--store", tmp_path / "kept")
    shown = CliRunner().invoke(app, ["store", "info", "--store", str(tmp_path / "kept")]).stdout
    assert "6 cells by protocol published" in shown
    with open_store(tmp_path / "kept") as store:
        (release,) = releases(store)
        assert release.place == str(tree)
        assert store.runs() == ()


def test_a_folder_that_is_no_release_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as left:
        main(["import", "release", str(tmp_path)])
    assert left.value.code == 2
    assert "not the tree of the release" in capsys.readouterr().err
