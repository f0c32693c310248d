"""`report` and `figures` on a run that really lies in a store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from commandline import exit_code
from contextecho.models import Answer, Usage
from contextecho.reports.exports import Document
from contextecho.store import open_store
from store.plans import make_plan


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with one run: 48 answers to probes, longer and hedge-free in the session arm."""
    monkeypatch.chdir(tmp_path)
    plan = make_plan(positions=4, probes=6)
    with open_store(tmp_path / "kept") as store:
        run = store.begin_run(plan, "session.jsonl", {"contextecho": "test"})
        for order, cell in enumerate(plan.cells):
            hedge = "As an AI, I don't have preferences." if cell.arm == "control" else "Python!"
            text = f"{hedge} {'More words follow. ' * (order % 5 + 9 * (cell.arm == 'session'))}"
            attempt = store.open_attempt(run.id, plan.request(cell))
            store.settle(attempt, Answer(text=text, usage=Usage(input=100, output=9)))
    return tmp_path / "kept"


def test_the_html_report_is_written_and_named(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("report", "--store", place) == 0
    written = capsys.readouterr()
    assert written.out == ""
    assert "Wrote report.html" in written.err
    assert "Next: contextecho figures " in written.err
    html = (place.parent / "report.html").read_text()
    assert "48 of 48 planned replies answered" in html
    assert "No judge was asked" in html


def test_json_goes_to_standard_output_alone(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("report", "latest", "--format", "json", "--store", place) == 0
    document = msgspec.json.decode(capsys.readouterr().out, type=Document)
    assert sum(d.answered for d in document.analysis.denominators) == 48
    lengths = [
        c for c in document.analysis.contrasts if (c.measure, c.scope) == ("length", "overall")
    ]
    assert len(lengths) == 1
    assert lengths[0].estimate is not None
    assert lengths[0].estimate < 1  # control over session: the session's replies are longer


def test_a_dash_sends_html_to_standard_output(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("report", "-o", "-", "--store", place) == 0
    assert capsys.readouterr().out.lstrip().startswith("<!doctype html>")
    assert not (place.parent / "report.html").exists()


def test_figures_are_named_on_standard_output(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    words = ("figures", "--only", "arms,fingerprint", "--format", "svg", "--store", place)
    assert exit_code(*words) == 0
    written = capsys.readouterr()
    paths = [Path(line) for line in written.out.splitlines()]
    assert len(paths) == 3
    assert all(path.stat().st_size and path.suffix == ".svg" for path in paths)
    assert "Next: contextecho report " in written.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "--format", "pdf"), "no report format 'pdf'"),
        (("report", "-o", "report.docx"), "does not say which format"),
        (("report", "nosuchrun"), "nosuchrun"),
        (("report", "--judge", "openai/none"), "no verdicts of judge"),
        (("figures", "--only", "dose"), "no figure is called 'dose'"),
        (("figures", "--format", "gif"), "no figure format 'gif'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_2(
    place: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert exit_code(*words, "--store", place) == 2
    written = capsys.readouterr()
    assert said in written.err
    assert len(written.err.splitlines()) == 1
    assert written.out == ""


def test_without_a_store_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("report", "--store", tmp_path / "none") == 2
    assert "there is no store here" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["report", "figures"])
def test_help_imports_nothing_heavy(command: str) -> None:
    program = (
        "import sys, json\n"
        "from contextecho.cli.main import main\n"
        "try: main([sys.argv[1], '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'aiohttp', 'matplotlib', 'jinja2', 'msgspec'}\n"
        "print(json.dumps(sorted(heavy & set(sys.modules))), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stderr.splitlines()[-1]) == []
    assert f"contextecho {command} [OPTIONS]" in done.stdout
