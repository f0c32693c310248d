"""The page on extending: what it shows is loaded, planned with, and read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from contextecho import plan, read_session
from contextecho.errors import SessionError
from contextecho.models.providers import Provider
from contextecho.sessions import registry
from contextecho.stimuli import load_battery
from contextecho.studies import load_study
from docs.pages import Page, page

NOTES = """\
{"who": "me", "says": "Hello."}
{"who": "m-1", "says": "Hi. Ünïcode."}

{"who": "nobody"}
{"who": "me", "says": "Bye."}{"who": "m-2", "says": "Goodbye."}
"""


@pytest.fixture
def shown(desk: Path, lay_out: Callable[[Page], None]) -> Path:
    lay_out(page("extending.md"))
    return desk


@pytest.fixture
def notes(shown: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader of the page, as a package that is installed and names it."""
    installed = shown / "notes-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: notes\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[contextecho.readers]\nnotes = notes\n")
    monkeypatch.syspath_prepend(str(shown))
    registry.other_readers.cache_clear()
    yield
    registry.other_readers.cache_clear()
    sys.modules.pop("notes", None)


def test_the_battery_is_asked_in_its_own_words(shown: Path):
    battery = load_battery(shown / "taste.yaml")
    assert [stimulus.id for stimulus in battery.stimuli] == ["T01", "T02"]
    cells = plan(
        read_session("session.jsonl"),
        target="simulated",
        batteries=["taste.yaml"],
        positions="even:2",
    )
    asked = {cells.request(cell).ask[0].text for cell in cells.cells if cell.stimulus == "T01"}
    assert "One short question before we go on:\n\nDo you have a favorite color?" in asked
    assert len(asked) == 2


def test_the_study_plans_its_four_arms_and_keeps_its_contrasts(shown: Path):
    study = load_study("anchor.toml")
    cells = plan(
        read_session("session.jsonl"), target="simulated", study="anchor.toml", paraphrases=1
    )
    assert cells.study.contrasts == study.contrasts
    # 6 positions x 4 arms x (5 probes + 5 negative controls)
    assert len(cells.cells) == 240


def test_the_reader_reads_and_its_session_can_be_planned_with(shown: Path, notes: None):
    (shown / "a.notes").write_text(NOTES, encoding="utf-8")
    session = read_session("a.notes")
    assert (session.format, session.prompts, session.steps, session.row_turns) == ("notes", 2, 2, 4)
    assert [content.text for content in session.contents(session.turns)] == [
        "Hello.", "Hi. Ünïcode.", "Bye.", "Goodbye.",
    ]  # fmt: skip
    assert session.models == ("m-1", "m-2")
    assert [(s.reason, s.first_line) for s in session.skipped] == [
        ("not a note", 4), ("broken line, records saved", 5),
    ]  # fmt: skip
    cells = plan(session, target="simulated", positions="last", arms=["session"], paraphrases=1)
    assert cells.snapshots[0].context.messages[1].text == "Hi. Ünïcode."


def test_the_reader_leaves_other_formats_alone_and_refuses_monologues(shown: Path, notes: None):
    assert read_session("session.jsonl").format == "claude-code"
    (shown / "b.notes").write_text('{"who": "me", "says": "Hello?"}\n', encoding="utf-8")
    with pytest.raises(SessionError, match="no message of a model"):
        read_session("b.notes")


def test_the_provider_row_is_one_that_the_table_takes(shown: Path):
    rows = msgspec.yaml.decode((shown / "row.yaml").read_bytes(), type=dict[str, dict[str, object]])
    ((name, row),) = rows.items()
    provider = msgspec.convert({"id": name, **row}, Provider)
    assert provider.base_url == "http://127.0.0.1:8000/v1"
    assert provider.quirks_for("thinker-1").sampling is False
    assert provider.quirks_for("llama-3").sampling is True
    assert set(row) <= set(Provider.__struct_fields__)
