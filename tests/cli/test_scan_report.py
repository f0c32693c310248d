"""`scan -o`: where the report goes, and what is refused before anything is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread

import pytest

from commandline import exit_code
from reports.scans import growing, hostile, scan_folder
from waiting import PATIENCE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sessions, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    scan_folder(tmp_path / "kept")
    return tmp_path / "kept"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    return exit_code("scan", *words), *capsys.readouterr()


def names() -> list[str]:
    """What the working directory holds."""
    return sorted(path.name for path in Path().iterdir())


def test_the_report_is_written_beside_the_table_and_named(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    _, table, told = run(capsys, folder)
    code, out, err = run(capsys, folder, "-o", "scan.html")
    assert (code, out) == (0, table)
    said = told.splitlines()
    assert err.splitlines() == [*said[:-1], "Wrote scan.html", said[-1]]
    html = Path("scan.html").read_text("utf-8")
    assert html.lstrip().startswith("<!doctype html>")
    assert "In 1 of 2 sessions that could be compared" in html


def test_the_ending_chooses_markdown_and_the_document_goes_to_stdout(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, _ = run(capsys, folder, "--json", "-o", "scan.md")
    assert code == 0
    assert len(json.loads(out)["sessions"]) == 3
    assert Path("scan.md").read_text("utf-8").startswith("## Scan: sessions\n")


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("-o", "-"), "<!doctype html>"),
        (("--format", "md"), "## Scan: growing.jsonl"),
        (("-o", "-", "--format", "md"), "## Scan: growing.jsonl"),
    ],
    ids=" ".join,
)
def test_a_report_on_stdout_stands_for_the_table(
    capsys: pytest.CaptureFixture[str], folder: Path, words: tuple[str, ...], begins: str
) -> None:
    code, out, err = run(capsys, folder / "growing.jsonl", *words)
    assert code == 0
    assert out.startswith(begins)
    assert "40 prompts · 40 agent steps" not in out
    assert err == f"Next: contextecho plan {folder}/growing.jsonl --target local\n"
    assert names() == ["kept"]


def test_html_without_a_file_goes_to_scan_html(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert "Wrote scan.html\n" in run(capsys, folder, "--format", "html")[2]
    assert Path("scan.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "pdf"), "no report format 'pdf' (choose html and md)"),
        (("--format", "json", "-o", "scan.json"), "no report format 'json'"),
        (("-o", "scan.docx"), "does not say which format to write (end it in .html, .htm, .md"),
        (("-o", "scan"), "does not say which format"),
        (("-o", "nowhere/scan.html"), "cannot write the report there"),
        (("-o", "folder.html"), "cannot write the report there"),
        (("-o", "-", "--json"), "would both go to standard output"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    Path("folder.html").mkdir()
    monkeypatch.setattr("contextecho.scoring.screening.walk", None)  # reading would raise
    code, out, err = run(capsys, folder, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert names() == ["folder.html", "kept"]


def test_without_a_session_no_report_is_written(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    Path("empty").mkdir()
    code, out, err = run(capsys, "empty", "-o", "scan.html")
    assert (code, out) == (2, "")
    assert "holds no session" in err
    assert not Path("scan.html").exists()


def test_a_named_file_that_cannot_be_read_is_in_the_report_and_ends_in_2(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, _, err = run(capsys, folder / "gone.jsonl", folder / "growing.jsonl", "-o", "scan.html")
    assert code == 2
    assert "gone.jsonl: cannot be read" in err.splitlines()[-1]
    html = Path("scan.html").read_text("utf-8")
    assert f'<th scope="row" class="path">{folder}/gone.jsonl</th>' in html


def test_an_older_report_is_replaced_and_nothing_else_is_left(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    Path("scan.html").write_text("old")
    run(capsys, folder, "-o", "scan.html")
    assert "<!doctype html>" in Path("scan.html").read_text("utf-8")
    assert names() == ["kept", "scan.html"]


def test_a_pipe_is_written_to_as_by_report(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    os.mkfifo("pipe.html")
    read: list[str] = []
    reader = Thread(target=lambda: read.append(Path("pipe.html").read_text("utf-8")), daemon=True)
    reader.start()
    assert run(capsys, folder, "-o", "pipe.html")[0] == 0
    reader.join(timeout=PATIENCE)
    assert read[0].lstrip().startswith("<!doctype html>")
    assert Path("pipe.html").is_fifo()


def test_a_hostile_name_reaches_neither_terminal_nor_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hostile(tmp_path)
    code, out, err = run(capsys, tmp_path, "-o", tmp_path / "scan.html")
    assert code == 0
    html = (tmp_path / "scan.html").read_text("utf-8")
    for text in (out, err, html):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<img" not in html


def test_a_name_that_is_not_utf8_is_shown_by_marks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    growing(tmp_path / "a.jsonl").rename(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")))
    assert run(capsys, tmp_path, "-o", tmp_path / "scan.html")[0] == 0
    assert "⟨U+DCFF⟩.jsonl" in (tmp_path / "scan.html").read_text("utf-8")
