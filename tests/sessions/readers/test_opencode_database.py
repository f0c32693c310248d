"""OpenCode's database: its sessions, a client at work in it, and damage."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Speaker, look_inside, read_session
from contextecho.sessions.building import left_logs
from contextecho.sessions.reading import members_of
from sessions.any_bytes import check, check_file, check_session
from sessions.damage import damaged, json_values
from sessions.looking import format_of, reasons, said
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


def test_columns_that_nobody_asks_for_are_not_made(path: Path) -> None:
    """A column can be computed and as long as a gigabyte; the file stays at a few kB."""
    with closing(sqlite3.connect(path)) as database:
        big = "big TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000))) VIRTUAL"
        database.execute(f"ALTER TABLE session ADD COLUMN {big}")
    tracemalloc.start()
    assert read_session(f"{path}#ses_old").prompts == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


def test_a_value_too_long_for_memory_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ALTER TABLE message RENAME COLUMN data TO kept")
        big = "data TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000))) VIRTUAL"
        database.execute(f"ALTER TABLE message ADD COLUMN {big}")
    with pytest.raises(SessionError, match="too big"):
        read_session(f"{path}#ses_old")


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
    assert (sidechain.models, sidechain.kind, sidechain.call_id) == (("p/small",), "build", None)
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


@pytest.mark.parametrize("id", ["NULL", "''"])
def test_a_session_without_an_id_hides_no_other(path: Path, id: str) -> None:
    """Those without a parent are not its sub-agents."""
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE copy AS SELECT * FROM session; DROP TABLE session;"
            "ALTER TABLE copy RENAME TO session"
        )
        database.execute(f"UPDATE session SET id = {id} WHERE id = 'ses_empty'")
        database.execute("UPDATE session SET parent_id = '' WHERE id = 'ses_new'")
    database.close()
    assert members_of(path) == ["ses_new", "ses_old"]
    for member in ("ses_new", "ses_old"):
        found = read_session(f"{path}#{member}")
        assert (found.prompts, reasons(found)) == (1, {"row of a session without an id": (0,)})


def test_a_session_that_is_its_own_parent_is_no_sub_agent(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE session SET parent_id = id WHERE id = 'ses_new'")
    database.close()
    assert members_of(path) == ["ses_new", "ses_old"]
    found = read_session(f"{path}#ses_new")
    assert (found.parent, found.sidechains, found.prompts) == (None, (), 1)


def test_only_the_row_of_a_session_is_read_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else many sessions take a time that grows by the square of their number."""
    from contextecho.sessions.readers.opencode import database

    read: list[Any] = []

    def watched(columns: Any) -> Any:
        read.append(columns["id"])
        return record(columns)

    record = database._record
    monkeypatch.setattr(database, "_record", watched)
    assert len(look_inside(path, lambda session: session.prompts).sessions) == 2
    assert read == [b"ses_new", b"ses_old"]


def test_reading_leaves_nothing_behind(path: Path) -> None:
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    found = read_session(f"{path}#ses_old")
    list(found.contents(found.turns))
    assert found.sha256
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


@pytest.fixture
def left(path: Path, tmp_path: Path) -> Path:
    """The same as a killed client leaves it: a session more, which only the log has."""
    client = sqlite3.connect(path, isolation_level=None)
    add_session(client, [user("Now."), assistant("At once.")], id="ses_now", time=at(5000))
    folder = tmp_path / "left"
    folder.mkdir()
    for name in ("opencode.db", "opencode.db-wal"):
        (folder / name).write_bytes((path.parent / name).read_bytes())
    client.close()
    return folder / "opencode.db"


def test_a_log_that_nobody_has_open_is_read_and_leaves_nothing_behind(left: Path) -> None:
    before = {file.name: file.read_bytes() for file in left.parent.iterdir()}
    assert members_of(left) == ["ses_now", "ses_new", "ses_old"]
    found = read_session(f"{left}#ses_now")
    assert [content.text for content in found.contents(found.turns)] == ["Now.", "At once."]
    assert found.path == left
    assert {file.name: file.read_bytes() for file in left.parent.iterdir()} == before


def test_a_log_that_went_on_is_read_anew(left: Path) -> None:
    assert members_of(left) == ["ses_now", "ses_new", "ses_old"]
    with closing(sqlite3.connect(left, isolation_level=None)) as client:
        add_session(client, [user("Then."), assistant("Later.")], id="ses_then", time=at(6000))
    assert members_of(left) == ["ses_then", "ses_now", "ses_new", "ses_old"]


