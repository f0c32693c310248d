"""Whether a store holds what it says: files, hashes, references, the ledger.

The one thing to know: everything that has a name made of its content is named anew
and compared: contexts, requests, and the cells of every plan. Nothing is changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import msgspec

from contextecho.contexts import Context
from contextecho.errors import DataError
from contextecho.store import rows, statements
from contextecho.store.databases import Database, Statement
from contextecho.store.imports import releases, uncounted_releases
from contextecho.store.store import Store
from contextecho.store.tables import BLOB

_LEDGER: tuple[tuple[Statement, str], ...] = (
    (statements.half_ended, "attempt {} has an end without an outcome, or the reverse"),
    (statements.unexplained, "attempt {} failed without a reason, or has one without failing"),
    (statements.impossible_usage, "attempt {} has negative tokens, or parts above the whole"),
    (statements.stray_replies, "the reply to {} is an attempt of another key, or one still out"),
    (statements.unsettled_answers, "{} was answered and is not settled"),
)


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What a check looked at and found."""

    contexts: int
    requests: int
    unnamed: int  # requests of release 0.1.0, whose keys cannot be made again from the row alone
    runs: int
    releases: int
    problems: tuple[str, ...]


def check_store(store: Store) -> Checked:
    """Look at everything. A part that cannot be read is a problem, and the others are looked at."""
    database = store.database
    found: list[str] = []
    counts = {"contexts": 0, "requests": 0, "unnamed": 0, "runs": 0, "releases": 0}

    def look(what: Callable[[], Iterator[str]]) -> None:
        try:
            found.extend(what())
        except DataError as error:
            found.append(str(error))

    look(database.problems)
    look(lambda: _contexts(database, counts))
    look(lambda: _requests(store, counts))
    look(lambda: _runs(store, counts))
    look(lambda: _ledger(database))
    look(lambda: _releases(store, counts))
    return Checked(**counts, problems=tuple(dict.fromkeys(found)))


def _contexts(database: Database, counts: dict[str, int]) -> Iterator[str]:
    for sha256, packed in database.rows(statements.everything(BLOB)):
        counts["contexts"] += 1
        if _hash(packed) != sha256:
            yield f"context {sha256[:12]} is not what its name says"


def _hash(packed: bytes) -> str | None:
    try:
        return hashlib.sha256(rows.unpack_bytes(packed)).hexdigest()
    except DataError:
        return None


def _requests(store: Store, counts: dict[str, int]) -> Iterator[str]:
    sha256, context = "", Context()
    for key, *request in store.database.rows(statements.all_requests):
        counts["requests"] += 1
        try:
            if request[1] != sha256:
                sha256, context = request[1], store.context(request[1])
            made = rows.read_request((request[0], context, *request[2:])).key
        except DataError as error:
            yield f"request {key[:12]}: {error}"
            continue
        if made != key and request[5] is None:
            counts["unnamed"] += 1
        elif made != key:
            yield f"request {key[:12]} is not what its key says"


def _runs(store: Store, counts: dict[str, int]) -> Iterator[str]:
    for run in store.runs():
        counts["runs"] += 1
        try:
            plan = store.plan(run.id)
            wrong = sum(plan.request(cell).key != key for cell, key in store.run_cells(run.id))
            if rows.plan_id(plan) != run.id:
                yield f"run {run.id} is not what its name says"
            if wrong:
                yield f"run {run.id}: the keys of {wrong} cells are not those of their requests"
            for _ in (*store.replies(run.id), *store.verdicts(run.id)):
                pass  # that each can be read
        except (DataError, LookupError) as error:
            yield f"run {run.id}: {error}"


def _ledger(database: Database) -> Iterator[str]:
    for statement, says in _LEDGER:
        for (name,) in database.rows(statement):
            yield says.format(name)


def _releases(store: Store, counts: dict[str, int]) -> Iterator[str]:
    counts["releases"] = len(releases(store))
    for release in uncounted_releases(store):
        yield f"release {release} has not the number of cells that it came with"
