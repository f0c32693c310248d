"""Writing the ledger: what is about to be sent, and what came back.

The one thing to know: several of these are written in one transaction where they
happen at the same moment, which is looked up once for all. Doing it again after a lost
connection writes nothing twice: an attempt is told by its request, its run and that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from contextecho.contexts import Context, Request
from contextecho.models import Failed, FailureKind, Reply
from contextecho.store import rows, statements
from contextecho.store.databases import Database
from contextecho.store.moment import now

T = TypeVar("T")


class Begin(NamedTuple):
    """A request that is about to be sent, as part of a run."""

    run: str
    request: Request


class End(NamedTuple):
    """What an attempt brought."""

    attempt: int
    reply: Reply


Entry = Begin | End


class LedgerWriter:
    """Writes entries, and the contexts and requests that they need."""

    def __init__(self, database: Database) -> None:
        """`database` is migrated."""
        self._db = database
        self._kept: set[str] = set()  # contexts known to be in the database
        self._new: set[str] = set()  # written by the transaction that is open
        self.moment = ""  # of the transaction that is open
        self.again = False  # it was done before, and may have been kept

    def write(self, entries: Sequence[Entry]) -> list[int]:
        """Write entries in one transaction; gives each one's attempt."""
        return self.transact(lambda: [self.enter(entry) for entry in entries])

    def transact(self, work: Callable[[], T]) -> T:
        """Do `work` in one transaction, in which `enter` and `keep_context` may be called."""
        self.moment = now()
        self.again = False

        def once() -> T:
            self._new.clear()
            result = work()
            self.again = True
            return result

        result = self._db.write(once)
        self._kept |= self._new
        return result

    def enter(self, entry: Entry) -> int:
        """Write one entry; gives its attempt."""
        return self._begin(entry) if isinstance(entry, Begin) else self._end(entry)

    def _begin(self, entry: Begin) -> int:
        request = entry.request
        told = (request.key, entry.run, self.moment)
        if self.again and (kept := self._db.first(statements.begun_attempt, *told)):
            return int(kept[0])
        self.keep_context(request.context)
        self._db.run(statements.keep_request, *rows.request_row(request))
        return self._db.add(statements.begin_attempt, *told)

    def _end(self, entry: End) -> int:
        attempt, reply = entry
        self._db.run(statements.end_attempt, self.moment, *rows.reply_row(reply), attempt)
        self._db.run(statements.keep_reply, int(self._settles(attempt, reply)), attempt)
        return attempt

    def _settles(self, attempt: int, reply: Reply) -> bool:
        """Whether the reply is the end for its key.

        A request found invalid stays so until it is changed, and then has another
        key. But while a target has never answered anything, the complaint may be
        about the set-up (URL, model, parameter) rather than about this request.
        """
        if not isinstance(reply, Failed):
            return True
        return reply.kind is FailureKind.BAD_REQUEST and bool(
            self._db.first(statements.target_answered, attempt)
        )

    def keep_context(self, context: Context) -> None:
        """Keep a context, once however many requests share it."""
        sha256 = context.sha256
        if sha256 in self._kept or sha256 in self._new:
            return
        if self._db.first(statements.has_blob, sha256) is None:
            self._db.run(statements.keep_blob, sha256, rows.pack_context(context))
        self._new.add(sha256)
