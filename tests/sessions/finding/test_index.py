"""The kept index: fast when nothing changed, and never believed over a file."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.sessions import newest_session, read_session, survey
from contextecho.sessions.building.stamp import changed
from contextecho.sessions.finding.index import Index
from contextecho.sessions.finding.summarising import times_of
from contextecho.sessions.finding.summary import Summaries
from sessions import opencode_building as opencode
from sessions.claude_code_lines import assistant, line, user
from sessions.finding.test_discovery import put
from sessions.readers import test_openhands_sdk as openhands
from waiting import PATIENCE

SESSION = line(user("a")) + line(assistant("b"))
LONGER = SESSION + line(user("c")) + line(assistant("d"))


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if two seconds had passed since the files were written."""
    monkeypatch.setattr("contextecho.sessions.finding.index._SETTLED_NS", -60_000_000_000)


Read = Callable[[Path], set[str]]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Survey a folder and say which files were read for it."""
    from contextecho.sessions.finding.summarising import summarise

    names: set[str] = set()

    def watched(path: Path) -> Summaries:
        names.add(path.name)
        return summarise(path)

    monkeypatch.setattr("contextecho.sessions.finding.summarising.summarise", watched)

    def survey_and_tell(folder: Path) -> set[str]:
        names.clear()
        survey([folder])
        return set(names)

    return survey_and_tell


def prompts(folder: Path) -> list[int | None]:
    return [found.summary.prompts for found in survey([folder]).sessions]


def test_a_file_is_read_once(tmp_path: Path, settled: None, read: Read) -> None:
    put(tmp_path / "a.jsonl", SESSION, 1_000)
    put(tmp_path / "none.json", b"{}", 1_000)
    before = survey([tmp_path])
    assert read(tmp_path) == set()
    assert survey([tmp_path]) == before


@pytest.mark.parametrize("modified", [1_000, 2_000], ids=["same time", "later"])
def test_a_file_that_changed_is_read_again(
    tmp_path: Path, settled: None, read: Read, modified: float
) -> None:
    path = put(tmp_path / "a.jsonl", SESSION, 1_000)
    put(tmp_path / "b.jsonl", SESSION, 1_000)
    assert prompts(tmp_path) == [1, 1]
    put(path, LONGER, modified)
    assert read(tmp_path) == {"a.jsonl"}
    assert sorted(p or 0 for p in prompts(tmp_path)) == [1, 2]


def test_a_change_that_leaves_size_and_time_is_seen(tmp_path: Path, settled: None) -> None:
    other = SESSION.replace(b"claude-x", b"claude-z")
    path = put(tmp_path / "a.jsonl", SESSION, 1_000)
    assert survey([tmp_path]).sessions[0].summary.models == ("claude-x",)
    put(path, other, 1_000)
    assert survey([tmp_path]).sessions[0].summary.models == ("claude-z",)


def test_another_file_of_the_same_name_is_read(tmp_path: Path, settled: None) -> None:
    path = put(tmp_path / "a.jsonl", SESSION, 1_000)
    survey([tmp_path])
    other = put(tmp_path / "b.txt", SESSION.replace(b"claude-x", b"claude-z"), 1_000)
    other.replace(path)
    assert survey([tmp_path]).sessions[0].summary.models == ("claude-z",)


@pytest.mark.parametrize(
    ("later", "again"), [(1_999_999_999, {"a.jsonl"}), (2_000_000_001, set[str]())]
)
def test_what_was_written_less_than_two_seconds_ago_is_not_kept(
    tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch, later: int, again: set[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(SESSION)
    clock = SimpleNamespace(time_ns=lambda: path.stat().st_ctime_ns + later)
    monkeypatch.setattr("contextecho.sessions.finding.index.time", clock)
    assert read(tmp_path) == {"a.jsonl"}
    assert read(tmp_path) == again


@pytest.mark.parametrize("name", ["opencode.db", "link.db", "oc.sqlite"])
def test_a_database_that_only_its_log_knows_changed_is_read_again(
    tmp_path: Path, settled: None, read: Read, name: str
) -> None:
    """The log lies beside the file itself, not beside a link to it."""
    real = put(tmp_path / "real" / name.replace("link", "opencode"), SESSION, 1_000)
    path = tmp_path / name
    if name == "link.db":
        path.symlink_to(real)
    else:
        path = real
    put(real.with_name(f"{real.name}-wal"), b"x", 1_000)
    assert read(path) == {name}
    assert read(path) == set()
    put(real.with_name(f"{real.name}-wal"), b"x", 2_000)
    assert read(path) == {name}


def test_a_database_was_last_written_when_its_log_was(tmp_path: Path, settled: None) -> None:
    """The client writes to the log; the file itself stays as it was for days."""
    said = [opencode.user("a"), opencode.assistant("b")]
    path = opencode.as_database(tmp_path, said)
    later = said[-1]["info"]["time"]["created"] / 1000
    os.utime(path, (later - 1_000, later - 1_000))
    put(path.with_name(f"{path.name}-wal"), b"", later + 1_000)
    (found,) = survey([path]).sessions
    assert found.last_used == later


def openhands_folder(folder: Path) -> Path:
    return openhands.as_folder(folder, openhands.EVENTS)


def opencode_tree(folder: Path) -> Path:
    return opencode.as_tree(folder, [opencode.user("a"), opencode.assistant("b")])


def opencode_first_tree(folder: Path) -> Path:
    return opencode.as_first_tree(folder, [opencode.user("a"), opencode.assistant("b")])


@pytest.mark.parametrize("make", [openhands_folder, opencode_tree, opencode_first_tree])
def test_a_session_of_many_files_was_last_written_when_the_newest_was(
    tmp_path: Path, settled: None, make: Callable[[Path], Path]
) -> None:
    """Its first file stays as it was while messages are added beside it."""
    data = tmp_path / "data"
    data.mkdir()
    path = make(data)
    os.utime(path, (1_000, 1_000))
    put(tmp_path / "projects" / "a.jsonl", SESSION, 2_000)
    last = times_of(read_session(path))[1]
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path), "OPENHANDS_CONVERSATIONS_DIR": str(data)}
    for _ in range(2):
        newest = newest_session(env | {"HOME": str(tmp_path)})
        assert newest is not None
        assert (newest.path, newest.last_used) == (path, last)
        assert survey([data]).sessions[0].last_used == last


@pytest.mark.parametrize("name", ["store.json", "store.jsonl", "store.json.gz"])
def test_a_database_of_a_texts_name_is_read_again_when_its_log_changed(
    tmp_path: Path, settled: None, name: str
) -> None:
    said = [opencode.user("a"), opencode.assistant("b")]
    path = opencode.as_database(tmp_path, said).rename(tmp_path / name)
    client = sqlite3.connect(path, isolation_level=None)
    client.execute("PRAGMA journal_mode = WAL")
    client.execute("UPDATE session SET directory = 'one'")
    client.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    assert [found.summary.cwd for found in survey([tmp_path]).sessions] == ["one"]
    client.execute("UPDATE session SET directory = 'two'")
    assert path.read_bytes() == before, "the change is in the log alone"
    assert [found.summary.cwd for found in survey([tmp_path]).sessions] == ["two"]
    client.close()


def test_what_cannot_be_read_is_remembered_with_its_reason(
    tmp_path: Path, settled: None, read: Read
) -> None:
    put(tmp_path / "bare.jsonl", line(user("a")), 1_000)
    before = survey([tmp_path]).sessions
    assert read(tmp_path) == set()
    assert survey([tmp_path]).sessions == before
    assert "no conversation" in (before[0].summary.error or "")


def test_what_cannot_be_read_for_the_moment_is_tried_again(
    tmp_path: Path, settled: None, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextecho.sessions.building.databases._WAIT_SECONDS", 0)
    path = opencode.as_database(tmp_path, [opencode.user("a"), opencode.assistant("b")])
    client = sqlite3.connect(path, isolation_level=None)
    client.execute("UPDATE session SET title = 'another'")
    client.execute("PRAGMA locking_mode = EXCLUSIVE")
    client.execute("BEGIN EXCLUSIVE")
    (found,) = survey([tmp_path]).sessions
    assert "database is locked" in (found.summary.error or "")
    client.execute("ROLLBACK")
    client.execute("PRAGMA locking_mode = NORMAL")
    client.execute("SELECT * FROM session").fetchall()
    assert prompts(tmp_path) == [1]
    assert read(tmp_path) == set()
    client.close()


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), changed(Path("a.jsonl"))])
def test_a_session_that_is_refused_or_changes_while_it_is_read_is_tried_again(
    tmp_path: Path, settled: None, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    put(tmp_path / "a.jsonl", SESSION, 1_000)

    def failing(path: Path) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("contextecho.sessions.readers.claude_code.read", failing)
        assert prompts(tmp_path) == [None]
    assert prompts(tmp_path) == [1]


def test_files_that_are_gone_are_forgotten(tmp_path: Path, settled: None, cache: Path) -> None:
    gone = put(tmp_path / "gone.jsonl", SESSION, 1_000)
    elsewhere = put(tmp_path / "x" / "here.jsonl", SESSION, 1_000)
    survey([tmp_path])
    gone.unlink()
    put(tmp_path / "y" / "new.jsonl", SESSION, 1_000)
    survey([tmp_path / "y"])
    data = (cache / "sessions.msgpack").read_bytes()
    assert b"gone.jsonl" not in data
    assert os.fsencode(elsewhere) in data
    assert b"new.jsonl" in data


def test_the_index_is_its_owners_and_holds_no_text(
    tmp_path: Path, settled: None, cache: Path
) -> None:
    secret = line(user("a secret prompt")) + line(assistant("a secret answer"))
    put(tmp_path / "a.jsonl", secret, 1_000)
    survey([tmp_path])
    (kept,) = cache.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert b"secret" not in kept.read_bytes()
    assert b"claude-x" in kept.read_bytes()


def test_the_index_of_other_readers_or_another_version_is_not_used(
    tmp_path: Path, settled: None, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a.jsonl", SESSION, 1_000)
    survey([tmp_path])
    monkeypatch.setattr("contextecho.sessions.finding.index.__version__", "0.0.0")
    assert read(tmp_path) == {"a.jsonl"}
    assert read(tmp_path) == set()


def test_a_change_of_the_reading_code_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextecho.sessions.finding import index

    before = index._made_by()
    assert index._made_by() == before
    monkeypatch.setattr(
        "contextecho.sessions.finding.index.__file__", str(Path(index.__file__).parent)
    )
    assert index._made_by() != before


GOOD = msgspec.msgpack.encode(["x", {b"/a": [[1, 2, 3, 4, 0], [[], 0, None]]}])


@given(
    data=st.binary(max_size=60)
    | st.builds(
        lambda n, b: GOOD[:n] + b + GOOD[n + 1 :], st.integers(0, 40), st.binary(max_size=3)
    )
)
def test_any_other_bytes_are_an_empty_index(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "index"
    path.write_bytes(data)
    assert Index(path)._kept.entries == {}


def test_a_broken_index_is_made_again(
    tmp_path: Path, settled: None, read: Read, cache: Path
) -> None:
    put(tmp_path / "a.jsonl", SESSION, 1_000)
    survey([tmp_path])
    kept = cache / "sessions.msgpack"
    kept.write_bytes(kept.read_bytes()[:-9])
    assert read(tmp_path) == {"a.jsonl"}
    assert read(tmp_path) == set()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_an_index_that_is_no_file_is_empty(
    tmp_path: Path, settled: None, cache: Path, make: Callable[[Path], None]
) -> None:
    """Whoever opens the pipe waits for ever."""
    put(tmp_path / "a.jsonl", SESSION, 1_000)
    cache.mkdir(exist_ok=True)
    make(cache / "sessions.msgpack")
    assert prompts(tmp_path) == [1]
    assert [path.name for path in cache.iterdir()] == ["sessions.msgpack"]


def test_an_index_that_cannot_be_written_is_no_error(
    tmp_path: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a.jsonl", SESSION, 1_000)
    (tmp_path / "file").touch()
    monkeypatch.setenv("CONTEXTECHO_CACHE", str(tmp_path / "file" / "below"))
    assert prompts(tmp_path) == [1]


def test_a_name_that_is_no_utf8_is_kept(tmp_path: Path, settled: None, read: Read) -> None:
    put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")), SESSION, 1_000)
    assert len(read(tmp_path)) == 1
    assert read(tmp_path) == set()


def test_processes_that_list_at_the_same_time_leave_a_whole_index(
    tmp_path: Path, cache: Path
) -> None:
    for folder in range(4):
        for n in range(20):
            put(tmp_path / str(folder) / f"{n}.jsonl", SESSION, 1_000)
    program = (
        "import sys; from contextecho.sessions import survey\n"
        "from contextecho.sessions.finding import index\n"
        "from pathlib import Path\n"
        "index._SETTLED_NS = -60_000_000_000\n"
        "for _ in range(5): assert len(survey([Path(sys.argv[1])]).sessions) == 20"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / str(folder))])
        for folder in range(4)
    ]
    assert [process.wait(PATIENCE) for process in started] == [0] * 4
    assert [path.name for path in cache.iterdir()] == ["sessions.msgpack"]
    entries = Index()._kept.entries
    folders = [name for name in "0123" if os.fsencode(tmp_path / name / "0.jsonl") in entries]
    assert folders, "at least the last to write is there"
    assert len(entries) == 20 * len(folders), "and nothing by halves"


@pytest.mark.parametrize("shape", [opencode.as_tree, opencode.as_first_tree])
def test_a_session_in_several_files_is_read_again_each_time(
    tmp_path: Path, settled: None, shape: Callable[..., Path]
) -> None:
    """Its messages lie in files that the list does not look at."""
    said = [opencode.user("a"), opencode.assistant("b")]
    path = shape(tmp_path, said)
    (found,) = survey([tmp_path]).sessions
    assert (found.path, found.summary.steps) == (path, 1)
    assert found.bytes > path.stat().st_size
    before = path.stat()
    shape(tmp_path, [*said, opencode.assistant("c")])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    (found,) = survey([tmp_path]).sessions
    assert found.summary.steps == 2


def test_the_sessions_of_a_database_stand_by_their_own_times(
    tmp_path: Path, settled: None, read: Read
) -> None:
    opencode.as_database(tmp_path, [opencode.user("a"), opencode.assistant("b")], id="ses_old")
    opencode.as_database(tmp_path, [opencode.user("a"), opencode.assistant("b")], id="ses_new")
    put(tmp_path / "between.jsonl", SESSION, 1_750_000_000)
    os.utime(tmp_path / "opencode.db", (1_760_000_000, 1_760_000_000))
    found = survey([tmp_path]).sessions
    assert [f.summary.member or f.path.name for f in found] == [
        "between.jsonl",
        "ses_new",
        "ses_old",
    ]
    assert read(tmp_path) == set()


def test_a_childs_session_is_counted_and_not_listed(tmp_path: Path) -> None:
    said = [opencode.user("a"), opencode.assistant("b")]
    opencode.as_tree(tmp_path, said, id="ses_1")
    opencode.as_tree(tmp_path, said, id="ses_2", parentID="ses_1")
    found = survey([tmp_path])
    assert [session.summary.id for session in found.sessions] == ["ses_1"]
    assert found.sub_agents == 1


def test_a_file_is_the_same_by_whatever_path_it_is_named(
    tmp_path: Path, settled: None, read: Read, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    put(tmp_path / "a.jsonl", SESSION, 1_000)
    monkeypatch.chdir(tmp_path)
    assert read(Path()) == {"a.jsonl"}
    assert read(tmp_path) == set()
    put(tmp_path / "x" / "b.jsonl", SESSION, 1_000)
    monkeypatch.chdir(tmp_path / "x")
    survey([Path()])
    assert os.fsencode(tmp_path / "a.jsonl") in (cache / "sessions.msgpack").read_bytes()
