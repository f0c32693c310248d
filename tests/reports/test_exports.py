from __future__ import annotations

import csv
import io
import os
import re
import stat
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import UsageError
from contextecho.reports import FORMATS, figures, render, write_report
from contextecho.reports.exports import Document
from contextecho.reports.markdown import escape_markdown
from contextecho.scoring import RunAnalysis
from reports.shapes import SHAPES


def test_json_holds_the_whole_analysis_unrounded(shape: RunAnalysis) -> None:
    document = msgspec.json.decode(render(shape, "json"), type=Document)
    assert document.schema == "contextecho.report/1"
    assert document.analysis == shape
    assert document.figures == figures(shape)


def test_csv_has_one_row_a_contrast_with_its_exact_numbers(shape: RunAnalysis) -> None:
    rows = list(csv.DictReader(io.StringIO(render(shape, "csv"))))
    assert len(rows) == len(shape.contrasts)
    for row, contrast in zip(rows, shape.contrasts, strict=True):
        if contrast.estimate is None:
            assert (row["estimate"], row["low"], row["p"]) == ("", "", "")
            assert row["note"]
        else:
            assert contrast.interval is not None
            assert float(row["estimate"]) == contrast.estimate
            assert float(row["high"]) == contrast.interval.high
        assert (int(row["pairs"]), row["scope"]) == (contrast.pairs, contrast.scope)


def test_csv_marks_withheld_headlines() -> None:
    rows = list(csv.DictReader(io.StringIO(render(SHAPES["withheld"](), "csv"))))
    assert {row["headline_withheld"] for row in rows} == {"yes"}


def test_a_spreadsheet_runs_nothing_from_a_run(judged: RunAnalysis) -> None:
    evil = msgspec.structs.replace(judged.contrasts[0], note='=HYPERLINK("http://x")')
    run = msgspec.structs.replace(judged, contrasts=(evil,))
    (row,) = csv.DictReader(io.StringIO(render(run, "csv")))
    assert row["note"] == '\'=HYPERLINK("http://x")'


def test_markdown_tables_have_a_row_a_denominator(judged: RunAnalysis) -> None:
    text = render(judged, "md")
    table = text.split("### Who answered\n\n")[1].split("\n\n")[0].splitlines()
    assert len(table) == 2 + len(judged.denominators)
    assert len({line.count("|") for line in table}) == 1
    assert "### What these numbers cannot say" in text


def test_markdown_of_a_hostile_run_is_inert() -> None:
    text = render(SHAPES["hostile"](), "md")
    assert "<" not in text
    assert not re.search(r"@\w", text)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", text)
    assert "\\`x\\`" in text


@given(st.text())
def test_escaped_markdown_is_one_line_without_syntax(text: str) -> None:
    escaped = escape_markdown(text)
    assert "\n" not in escaped
    assert "<" not in escaped
    assert not re.search(r"(?<!\\)(\\\\)*[`*_|\[\]]", escaped)


def test_a_withheld_headline_is_withheld_in_markdown_too() -> None:
    text = render(SHAPES["withheld"](), "md")
    said = text.split("### What this run says")[1].split("###")[0]
    assert "Headline withheld" in said
    assert "coding-self" not in said


def test_every_format_of_every_run_is_the_same_text_each_time(shape: RunAnalysis) -> None:
    for name in FORMATS:
        assert render(shape, name) == render(shape, name)


def test_an_unknown_format_is_refused(judged: RunAnalysis) -> None:
    with pytest.raises(UsageError, match=r"no report format 'pdf' \(choose html, md, json and csv"):
        render(judged, "pdf")


@pytest.mark.parametrize(
    ("name", "format_"),
    [("r.html", "html"), ("R.HTM", "html"), ("r.md", "md"), ("r.json", "json"), ("r.csv", "csv")],
)
def test_the_file_name_decides_the_format(
    judged: RunAnalysis, tmp_path: Path, name: str, format_: str
) -> None:
    path = write_report(judged, tmp_path / name)
    assert path.read_bytes().decode() == render(judged, format_)


def test_a_given_format_beats_the_file_name(judged: RunAnalysis, tmp_path: Path) -> None:
    path = write_report(judged, tmp_path / "report.txt", format="md")
    assert path.read_text().startswith("## Drift report")


def test_a_file_name_that_says_nothing_is_refused(judged: RunAnalysis, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not say which format"):
        write_report(judged, tmp_path / "report.txt")


def test_a_failed_write_leaves_the_old_report_and_no_litter(
    judged: RunAnalysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "report.html"
    old.write_text("old")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(UsageError, match="cannot write the report: No space left on device"):
        write_report(judged, old)
    assert old.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_does_not_exist_is_one_clear_line(
    judged: RunAnalysis, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="cannot write the report"):
        write_report(judged, tmp_path / "nowhere" / "report.html")


def test_a_link_stays_and_what_it_points_to_is_written(judged: RunAnalysis, tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    link = tmp_path / "link.md"
    link.symlink_to("real.md")
    write_report(judged, link)
    assert link.is_symlink()
    assert (tmp_path / "real.md").read_text() == render(judged, "md")


def test_a_pipe_is_written_to_and_stays_one(judged: RunAnalysis, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_bytes().decode()))
    reader.start()
    write_report(judged, pipe, format="csv")
    reader.join()
    assert pipe.is_fifo()
    assert read == [render(judged, "csv")]


def test_a_report_has_the_permissions_of_any_new_file(judged: RunAnalysis, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("")
    path = write_report(judged, tmp_path / "report.html")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)
