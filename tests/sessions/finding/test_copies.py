"""A kept or converted session beside its original is the same session, and listed once."""

from __future__ import annotations

import bz2
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from contextecho.cli.main import main
from contextecho.sessions import (
    Session,
    convert_session,
    keep_session,
    read_session,
    survey,
    walk,
)
from contextecho.sessions.packing.zipped import beginning_of, open_zip
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
    walked = walk(places)
    return {Path(file.path) for file in walked.files}, walked.copies


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
    assert listed(tmp_path) == ({original, tmp_path / name}, 0)


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_of_how_a_log_begins_a_few_bytes_are_unpacked(tmp_path: Path, method: int) -> None:
    data = b'{"version":2,"x":"' + bytes(1 << 23)
    path = tmp_path / "a.eval"
    path.write_bytes(zip_of({"_journal/start.json": (method, data)}))
    with path.open("rb") as file:
        (entry,) = open_zip(file, "x").filelist
        assert beginning_of(file, entry, 100, "x") == data[:100]
        assert file.tell() < 1 << 21


def test_list_and_scan_say_how_many(
    tmp_path: Path, original: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = read_session(original)
    for make in ("kept", "log"):
        MAKE[make](session, tmp_path)
    said = "2 kept or converted copies left out: the originals are there\n"
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