def test_a_log_too_large_to_be_copied_is_refused(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = left.with_name("opencode.db-wal")
    monkeypatch.setattr(left_logs, "LARGEST", left.stat().st_size + log.stat().st_size - 1)
    with pytest.raises(SessionError, match="a log that no client has open"):
        members_of(left)
    assert sorted(file.name for file in left.parent.iterdir()) == ["opencode.db", "opencode.db-wal"]


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


def test_what_only_the_log_holds_is_read_through_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    client = sqlite3.connect(path, isolation_level=None)
    add_session(client, [user("Now."), assistant("At once.")], id="ses_now", time=at(5000))
    assert members_of(link) == ["ses_now", "ses_new", "ses_old"]
    found = read_session(f"{link}#ses_now")
    assert found.text(found.turns[1]) == "At once."
    client.close()


def test_a_database_of_which_all_tables_are_in_the_log_is_told(tmp_path: Path) -> None:
    """As the client makes it: until the first checkpoint the file holds next to nothing."""
    path = tmp_path / "opencode.db"
    client = sqlite3.connect(path)
    client.execute("PRAGMA journal_mode = WAL")
    client.execute("PRAGMA wal_autocheckpoint = 0")
    client.executescript(SCHEMA)
    add_session(client, [user("Old."), assistant("Older.")])
    assert b"CREATE TABLE" not in path.read_bytes()
    assert format_of(path) == "opencode"
    assert read_session(path).prompts == 1
    client.close()


def test_a_database_of_which_the_tables_lie_far_behind_its_head_is_told(tmp_path: Path) -> None:
    """Later clients have so many that those of sessions are not in the first 64 kB."""
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as client:
        client.execute("CREATE TABLE filler (x)")
        client.execute("INSERT INTO filler VALUES (zeroblob(100000))")
        columns = ", ".join(f"`{name}{n}` text NOT NULL" for name in "abcd" for n in range(20))
        for number in range(60):
            client.execute(f"CREATE TABLE `other{number}` ({columns})")
        client.executescript(SCHEMA)
        add_session(client, [user("Old."), assistant("Older.")])
    client.close()
    assert b"`session`" not in path.read_bytes()[: 1 << 16]
    assert format_of(path) == "opencode"
    assert read_session(path).prompts == 1


def test_what_a_client_has_not_committed_is_not_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a write-ahead log it writes into the file itself, before it commits."""
    monkeypatch.setattr("contextecho.sessions.building.databases._WAIT_SECONDS", 0)
    client = sqlite3.connect(path, isolation_level=None)
    client.execute("PRAGMA journal_mode = DELETE")
    client.execute("PRAGMA cache_size = 1")
    before = path.read_bytes()
    client.execute("BEGIN")
    client.execute("UPDATE part SET data = replace(data, 'Older.', 'Wrong.')")
    client.executemany(
        "INSERT INTO message VALUES (?, 'ses_old', 5, 5, ?)", [(n, "x" * 999) for n in range(99)]
    )
    assert path.read_bytes() != before
    with pytest.raises(SessionError, match="database is locked"):
        read_session(f"{path}#ses_old")
    client.execute("ROLLBACK")
    found = read_session(f"{path}#ses_old")
    assert [found.text(turn) for turn in found.turns] == ["Old.", "Older."]
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


LATER = """
    CREATE TABLE session_v2 (
        id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, time_created INTEGER,
        time_updated INTEGER
    );
    CREATE TABLE session_message (
        id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER,
        data TEXT
    );
"""
LATER_MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("agent-switched", {"agent": "build"}),
    ("user", {"text": "Fix it.", "files": [{"uri": "data:", "mime": "image/png"}]}),
    ("synthetic", {"text": "a reminder"}),
    ("shell", {"callID": "s", "command": "ls", "output": "a.py"}),
    (
        "assistant",
        {
            "agent": "build",
            "model": {"id": "m", "providerID": "p"},
            "finish": "tool-calls",
            "tokens": {"input": 5, "output": 1, "cache": {"read": 2, "write": 0}},
            "content": [
                {"type": "reasoning", "id": "r", "text": "Hm."},
                {
                    "type": "tool",
                    "id": "c1",
                    "name": "bash",
                    "state": {
                        "status": "completed",
                        "input": {"x": 1},
                        "content": [{"type": "text", "text": "ok"}, {"type": "file", "uri": "f"}],
                    },
                },
            ],
        },
    ),
    ("compaction", {"reason": "auto", "summary": "## Goal", "recent": "..."}),
    (
        "assistant",
        {
            "agent": "build",
            "model": {"id": "m", "providerID": "p"},
            "finish": "stop",
            "content": [{"type": "text", "id": "t", "text": "Done."}],
        },
    ),
]


def add_later(database: sqlite3.Connection, id: str) -> None:
    database.execute("INSERT INTO session_v2 VALUES (?, NULL, '/work', 1, 9000)", (id,))
    for number, (kind, message) in enumerate(LATER_MESSAGES, 1):
        row = (f"{id}-{number}", id, kind, number, number, json.dumps(message))
        database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)", row)


def test_the_messages_of_later_clients(tmp_path: Path) -> None:
    """Built after the client's sources (`packages/core/src/session/message.ts`)."""
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as database:
        database.executescript(LATER)
        add_later(database, "ses_9")
    database.close()
    assert format_of(path) == "opencode"
    found = read_session(path)
    assert [(speaker, text) for _, speaker, text in said(found)] == [
        (Speaker.HUMAN, "Fix it."),
        (Speaker.HARNESS, "a reminder"),
        (Speaker.HARNESS, "ls"),
        (Speaker.HARNESS, "a.py"),
        (Speaker.MODEL, "Hm."),
        (Speaker.MODEL, '{"x": 1}'),
        (Speaker.TOOL, "ok"),
        (Speaker.SUMMARISER, "## Goal"),
        (Speaker.MODEL, "Done."),
    ]
    assert (found.id, found.cwd, found.models) == ("ses_9", "/work", ("p/m",))
    assert (found.prompts, found.steps, found.turns[-1].final) == (1, 2, True)
    assert [content.images for content in found.contents(found.turns)] == [
        1,
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
    ]
    (compaction,) = found.compactions
    assert (compaction.trigger, compaction.tokens_before, compaction.summary) == ("auto", 8, 7)
    assert reasons(found) == {"not a message": (1,)}
    check_session(found)


def test_a_session_that_is_kept_in_both_ways_is_read_in_the_first(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.executescript(LATER)
        add_later(database, "ses_old")
        add_later(database, "ses_later")
    database.close()
    assert members_of(path) == ["ses_later", "ses_old", "ses_new"]
    old = read_session(f"{path}#ses_old")
    assert [text for _, _, text in said(old)] == ["Old.", "Older."]
    assert read_session(f"{path}#ses_later").steps == 2


def test_another_programs_database_is_not_opencodes(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE message (id)")
    database.close()
    assert format_of(path) is None
    with pytest.raises(SessionError, match="has not the tables of an OpenCode"):
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
    with pytest.raises(SessionError, match="has not the tables of an OpenCode"):
        read_session(path, format="opencode")


def test_a_database_without_a_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no session has a message"):
        read_session(as_database(tmp_path, []))


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


@given(st.data())
def test_a_damaged_database(tmp_path: Path, data: Any) -> None:
    seed = tmp_path / "opencode.db"
    if not seed.exists():
        as_database(tmp_path, CONVERSATION)
    path = tmp_path / "damaged.db"
    check(path, data.draw(damaged([seed.read_bytes()])), format="opencode")


def test_a_column_whose_name_is_no_text(tmp_path: Path) -> None:
    path = as_database(tmp_path, CONVERSATION)
    path.write_bytes(path.read_bytes().replace(b"`title`", b"`t\xfftle`"))
    with pytest.raises(SessionError, match="cannot be read as a database: 'utf-8' codec"):
        read_session(path)


def test_a_message_that_only_the_index_has(tmp_path: Path) -> None:
    """The index of ids says `msg_`, the table `nsg_`."""
    path = as_database(tmp_path, CONVERSATION)
    data = path.read_bytes()
    id = CONVERSATION[0]["info"]["id"].encode()
    at = data.index(id + b"ses_1")  # in the table, the session's id stands behind
    path.write_bytes(data[:at] + b"n" + data[at + 1 :])
    check_file(path, format="opencode")


@given(st.data())
def test_a_damaged_export(tmp_path: Path, data: Any) -> None:
    path = as_export(tmp_path, CONVERSATION)
    check(path, data.draw(damaged([path.read_bytes()])), format="opencode")


INFO = ["id", "role", "time", "mode", "model", "modelID", "tokens", "system", "summary", "error"]
PART = ["type", "text", "synthetic", "state", "tool", "callID", "mime", "auto", "tail_start_id"]


@given(st.data())
def test_values_of_any_type(tmp_path: Path, data: Any) -> None:
    """Any field of any message or part may hold anything."""
    at = data.draw(st.integers(0, len(CONVERSATION) - 1))
    info = data.draw(st.dictionaries(st.sampled_from(INFO), json_values, max_size=3))
    part = data.draw(st.dictionaries(st.sampled_from(PART), json_values, max_size=3))
    changed = {
        "info": CONVERSATION[at]["info"] | info,
        "parts": [*(p | part for p in CONVERSATION[at]["parts"]), data.draw(json_values)],
    }
    messages = [*CONVERSATION[:at], changed, *CONVERSATION[at + 1 :]]
    record = session() | data.draw(
        st.dictionaries(st.sampled_from(["revert", "parentID", "version"]), json_values, max_size=1)
    )
    check_file(as_export(tmp_path, messages, **record), format="opencode")


@pytest.mark.parametrize("depth", [300, 700, 3_000, 100_000])
@pytest.mark.parametrize("where", ["a session's", "an argument"])
def test_nesting_deeper_than_any_parser(tmp_path: Path, depth: int, where: str) -> None:
    messages = [user("a"), assistant("b"), assistant(tool(input={"x": "an argument"}))]
    path = as_export(tmp_path, messages, title="a session's")
    path.write_text(path.read_text().replace(f'"{where}"', "[" * depth + "]" * depth))
    check_file(path, format="opencode")
