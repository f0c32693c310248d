"""What was kept of a session while it went on is listed and screened once, as what it became."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from backports import zstd

from commandline import exit_code
from contextecho.scoring import screen_all
from contextecho.sessions import Survey, keep_session, read_session, survey
from contextecho.sessions.finding.hashes import Hashes
from contextecho.sessions.packing.archive import default_folder
from sessions.claude_code_lines import assistant, line, user

ID = "0b2f6f86-9f4e-4c1c-a3a5-2a3c2d7f9a11"
LINES = [
    line(record | {"sessionId": ID})
    for n in range(4)
    for record in (user(f"a{n}"), assistant(f"b{n}"))
]


@pytest.fixture
def client(tmp_path: Path) -> Path:
    path = tmp_path / "client" / f"{ID}.jsonl"
    path.parent.mkdir()
    return path


def grown(path: Path, to: Path, *lengths: int) -> list[Path]:
    """What was kept of a session when it had so many of the lines; it has the last number now."""
    kept = []
    for length in lengths:
        path.write_bytes(b"".join(LINES[:length]))
        kept.append(keep_session(read_session(path), to).path)
    return kept


def paths(found: Survey) -> set[Path]:
    return {session.path for session in found.sessions}


def test_states_that_were_kept_while_it_grew_are_left_out(tmp_path: Path, client: Path) -> None:
    kept = grown(client, tmp_path / "kept", 2, 4, 6)
    found = survey([tmp_path])
    assert (paths(found), found.copies, found.earlier) == ({client}, 1, 2)
    client.write_bytes(b"".join(LINES))
    found = survey([tmp_path])
    assert (paths(found), found.copies, found.earlier) == ({client}, 0, 3)
    assert [read_session(path).prompts for path in (*kept, client)] == [1, 2, 3, 4]
    found = survey([tmp_path, kept[0]])  # named by the user
    assert (paths(found), found.earlier) == ({client, kept[0]}, 2)
    client.unlink()
    found = survey([tmp_path])
    assert (paths(found), found.copies, found.earlier) == ({kept[2]}, 0, 2)


def test_a_scan_screens_what_it_became(tmp_path: Path, client: Path) -> None:
    kept = grown(client, tmp_path / "kept", 2, 4)
    client.write_bytes(b"".join(LINES))
    for expected in (client, kept[1]):
        screened = screen_all([tmp_path], processes=1)
        assert [screen.path for screen in screened.screens] == [str(expected)]
        assert (screened.copies, screened.earlier) == (0, 2 if expected == client else 1)
        client.unlink(missing_ok=True)


@pytest.mark.parametrize("change", ["rewritten", "shorter", "another name", "another session"])
def test_a_state_that_is_not_how_another_begins_stays(
    tmp_path: Path, client: Path, change: str
) -> None:
    (kept,) = grown(client, tmp_path / "kept", 4)
    data = b"".join(LINES)
    if change == "rewritten":
        data = data.replace(b'"b1"', b'"B1"')
    elif change == "shorter":
        data = b"".join(LINES[:2])
    elif change == "another session":
        data = b"".join(line(user(f"x{n}") if n % 2 == 0 else assistant("y")) for n in range(8))
    else:
        client = client.rename(client.with_name("other.jsonl"))
    client.write_bytes(data)
    found = survey([tmp_path])
    assert (paths(found), found.earlier) == ({client, kept}, 0)
    assert screen_all([tmp_path], processes=1).earlier == 0


def test_the_id_names_what_it_became(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    path = tmp_path / "projects" / "p" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    kept = grown(path, default_folder(), 2, 4, 6)
    path.write_bytes(b"".join(LINES))
    for name, prompts in ((ID, 4), (kept[0], 1), (kept[2], 3)):
        assert exit_code("sessions", "show", name, "--json") == 0
        assert json.loads(capsys.readouterr().out)["prompts"] == prompts
    path.unlink()
    assert exit_code("sessions", "show", ID, "--json") == 0
    assert json.loads(capsys.readouterr().out)["prompts"] == 3


def test_list_and_scan_say_how_many(
    tmp_path: Path, client: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown(client, tmp_path / "kept", 2, 4)
    said = "1 earlier state left out: kept of sessions that went on\n"
    assert exit_code("sessions", "list", tmp_path, "--json") == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["earlier_states"], json.loads(out)["found"]) == (1, 1)
    assert said in err
    assert exit_code("scan", tmp_path) == 0
    assert said in capsys.readouterr().err


def test_files_that_were_compared_before_are_not_opened(
    tmp_path: Path, client: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextecho.sessions.finding.index._SETTLED_NS", -60_000_000_000)
    grown(client, tmp_path / "kept", 2, 4, 6)
    client.write_bytes(b"".join(LINES[:6]).replace(b'"b2"', b'"B2"'))
    opened: list[str] = []
    watching = False

    def watch(event: str, words: tuple[object, ...]) -> None:
        if watching and event == "open" and str(words[0]).startswith(str(tmp_path)):
            opened.append(str(words[0]))

    sys.addaudithook(watch)
    before = survey([tmp_path])
    watching = True
    assert survey([tmp_path]) == before
    watching = False
    assert (len(before.sessions), before.earlier) == (2, 2)
    assert {Path(path).name for path in opened} == {"manifest.json"}


@pytest.mark.parametrize("is_packed", [True, False])
def test_beginnings_are_hashed_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_packed: bool
) -> None:
    """By `printf abcdef | head -c N | sha256sum`; of no more than there is."""
    monkeypatch.setattr("contextecho.sessions.finding.hashes._CHUNK", 2)
    path = tmp_path / "x"
    path.write_bytes(zstd.compress(b"abcdef") if is_packed else b"abcdef")
    known = {
        1: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        3: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        6: "bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721",
    }
    assert Hashes().beginnings(str(path), {6, 3, 1, 7}) == known
    path.unlink()
    with pytest.raises(FileNotFoundError):
        Hashes().beginnings(str(path), {1})
