"""The paper's numbers are those of its text, and agree with each other but where a note says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from contextecho.models import targets
from contextecho.paper import Relation, exhibits, paper_values

TARGETS = {target.name for target in targets()}
FIGURES = ["1a", "1b", *map(str, range(2, 13))]
TABLES = range(1, 9)


def column(exhibit: str, name: str) -> dict[str, float]:
    """The numbers of one column, by row."""
    found = {}
    for row in exhibits()[exhibit].rows:
        value = paper_values().get(f"{exhibit}/{row}/{name}")
        if value is not None:
            found[row] = value.number
    return found


def test_every_figure_and_table_of_the_paper_has_an_entry():
    wanted = {*(f"figure-{n}" for n in FIGURES), *(f"table-{n}" for n in TABLES)}
    assert wanted <= set(exhibits())


def test_targets_are_named_as_in_table_8():
    assert set(column("appendix-B", "gap")) == TARGETS
    assert set(column("table-5", "Sonnet")) < TARGETS
    assert len(column("table-5", "Sonnet")) == 19


def test_an_id_is_a_number_with_what_rounding_allows():
    gap = paper_values()["appendix-B/Haiku 4.5/gap"]
    assert (gap.number, gap.relation, gap.tolerance) == (0.83, Relation.IS, 0.01)
    assert gap.fits(0.84)
    assert not gap.fits(0.8401)
    assert not gap.fits(-0.83)
    assert not gap.fits(float("nan"))


def test_what_is_only_about_or_a_bound_is_compared_as_it_is_said():
    values = paper_values()
    at_least = values["table-3/A_COMBINED/compliance"]
    assert at_least.fits(1.0)
    assert not at_least.fits(0.92)
    at_most = values["table-3/A_COMBINED/length ratio"]
    assert at_most.fits(0.5)
    assert not at_most.fits(5)
    assert values["table-3/V0 only/length ratio"].fits(40)


# The text


def printed(shared: Path) -> Iterator[list[str]]:
    """The rows of the paper's tables, their cells without the marks of the typesetting."""
    for line in (shared / "papers" / "contextecho.txt").read_text("utf-8").splitlines():
        if "\t" in line:
            plain = re.sub(r"\\(mathbf|times|bigstar|!)|[${}★%×]", "", line)
            plain = plain.replace("\\", "").replace("[", "").replace("]", "").replace("+", "")
            yield [cell.strip().replace("−", "-") for cell in plain.split("\t")]


def numbers(cells: list[str]) -> list[float]:
    split = [part for cell in cells for part in cell.replace(",!", ",").split(",")]
    return [float(part) for part in split if re.fullmatch(r"-?\d+(\.\d+)?", part.strip())]


def row(table: str, name: str) -> list[float]:
    return [float(n) for n in exhibits()[table].rows[name] if isinstance(n, int | float)]


def squeezed(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())


@pytest.mark.parametrize("table", ["appendix-B", "table-1", "table-5"])
def test_the_numbers_of_a_table_are_those_of_the_text(table: str, shared: Path):
    found = [(squeezed(cells[0]), numbers(cells[1:])) for cells in printed(shared)]
    for name in exhibits()[table].rows:
        wanted = row(table, name)[:2] if table == "table-5" else row(table, name)
        assert (squeezed(name), wanted) in found, name


def test_the_onset_table_is_that_of_the_text(shared: Path):
    found = {cells[0]: numbers(cells[1:]) for cells in printed(shared) if len(cells) == 9}
    for turn in (1, 5, 25, 100, 250, 500, 1000, 1500):
        names = ("Sonnet 4.5", "Sonnet 4.6", "Opus 4.1", "Haiku 4.5")
        wanted = [n for name in names for n in row("table-4", f"{name} at {turn}")]
        assert found[str(turn)] == wanted


# Arithmetic


def test_the_gaps_of_appendix_b_are_control_less_session():
    control, session = column("appendix-B", "filler"), column("appendix-B", "claude")
    off = {
        name: round(control[name] - session[name] - gap, 4)
        for name, gap in column("appendix-B", "gap").items()
        if round(control[name] - session[name], 2) != gap
    }
    assert set(map(abs, off.values())) == {0.01}
    assert set(off) == {
        "Sonnet 4.6", "Sonnet 4.5", "Mistral Medium", "Gemini 2.5 Flash", "GPT-5",
    }  # fmt: skip


