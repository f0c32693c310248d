"""A sound tree: each planted value is found, and only what is to be known is flagged."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from contextecho.errors import UsageError
from contextecho.release import (
    Cells,
    Flag,
    Tree,
    cells_of_store,
    cells_of_tree,
    import_release,
    read_release,
    summarise,
)
from contextecho.store import (
    Verdict,
    check_store,
    export_tree,
    merge,
    open_store,
    release_findings,
)
from release.planted import (
    ANTHROPIC,
    AUDIT,
    FRAMING,
    HAIKU_AGAIN,
    KIMI,
    ONSET,
    PANEL,
    PLACEMENT,
    SIZES,
    TURNS,
)
from release.writing import CODING, FILES, write_tree
from store.kept import VERSIONS, answer, ask
from store.plans import make_plan

SMALL = [*ANTHROPIC, KIMI, "nvidia-nemotron-3-super-120b-a12b", "gpt-5"]


@pytest.fixture(scope="module")
def cells(tree: Tree) -> Cells:
    return cells_of_tree(tree, texts=True)


def total(
    cells: Cells, scorer: str = "register", **words: str | Sequence[str]
) -> tuple[float, int]:
    """The sum of the scores of some cells, and how many there are."""
    chosen = cells.by_scorer[scorer].value[cells.where(**words)]
    return float(np.nansum(chosen)), int(np.isfinite(chosen).sum())


def check_planted(cells: Cells, targets: Sequence[str], positions: int) -> None:
    panel = {"experiment": "probes_at_crosscompaction", "session": "raw_transcript"}
    for target in targets:
        count = 5 * (1 if target == KIMI else positions)
        for arm, mean in zip(("control", "session"), PANEL[target], strict=True):
            found = total(cells, **panel, target=target, arm=arm, stimulus=CODING)
            assert found == (round(mean * count), count), (target, arm)
    for target, sixtieths in PLACEMENT.items():
        v3 = {"experiment": "anchor_variants", "condition": "V3_SYSTEM_INJECT"}
        assert total(cells, **v3, target=target, stimulus=CODING) == (sixtieths[1], 60)
    for framing, sums in FRAMING.items():
        for probe, planted in zip(CODING, sums, strict=True):
            words = {"experiment": "probe_framing_ablation", "condition": framing}
            assert total(cells, **words, stimulus=probe) == (planted, 10)
    for target, planted_sizes in SIZES.items():
        for size, planted in zip(("small", "medium", "large"), planted_sizes, strict=True):
            words = {"experiment": "anchor_size_sweep", "condition": size, "target": target}
            assert total(cells, **words) == (planted, 5)
    for arm, ours in (("filler", "control"), ("claude_session", "session")):
        for scorer, planted in zip(("sonnet", "gpt5"), HAIKU_AGAIN[arm], strict=True):
            words = {"experiment": "haiku_crossjudge_n25", "arm": ours}
            assert total(cells, f"register/{scorer}", **words) == (planted, 125)


def check_onset(cells: Cells, targets: Sequence[str]) -> None:
    for target in targets:
        for turn, gap in zip(TURNS, ONSET[target], strict=True):
            at = cells.where(experiment="drift_onset", target=target) & (cells.turn == turn)
            sums = [cells.score[at & cells.where(arm=arm)].sum() for arm in ("control", "session")]
            assert sums[0] - sums[1] == gap
            replicates = Counter(cells.replicate[at])
            assert replicates == dict.fromkeys(range(5), 10)  # the bare name is replicate 0


def check_audit(cells: Cells, targets: Sequence[str]) -> None:
    for target in targets:
        for scorer, gap in zip(("sonnet", "gpt5"), AUDIT[target], strict=True):
            words = {"experiment": "crossjudge_audit", "target": target}
            control, session = (
                total(cells, f"register/{scorer}", **words, arm=arm)[0]
                for arm in ("control", "session")
            )
            assert control - session == gap
        late = {"experiment": "probes_at_crosscompaction", "position": "P5_pre_C6"}
        sums = [
            total(cells, **late, target=target, arm=arm, stimulus=CODING)[0]
            for arm in ("control", "session")
        ]
        assert sums[0] - sums[1] == AUDIT[target][0]


def test_each_planted_value_is_found(cells: Cells):
    check_planted(cells, SMALL, positions=4)
    check_onset(cells, ANTHROPIC[:2])
    check_audit(cells, SMALL)


def test_what_a_path_and_a_file_say_is_in_the_columns(cells: Cells, tree: Tree):
    wanted = "results/drift_onset/claude-sonnet-4-5/T0025/filler/C02_v03.json"
    (row,) = [n for n, cell in enumerate(tree.cells) if cell.path == wanted]
    keys = {name: getattr(cells, name)[row] for name in ("target", "arm", "stimulus", "session")}
    assert keys == {
        "target": "claude-sonnet-4-5",
        "arm": "control",
        "stimulus": "C02",
        "session": "raw_transcript",
    }
    assert (cells.turn[row], cells.replicate[row], cells.position[row]) == (25, 3, None)
    assert cells.model[row] == "claude-sonnet-4-5"
    assert cells.texts is not None
    assert cells.length[row] == len(cells.texts[row] or "")
    late = cells.where(position="P5_pre_C6", session="raw_transcript")
    assert set(cells.turn[late]) == {8800.0}
    assert set(cells.turn[cells.where(position="P5_late_peak")]) == {6900.0}


def test_some_rows_of_the_columns_are_columns_again(cells: Cells, tree: Tree):
    chosen = cells.where(experiment="anchor_size_sweep", condition=["small", "large"])
    some = cells.take(chosen)
    wanted = [c for c in tree.cells if c.experiment == "anchor_size_sweep"]
    wanted = [c for c in wanted if c.condition in ("small", "large")]
    assert len(some) == len(wanted) == 2 * 6 * 5
    assert [some.target[n] for n in range(len(some))] == [c.target for c in wanted]
    assert list(some.score) == [c.verdicts[0].value for c in wanted]
    assert [some.label[n] for n in range(len(some))] == [c.verdicts[0].label for c in wanted]
    assert some.texts == tuple(c.text for c in wanted)
    assert list(some.has(Flag.SELF_JUDGED)) == [c.target == "claude-sonnet-4-6" for c in wanted]
    assert len(some.take(np.array([0, 5]))) == 2


def test_what_no_cell_has_is_nan_and_no_word(cells: Cells):
    few = cells.take(cells.where(experiment="crossjudge_audit"))
    assert np.isnan(few.score).all()
    assert np.isnan(few.length).all()
    assert {few.provider[n] for n in range(len(few))} == {None}
    bare = cells_of_tree(
        Tree(id="", place="", protocol="", files=0, copies=0, cells=(), findings=())
    )
    assert (len(bare), len(bare.score), len(bare.label)) == (0, 0, 0)


def test_arms_are_in_our_words_and_paths_keep_the_others(tree: Tree):
    arms = {cell.path.rpartition("/")[2]: cell.arm for cell in tree.cells}
    assert (arms["claude.json"], arms["filler.json"], arms["claude_anchor.json"]) == (
        "session",
        "control",
        "session+anchor",
    )
    override = Counter(c.arm for c in tree.cells if c.experiment == "instruction_override")
    assert override == {"scratch": 80, "control": 80, "foreign": 80, "session": 80}


def test_a_continuation_has_a_cell_for_each_arm_and_no_similarity_without_the_tool(cells: Cells):
    chosen = cells.where(experiment="downstream_coding")
    assert chosen.sum() == 9 * 4
    similarity = cells.by_scorer["argument-similarity"].value
    assert np.isnan(similarity[chosen]).sum() == 12  # every first cut of three has another tool
    for arm, planted in (("session", 0.5), ("foreign", 0.25), ("scratch", 0.25)):
        its = similarity[chosen & cells.where(arm=arm)]
        assert set(its[np.isfinite(its)]) == {planted}


def test_compliance_is_what_the_file_says_else_what_the_rule_says(cells: Cells):
    override = cells.where(experiment="instruction_override")
    assert np.nanmean(cells.compliance[override]) == pytest.approx(6 / 10)  # every third cut not
    s2 = cells.where(experiment="cross_compaction", target="claude-haiku-4-5")
    control = cells.compliance[s2 & cells.where(arm="control")]
    session = cells.compliance[s2 & cells.where(arm="session")]
    assert control.mean() == 1
    assert session.mean() == 1 - round(0.53 * len(session)) / len(session)


def test_a_sound_tree_has_only_what_is_to_be_known(tree: Tree):
    assert {flag.flag for flag in summarise(tree).flags} == {
        Flag.ARM_ALIAS,
        Flag.BEYOND_END,
        Flag.DUAL_MEANING,
        Flag.SELF_JUDGED,
    }


def test_a_tree_is_kept_once_in_both_databases_and_comes_out_as_it_went_in(
    few_read: Tree, place: str
):
    with open_store(place) as store:
        release, is_new = import_release(store, few_read)
        assert (is_new, release.cells, release.protocol) == (True, len(few_read.cells), "published")
        assert import_release(store, few_read) == (release, False)
        assert tuple(release_findings(store, release.id)) == few_read.findings
        same(cells_of_store(store, release, texts=True), cells_of_tree(few_read, texts=True))
        assert cells_of_store(store, release).texts is None
        assert store.runs() == ()


def same(one: Cells, other: Cells) -> None:
    for name in Cells.__struct_fields__:
        ours, theirs = getattr(one, name), getattr(other, name)
        if name == "by_scorer":
            assert ours.keys() == theirs.keys()
            for scorer in ours:
                np.testing.assert_array_equal(ours[scorer].value, theirs[scorer].value)
                np.testing.assert_array_equal(ours[scorer].given, theirs[scorer].given)
        elif name == "texts":
            assert ours == theirs
        elif hasattr(ours, "codes"):
            assert [ours[n] for n in range(len(ours))] == [theirs[n] for n in range(len(theirs))]
        else:
            np.testing.assert_array_equal(ours, theirs)


def test_merging_stores_brings_releases_once(few_read: Tree, place: str, tmp_path: Path):
    with open_store(tmp_path / "other.sqlite") as source, open_store(place) as into:
        release, _ = import_release(source, few_read)
        assert merge(into, source).releases == 1
        assert merge(into, source).releases == 0
        same(cells_of_store(into, release), cells_of_tree(few_read))
        assert check_store(into).problems == ()


def test_either_root_and_the_root_itself_give_the_same_cells(
    sound: Path, tree: Tree, tmp_path: Path
):
    (tmp_path / "data_archive").symlink_to(sound / "results")
    old = read_release(tmp_path)
    bare = read_release(sound / "results")
    below = [cell.path.removeprefix("results/") for cell in tree.cells]
    assert [cell.path.removeprefix("data_archive/") for cell in old.cells] == below
    assert [cell.path for cell in bare.cells] == below


def test_what_two_roots_hold_alike_is_read_once(sound: Path, tree: Tree, tmp_path: Path):
    for root in ("results", "data_archive"):
        (tmp_path / root).symlink_to(sound / "results")
    both = read_release(tmp_path)
    assert (both.copies, len(both.cells)) == (tree.files, len(tree.cells))


def test_both_trees_of_the_validations_are_read(tmp_path: Path):
    keys = {"response_text": "a", "score": 3, "label": "", "input_tokens": 1, "output_tokens": 1}
    for root in ("results", "results_v2_candidate"):
        for folder in ("session_validation", "session_validation_quick"):
            where = tmp_path / root / folder / f"label-{root[-1]}" / "t" / "P00" / "filler"
            where.mkdir(parents=True)
            (where / "C01.json").write_text(json.dumps(keys))
            (where.parents[2] / "validation_manifest.json").write_text("{}")
    read = read_release(tmp_path)
    assert (len(read.cells), read.findings) == (4, ())
    assert {cell.session for cell in read.cells} == {"label-s", "label-e"}


def test_the_other_vocabulary_is_read(tmp_path: Path):
    file = "negative_controls/gpt-5/P5_pre_C6/filler/N01.json"
    place = tmp_path / "results" / file
    place.parent.mkdir(parents=True)
    theirs = {"target_model_id": "openai/gpt-5", "prompt_text": "?", "judge_score": 2}
    theirs |= {"response_text": "abc", "len_chars": 3, "label": "mostly_assistant"}
    place.write_text(json.dumps(theirs))
    (cell,) = read_release(tmp_path).cells
    assert (cell.length, cell.model, cell.verdicts[0].value) == (3, "openai/gpt-5", 2.0)


def test_a_tree_of_our_own_comes_back_with_its_protocol_and_judge(tmp_path: Path):
    plan = make_plan(replicates=2, probes=2)
    with open_store(tmp_path / "kept") as store:
        run = store.begin_run(plan, "s", VERSIONS)
        for number, cell in enumerate(plan.cells):
            key = ask(store, run, plan.request(cell), answer("x" * (1 + number)))
            scored = {"scorer": "register/j", "scorer_version": "1", "value": float(number % 4)}
            store.put_verdict(Verdict(reply_key=key, **scored))
        export_tree(store, run, tmp_path / "tree")
    tree = read_release(tmp_path / "tree")
    assert tree.protocol == plan.protocol.id == "strict"
    assert {f.flag for f in tree.findings} == {Flag.SAME_PREFIX}  # each reply is of 100 tokens
    cells = cells_of_tree(tree)
    assert set(cells.by_scorer) == {"register/j"}
    whole = cells.by_scorer["register/j"].value
    assert [whole[list(cells.length).index(n + 1)] for n in range(len(plan.cells))] == [
        n % 4 for n in range(len(plan.cells))
    ]
    assert Counter(cells.replicate) == {0: len(plan.cells) / 2, 1: len(plan.cells) / 2}
    assert set(cells.session.names) == {plan.session}


@pytest.mark.parametrize(
    ("folder", "name", "same"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5", True),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", True),
        ("moonshotai-Kimi-K2-6", "moonshotai/kimi-k2.6", True),
        ("moonshotai-Kimi-K2-6", "kimi-k2.6", True),
        ("gpt-5", "gpt-5-mini", False),
        ("gpt-5-mini", "gpt-5", False),
    ],
)
def test_a_target_may_have_its_provider_or_a_date_in_its_name(
    folder: str, name: str, same: bool, tmp_path: Path
):
    file = tmp_path / "results" / "negative_controls" / folder / "P5_pre_C6" / "filler" / "N01.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"response_text": "56", "score": 3, "target": name}))
    read = read_release(tmp_path)
    assert [finding.flag for finding in read.findings] == ([] if same else ["path-mismatch"])


def test_a_name_that_is_no_utf_8_can_be_kept(tmp_path: Path):
    folder = tmp_path / "results" / "negative_controls" / "t" / "P5_pre_C6" / "filler"
    folder.mkdir(parents=True)
    name = os.fsencode(folder) + b"/N\xff.json"
    with open(name, "wb") as file:  # noqa: PTH123
        file.write(b'{"response_text": "\\u0000", "score": 3}')
    with open_store(tmp_path / "kept") as store:
        release, _ = import_release(store, read_release(tmp_path))
        (row,) = range(len(cells_of_store(store, release)))
        assert cells_of_store(store, release, texts=True).texts == ("\0",)
        assert cells_of_store(store, release).stimulus[row] == "N\N{REPLACEMENT CHARACTER}"


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"not the tree of the release .*results/"):
        read_release(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        read_release(tmp_path / "nowhere")


@pytest.mark.slow
def test_the_whole_release_is_read_and_each_planted_value_found(tmp_path: Path):
    written = write_tree(tmp_path)
    assert sum(written.values()) == FILES == 41_921
    tree = read_release(tmp_path)
    cells = cells_of_tree(tree)
    check_planted(cells, list(PANEL), positions=12)
    check_onset(cells, ANTHROPIC)
    check_audit(cells, list(AUDIT))
    flags = {count.flag: count.files for count in summarise(tree).flags}
    sonnet = 600 + 60 + 3 * 15 + 60 + 3 * 15 + 15 + 10 + 400 + 10
    assert flags == {
        Flag.ARM_ALIAS: 5300 // 2 + 1280 // 2,
        Flag.DUAL_MEANING: 4 * 12 * 10 + 4 * 12 * 5,
        Flag.BEYOND_END: 4 * 4 * 20 + 4 * 10,
        Flag.SELF_JUDGED: 3 * 360 + sonnet + 10,
    }
    assert len(cells) == FILES + 74  # a file of 74 holds two arms
