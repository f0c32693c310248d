"""What a report says about its judges: how alike they read, who they were, by which text."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml
from sklearn.metrics import cohen_kappa_score

from contextecho import models
from contextecho.reports import render
from contextecho.reports.judges import agreement_table
from contextecho.reports.provenance import facts
from contextecho.reports.view import view_of
from contextecho.scoring import JudgeAgreement, RunAnalysis
from contextecho.stats import agreement

ONE, OTHER = [3, 3, 2, 1, 0, None], [3, 2, 2, 1, 2, 3]
BOTH = list(zip(ONE[:5], OTHER[:5], strict=True))


def _with(run: RunAnalysis, *pairs: JudgeAgreement) -> RunAnalysis:
    return msgspec.structs.replace(run, agreements=pairs)


@pytest.fixture
def pair() -> JudgeAgreement:
    return JudgeAgreement(
        battery="coding-self",
        judges=("a/judge", "b/judge"),
        versions=("register-1/aa", "register-1/bb"),
        scores=agreement(ONE, OTHER),
    )


def test_the_table_has_both_judges_their_n_and_every_coefficient(
    judged: RunAnalysis, pair: JudgeAgreement
) -> None:
    table = agreement_table(view_of(_with(judged, pair)))
    assert table is not None
    (row,) = table.rows
    shown = dict(zip((column.heading for column in table.columns), row, strict=True))
    kappa = cohen_kappa_score(ONE[:5], OTHER[:5], labels=[0, 1, 2, 3])
    assert shown["judges"] == "a/judge and b/judge"
    assert shown["battery"] == "coding-self"
    assert (shown["both scored"], shown["unreadable"]) == ("5", "1")
    assert shown["same score"] == f"{100 * sum(a == b for a, b in BOTH) / 5:.0f} %"
    assert shown["within one point"] == "80 %"  # all but 0 against 2
    assert shown["kappa"] == f"{kappa:.2f}"
    assert len(row) == 11
    assert table.footnotes == ()


def test_every_document_has_the_table(judged: RunAnalysis, pair: JudgeAgreement) -> None:
    run = _with(judged, pair)
    trust = render(run, "html").split('id="trust"')[1].split("</section>")[0]
    assert re.search(r'<th scope="row">a/judge and b/judge</th>', trust)
    assert "| a/judge and b/judge | coding-self | 5 | 1 | 60 % |" in render(run, "md")
    said = msgspec.json.decode(render(run, "json"))["analysis"]["agreements"][0]
    assert said["judges"] == ["a/judge", "b/judge"]
    assert said["scores"]["exact"] == 0.6


def test_a_run_that_one_judge_read_has_no_table(judged: RunAnalysis) -> None:
    run = _with(judged)
    assert agreement_table(view_of(run)) is None
    assert "How alike" not in render(run, "html") + render(run, "md")


def test_a_coefficient_that_does_not_exist_is_a_dash_with_its_reason(
    judged: RunAnalysis, pair: JudgeAgreement
) -> None:
    same = msgspec.structs.replace(pair, scores=agreement([3] * 4, [3] * 4))
    table = agreement_table(view_of(_with(judged, same)))
    assert table is not None
    headings = [column.heading for column in table.columns]
    dashes = {h for h, cell in zip(headings, table.rows[0], strict=True) if cell == "–"}
    assert dashes == {"kappa", "kappa, squared weights", "Spearman", "alpha, ordinal"}
    assert table.footnotes == ("A dash: the scores show no variation to rate.",)


def test_one_judge_under_two_rubrics_is_named_by_its_verdicts(
    judged: RunAnalysis, pair: JudgeAgreement
) -> None:
    twice = msgspec.structs.replace(pair, judges=("a/judge", "a/judge"))
    table = agreement_table(view_of(_with(judged, twice)))
    assert table is not None
    assert table.rows[0][0] == "a/judge (register-1/aa) and a/judge (register-1/bb)"


def test_the_provenance_has_the_rubrics_hash_who_judged_and_the_dates_of_prices(
    judged: RunAnalysis,
) -> None:
    said = dict(facts(view_of(judged)))
    assert said["judge"] == "anthropic/claude-sonnet-4-6"
    assert said["judge served as"] == "claude-sonnet-4-6-20260217"
    assert said["rubric SHA-256"] == "ef" * 32
    file = Path(models.__file__).with_name("data") / "prices.yaml"
    prices = yaml.safe_load(file.read_text())["prices"]
    for asked in ("anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-6"):
        known = f"of {prices[asked]['as_of']}" if asked in prices else "not known"
        assert said[f"list price: {asked}"] == known


def test_what_answers_here_has_no_list_price(judged: RunAnalysis) -> None:
    local = msgspec.structs.replace(judged.run, targets=("local", "simulated"))
    said = dict(facts(view_of(msgspec.structs.replace(judged, run=local, judge=None))))
    assert not [name for name in said if name.startswith("list price")]