def test_the_means_of_appendix_b_are_those_of_whole_scores_over_their_cells():
    """Each printed mean is a sum of 60 scores (Kimi: of 5), and these sums give the gaps."""
    cells = {name: int(5 * n) for name, n in column("appendix-B", "positions").items()}
    control, session = column("appendix-B", "filler"), column("appendix-B", "claude")
    for name, gap in column("appendix-B", "gap").items():
        sums = [round(column[name] * cells[name]) for column in (control, session)]
        for total, column_ in zip(sums, (control, session), strict=True):
            assert abs(total / cells[name] - column_[name]) <= 0.005 + 1e-9
        assert abs((sums[0] - sums[1]) / cells[name] - gap) <= 0.005 + 1e-9


def test_the_counts_of_figure_3_are_those_of_appendix_b():
    gaps = column("appendix-B", "gap")
    said = column("figure-3", "value")
    assert len(gaps) == said["targets"]
    assert sum(abs(gap) >= 0.30 for gap in gaps.values()) == said["targets of 0.30 or more"]
    assert (min(gaps.values()), max(gaps.values())) == (said["least gap"], said["greatest gap"])
    positions = column("appendix-B", "positions")
    assert sum(n == 12 for n in positions.values()) == said["targets at 12 positions"]


ORGANISATIONS = {
    "Anthropic": ("Sonnet", "Opus", "Haiku"), "OpenAI": ("GPT",), "Google": ("Gemini",),
    "DeepSeek": ("DeepSeek",), "Mistral": ("Mistral",), "Cohere": ("Command",),
    "NVIDIA": ("Nemotron",), "Alibaba": ("Qwen",), "Meta": ("Llama",), "Moonshot": ("Kimi",),
}  # fmt: skip


def organisation(name: str) -> str:
    (found,) = (org for org, families in ORGANISATIONS.items() if name.startswith(families))
    return found


def test_the_organisations_of_the_strong_drifters_are_nine_of_ten():
    gaps = column("appendix-B", "gap")
    strong = {organisation(name) for name, gap in gaps.items() if abs(gap) >= 0.30}
    assert len(set(map(organisation, gaps))) == column("figure-3", "value")["organisations"]
    assert len(strong) == column("figure-3", "value")["organisations among these"]


def test_appendix_b_is_sorted_but_for_one_pair():
    gaps = list(column("appendix-B", "gap").items())
    wrong = [(a[0], b[0]) for a, b in pairwise(gaps) if a[1] < b[1]]
    assert wrong == [("Opus 4.1", "Llama 3.3 70B")]


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def test_table_5_has_13_targets_of_one_sign_and_calls_15_the_same():
    ours, theirs = column("table-5", "Sonnet"), column("table-5", "GPT-5")
    said = column("table-5", "agree")
    assert sum(said.values()) == 15
    same = {name for name in ours if sign(ours[name]) == sign(theirs[name])}
    assert len(same) == 13
    with_a_zero = {name for name in ours if 0 in (ours[name], theirs[name])}
    assert {name: said[name] for name in with_a_zero} == {
        "Command R7B": 0,
        "Gemini 2.5 Flash": 0,
        "Gemini 2.5 Pro": 1,
        "Mistral Small": 1,
        "Llama 3.3 70B": 0,
    }
    assert {name for name in ours if said[name] == 0} - with_a_zero == {"Haiku 4.5"}


def test_table_5_gives_the_first_mean_of_figure_12_and_not_the_second():
    means = [sum(column("table-5", j).values()) / 19 for j in ("Sonnet", "GPT-5")]
    assert means == pytest.approx([0.3158, 0.3158], abs=1e-4)
    values = paper_values()
    assert values["figure-12/gap by Sonnet 4.6/value"].fits(means[0])
    assert not values["figure-12/gap by GPT-5/value"].fits(means[1])


