"""A kept or converted session beside its original is the same session, and listed once."""

from __future__ import annotations

import bz2
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from contextecho.cli.main import main
from contextecho.scoring import screen_all
from contextecho.sessions import (
    Session,
    convert_session,
    keep_session,
    originals_of,
    read_session,
    survey,
)
from contextecho.sessions.packing.zipped import beginning_of, open_zip
from sessions import opencode_building as opencode
from sessions.claude_code_lines import assistant, line, user, write
from sessions.inspect_logs import DEFLATED, STORED, ZSTD, zip_of
from sessions.readers.test_openhands_sdk import EVENTS, as_folder

MAKE: dict[str, Callable[[Session, Path], Path]] = {
    "kept": lambda session, folder: keep_session(session, folder / "kept").path,
    "lines": lambda session, folder: convert_session(session, folder / "x.jsonl"),
    "log": lambda session, folder: convert_session(session, folder / "x.eval"),
    "document": lambda session, folder: convert_session(session, folder / "x.json"),
}


def as_packed_by(method: int, packed: bytes) -> bytes:
    """A zip file whose start says that it is packed by a method, and to a gigabyte."""
    data = zip_of({"_journal/start.json": (STORED, packed)}, {"_journal/start.json": 1 << 30})
    begin = data.index(b"PK\x01\x02")
    local, directory = bytearray(data[:begin]), bytearray(data[begin:])
    local[8:10] = directory[10:12] = method.to_bytes(2, "little")
    return bytes(local + directory)


def listed(*places: Path) -> tuple[set[Path], int]:
    found = survey(places)
    return {session.path for session in found.sessions}, found.copies


@pytest.fixture
def original(tmp_path: Path) -> Path:
    (tmp_path / "client").mkdir()
    return write(tmp_path / "client", [user("a"), assistant("b")])


@pytest.mark.parametrize("make", MAKE)
def test_a_copy_is_left_out_beside_its_original_alone(
    tmp_path: Path, original: Path, make: str
) -> None:
    copy = MAKE[make](read_session(original), tmp_path)
    assert listed(tmp_path) == ({original}, 1)
    assert listed(tmp_path, copy) == ({original, copy}, 0)  # named by the user
    moved = original.rename(tmp_path / "moved.jsonl")
    os.utime(moved, (5, 5))
    assert listed(tmp_path) == ({moved}, 1)  # the same content, wherever it lies
    moved.write_bytes(moved.read_bytes() + line(assistant("c")))
    assert listed(tmp_path) == ({moved, copy}, 0)  # what the session was before it went on
    moved.unlink()
    assert listed(tmp_path) == ({copy}, 0)  # all that is left


@pytest.mark.parametrize("make", MAKE)
def test_another_file_of_the_same_size_is_no_original(
    tmp_path: Path, original: Path, make: str
) -> None:
    copy = MAKE[make](read_session(original), tmp_path)
    original.write_bytes(original.read_bytes().replace(b'"b"', b'"B"'))
    assert listed(tmp_path) == ({original, copy}, 0)


