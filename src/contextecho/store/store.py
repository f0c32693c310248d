"""The store: every question about what was collected, and every change to it.

The one thing to know: a call is written down before it is sent and again when it
comes back. So a killed process loses only what was in flight, and what was in
flight is known. Usage is summed from these attempts and from nothing else.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import msgspec

from contextecho.contexts import Context, Request
from contextecho.errors import DataError, UsageError
from contextecho.models import Reply
from contextecho.store import rows, statements
from contextecho.store.batches import Batches
from contextecho.store.databases import Database, LockedError
from contextecho.store.groups import Groups
from contextecho.store.ledger import Begin, End, LedgerWriter
from contextecho.store.model import Ledger, ReplyTimes, RunInfo, Spend, StoredReply, Verdict
from contextecho.studies import Cell, Plan


class Store:
    """An open store. Made by `open_store`; used from one thread."""

    def __init__(self, database: Database) -> None:
        """`database` is migrated."""
        self.database = database  # for the rest of this room
        self._ledger = LedgerWriter(database)
        self._groups = Groups(self._ledger.write, in_thread=database.waits_for_disk)
        self.batches = Batches(database, self._ledger)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it, after what is still to be written."""
        try:
            self._groups.finish()
        finally:
            self.database.close()

    @property
    def where(self) -> str:
        """How a message names the store; never with a password."""
        return self.database.where

    # Runs

    def begin_run(
        self, plan: Plan, session_path: Path | str, versions: Mapping[str, str]
    ) -> RunInfo:
        """Write a plan down as a run, or find the run that the same plan already began.

        The id is a hash of what the plan collects, so the same command continues
        the same run; path and versions are those of its first beginning.
        """
        run_id = rows.plan_id(plan)

        def begin() -> None:
            if not self.database.run(statements.touch_run, self._ledger.moment, run_id):
                self._write_run(run_id, plan, str(session_path), versions)

        self._ledger.transact(begin)
        return self._run(run_id)

    def _write_run(
        self, run_id: str, plan: Plan, session_path: str, versions: Mapping[str, str]
    ) -> None:
        for context in (*plan.contexts.values(), *(s.context for s in plan.snapshots)):
            self._ledger.keep_context(context)
        moment = self._ledger.moment
        self.database.run(
            statements.keep_run,
            run_id,
            moment,
            plan.study.id,
            plan.session,
            session_path,
            msgspec.json.encode(plan.targets).decode(),
            rows.pack_plan(plan),
            msgspec.json.encode(versions).decode(),
            moment,
        )
        self.database.run_many(
            statements.keep_cell,
            (
                (run_id, ordinal, plan.request(cell).key, *rows.cell_row(cell))
                for ordinal, cell in enumerate(plan.cells)
            ),
        )

    def runs(self) -> tuple[RunInfo, ...]:
        """All runs, the one begun or continued last first."""
        return tuple(rows.read_run(row) for row in self.database.rows(statements.all_runs))

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
            f"{len(found)} runs match {text!r}", where=self.where, todo=f"runs here: {known}"
        )

    def _run(self, run_id: str) -> RunInfo:
        row = self.database.first(statements.one_run, run_id)
        if row is None:
            raise DataError(f"no run {run_id} in the store", where=self.where)
        return rows.read_run(row)

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

        At the end everything that came back is written. Raises `UsageError` while another
        process holds the run.
        """
        with ExitStack() as held:
            try:
                held.enter_context(self.database.lock(run_id))
            except LockedError as error:
                raise UsageError(
                    f"another process is collecting run {run_id}",
                    where=self.where,
                    todo="wait for it, or stop it; nothing is lost",
                ) from error
            held.callback(self._groups.finish)
            yield

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock that falls with its holder. Raises `LockedError` while another has it."""
        return self.database.lock(name)

    def is_locked(self, name: str) -> bool:
        """Whether some process holds the lock of this name."""
        return self.database.is_locked(name)

    # Cells and replies

    def run_cells(self, run_id: str) -> Iterator[tuple[Cell, str]]:
        """Every cell of a run with its request key, in plan order."""
        for key, *cell in self.database.rows(statements.cells, run_id):
            yield rows.read_cell(cell), key

    def count_requests(self, run_id: str) -> int:
        """Distinct requests among the cells of a run."""
        return int(next(self.database.rows(statements.count_keys, run_id))[0])

    def missing(self, run_id: str) -> Iterator[tuple[Cell, str]]:
        """The cells of a run that no reply has settled, in plan order."""
        for key, *cell in self.database.rows(statements.missing_cells, run_id):
            yield rows.read_cell(cell), key

    def missing_keys(self, run_id: str) -> set[bytes]:
        """The distinct requests of a run that no reply has settled, by the bytes of their keys."""
        return {
            bytes.fromhex(key) for (key,) in self.database.rows(statements.missing_keys, run_id)
        }

    def count_failed(self, run_id: str) -> int:
        """Distinct requests of a run that a failure has settled: they were found invalid."""
        return int(next(self.database.rows(statements.count_failed, run_id))[0])

    def replies(self, run_id: str) -> Iterator[StoredReply]:
        """Every cell of a run with what came back for it, in plan order."""
        width = len(rows.CELL)
        for key, attempts, ended_at, *rest in self.database.rows(statements.replies, run_id):
            yield StoredReply(
                cell=rows.read_cell(rest[:width]),
                key=key,
                reply=rows.read_reply(rest[width:]) if ended_at else None,
                attempts=attempts,
                collected_at=ended_at,
            )

    def reply_times(self, run_id: str, moment: str) -> ReplyTimes:
        """When the replies of a run were collected, and how many were asked for before `moment`.

        `moment` is ISO-8601 in UTC, to the microsecond, as the store writes it.
        """
        row = next(self.database.rows(statements.reply_times, moment, run_id))
        return ReplyTimes(**dict(zip(ReplyTimes.__struct_fields__, row, strict=True)))

    def reply(self, key: str) -> Reply | None:
        """The reply that settled a key; None while there is none."""
        row = self.database.first(statements.settled_reply, key)
        return rows.read_reply(row) if row else None

    def context(self, sha256: str) -> Context:
        """A kept context by its hash. Raises `DataError` when it is not in this store."""
        row = self.database.first(statements.blob, sha256)
        if row is None:
            raise DataError(f"no context {sha256[:12]} in the store", where=self.where)
        return rows.unpack_context(row[0])

    # The ledger

    def open_attempt(self, run_id: str, request: Request) -> int:
        """Write down that a request is about to be sent; returns the attempt's id."""
        return self._ledger.write([Begin(run_id, request)])[0]

    def settle(self, attempt: int, reply: Reply) -> None:
        """Write down what an attempt brought. A settled key keeps its first settling reply."""
        self._ledger.write([End(attempt, reply)])

    def opened_attempt(self, run_id: str, request: Request) -> Future[int]:
        """As `open_attempt`, in one transaction with what other tasks write at this moment.

        It is on disk when the future has its id; nothing is written if that is cancelled before.
        """
        return self._groups.written(Begin(run_id, request))

    def settled(self, attempt: int, reply: Reply) -> Future[int]:
        """As `settle`, in one transaction with what other tasks write at this moment.

        It is on disk when the future is done, and written even if that is cancelled.
        """
        return self._groups.written(End(attempt, reply))

    def spend(self, run_id: str) -> Spend:
        """What the calls of a run used, by target, and what of it was sent in batches."""
        spent: dict[str, Ledger] = {}
        batched: dict[str, Ledger] = {}
        for target, in_batch, *sums in self.database.rows(statements.spend, run_id):
            named = zip(Ledger.__struct_fields__, map(int, sums), strict=True)
            ledger = Ledger(**dict(named))
            spent[target] = spent.get(target, Ledger()) + ledger
            if in_batch:
                batched[target] = ledger
        return Spend(run=run_id, by_target=spent, batched=batched)

    # Verdicts

    def put_verdict(self, verdict: Verdict) -> None:
        """Keep a scorer's reading of a reply, in place of its earlier one by the same version."""
        row = rows.verdict_row(verdict)
        self.database.write(lambda: self.database.run(statements.keep_verdict, *row))

    def verdicts(self, run_id: str) -> Iterator[Verdict]:
        """Every verdict on the replies of a run, whoever gave it; ordered by reply and scorer."""
        for row in self.database.rows(statements.run_verdicts, run_id):
            yield rows.read_verdict(row)
