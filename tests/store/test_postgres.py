"""PostgreSQL that restarts, goes away, or refuses: nothing committed is lost, one clear line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import DataError, UsageError
from contextecho.store import RunInfo, Store, open_store
from contextecho.store.databases import postgres as database
from contextecho.store.databases.nul import escaped, unescaped
from contextecho.studies import Plan
from servers.postgres import PostgresServer
from store.kept import VERSIONS, answer, ask
from store.raw import count, query

SECRET = "correct-horse-battery"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def stopped(postgres: PostgresServer) -> Iterator[Callable[[str], None]]:
    """Stops the server; it runs again after the test."""
    yield postgres.stop
    postgres.start()


def test_a_server_that_crashes_and_comes_back_is_waited_for(
    store: Store, run: RunInfo, plan: Plan, postgres: PostgresServer, url: str
):
    first = ask(store, run, plan.request(plan.cells[0]), answer("before"))
    attempt = store.open_attempt(run.id, plan.request(plan.cells[1]))
    postgres.stop("immediate")
    postgres.start()
    store.settle(attempt, answer("after"))  # on a new connection
    assert [text for (text,) in query(url, "SELECT text FROM attempt ORDER BY id")] == [
        "before",
        "after",
    ]
    assert store.reply(first) == answer("before")
    assert len(list(store.missing(run.id))) == len(plan.cells) - 2


async def test_calls_in_flight_survive_a_restart(
    store: Store, run: RunInfo, plan: Plan, postgres: PostgresServer
):
    requests = [plan.request(cell) for cell in plan.cells]
    attempts = await asyncio.gather(*(store.opened_attempt(run.id, r) for r in requests))
    postgres.stop("immediate")
    settled = [store.settled(a, answer(str(a))) for a in attempts]
    await asyncio.sleep(0.05)
    postgres.start()
    await asyncio.gather(*settled)
    assert list(store.missing(run.id)) == []
    assert [store.reply(r.key) for r in requests] == [answer(str(a)) for a in attempts]


def test_a_server_that_stays_away_ends_it_with_one_line_and_nothing_is_lost(
    run: RunInfo,
    store: Store,
    plan: Plan,
    postgres: PostgresServer,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(database, "_WAITS", (0.01, 0.01))
    ask(store, run, plan.request(plan.cells[0]), answer("kept"))
    attempt = store.open_attempt(run.id, plan.request(plan.cells[1]))
    postgres.stop()
    try:
        for call in (
            lambda: store.settle(attempt, answer()),
            lambda: store.open_attempt(run.id, plan.request(plan.cells[2])),
            lambda: list(store.replies(run.id)),
        ):
            with pytest.raises(
                DataError, match=r"cannot be (written|read).*same command again"
            ) as told:
                call()
            assert "\n" not in str(told.value)
        with pytest.raises(DataError, match="cannot be reached"):
            open_store(url)
    finally:
        postgres.start()
    with open_store(url) as again:
        assert [stored.reply for stored in again.replies(run.id)][:2] == [answer("kept"), None]
        assert again.spend(run.id).total.lost == 1


@pytest.mark.parametrize("kept", [True, False], ids=["committed", "rolled back"])
def test_a_connection_lost_around_the_commit_writes_a_call_once(
    store: Store,
    run: RunInfo,
    plan: Plan,
    url: str,
    kept: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    """The client cannot know whether a COMMIT that was not answered took place."""
    db: Any = store.database
    transact, lost = db._transact, []

    def lose_it_once(work: Callable[[], Any]) -> Any:
        def and_die() -> Any:
            result = work()
            if not kept and not lost:
                lost.append(True)
                raise psycopg.OperationalError("the connection is gone")
            return result

        try:
            result = transact(and_die)
        finally:
            if lost == [True]:
                lost.append(True)
                db._db.close()
        if kept and not lost:
            lost.extend((True, True))
            db._db.close()
            raise psycopg.OperationalError("the connection is gone")
        return result

    monkeypatch.setattr(db, "_transact", lose_it_once)
    request = plan.request(plan.cells[0])
    attempt = store.open_attempt(run.id, request)
    assert query(url, "SELECT id, key FROM attempt") == [(attempt, request.key)]
    lost.clear()
    store.settle(attempt, answer())
    assert store.reply(request.key) == answer()
    lost.clear()
    batch = store.batches.open(run.id, "openai", [plan.request(c) for c in plan.cells[1:4]])
    assert (count(url, "batch"), count(url, "batch_item"), count(url, "attempt")) == (1, 3, 4)
    assert len(batch.items) == 3


def test_a_run_is_still_held_after_the_connection_was_lost(
    store: Store, run: RunInfo, plan: Plan, postgres: PostgresServer, url: str
):
    with store.collecting(run.id):
        postgres.stop("immediate")
        postgres.start()
        store.open_attempt(run.id, plan.request(plan.cells[0]))
        with (
            open_store(url) as second,
            pytest.raises(UsageError, match="another process is collecting"),
            second.collecting(run.id),
        ):
            pytest.fail("two holders")
    with open_store(url) as second, second.collecting(run.id):
        pass


def test_a_run_that_another_took_while_the_connection_was_lost_is_not_gone_on_with(
    store: Store, run: RunInfo, plan: Plan, postgres: PostgresServer, url: str
):
    with store.collecting(run.id):
        postgres.stop("immediate")
        postgres.start()
        with (
            open_store(url) as second,
            second.collecting(run.id),
            pytest.raises(DataError, match="another process collects this run"),
        ):
            store.open_attempt(run.id, plan.request(plan.cells[0]))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("53100", r"cannot be written: no room.*make room on the server"),
        ("XX001", r"cannot be written: no room.*server's log"),
        ("42501", r"cannot be written: no room.*ask its owner"),
        ("25006", r"cannot be written: no room.*primary server"),
    ],
)
def test_what_the_server_says_is_told_with_what_to_do(
    store: Store, run: RunInfo, plan: Plan, url: str, code: str, said: str
):
    query(
        url,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{code}'; END $$",
    )
    ask(store, run, plan.request(plan.cells[0]), answer("before"))
    query(url, "CREATE TRIGGER no BEFORE INSERT ON attempt EXECUTE FUNCTION refuse()")
    with pytest.raises(DataError, match=said):
        store.open_attempt(run.id, plan.request(plan.cells[1]))
    query(url, "DROP TRIGGER no ON attempt")
    ask(store, run, plan.request(plan.cells[1]), answer("after"))
    assert count(url, "attempt") == 2


def test_a_table_that_another_holds_is_not_waited_for_for_ever(
    url: str, plan: Plan, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.05)
    with open_store(url) as store, psycopg.connect(url) as other:
        run = store.begin_run(plan, "s", VERSIONS)
        other.execute("LOCK TABLE attempt")
        with pytest.raises(DataError, match="another process holds it"):
            store.open_attempt(run.id, plan.request(plan.cells[0]))
        other.rollback()
        store.open_attempt(run.id, plan.request(plan.cells[0]))


def test_deadlocked_writers_both_get_through(
    store: Store, run: RunInfo, plan: Plan, url: str, monkeypatch: pytest.MonkeyPatch
):
    """The server picks one of two that wait for each other; its work is done again."""
    failures = [psycopg.errors.DeadlockDetected("deadlock detected")]
    enter = store._ledger.enter

    def fail_once(entry: Any) -> int:
        attempt = enter(entry)
        if failures:
            raise failures.pop()
        return attempt

    monkeypatch.setattr(store._ledger, "enter", fail_once)
    attempt = store.open_attempt(run.id, plan.request(plan.cells[0]))
    assert query(url, "SELECT id FROM attempt") == [(attempt,)]


# Getting in


@pytest.fixture
def guarded(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A store of a user who needs a password."""
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGPASSFILE", "/dev/null")
    postgres.run(f"CREATE USER guarded PASSWORD '{SECRET}'")
    postgres.run("CREATE SCHEMA guarded AUTHORIZATION guarded", database="ce")
    yield postgres.url(user="guarded", schema="guarded")
    postgres.run("DROP SCHEMA guarded CASCADE", database="ce")
    postgres.run("DROP USER guarded")


