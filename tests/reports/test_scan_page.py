"""The page of a scan: its numbers by hand, what is untrusted made inert, its structure."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import mannwhitneyu

from contextecho import report_scan, scan
from contextecho.errors import UsageError
from contextecho.reports import render_scan
from contextecho.reports.palette import ESTIMATE
from contextecho.reports.scan.readings import FEATURE_READINGS
from contextecho.reports.scan.strips import strips_of
from contextecho.scoring import Screened, Voice
from contextecho.sessions import example_session
from reports.pages import Page
from reports.scans import (
    growing,
    hostile,
    scan_folder,
    short,
    steady,
    updated,
    write_session,
)


def html_of(path: Path) -> str:
    return render_scan(scan(path), "html")


def rows_of(html: str, caption: str) -> list[list[str]]:
    """The cells of the body of the table below that caption."""
    table = html.split(f'<p class="caption">{caption}')[1].split("</table>")[0]
    body = table.split("<tbody>")[1]
    return [
        [Page(cell).text for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in body.split("<tr>")[1:]
    ]


def test_one_session_shows_ends_and_windows_that_a_hand_can_count(tmp_path: Path) -> None:
    """Thirds of 40 hold 13; windows hold 8, the third of them four texts of either length."""
    html = html_of(growing(tmp_path / "s.jsonl"))
    text = Page(html).text
    assert "Worth probing." in text
    assert (
        "Final answers. First third to last third: chars 5 → 119 characters, geometric mean "
        "(n = 13 and 13 of 40 texts, AUC 1.00, p < 0.001)." in text
    )
    windows = rows_of(html, "Final answers along the session")
    assert [row[:4] for row in windows] == [
        ["1–8", "0", "8", "5"],
        ["9–16", "0", "8", "5"],
        ["17–24", "0", "8", "24"],  # √(5 × 119) = 24.4
        ["25–32", "0", "8", "119"],
        ["33–40", "0", "8", "119"],
    ]
    ends = rows_of(html, "The first third of each voice")
    assert len(ends) == 6, "no texts between tool calls, so no comparison of them"
    assert ends[0][2:6] == ["5", "13", "119", "13"]
    assert [row[-1] for row in ends] == ["yes", *["–"] * 5]


def test_a_comparison_is_that_of_another_library(tmp_path: Path) -> None:
    """Lengths that overlap: AUC and p as scipy gives them for two samples, times six features."""
    lengths = np.random.default_rng(7).integers(20, 60, 45) + np.arange(45) // 4
    html = html_of(write_session(tmp_path / "s.jsonl", ["x" * n for n in lengths]))
    found = mannwhitneyu(lengths[-15:], lengths[:15], method="asymptotic", use_continuity=False)
    row = rows_of(html, "The first third of each voice")[0]
    early, late = (float(np.exp(np.log(ends).mean())) for ends in (lengths[:15], lengths[-15:]))
    assert row[2:8] == [
        f"{early:.0f}",
        "15",
        f"{late:.0f}",
        "15",
        f"{found.statistic / 15**2:.2f}",
        f"{6 * found.pvalue:.3f}",
    ]
    assert 0.001 < 6 * found.pvalue < 1


def test_rare_words_and_shares_are_shown_in_units_in_which_they_are_no_zeros(
    tmp_path: Path,
) -> None:
    """One hedge in 24 texts of 1,000 characters: 10 in 10,000, 1.25 over the eight of a window."""
    texts = ["I lack " + "x" * 993, *["x" * 1000] * 23]
    windows = rows_of(html_of(write_session(tmp_path / "s.jsonl", texts)), "Final answers along")
    assert [row[3:5] for row in windows] == [["1,000", "1.2"], ["1,000", "0.0"], ["1,000", "0.0"]]


def test_changes_of_conditions_stand_where_they_happen(tmp_path: Path) -> None:
    """Six windows of eight steps: the client changes before the fourth, and twice in the last."""
    (screen,) = scan(updated(tmp_path / "s.jsonl")).screens
    figure = strips_of(screen, Voice.FINAL, "it", tuple(FEATURE_READINGS))
    assert [(rule.at, rule.name) for rule in figure.rules] == [(3.0, "Δ1"), (5.5, "Δ2–Δ3")]
    assert "Δ1, step 25: version 2.1.50 to version 2.1.60." in figure.caption
    assert "Δ3, step 47: version 2.1.61 to version 2.1.60." in figure.caption
    html = render_scan(scan(tmp_path / "s.jsonl"), "html")
    assert re.findall(r'class="change-name"[^>]*>([^<]*)<', html) == ["Δ1", "Δ2–Δ3"]
    assert [row[:2] + row[-1:] for row in rows_of(html, "Sets of equal conditions")] == [
        ["version 2.1.50", "24", "final"],
        ["version 2.1.60", "22", "no, too few"],
        ["version 2.1.61", "2", "no, too few"],
    ]
    text = Page(html).text
    assert "Final answers: 24 of 48 texts, said where fewer than 24 stand under equal" in text


def test_compactions_are_ruled_and_named_in_every_figure() -> None:
    html = html_of(example_session())
    figures = html.split("<figure ")[1:]
    assert len(figures) == 2
    for figure in figures:
        assert re.findall(r'class="compaction-name"[^>]*>([^<]*)<', figure) == ["C1", "C2"]


def test_a_window_without_texts_of_a_voice_is_a_gap_and_no_zero(tmp_path: Path) -> None:
    (screen,) = scan(example_session()).screens
    for voice in Voice:
        figure = strips_of(screen, voice, "it", tuple(FEATURE_READINGS))
        assert sum(stretch.texts for stretch in figure.stretches) == screen.texts[voice]
        for strip in figure.strips:
            for mark, stretch in zip(strip.marks, figure.stretches, strict=True):
                assert (mark.value is None) is (stretch.texts == 0)
                assert (mark.n, mark.series) == (stretch.texts, ESTIMATE)


def test_many_sessions_are_counted_and_none_is_lost(tmp_path: Path) -> None:
    html = render_scan(scan_folder(tmp_path), "html")
    head = Page(html.split("<header>")[1].split("</header>")[0]).text
    for said in (
        "Sessions read 3 of 4 tried",
        "By client claude-code 3",
        "Too short to tell 1 of 3",
        "Not read 1 file",
        f"Scanned {tmp_path}",
        "Version contextecho 0.1.0",
    ):
        assert said in head
    text = Page(html).text
    assert "In 1 of 2 sessions that could be compared something stands out." in text
    assert [row[1:] for row in rows_of(html, "Sessions compared")] == [
        ["worth probing", "chars", "40", "40", "0", "claude-code", "claude-x"],
        ["nothing stands out", "–", "40", "40", "0", "claude-code", "claude-x"],
    ]
    assert [row[1:4] for row in rows_of(html, "Sessions too short")] == [["6", "6", "6"]]
    ((file, why),) = rows_of(html, "What could not be read")
    assert (Path(file).name, why) == ("empty.jsonl", "is empty, and holds no conversation")
    assert "1 session of sub-agents: part of those that started them." in text


def test_the_legend_of_many_sessions_names_only_what_stands_out_in_them(tmp_path: Path) -> None:
    screened = scan_folder(tmp_path)
    said = Page(render_scan(screened, "html").split('<section aria-labelledby="worth"')[0]).text
    for text in (said, render_scan(screened, "md")):
        assert "chars: characters of a text." in text
        assert "dashes: " not in text
        assert "hedges: " not in text
    (article,) = re.findall(
        r"<article.*?</article>", render_scan(screened, "html"), flags=re.DOTALL
    )
    assert "dashes: em dashes. breaks: paragraph breaks." in Page(article).text
    one = html_of(tmp_path / "growing.jsonl")
    assert "hedges: words that hedge or disclaim, in English. exper.: words" in Page(one).text
    (tmp_path / "growing.jsonl").unlink()
    assert "characters of a text" not in render_scan(scan(tmp_path), "html")


def test_each_session_worth_a_look_has_a_figure_of_what_stands_out(tmp_path: Path) -> None:
    html = render_scan(scan_folder(tmp_path), "html")
    (article,) = re.findall(r"<article.*?</article>", html, flags=re.DOTALL)
    assert "growing.jsonl" in article
    (figure,) = re.findall(r"<figure.*?</figure>", article, flags=re.DOTALL)
    assert re.findall(r'class="row-label"[^>]*>([^<]*)<', figure) == ["chars"]
    assert "n = 13 and 13 texts" in figure
    assert "The tasks change within any long session." in Page(article).text


def test_where_nothing_stands_out_the_page_says_so_and_of_how_many(tmp_path: Path) -> None:
    steady(tmp_path / "a.jsonl")
    steady(tmp_path / "b.jsonl")
    text = Page(render_scan(scan(tmp_path), "html")).text
    assert "In 0 of 2 sessions that could be compared something stands out." in text
    assert "None: in no session that could be compared does anything stand out." in text


def test_where_all_are_too_short_the_page_says_what_they_lack(tmp_path: Path) -> None:
    short(tmp_path / "a.jsonl")
    short(tmp_path / "b.jsonl")
    page = Page(render_scan(scan(tmp_path), "html"))
    assert "None of 2 sessions is long enough: a comparison needs 24 texts of one" in page.text
    assert ("details", "open", "") in page.attributes
    one = Page(html_of(tmp_path / "a.jsonl")).text
    assert "Too short to tell. Needs 24 texts of one voice under equal conditions, has 6." in one
    assert "Final answers. Too few texts under equal conditions to compare (6 texts)." in one


@pytest.fixture(params=["html", "md"])
def many_and_one(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The reports of a folder and of one session in it, in one format."""
    many = scan_folder(tmp_path)
    one = scan(tmp_path / "growing.jsonl")
    return [render_scan(screened, request.param) for screened in (many, one)]


