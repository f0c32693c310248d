"""OpenCode's database: its sessions, a client at work in it, and damage."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Session, Speaker, read_session
from contextecho.sessions.reading import format_of, members_of
from sessions.building import check_lengths
from sessions.opencode_building import (
    SCHEMA,
    SHAPES,
    add_session,
    as_database,
    as_export,
    assistant,
    session,
    tool,
    user,
)

QUIET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def at(updated: int) -> dict[str, int]:
    return {"created": updated - 100, "updated": updated}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two sessions, the older one with a sub-agent, and one without a message."""
    as_database(tmp_path, [user("Old."), assistant("Older.")], id="ses_old", time=at(1000))
    child = [user("Look."), assistant("Found.", modelID="small")]
    as_database(tmp_path, child, id="ses_sub", parentID="ses_old", time=at(3000))
    as_database(tmp_path, [user("New."), assistant("Newer.")], id="ses_new", time=at(2000))
    return as_database(tmp_path, [], id="ses_empty", time=at(4000))


def test_members_are_the_sessions_newest_first_without_sub_agents(path: Path) -> None:
    assert format_of(path) == "opencode"
    assert members_of(path) == ["ses_new", "ses_old"]
    with pytest.raises(SessionError, match=r"holds 2 sessions \(name one .*#ses_new"):
        read_session(path)
    old = read_session(f"{path}#ses_old")
    assert (old.id, old.member, old.prompts, old.steps) == ("ses_old", "ses_old", 1, 1)
    assert [old.text(turn) for turn in old.turns] == ["Old.", "Older."]
    (sidechain,) = old.sidechains
    assert (sidechain.agent_id, sidechain.path, sidechain.records) == ("ses_sub", path, 2)
    assert sidechain.models == ("p/small",)
    assert read_session(f"{path}#ses_new").sidechains == ()


def test_a_sub_agents_session_can_be_read_by_its_id(path: Path) -> None:
    from contextecho.sessions.readers.opencode import read_member

    found = read_member(path, "ses_sub")
    assert (found.parent, found.prompts) == ("ses_old", 0)
    assert found.turns[0].speaker is Speaker.HARNESS
    with pytest.raises(SessionError, match="holds no such session"):
        read_member(path, "ses_none")


