"""Every real file against its golden summary: a count made by hand, or by other means.

The one thing to know: `golden/FORMAT.yaml` says what each file holds and how that was checked;
where a `golden/count_FORMAT.py` lies beside it, the file's numbers are what that script counts,
which shares no code with the readers. A new format is a new YAML file and no change here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from contextecho.errors import SessionError
from contextecho.sessions import CompactionKind, Kind, Session, Speaker, read_session

GOLDEN = Path(__file__).with_name("golden")
ALWAYS = {"prompts", "steps", "tool_calls", "compactions", "models", "skipped"}
ALWAYS |= {"first_human", "last_human"}
Summary = dict[str, Any]
BOOKS: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted(GOLDEN.glob("*.yaml"))
}
FILES = [(book, name) for book in BOOKS for name in BOOKS[book]["files"]]


def summary(session: Session) -> Summary:
    """What a golden file may say of a session."""
    kinds = [event.kind for event in session.compactions]
    humans = [turn for turn in session.turns if turn.speaker is Speaker.HUMAN]
    said = [content.text for content in session.contents(humans)]
    return {
        "prompts": session.prompts,
        "prompt_kinds": {str(kind): n for kind, n in session.prompt_kinds.items() if n},
        "steps": session.steps,
        "row_turns": session.row_turns,
        "tool_calls": sum(turn.kind is Kind.TOOL_CALL for turn in session.turns),
        "compactions": sum(kind is not CompactionKind.MICRO for kind in kinds),
        "microcompactions": kinds.count(CompactionKind.MICRO),
        "models": list(session.models),
        "skipped": {skipped.reason: skipped.count for skipped in session.skipped},
        "human_lines": sorted({turn.line for turn in humans}),
        "first_human": digest(said[0]) if said else None,
        "last_human": digest(said[-1]) if said else None,
    }


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("book", "name"), FILES)
def test_a_file_is_read_as_it_was_counted(shared: Path, book: str, name: str) -> None:
    expected = dict(BOOKS[book]["files"][name])
    assert expected.pop("checked"), "how was it checked?"
    if "error" in expected:
        with pytest.raises(SessionError) as caught:
            read_session(shared / "sessions" / name)
        assert expected["error"] in str(caught.value)
        return
    assert expected.keys() >= ALWAYS
    found = summary(read_session(shared / "sessions" / name))
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("book", BOOKS)
def test_the_golden_file_is_what_the_other_count_gives(shared: Path, book: str) -> None:
    count = other_count(book)
    if count is None:
        assert "by hand" in BOOKS[book]["how"]
        return
    for name, expected in BOOKS[book]["files"].items():
        counted = count(shared / "sessions" / name)
        assert counted == {key: expected[key] for key in expected if key != "checked"}, name


@pytest.mark.parametrize("book", BOOKS)
def test_every_file_of_the_folder_is_in_the_golden_file(shared: Path, book: str) -> None:
    below = tuple(BOOKS[book]["below"])
    files = {name.partition("#")[0] for name in BOOKS[book]["files"]}
    assert files == {name for name in sources(shared) if name.startswith(below)}


def test_every_shared_file_is_in_a_golden_file(shared: Path) -> None:
    below = tuple(prefix for book in BOOKS.values() for prefix in book["below"])
    assert [name for name in sources(shared) if not name.startswith(below)] == []
    assert len(sources(shared)) == 84


def sources(shared: Path) -> list[str]:
    """The files that SOURCES.md lists, by their names below the folder of sessions."""
    rows = (shared / "sessions" / "SOURCES.md").read_text("utf-8").splitlines()
    return list(named(rows, shared / "sessions"))


def named(rows: list[str], folder: Path) -> Iterator[str]:
    for row in rows:
        cell = row.split("|")[1].strip() if row.startswith("| `") else ""
        if (folder / cell.strip("`")).is_file():
            yield cell.strip("`")


def other_count(book: str) -> Callable[[Path], Summary] | None:
    """`count` of the script beside a golden file; None where it was counted by hand."""
    if not (GOLDEN / f"count_{book}.py").exists():
        return None
    count: Callable[[Path], Summary] = import_module(f"sessions.golden.count_{book}").count
    return count
