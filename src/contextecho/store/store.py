"""The store: every question about what was collected, and every change to it.

The one thing to know: a call is written down before it is sent (`open_attempt`)
and again when it comes back (`settle`), each in a transaction of its own. So a
killed process loses only what was in flight, and what was in flight is known.
Usage is summed from these attempts and from nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from contextecho.contexts import Context, Request
from contextecho.errors import DataError, UsageError
from contextecho.models import Failed, FailureKind, Reply
from contextecho.store import rows
from contextecho.store.lock import LockedError, exclusive, identity
from contextecho.store.model import Ledger, RunInfo, Spend, StoredReply, Verdict
from contextecho.studies import Cell, Plan

# The statements of every call, spelled out once: a call must cost microseconds here.
_FIND_REPLY = (
    f"SELECT {rows.columns('attempt', rows.REPLY)} FROM reply"
    " JOIN attempt ON attempt.id = reply.attempt WHERE reply.key = ? AND reply.settled"
)
_KEEP_REQUEST = "INSERT OR IGNORE INTO request VALUES (?, ?, ?, ?, ?, ?)"
_OPEN_ATTEMPT = "INSERT INTO attempt (key, run, begun_at) VALUES (?, ?, ?)"
_END_ATTEMPT = (
    f"UPDATE attempt SET (ended_at, {rows.REPLY}) = (?, {rows.slots(rows.REPLY)}) WHERE id = ?"
)
_KEEP_REPLY = (
    "INSERT INTO reply SELECT key, id, ? FROM attempt WHERE id = ?"
    " ON CONFLICT (key) DO UPDATE SET attempt = excluded.attempt, settled = excluded.settled"
    " WHERE NOT reply.settled"
)

COPY_IT = "copy it to a place that can be written, or name another --store"


class Store:
    """An open store. Made by `open_store`; used from one thread."""

    def __init__(self, db: sqlite3.Connection, file: Path) -> None:
        """`db` is in autocommit mode, migrated; `file` is where it lies."""
        self._db = db
        self._file = file
        self._opened = identity(file)
        self._blobs: set[str] = set()  # contexts known to be kept already

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Everything is in it already."""
        self._db.close()

    # Runs

    def begin_run(
        self, plan: Plan, session_path: Path | str, versions: Mapping[str, str]
    ) -> RunInfo:
        """Write a plan down as a run, or find the run that the same plan already began.

        The id is a hash of what the plan collects, so the same command continues
        the same run; path and versions are those of its first beginning.
        """
        run_id = rows.plan_id(plan)
        with self._transaction():
            known = self._db.execute(
                "UPDATE run SET begun_at = ? WHERE id = ? RETURNING id", (_now(), run_id)
            ).fetchone()
            if not known:
                self._write_run(run_id, plan, str(session_path), versions)
        return self._run(run_id)

    def _write_run(
        self, run_id: str, plan: Plan, session_path: str, versions: Mapping[str, str]
    ) -> None:
        for context in (*plan.contexts.values(), *(s.context for s in plan.snapshots)):
            self._keep_context(context)
        now = _now()
        row = (
            run_id,
            now,
            now,
            plan.study.id,
            plan.session,
            session_path,
            msgspec.json.encode(plan.targets).decode(),
            rows.pack_plan(plan),
            msgspec.json.encode(versions).decode(),
        )
        self._db.execute(f"INSERT INTO run VALUES ({', '.join('?' * len(row))})", row)
        self._db.executemany(
            f"INSERT INTO cell (run, ordinal, key, {rows.CELL})"
            f" VALUES (?, ?, ?, {rows.slots(rows.CELL)})",
            (
                (run_id, ordinal, plan.request(cell).key, *rows.cell_row(cell))
                for ordinal, cell in enumerate(plan.cells)
            ),
        )

    def runs(self) -> tuple[RunInfo, ...]:
        """All runs, the one begun or continued last first."""
        query = f"SELECT {rows.RUN} FROM run ORDER BY begun_at DESC, id"
        return tuple(rows.read_run(row) for row in self._rows(query))

    def find_run(self, text: str = "latest") -> RunInfo:
        """The run that `text` names: `latest`, or the beginning of one id.

        Raises `UsageError` when there is none, or more than one.
        """
        runs = self.runs()
        found = runs[:1] if text == "latest" else [r for r in runs if r.id.startswith(text)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(run.id for run in runs[:8]) or "none"
        raise UsageError(
            f"{len(found)} runs match {text!r}", where=str(self._file), todo=f"runs here: {known}"
        )

    def _run(self, run_id: str) -> RunInfo:
        for row in self._rows(f"SELECT {rows.RUN} FROM run WHERE id = ?", run_id):
            return rows.read_run(row)
        raise DataError(f"no run {run_id} in the store", where=str(self._file))

    def plan(self, run_id: str) -> Plan:
        """The plan of a run, whole again: its contexts from the blobs, its cells from the rows."""
        values = self._run(run_id).plan
        wanted = {*values["contexts"], *(s["context"] for s in values["snapshots"])}
        contexts = {sha256: self.context(sha256) for sha256 in wanted}
        cells = tuple(cell for cell, _ in self.run_cells(run_id))
        return rows.unpack_plan(values, contexts, cells)

    @contextmanager
    def collecting(self, run_id: str) -> Iterator[None]:
        """Hold a run for one process, so that no call is paid twice.

        Raises `UsageError` while another process holds it.
        """
        lock = self._file.with_name(f"{self._file.stem}-{run_id}.lock")
        with ExitStack() as held:
            try:
                held.enter_context(exclusive(lock))
            except LockedError as error:
                raise UsageError(
                    f"another process is collecting run {run_id}",
                    where=str(self._file),
                    todo="wait for it, or stop it; nothing is lost",
                ) from error
            except OSError as error:
                raise DataError(
                    f"no lock can be made: {error.strerror}", where=str(lock), todo=COPY_IT
                ) from error
            yield

    # Cells and replies

    def run_cells(self, run_id: str) -> Iterator[tuple[Cell, str]]:
        """Every cell of a run with its request key, in plan order."""
        query = f"SELECT key, {rows.CELL} FROM cell WHERE run = ? ORDER BY ordinal"
        for key, *cell in self._rows(query, run_id):
            yield rows.read_cell(cell), key

    def count_requests(self, run_id: str) -> int:
        """Distinct requests among the cells of a run."""
        query = "SELECT count(DISTINCT key) FROM cell WHERE run = ?"
        return int(next(self._rows(query, run_id))[0])

    def missing(self, run_id: str) -> Iterator[tuple[Cell, str]]:
        """The cells of a run that no reply has settled, in plan order."""
        query = (
            f"SELECT cell.key, {rows.columns('cell', rows.CELL)} FROM cell"
            " LEFT JOIN reply ON reply.key = cell.key AND reply.settled"
            " WHERE run = ? AND reply.key IS NULL ORDER BY ordinal"
        )
        for key, *cell in self._rows(query, run_id):
            yield rows.read_cell(cell), key

    def replies(self, run_id: str) -> Iterator[StoredReply]:
        """Every cell of a run with what came back for it, in plan order."""
        query = (
            "SELECT cell.key, (SELECT count(*) FROM attempt WHERE attempt.key = cell.key),"
            f" attempt.ended_at, {rows.columns('cell', rows.CELL)},"
            f" {rows.columns('attempt', rows.REPLY)} FROM cell"
            " LEFT JOIN reply ON reply.key = cell.key"
            " LEFT JOIN attempt ON attempt.id = reply.attempt"
            " WHERE cell.run = ? ORDER BY ordinal"
        )
        width = len(Cell.__struct_fields__)
        for key, attempts, ended_at, *rest in self._rows(query, run_id):
            yield StoredReply(
                cell=rows.read_cell(rest[:width]),
                key=key,
                reply=rows.read_reply(rest[width:]) if ended_at else None,
                attempts=attempts,
                collected_at=ended_at,
            )

    def reply(self, key: str) -> Reply | None:
        """The reply that settled a key; None while there is none."""
        row = next(self._rows(_FIND_REPLY, key), None)
        return rows.read_reply(row) if row else None

    def context(self, sha256: str) -> Context:
        """A kept context by its hash. Raises `DataError` when it is not in this store."""
        for (packed,) in self._rows("SELECT zstd FROM blob WHERE sha256 = ?", sha256):
            return rows.unpack_context(packed)
        raise DataError(f"no context {sha256[:12]} in the store", where=str(self._file))

    # The ledger

    def open_attempt(self, run_id: str, request: Request) -> int:
        """Write down that a request is about to be sent; returns the attempt's id."""
        with self._transaction():
            self._keep_context(request.context)
            self._db.execute(_KEEP_REQUEST, rows.request_row(request))
            cursor = self._db.execute(_OPEN_ATTEMPT, (request.key, run_id, _now()))
        assert cursor.lastrowid is not None  # it was an INSERT
        return cursor.lastrowid

    def settle(self, attempt: int, reply: Reply) -> None:
        """Write down what an attempt brought. A settled key keeps its first settling reply."""
        with self._transaction():
            self._db.execute(_END_ATTEMPT, (_now(), *rows.reply_row(reply), attempt))
            self._db.execute(_KEEP_REPLY, (self._settles(attempt, reply), attempt))

    def _settles(self, attempt: int, reply: Reply) -> bool:
        """Whether the reply is the end for its key.

        A request found invalid stays so until it is changed, and then has another
        key. But while a target has never answered anything, the complaint may be
        about the set-up (URL, model, parameter) rather than about this request.
        """
        if not isinstance(reply, Failed):
            return True
        return reply.kind is FailureKind.BAD_REQUEST and any(
            self._rows(
                "SELECT 1 FROM attempt JOIN request USING (key)"
                " WHERE outcome != 'failed' AND target ="
                " (SELECT target FROM attempt JOIN request USING (key) WHERE id = ?) LIMIT 1",
                attempt,
            )
        )

    def spend(self, run_id: str) -> Spend:
        """What the calls of a run used, by target."""
        query = (
            "SELECT target, count(*), total(outcome IS NULL), total(outcome = 'failed'),"
            " total(outcome != 'failed' AND input IS NULL), total(input), total(cached),"
            " total(cache_write), total(output), total(reasoning), ifnull(max(input), 0)"
            " FROM attempt JOIN request USING (key) WHERE run = ? GROUP BY target ORDER BY target"
        )
        return Spend(
            run=run_id,
            by_target={
                target: Ledger(
                    **{f: int(n) for f, n in zip(Ledger.__struct_fields__, sums, strict=True)}
                )
                for target, *sums in self._rows(query, run_id)
            },
        )

    # Verdicts

    def put_verdict(self, verdict: Verdict) -> None:
        """Keep a scorer's reading of a reply, in place of its earlier one by the same version."""
        with self._transaction():
            self._db.execute(
                f"INSERT OR REPLACE INTO verdict VALUES ({rows.slots(rows.VERDICT)})",
                rows.verdict_row(verdict),
            )

    def verdicts(self, run_id: str) -> Iterator[Verdict]:
        """Every verdict on the replies of a run, whoever gave it; ordered by reply and scorer."""
        query = (
            f"SELECT {rows.VERDICT} FROM verdict"
            " WHERE reply_key IN (SELECT key FROM cell WHERE run = ?)"
            " ORDER BY reply_key, scorer, scorer_version"
        )
        for row in self._rows(query, run_id):
            yield rows.read_verdict(row)

    # Inside

    def _rows(self, query: str, *values: str | int) -> Iterator[rows.Row]:
        """The rows of a query. A damaged file becomes a `DataError`."""
        try:
            # By way of `map`, which unlike a cursor has no `close` that fails on a closed store.
            yield from map(tuple, self._db.execute(query, values))
        except sqlite3.DatabaseError as error:
            raise DataError(f"the store cannot be read: {error}", where=str(self._file)) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing. What SQLite cannot do with the file becomes a `DataError`."""
        if identity(self._file) != self._opened:  # SQLite would go on in a file without a name
            raise DataError(
                "the store was moved or deleted while it was in use",
                where=str(self._file),
                todo="put it back and give the same command again",
            )
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # SQLite itself rolls back when the disk is full
                    self._db.execute("ROLLBACK")
                self._blobs.clear()
                raise
            self._db.execute("COMMIT")
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # a defect of ours
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
                raise DataError(
                    "the store is read-only", where=str(self._file), todo=COPY_IT
                ) from error
            raise DataError(
                f"the store cannot be written: {error}", where=str(self._file)
            ) from error

    def _keep_context(self, context: Context) -> None:
        if context.sha256 in self._blobs:
            return
        if not any(self._rows("SELECT 1 FROM blob WHERE sha256 = ?", context.sha256)):
            self._db.execute(
                "INSERT INTO blob VALUES (?, ?)", (context.sha256, rows.pack_context(context))
            )
        self._blobs.add(context.sha256)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
