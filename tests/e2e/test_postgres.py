"""The whole program on a PostgreSQL store says what it says on a SQLite one."""

from __future__ import annotations

import json
import re

from e2e.refusing import SHORT, SIMULATED, refused
from e2e.terminal import Terminal
from e2e.test_replay import PROBE
from servers.postgres import PostgresServer
from store.raw import count, query
from waiting import wait_until


def test_probe_and_report_say_the_same(terminal: Terminal, postgres: PostgresServer) -> None:
    url = postgres.url()
    here = terminal.run(*PROBE, "--store=here")
    there = terminal.run(*PROBE, f"--store={url}")
    assert (here.code, there.code) == (0, 0), there.err
    assert there.out == here.out
    tables = [terminal.run("report", "--format=csv", f"--store={s}").out for s in ("here", url)]
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) == 49
    again = terminal.run(*PROBE, f"--store={url}")  # the same command continues: nobody is asked
    assert again.out == here.out
    assert terminal.run("store", "check", f"--store={url}").code == 0
    merged = terminal.run("store", "merge", url, "--store=here")
    assert "new are 0 runs," in merged.out


def test_a_killed_run_goes_on_where_it_was(
    terminal: Terminal, chat: str, postgres: PostgresServer
) -> None:
    url = postgres.url()
    words = ("probe", chat, "--target=simulated", "--positions=even:4", "-q", f"--store={url}")
    process = terminal.start(*words)
    there = "SELECT to_regclass('reply') IS NOT NULL"
    wait_until(lambda: query(url, there) == [(True,)] and bool(count(url, "reply")), process)
    process.kill()
    process.wait()
    kept = count(url, "reply")
    assert kept
    done = terminal.run(*words)
    assert done.code == 0, done.err
    ((twice,),) = query(
        url, "SELECT count(*) - count(DISTINCT key) FROM attempt WHERE ended_at > ''"
    )
    assert twice == 0  # what had come back was not asked again
    assert count(url, "reply") == query(url, "SELECT count(DISTINCT key) FROM cell")[0][0] > kept


def test_a_server_that_is_not_there_is_one_line(terminal: Terminal, chat: str) -> None:
    address = "postgresql://me@127.0.0.1:9/drift"
    for words in (("probe", chat, *SIMULATED, *SHORT, "--quiet"), ("report", "latest")):
        done = terminal.run(*words, "--store", address)
        refused(done, 2, "postgresql://me@127.0.0.1:9/drift: the database cannot be reached")
    doctor = json.loads(terminal.run("doctor", "--json", "--store", address).out)
    (store,) = (finding for finding in doctor if finding["name"] == "store")
    assert not store["ok"]
    assert re.search("cannot be reached", store["detail"])
