"""Provider batches: written down before anybody waits for them.

The one thing to know: `open` commits a batch with its requests, each an attempt of
the ledger, before the provider hears of it. A process that dies afterwards leaves a
batch that the next one finds with `unfinished`: with the provider's name it can be
asked for; without one the provider's own list tells whether it has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextecho.contexts import Request
from contextecho.errors import DataError
from contextecho.models import Reply
from contextecho.store import rows, statements
from contextecho.store.databases import Database
from contextecho.store.ledger import Begin, End, LedgerWriter
from contextecho.store.model import Batch, BatchItem, BatchState
from contextecho.store.moment import now


class Batches:
    """The batches of a store."""

    def __init__(self, database: Database, ledger: LedgerWriter) -> None:
        """`ledger` writes their attempts."""
        self._db = database
        self._ledger = ledger

    def open(self, run_id: str, provider: str, requests: Sequence[Request]) -> Batch:
        """Write down that distinct requests to one target are about to be given to its provider."""

        def enter() -> int:
            moment = self._ledger.moment
            told = (run_id, provider, moment)
            known = self._ledger.again and self._db.first(statements.opened_batch, *told)
            if known:
                return int(known[0])
            new = (run_id, provider, None, BatchState.OPENED, moment, None, None)
            batch = self._db.add(statements.keep_batch, *new)
            for request in requests:
                attempt = self._ledger.enter(Begin(run_id, request))
                self._db.run(statements.keep_item, batch, request.key, attempt)
            return batch

        return self.find(self._ledger.transact(enter))

    def submitted(self, batch: int, provider_id: str) -> None:
        """The provider has it, under this name."""
        values = (provider_id, BatchState.SUBMITTED, now(), batch)
        self._db.write(lambda: self._db.run(statements.submit_batch, *values))

    def settle(self, batch: int, replies: Mapping[str, Reply]) -> frozenset[str]:
        """Write down what items brought, by custom id, in one transaction; gives the new ones.

        An item that was settled before keeps what it has: results may be read twice.
        Raises `DataError` for an item that the batch does not have; nothing is written then.
        """

        def write() -> frozenset[str]:
            fresh = {
                name: item for name in replies if not (item := self._item(batch, name)).settled
            }
            for name, item in fresh.items():
                self._ledger.enter(End(item.attempt, replies[name]))
            return frozenset(fresh)

        return self._ledger.transact(write)

    def _item(self, batch: int, custom_id: str) -> BatchItem:
        row = self._db.first(statements.batch_item, batch, custom_id)
        if row is None:
            raise DataError(f"batch {batch} has no item {custom_id!r}", where=self._db.where)
        return rows.read_item(row)

    def end(self, batch: int) -> None:
        """Nothing more will come of it. Items without a reply stay in the ledger as lost."""
        values = (BatchState.ENDED, now(), batch)
        self._db.write(lambda: self._db.run(statements.end_batch, *values))

    def unfinished(self, run_id: str) -> tuple[Batch, ...]:
        """The batches of a run that have not ended, oldest first."""
        return tuple(map(self._whole, self._db.rows(statements.open_batches, run_id)))

    def out(self, run_id: str) -> int:
        """How many batches of a run have not ended."""
        return sum(1 for _ in self._db.rows(statements.open_batches, run_id))

    def target(self, batch: int) -> str:
        """Whom its requests are for. Raises `DataError` for a batch without any."""
        row = self._db.first(statements.batch_target, batch)
        if row is None:
            raise DataError(f"batch {batch} has no request", where=self._db.where)
        return str(row[0])

    def knows(self, provider: str, provider_id: str) -> bool:
        """Whether a batch of this store, of whatever run, has this name at the provider."""
        return self._db.first(statements.named_batch, provider, provider_id) is not None

    def find(self, batch: int) -> Batch:
        """A batch by its id. Raises `DataError` when it is not in this store."""
        row = self._db.first(statements.one_batch, batch)
        if row is None:
            raise DataError(f"no batch {batch} in the store", where=self._db.where)
        return self._whole(row)

    def _whole(self, row: rows.Row) -> Batch:
        return rows.read_batch((*row, list(self._db.rows(statements.batch_items, row[0]))))