@pytest.mark.parametrize("settled", [True, False])
def test_another_content_under_the_name_size_and_time_is_no_original(
    tmp_path: Path, original: Path, monkeypatch: pytest.MonkeyPatch, settled: bool
) -> None:
    """The time can be set by anybody; whatever the index remembers, the content tells."""
    if settled:
        monkeypatch.setattr("contextecho.sessions.finding.index._SETTLED_NS", -60_000_000_000)
    copy = keep_session(read_session(original), tmp_path / "kept").path
    before = original.stat()
    assert listed(tmp_path) == ({original}, 1)
    with original.open("r+b") as file:  # the same file on the disk
        file.write(original.read_bytes().replace(b'"b"', b'"B"'))
    os.utime(original, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = original.stat()
    same = [(each.st_size, each.st_mtime_ns, each.st_ino) for each in (before, after)]
    assert same[0] == same[1]
    assert listed(tmp_path) == ({original, copy}, 0)


def test_a_session_of_many_files_is_there_if_all_are_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    path = as_folder(tmp_path / "client", EVENTS)
    kept = keep_session(read_session(path), tmp_path / "kept")
    before, copies = listed(tmp_path)
    assert (kept.path in before, copies) == (False, 1)
    shutil.rmtree(tmp_path / "client")
    assert listed(tmp_path) == ({kept.path}, 0)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'{"format":"contextecho.session/1"'),
        ("a.jsonl", b'{"format":"contextecho.session/1","sha256":7,"bytes":"x"}\n'),
        ("a.json", b'{"version":2,"metadata":{"contextecho":{"sha256":"x"}}}'),
        ("a.eval", b"PK\x03\x04 and no zip file"),
        ("a.eval", as_packed_by(93, b"\x28\xb5\x2f\xfd garbage")),
        ("a.eval", as_packed_by(8, b"\xff\xff\xff\xff garbage")),
        ("a.eval", as_packed_by(12, bz2.compress(bytes(1 << 20)))),
        ("a.eval", as_packed_by(14, b"\x09\x04\x05\x00\x5d\xff\xff\xff\xff" + b"\xff" * 50)),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd"),
    ],
)
def test_what_says_nothing_of_an_original_stays(
    tmp_path: Path, original: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    assert originals_of(str(tmp_path / name)) == ()
    assert listed(tmp_path)[1] == 0


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_of_how_a_log_begins_a_few_bytes_are_unpacked(tmp_path: Path, method: int) -> None:
    data = b'{"version":2,"x":"' + bytes(1 << 23)
    path = tmp_path / "a.eval"
    path.write_bytes(zip_of({"_journal/start.json": (method, data)}))
    with path.open("rb") as file:
        (entry,) = open_zip(file, "x").filelist
        assert beginning_of(file, entry, 100, "x") == data[:100]
        assert file.tell() < 1 << 21


def test_a_file_copied_elsewhere_under_its_name_is_listed_once(
    tmp_path: Path, original: Path
) -> None:
    """The one met first stays: `backup` and `client` are met in this order."""
    copied = tmp_path / "backup" / original.name
    copied.parent.mkdir()
    shutil.copyfile(original, copied)
    assert listed(tmp_path) == ({copied}, 1)
    assert listed(original.parent, copied.parent) == ({original}, 1)
    assert listed(original, copied) == ({original, copied}, 0)  # named by the user
    assert listed(tmp_path) == ({copied}, 1)  # as the index remembers it
    screened = screen_all([original.parent, copied.parent], processes=1)
    assert ([each.path for each in screened.screens], screened.copies) == ([str(original)], 1)
    copied.write_bytes(copied.read_bytes().replace(b'"b"', b'"B"'))
    assert listed(tmp_path) == ({original, copied}, 0)


def test_files_of_other_kinds_that_are_alike_are_no_copies(tmp_path: Path, original: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.json").write_bytes(b'{"a": 1}')
    assert listed(tmp_path) == ({original}, 0)
    assert screen_all([tmp_path], processes=1).copies == 0


def test_scan_tells_a_copy_in_another_folder_that_is_named(tmp_path: Path, original: Path) -> None:
    kept = keep_session(read_session(original), tmp_path / "kept").path
    for places in ([original.parent, kept.parent], [kept.parent, original.parent], [tmp_path]):
        screened = screen_all(places, processes=1)
        assert ([each.path for each in screened.screens], screened.copies) == ([str(original)], 1)


def test_kept_rows_are_left_out_beside_their_database_until_it_goes_on(tmp_path: Path) -> None:
    for number in (1, 2):
        said = [opencode.user("Look."), opencode.assistant("Looking.")]
        database = opencode.as_database(tmp_path, said, id=f"ses_{number}")
    kept = keep_session(read_session(f"{database}#ses_1"), tmp_path / "kept").path
    assert listed(tmp_path) == ({database}, 1)
    assert listed(kept.parent) == ({kept}, 0)
    with closing(sqlite3.connect(database)) as changed:
        changed.execute("DELETE FROM message WHERE session_id = 'ses_1' AND data LIKE '%model%'")
        changed.commit()
    assert listed(tmp_path) == ({database, kept}, 0)


def test_a_list_of_files_that_were_read_before_opens_none(
    tmp_path: Path, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextecho.sessions.finding.index._SETTLED_NS", -60_000_000_000)
    convert_session(read_session(original), tmp_path / "x.jsonl")
    (tmp_path / "backup").mkdir()
    shutil.copyfile(original, tmp_path / "backup" / original.name)
    opened: list[str] = []
    watching = False

    def watch(event: str, words: tuple[object, ...]) -> None:
        if watching and event == "open" and str(tmp_path) in str(words[0]):
            opened.append(str(words[0]))

    sys.addaudithook(watch)
    before = survey([tmp_path])
    watching = True
    assert survey([tmp_path]) == before
    watching = False
    assert (before.copies, opened) == (2, [])


def test_list_and_scan_say_how_many(
    tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = read_session(original)
    for make in ("kept", "log"):
        MAKE[make](session, tmp_path)
    said = "2 copies left out: the originals are there\n"
    main(["sessions", "list", str(tmp_path), "--json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert ([row["path"] for row in document["sessions"]], document["copies"]) == (
        [str(original)],
        2,
    )
    assert said in err
    main(["scan", str(tmp_path)])
    assert said in capsys.readouterr().err
    assert survey([tmp_path]).copies == 2