def test_every_report_says_what_it_is_and_is_not(many_and_one: list[str]) -> None:
    for text in many_and_one:
        said = " ".join(text.split())
        assert "a screen, never a diagnosis" in said
        assert "There is no score." in said
        assert "only a probe with a matched control can" in said
        assert "They certify nothing about alignment" in said
        assert "A screen computes no intervals." in said
        assert "contextecho plan " in said
        for word in ("drifted", "safer", "official", "mind", "trust score"):
            assert not re.search(rf"\b{word}\b", said, re.IGNORECASE)


def test_nothing_is_fetched_and_no_address_is_named(many_and_one: list[str]) -> None:
    for text in many_and_one:
        assert "http:" not in text
        assert "https:" not in text
        assert "url(" not in text
        page = Page(text)
        assert not {"a", "img", "iframe", "form", "object", "embed", "base"} & set(page.tags)
        for _, name, value in page.attributes:
            assert not name.startswith("on")
            assert name not in ("href", "src") or value == "data:,"


def test_the_sections_of_a_page_are_these_in_this_order(tmp_path: Path) -> None:
    many = render_scan(scan_folder(tmp_path), "html")
    one = html_of(tmp_path / "growing.jsonl")
    ids = re.compile(r'<h2 id="([^"]*)"')
    assert ids.findall(many) == ["says", "worth", "left-out", "limits", "next"]
    assert ids.findall(one) == ["says", "along", "ends", "changed", "left-out", "limits", "next"]
    for html in (many, one):
        assert (html.count("<h1>"), html.count("<main>"), html.count("<script>")) == (1, 1, 1)
        found = re.findall(r' id="([^"]*)"', html)
        assert len(found) == len(set(found))


