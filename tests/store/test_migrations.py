"""Stores of every age open; what is no store, or too new, is refused and left alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from contextecho.errors import DataError, UsageError
from contextecho.models import Answer, Failed, FailureKind, Usage
from contextecho.store import Verdict, find_store, migrations, open_store
from contextecho.store.databases import Database
from contextecho.store.imports import IMPORTED
from contextecho.store.tables import EVERY
from servers.postgres import PostgresServer
from store.plans import make_plan
from store.raw import query

VERSION_1 = Path(__file__).with_name("version_1.sql")  # a dump of what release 0.1.0 wrote
USAGE = Usage(input=100, cached=80, cache_write=0, output=7, reasoning=2)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store as release 0.1.0 left it."""
    file = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(VERSION_1.read_text("utf-8"))
    return file


def version(place: str | Path) -> int:
    is_file = "://" not in str(place)
    sql = "PRAGMA user_version" if is_file else "SELECT schema FROM contextecho_store"
    return int(query(place, sql)[0][0])


def test_a_store_of_the_version_before_opens_with_all_that_it_holds(old: Path):
    plan = make_plan(probes=2)
    keys = [plan.request(cell).key for cell in plan.cells]
    assert version(old) == 1
    with open_store(old) as store:
        run = store.find_run()
        assert store.plan(run.id) == plan
        assert store.reply(keys[0]) == Answer(
            text="I have no preferences.",
            stop_reason="stop",
            usage=USAGE,
            served_model="one-2026",
            seconds=0.25,
        )
        replies = list(store.replies(run.id))
        assert replies[1].reply == Failed(kind=FailureKind.EMPTY, message="empty", usage=USAGE)
        total = store.spend(run.id).total
        assert (total.attempts, total.lost, total.failed, total.input) == (3, 1, 1, 200)
        assert list(store.verdicts(run.id)) == [
            Verdict(
                reply_key=keys[0],
                scorer="register/j",
                scorer_version="r1",
                value=2.0,
                detail={"reason": "plain"},
            )
        ]
        assert store.begin_run(plan, "elsewhere", {}).created_at == run.created_at
        batch = store.batches.open(run.id, "openai", [plan.request(plan.cells[3])])
        assert store.batches.unfinished(run.id) == (batch,)
    assert version(old) == 4


def test_statements_and_migrations_name_the_same_columns(place: str):
    open_store(place).close()
    for table in (*EVERY, *IMPORTED):
        if "://" in place:
            sql = "SELECT column_name FROM information_schema.columns WHERE table_name ="
            found = query(place, f"{sql} '{table.name}' AND table_schema = current_schema()")
        else:
            found = query(place, f"SELECT name FROM pragma_table_info('{table.name}')")
        assert {name for (name,) in found} == set(table.c.keys())


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    place: str, monkeypatch: pytest.MonkeyPatch
):
    open_store(place).close()

    def broken(database: Database) -> None:
        database.define("CREATE TABLE half (a {text})")
        raise ZeroDivisionError

    with monkeypatch.context() as later:
        later.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, broken))
        with pytest.raises(ZeroDivisionError):
            open_store(place)
    assert version(place) == 4
    with pytest.raises(Exception, match=r"no such table: half|\"half\" does not exist"):
        query(place, "SELECT * FROM half")
    with open_store(place) as store:
        assert store.runs() == ()


def at_once(open_one: Callable[[], None], many: int = 6) -> None:
    """Open in so many threads at one moment, each with a connection of its own."""
    barrier = Barrier(many)

    def wait_and_open() -> None:
        barrier.wait(timeout=60)
        open_one()

    with ThreadPoolExecutor(many) as threads:
        for done in [threads.submit(wait_and_open) for _ in range(many)]:
            done.result(timeout=60)


def test_a_new_store_is_made_once_by_many_who_open_it(place: str):
    at_once(lambda: open_store(place).close())
    assert version(place) == 4


def test_an_old_store_is_brought_up_once_by_many_who_open_it(old: Path):
    at_once(lambda: open_store(old).close())
    assert version(old) == 4
    assert query(old, "SELECT count(*) FROM batch") == [(0,)]


def test_a_newer_store_is_refused(place: str):
    open_store(place).close()
    is_file = "://" not in place
    query(
        place, "PRAGMA user_version = 99" if is_file else "UPDATE contextecho_store SET schema = 99"
    )
    for create in (True, False):
        with pytest.raises(DataError, match=r"schema 99, .* knows up to 4 \(upgrade contextecho\)"):
            open_store(place, create=create)
    assert version(place) == 99


def test_no_store_is_found_where_none_is_and_none_is_made(place: str):
    assert find_store(place) is None
    with pytest.raises(UsageError, match="there is no store here"):
        open_store(place, create=False)
    assert find_store(place) is None


def test_a_database_of_another_program_is_refused_and_left_alone(postgres: PostgresServer):
    url = postgres.url()
    query(url, "CREATE TABLE theirs (a TEXT)")
    for create in (True, False):
        with pytest.raises(DataError, match=r"not a contextecho store .*createdb"):
            open_store(url, create=create)
    found = query(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    assert found == [("theirs",)]
