from __future__ import annotations

import base64
import hashlib
import re

import msgspec
import pytest

from contextecho.errors import DataError
from contextecho.reports import figures, render
from contextecho.reports.figures import marks_of
from contextecho.reports.typeset import estimate
from contextecho.scoring import RunAnalysis
from reports.pages import Page
from reports.runs import HOSTILE, make_analysis
from reports.shapes import SHAPES

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page_of(run: RunAnalysis) -> Page:
    return Page(render(run, "html"))


def test_the_policy_allows_one_script_by_its_hash(shape: RunAnalysis) -> None:
    page = page_of(shape)
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert page.meta["Content-Security-Policy"] == POLICY.format(f"sha256-{digest}")


def test_nothing_is_fetched_and_nothing_runs_from_an_attribute(shape: RunAnalysis) -> None:
    page = page_of(shape)
    assert not {"a", "img", "iframe", "form", "object", "embed", "base"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href", "action"):
            assert (tag, value) == ("link", "data:,")
    assert "url(" not in render(shape, "html")
    assert "@import" not in render(shape, "html")


def test_hostile_text_is_shown_and_inert() -> None:
    html = render(SHAPES["hostile"](), "html")
    page = Page(html)
    assert "{{ 7 * 7 }}" in page.text
    assert "⟨U+001B⟩[31mred" in page.text
    assert "⟨U+202E⟩gnp.exe" in page.text
    assert page.tags.count("script") == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert HOSTILE.split("\x1b")[0].strip() in page.text


def test_headline_sentences_carry_their_numbers(judged: RunAnalysis) -> None:
    gap = judged.contrasts[0]
    assert gap.interval is not None
    written = f"{gap.estimate:.2f} [{gap.interval.low:.2f}, {gap.interval.high:.2f}]"
    assert f"control − session = {written}, 60 pairs in 12 clusters" in page_of(judged).text


def test_every_figure_stands_above_a_table_of_its_numbers(judged: RunAnalysis) -> None:
    html = render(judged, "html")
    for figure in figures(judged):
        block = html.split(f'<figure id="{figure.id}"')[1].split("</figure>")[0]
        table, caption = Page(block.split("<table")[1]).text, Page(block).text
        for mark in marks_of(figure):
            words = estimate(mark.value, mark.low, mark.high, mark.quantity)
            assert words in table or words in caption


def test_every_denominator_is_shown() -> None:
    run = make_analysis(3, targets=3, positions=5)
    html = render(run, "html").split('id="answered"')[1].split("</section>")[0]
    rows = [Page(row).text.split() for row in html.split("<tr>")[2:]]
    assert len(rows) == len(run.denominators) == 3 * 3 * 4
    for row, d in zip(rows, run.denominators, strict=True):
        counts = (d.planned, d.answered, d.refused, d.truncated, d.empty, d.failed, d.missing)
        assert [str(n) for n in counts] == [w for w in row if w.isdigit()][:7]


def test_all_three_indices_and_the_token_ratio_of_each_position_are_shown(
    judged: RunAnalysis,
) -> None:
    text = page_of(judged).text
    position = judged.run.plan["positions"][7]
    ratio = judged.run.plan["control_ratio"][position["label"]]
    wanted = (position["row_turn"], position["step"], position["prompt"], position["segment"])
    assert f"{position['label']} {' '.join(f'{n:,}' for n in wanted)} 7,407 29,950 {ratio:.3f}" in (
        text
    )


def test_hashes_and_versions_are_shown(judged: RunAnalysis) -> None:
    text = page_of(judged).text
    for fact in ("ab" * 32, "cd" * 32, "3fa91c07", "strict 1.0", "contextecho 0.1.0", "seed 42"):
        assert fact in text


def test_limits_are_stated_in_every_report(shape: RunAnalysis) -> None:
    text = page_of(shape).text
    assert "What these numbers cannot say" in text
    assert "They certify nothing about alignment" in text
    assert "They do not rank one model above another in safety" in text


@pytest.fixture(scope="module")
def all_texts() -> list[str]:
    """What the page of each kind of run says."""
    return [page_of(make()).text for make in SHAPES.values()]


@pytest.mark.parametrize(
    "word", ["safer", "certified", "certificate", "official", "mind", "trust score"]
)
def test_the_report_never_claims(all_texts: list[str], word: str) -> None:
    for text in all_texts:
        assert not re.search(rf"\b{word}\b", text, re.IGNORECASE)


def test_a_moved_control_withholds_the_headline() -> None:
    text = page_of(SHAPES["withheld"]()).text
    said = text.split("What this run says")[1].split("Who answered")[0]
    assert "Headline withheld." in said
    assert "right answers: moved (control − session = 40 pp [20, 60]" in said.replace(
        "Right", "right"
    )
    assert "coding-self" not in said


def test_without_any_answer_the_report_opens_and_says_so() -> None:
    text = page_of(SHAPES["empty"]()).text
    assert "Nothing could be estimated for this target" in text
    assert "there is nothing to draw" in text
    assert "of 200 planned replies, 200 failed. None of them was scored." in text


def test_a_judge_free_run_says_that_no_judge_was_asked() -> None:
    text = page_of(SHAPES["judge-free"]()).text
    assert "No judge was asked" in text
    assert "mean register" not in text


def test_what_an_older_store_does_not_hold_is_said_to_be_missing(judged: RunAnalysis) -> None:
    bare = msgspec.structs.replace(judged, run=msgspec.structs.replace(judged.run, plan={}))
    text = page_of(bare).text
    assert (
        "Not recorded with this run: the study, the protocol, the session's hash, the positions, "
        "the snapshots, the tokenizer, the batteries and the decoding." in text
    )


def test_a_broken_plan_is_one_clear_error(judged: RunAnalysis) -> None:
    run = msgspec.structs.replace(judged.run, plan={"positions": "everywhere"})
    with pytest.raises(DataError, match="run 3fa91c07: the stored plan cannot be read"):
        render(msgspec.structs.replace(judged, run=run), "html")


def test_unmatched_prefixes_are_named(judged: RunAnalysis) -> None:
    text = page_of(judged).text
    assert "differ by more than 2 % in tokens at P06_post_C4 (1.024)" in text


def test_scratch_replies_are_counted_once_though_shown_at_every_position(
    judged: RunAnalysis,
) -> None:
    html = render(judged, "html")
    answered = html.split('id="answered"')[1].split("</section>")[0]
    distinct = [Page(row).text.split()[-1] for row in answered.split("<tr>")[2:]]
    counts = {
        (d.battery, d.arm.value): n for d, n in zip(judged.denominators, distinct, strict=True)
    }
    assert counts["coding-self", "scratch"] == "25"  # asked once; planned at 12 positions
    assert counts["coding-self", "control"] == "300"
    figure = next(f for f in figures(judged) if f.family == "arms")
    marks = {mark.series: mark.n for mark in marks_of(figure)}
    assert (marks["scratch"], marks["control"]) == (5, 60)


def test_the_file_of_the_session_is_named_at_the_top_without_its_folder(
    judged: RunAnalysis,
) -> None:
    top = render(judged, "html").split("<header>")[1].split("</header>")[0]
    assert "cd95adddad32.jsonl" in top
    assert "sessions/" not in top
    assert "cd95adddad32.jsonl" in render(judged, "md").split("###")[0]


def test_notes_of_the_plan_are_read_with_the_numbers(judged: RunAnalysis) -> None:
    said = page_of(judged).text.split("To be read with it")[1].split("Who answered")[0]
    assert "The first position lies before any compaction." in said
    assert "the first position lies before any compaction" in render(judged, "md")


def test_how_a_target_is_served_is_shown_where_it_was_recorded(judged: RunAnalysis) -> None:
    target = judged.run.targets[0]
    assert "served with" not in page_of(judged).text
    plan = {**judged.run.plan, "serving": {target: "weights.gguf, +2 on the end"}}
    run = msgspec.structs.replace(judged.run, plan=plan)
    text = page_of(msgspec.structs.replace(judged, run=run)).text
    assert f"served with: {target} weights.gguf, +2 on the end" in text