def test_a_password_comes_from_the_environment_and_is_kept_nowhere(
    guarded: str, plan: Plan, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(DataError, match=r"asks for a password .*PGPASSWORD"):
        open_store(guarded)
    monkeypatch.setenv("PGPASSWORD", "wrong-" + SECRET)
    with pytest.raises(DataError, match="refuses the user or the password") as told:
        open_store(guarded)
    assert SECRET not in str(told.value)
    assert SECRET not in repr(told.value.__cause__)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with open_store(guarded) as store:
        run = store.begin_run(plan, "s", VERSIONS)
        ask(store, run, plan.request(plan.cells[0]), answer())
        assert SECRET not in store.where
        for table in ("run", "request", "attempt"):
            assert SECRET not in repr(query(guarded, f"SELECT * FROM {table}"))


def test_a_password_comes_from_the_password_file(
    guarded: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
):
    file = tmp_path / "pgpass"
    file.write_text(f"*:*:*:guarded:{SECRET}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    open_store(guarded).close()


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://user:{SECRET}@host/db",
        f"postgres://user:{SECRET}@host",
        f"postgresql://user:p@{SECRET}@host/db",
        f"postgresql://user@host/db?password={SECRET}",
        f"postgresql://user@host?sslmode=require&PASSWORD={SECRET}",
        f"postgresql://user@host/db?sslpassword={SECRET}",
        f"postgresql://user@host/db?pass%77ord={SECRET}",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_repeated(address: str):
    with pytest.raises(UsageError, match=r"list of processes .*PGPASSWORD") as told:
        open_store(address)
    assert SECRET not in str(told.value)


def test_an_address_that_is_none_is_a_usage_error():
    with pytest.raises(UsageError, match="not an address of a PostgreSQL database"):
        open_store("postgresql://host/db?nonsense=1")


def test_no_server_and_no_database(postgres: PostgresServer, tmp_path: Any):
    with pytest.raises(DataError, match="cannot be reached"):
        open_store(f"postgresql://ce@/ce?host={tmp_path}")
    with pytest.raises(DataError, match=r"\"none\" does not exist .*createdb"):
        open_store(postgres.url(database="none"))


def test_a_user_who_may_only_read_reads_and_is_told_when_writing(
    postgres: PostgresServer, url: str, plan: Plan
):
    with open_store(url) as store:
        run = store.begin_run(plan, "s", VERSIONS)
    schema = url.rpartition("%3D")[2]
    postgres.run("CREATE USER reader")
    try:
        reader = postgres.url(user="reader", schema=schema)
        with pytest.raises(DataError, match="ask its owner for the right to use it"):
            open_store(reader)
        postgres.run(f"GRANT USAGE ON SCHEMA {schema} TO reader", database="ce")
        postgres.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader", database="ce")
        with open_store(reader, create=False) as store:
            assert store.plan(run.id) == plan
            with pytest.raises(DataError, match=r"permission denied.*ask its owner"):
                store.open_attempt(run.id, plan.request(plan.cells[0]))
    finally:
        postgres.run("DROP OWNED BY reader", database="ce")
        postgres.run("DROP USER reader")


def test_a_commit_waits_for_the_disk_even_where_the_server_would_not(url: str):
    with open_store(url + "%20-csynchronous_commit%3Doff") as store:
        ((setting,),) = store.database._fetch("SHOW synchronous_commit")  # type: ignore[attr-defined]
    assert setting == "on"


def test_an_older_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "OLDEST", 990_000)
    with pytest.raises(DataError, match=r"the server is PostgreSQL \d+ \(15 or later"):
        open_store(url)


@given(st.text(alphabet=st.sampled_from("\x00\x100aé")) | st.text())
def test_every_text_comes_back_and_none_goes_with_a_nul(text: str):
    assert unescaped(escaped(text)) == text
    assert "\x00" not in escaped(text)