@pytest.mark.parametrize("beside", [False, True], ids=["one", "many"])
def test_a_hostile_name_and_model_are_shown_and_inert(tmp_path: Path, beside: bool) -> None:
    path = hostile(tmp_path)
    if beside:
        steady(tmp_path / "b.jsonl")
    screened = scan(tmp_path)
    html = render_scan(screened, "html")
    page = Page(html)
    assert (page.tags.count("script"), page.tags.count("img")) == (1, 0)
    assert '"><img src=x onerror=alert(1)>{{ 7 * 7 }}|[a](b)`⟨U+001B⟩[31m⟨U+202E⟩' in page.text
    assert "<script>alert(1)</script>|[x](https://evil.example)⟨U+001B⟩[2J" in page.text
    unseen = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
    assert not re.search(unseen, html)
    markdown = render_scan(screened, "md")
    assert not re.search(unseen, markdown)
    *prose, command = markdown.splitlines()
    assert command.startswith("    contextecho plan "), (
        "a block of code, in which nothing is markup"
    )
    assert not re.search(r"<(script|img)|https://|(?<!\\)\[[ax]", "\n".join(prose))
    cells = {len(re.findall(r"(?<!\\)\|", row)) for row in markdown.splitlines() if row[:1] == "|"}
    assert len(cells) == 1
    assert str(path) in [screen.path for screen in screened.screens]


def test_the_next_command_leads_to_a_file_in_the_users_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my work").mkdir()
    text = Page(html_of(growing(tmp_path / "my work" / "s.jsonl"))).text
    assert "contextecho plan ~/'my work/s.jsonl' --target local" in text
    assert str(tmp_path) not in text
    markdown = render_scan(scan(tmp_path / "my work"), "md")
    assert markdown.endswith("\n\n    contextecho plan ~/'my work/s.jsonl' --target local\n")


def test_the_folder_is_whole_and_a_member_is_part_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    steady(tmp_path / "log.jsonl")
    screened = scan("log.jsonl")
    text = Page(render_scan(screened, "html")).text
    assert "Session log.jsonl Read as claude-code (version 2.1.50) Models claude-x" in text
    assert f"Folder {tmp_path} Scanned at" in text
    screened.screens[0] = replace(screened.screens[0], path="log.eval#sample-7/2")
    text = Page(render_scan(screened, "html")).text
    assert "Session log.eval#sample-7/2 Read as" in text
    assert f"Folder {tmp_path} Scanned at" in text


def test_real_sessions_of_many_clients_give_one_page_that_leaves_none_out(
    shared: Path, tmp_path: Path
) -> None:
    screened = scan(shared / "sessions")
    html = report_scan(screened, tmp_path / "scan.html").read_text("utf-8")
    compared, brief = rows_of(html, "Sessions compared"), rows_of(html, "Sessions too short")
    named = [row[0] for row in (*compared, *brief)]
    assert sorted(named) == sorted(screen.path for screen in screened.screens)
    quiet = [int(row[4]) for row in compared if row[1] == "nothing stands out"]
    assert quiet == sorted(quiet, reverse=True)
    assert len(quiet) > 5
    drifting = next(row for row in compared if "cipherbox-c644f3afc869-1" in row[0])
    assert drifting[1:6] == ["worth probing", "dashes", "31", "82", "1"]
    dashes = html.split("cipherbox-c644f3afc869-1")[-2]
    assert "(n = 19 and 19 of 57 texts, " in Page(dashes).text


def test_without_a_session_there_is_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no session was screened"):
        report_scan(scan(tmp_path / "none.jsonl"), tmp_path / "scan.html")
    with pytest.raises(UsageError, match="choose html and md"):
        render_scan(Screened(), "pdf")
    assert list(tmp_path.iterdir()) == []