def test_a_sub_agent_whose_parent_is_gone_is_a_member(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM session WHERE id = 'ses_old'")
    database.close()
    assert members_of(path) == ["ses_sub", "ses_new"]


def test_reading_leaves_nothing_behind(path: Path) -> None:
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    found = read_session(f"{path}#ses_old")
    list(found.contents(found.turns))
    assert found.sha256
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_client_at_work_is_no_hindrance_nor_hindered(path: Path) -> None:
    """What it has committed is read, from the write-ahead log too; what it has not, is not."""
    client = sqlite3.connect(path, isolation_level=None, timeout=0)
    add_session(client, [user("Now."), assistant("At once.")], id="ses_now", time=at(5000))
    assert path.with_name("opencode.db-wal").stat().st_size > 0
    client.execute("BEGIN IMMEDIATE")
    client.execute("DELETE FROM session")
    assert members_of(path) == ["ses_now", "ses_new", "ses_old"]
    found = read_session(f"{path}#ses_now")
    client.execute("COMMIT")
    client.execute("UPDATE part SET data = replace(data, 'Older.', 'Elder.')")
    assert found.text(found.turns[1]) == "At once."
    client.close()


def test_only_a_change_of_its_own_rows_takes_a_session_away(path: Path) -> None:
    found = read_session(f"{path}#ses_old")
    sha = found.sha256
    other = read_session(f"{path}#ses_new").sha256
    with sqlite3.connect(path) as client:
        client.execute("UPDATE part SET data = replace(data, 'Newer.', 'Newest.')")
    client.close()
    again = read_session(f"{path}#ses_old")
    assert [found.text(turn) for turn in found.turns] == ["Old.", "Older."]
    assert again.sha256 == sha
    assert read_session(f"{path}#ses_new").sha256 != other
    with sqlite3.connect(path) as client:
        client.execute("UPDATE part SET data = replace(data, 'Older.', 'Elder.')")
    client.close()
    assert found.text(found.turns[0]) == "Old."
    with pytest.raises(SessionError, match="changed while it was in use"):
        found.text(found.turns[1])
    fresh = read_session(f"{path}#ses_new")
    with sqlite3.connect(path) as client:
        client.execute("DELETE FROM message")
    client.close()
    with pytest.raises(SessionError, match="changed while it was in use"):
        assert fresh.sha256


def test_the_hash_and_the_size_are_of_the_rows(path: Path) -> None:
    with sqlite3.connect(path) as database:
        rows = [
            data
            for id, data in database.execute(
                "SELECT id, data FROM message WHERE session_id = 'ses_old'"
            )
            for data in (
                data,
                *(
                    d
                    for (d,) in database.execute(
                        "SELECT data FROM part WHERE message_id = ? ORDER BY id", (id,)
                    )
                ),
            )
        ]
    database.close()
    found = read_session(f"{path}#ses_old")
    written = "".join(rows).encode()
    assert (found.sha256, found.bytes) == (hashlib.sha256(written).hexdigest(), len(written))


def test_broken_rows_are_counted(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE part SET data = '{\"type\": \"te' WHERE data LIKE '%Old.%'")
        database.execute(
            "INSERT INTO message VALUES ('msg_zz', 'ses_old', 9999999999999, 1, x'ff00')"
        )
    database.close()
    found = read_session(f"{path}#ses_old")
    assert {s.reason: s.lines for s in found.skipped} == {
        "broken row of a part": (1,),
        "empty message": (1,),
        "not a message": (3,),
    }


def test_another_programs_database_is_not_opencodes(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE message (id)")
    database.close()
    assert format_of(path) is None
    with pytest.raises(SessionError, match="no database of OpenCode"):
        read_session(path, format="opencode")


def test_a_view_is_never_run(tmp_path: Path) -> None:
    """A table in name only could be a query without an end."""
    path = tmp_path / "trap.db"
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA)
        database.execute("DROP TABLE part")
        database.execute(
            "CREATE VIEW part AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
            "SELECT i AS id, i AS message_id, 'x' AS data FROM n"
        )
    database.close()
    with pytest.raises(SessionError, match="no database of OpenCode"):
        read_session(path, format="opencode")


def test_a_database_without_a_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no session has a message"):
        read_session(as_database(tmp_path, []))


def check(path: Path) -> None:
    """A session that loads, or a `SessionError` of one line."""
    try:
        members = members_of(path, format="opencode")
        names = [path if member is None else f"{path}#{member}" for member in members]
        found = [read_session(name, format="opencode") for name in names]
    except SessionError as error:
        one_line = "\n" not in str(error)
    else:
        one_line = True
        for one in found:
            check_session(one)
    assert one_line


def check_session(found: Session) -> None:
    contents = list(found.contents(found.turns))
    check_lengths(found.turns, contents)
    for content in contents:
        content.text.encode()
    assert found.steps > 0


CONVERSATION = [
    user("é漢🎉", {"type": "file", "mime": "image/png", "url": "data:"}),
    assistant({"type": "reasoning", "text": "hm"}, "on it", tool(), finish="tool-calls"),
    user({"type": "compaction", "auto": True, "overflow": True}),
    assistant("## Goal", summary=True),
    user({"type": "subtask", "prompt": "p", "command": "c"}),
    assistant(tool("task", metadata={"sessionId": "ses_2"}), step=False),
    assistant("done", tool(status="error", error="no", call_id="c2")),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_seed_of_the_damage_is_sound(tmp_path: Path, shape: Callable[..., Path]) -> None:
    check_session(read_session(shape(tmp_path, CONVERSATION)))


@QUIET
@given(st.data())
def test_a_damaged_database(tmp_path: Path, data: Any) -> None:
    seed = tmp_path / "opencode.db"
    if not seed.exists():
        as_database(tmp_path, CONVERSATION)
    path = tmp_path / "damaged.db"
    path.write_bytes(damage(data, seed.read_bytes()))
    check(path)


@QUIET
@given(st.data())
def test_a_damaged_export(tmp_path: Path, data: Any) -> None:
    path = as_export(tmp_path, CONVERSATION)
    path.write_bytes(damage(data, path.read_bytes()))
    check(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
INFO = ["id", "role", "time", "mode", "model", "modelID", "tokens", "system", "summary", "error"]
PART = ["type", "text", "synthetic", "state", "tool", "callID", "mime", "auto", "tail_start_id"]


@QUIET
@given(st.data())
def test_values_of_any_type(tmp_path: Path, data: Any) -> None:
    """Any field of any message or part may hold anything."""
    messages = []
    for message in CONVERSATION:
        info = message["info"] | data.draw(
            st.dictionaries(st.sampled_from(INFO), json_values, max_size=2)
        )
        parts = [
            part | data.draw(st.dictionaries(st.sampled_from(PART), json_values, max_size=1))
            for part in message["parts"]
        ]
        messages.append({"info": info, "parts": [*parts, data.draw(json_values)]})
    record = session() | data.draw(
        st.dictionaries(st.sampled_from(["revert", "parentID", "version"]), json_values, max_size=1)
    )
    check(as_export(tmp_path, messages, **record))


def damage(data: Any, whole: bytes) -> bytes:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(damaged)))
        drop = data.draw(st.integers(0, 40))
        put = data.draw(
            st.binary(max_size=6)
            | st.sampled_from([b"\x00\x00", b"}{", b"\\ud83d", b'"', b"[" * 2000, b"1e999", b"\n"])
        )
        keep = data.draw(st.booleans())  # the length, so that a database's pages stay in place
        damaged[at : at + (len(put) if keep else drop)] = put
    return bytes(damaged[: data.draw(st.sampled_from([len(damaged), len(damaged) // 2]))])


@pytest.mark.parametrize("depth", [300, 700, 3_000, 100_000])
@pytest.mark.parametrize("where", ["a session's", "an argument"])
def test_nesting_deeper_than_any_parser(tmp_path: Path, depth: int, where: str) -> None:
    messages = [user("a"), assistant("b"), assistant(tool(input={"x": "an argument"}))]
    path = as_export(tmp_path, messages, title="a session's")
    path.write_text(path.read_text().replace(f'"{where}"', "[" * depth + "]" * depth))
    check(path)