@pytest.mark.parametrize(
    ("share", "count", "pairs"),
    [
        ("figure-12/exact/value", 116, 190),
        ("figure-12/within one/value", 178, 190),
        ("appendix-O-agreement/exact/value", 137, 250),
        ("appendix-O-agreement/within one/value", 237, 250),
    ],
)
def test_shares_are_those_of_whole_pairs(share: str, count: int, pairs: int):
    assert paper_values()[share].fits(count / pairs)
    assert not paper_values()[share].fits((count + 1) / pairs)


def test_the_gaps_of_table_4_are_differences_of_25_whole_scores():
    gaps = column("table-4", "gap")
    assert len(gaps) == 32
    assert all(gap * 25 == pytest.approx(round(gap * 25)) for gap in gaps.values())
    for name, gap in gaps.items():
        low, high = (column("table-4", end)[name] for end in ("low", "high"))
        assert low <= gap <= high


def test_one_interval_of_opus_excludes_zero():
    lows, highs = column("table-4", "low"), column("table-4", "high")
    away = [n for n in lows if "Opus" in n and not lows[n] <= 0 <= highs[n]]
    assert away == ["Opus 4.1 at 100"]


def test_the_shares_of_table_2_are_of_within_plus_between():
    between, within = column("table-2", "between"), column("table-2", "within")
    for name, share in column("table-2", "share").items():
        assert between[name] / (between[name] + within[name]) == pytest.approx(share, abs=1e-3)
    total = column("table-2", "total")
    assert between["Opus 4.1"] / total["Opus 4.1"] == pytest.approx(0.133, abs=5e-4)  # not .127


def test_the_effect_of_table_6_is_with_less_without():
    with_, without, effect = (row("table-6", name) for name in ("with", "without", "effect"))
    assert [a - b for a, b in zip(with_, without, strict=True)] == pytest.approx(effect)
    for scores in (with_, without):
        assert sum(scores[:5]) / 5 == pytest.approx(scores[5])


def test_the_differences_of_the_appendices_are_those_of_their_columns():
    for name in exhibits()["appendix-I"].rows:
        user, system, difference = row("appendix-I", name)
        assert system - user == pytest.approx(difference, abs=0.0101)
    for name in exhibits()["appendix-O"].rows:
        control, session, gap = row("appendix-O", name)
        assert control - session == pytest.approx(gap, abs=0.0101)


def test_the_two_kinds_of_task_make_the_difference_of_all():
    values = column("appendix-M", "difference")
    same, other = values["Sonnet 4.6, same task"], values["Sonnet 4.6, other task"]
    assert (7 * same + 10 * other) / 17 == pytest.approx(values["Sonnet 4.6"], abs=1e-3)


def test_the_compliant_pairs_are_one_fewer_than_said():
    pairs = column("appendix-E", "value")
    sessions = sum(pairs[f"compliant pairs of Session {n}"] for n in (1, 2, 3))
    assert (sessions, pairs["compliant pairs"]) == (705, 706)


def test_the_negative_control_of_deepseek_needs_a_score_of_2():
    said = paper_values()["appendix-J/DeepSeek V3/value"]
    assert said.fits((2 + 3 * 4) / 5 - 3)
    assert not said.fits(3 * 4 / 4 - 3)
    assert not said.fits((-1 + 3 * 4) / 5 - 3)


def test_positions_before_a_compaction_are_not_a_hundred_turns_before():
    turns = column("appendix-S", "turn")
    compactions = (1338, 2229, 4694, 6216, 7724, 8828)
    before = [n for n in turns if "_pre_" in n]
    assert [c - turns[n] for c, n in zip(compactions, before, strict=True)] == [38, 29, 0, 0, 0, 28]
    after = [turns[name] for name in turns if "_post_" in name]
    assert [t - c for t, c in zip(after, compactions, strict=False)] == [100] * 5


def test_cells_of_the_onset_study_multiply():
    cells = column("appendix-K", "value")
    assert cells["turns"] * 2 * cells["replies a cell"] == cells["cells a target"]
    assert 4 * cells["cells a target"] == cells["cells"]


def test_the_page_counts_entries_and_numbers_right():
    page = (Path(__file__).resolve().parents[2] / "docs" / "release.md").read_text("utf-8")
    assert f"{len(exhibits())} entries, {len(paper_values())} numbers" in page
