"""The data dictionary has every field of every document, and says truly which may be null."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from contextecho.contexts import Snapshot
from contextecho.engine import Estimate
from contextecho.release import ReleaseSummary
from contextecho.reports.exports import COLUMNS, Document
from contextecho.reports.series.writing import SeriesDocument
from contextecho.reproducing import Reproduction
from contextecho.scoring import Screen, Verification
from contextecho.sessions import Session
from contextecho.studies import Lock, Plan
from docs.pages import Run, page

ROOTS = (
    Document,
    SeriesDocument,
    Screen,
    Session,
    Snapshot,
    Estimate,
    Plan,
    ReleaseSummary,
    Lock,
    Verification,
    Reproduction,
)
TABLES = dict(page("data.md").tables)


def structs(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """Every struct that a type is made of, itself included."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
        for inner in get_type_hints(hint).values():
            yield from structs(inner)
    for part in get_args(hint):
        yield from structs(part)


STRUCTS = {struct.__name__: struct for root in ROOTS for struct in structs(root)}


def test_no_two_documented_structs_share_a_name():
    found = {struct for root in ROOTS for struct in structs(root)}
    assert len(found) == len(STRUCTS)


def test_every_struct_of_every_document_has_its_table():
    documented = {heading.strip("`") for heading in TABLES if heading.startswith("`")}
    assert documented == set(STRUCTS)


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_the_table_of_a_struct_names_its_fields_and_those_that_may_be_null(name: str):
    rows = TABLES[f"`{name}`"]
    struct = STRUCTS[name]
    assert [row[0].strip("`") for row in rows] == list(struct.__struct_fields__)
    hints = get_type_hints(struct)
    nullable = [field for field in struct.__struct_fields__ if NoneType in get_args(hints[field])]
    assert [row[0].strip("`") for row in rows if row[2]] == nullable
    assert all(row[1] for row in rows)


def test_the_columns_of_the_csv_are_all_there_in_order():
    assert tuple(row[0].strip("`") for row in TABLES["CSV columns"]) == COLUMNS


DOCUMENTS = {
    "plan": (["plan", "session.jsonl", "-t", "simulated", "--positions", "even:2"], []),
    "plan positions": (
        ["plan", "session.jsonl", "-t", "simulated", "--positions", "even:2"],
        ["positions", 0],
    ),
    "sessions list": (["sessions", "list", "."], ["sessions", 0]),
    "sessions show": (["sessions", "show", "session.jsonl"], []),
    "sessions check": (["sessions", "check", "session.jsonl"], [0]),
    "stimuli list": (["stimuli", "list"], [0]),
    "doctor": (["doctor"], [0]),
    "local status": (["local", "status"], []),
}


@pytest.mark.parametrize("heading", DOCUMENTS)
def test_the_table_of_a_printed_document_names_its_keys(heading: str, run: Run):
    arguments, path = DOCUMENTS[heading]
    document = json.loads(run(*arguments, "--json", stderr=False))
    for step in path:
        document = document[step]
    rows = TABLES[heading]
    assert {row[0].strip("`") for row in rows} == set(document)
    always = {row[0].strip("`") for row in rows if not row[2]}
    assert {key for key, value in document.items() if value is None} & always == set()


def test_a_screen_and_a_snapshot_print_what_their_sections_say(run: Run):
    screens = json.loads(run("scan", "session.jsonl", "--json", stderr=False))
    assert set(screens) == {"label", "sessions", "unread"}
    assert set(screens["sessions"][0]) == set(Screen.__struct_fields__)
    snapshot = run("snapshot", "session.jsonl", "--at", "200", "--format", "json", stderr=False)
    added = {"arm", "context_sha256", "session_sha256"}
    assert set(json.loads(snapshot)) == {*Snapshot.__struct_fields__, *added}


def test_a_stored_plan_is_a_plan_without_its_cells(run: Run):
    run("probe", "session.jsonl", "-t", "simulated", "--positions", "last", "--n", "1", "-q")
    report = json.loads(run("report", "--format", "json", stderr=False))
    stored = report["analysis"]["run"]["plan"]
    assert set(stored) == set(Plan.__struct_fields__) - {"cells"}
    assert all(isinstance(sha256, str) for sha256 in stored["contexts"])
    assert report["figures"][0]["kind"] in ("trajectory", "forest", "scatter")
