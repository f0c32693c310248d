"""What the store keeps: replies by request key, verdicts by reply and scorer, runs, spend.

The one thing to know: a reply *settles* its key when the same request need not
be asked again (answers, refusals, truncations, and requests found invalid).
Every other failure stays an attempt, is shown as what it was, and is asked
again by the next run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from contextecho.errors import DataError
from contextecho.models import Reply
from contextecho.studies import Cell

T = TypeVar("T")


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """A cell with the reply that answers it.

    `reply` is the one that settled the key; while none has, it is the last
    failure (without its `retry_after`); it is None when nothing ever came back.
    """

    cell: Cell
    key: str  # Request.key
    reply: Reply | None
    attempts: int  # calls begun for this key in any run, lost ones included
    collected_at: str | None  # ISO-8601, UTC


class ReplyTimes(msgspec.Struct, frozen=True, kw_only=True):
    """When the replies of a run were collected, in whichever run they were asked for."""

    replies: int  # distinct requests that have one
    earlier: int  # of them asked before a moment
    first: str | None  # when the first was asked: ISO-8601, UTC, like the next
    last: str | None  # when the last came back


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One scorer's reading of one reply; `value` is None when there is none, `invalid` says why."""

    reply_key: str
    scorer: str  # "register/JUDGE_ID", "compliance", "length", "fingerprint"
    scorer_version: str  # rubric or rules hash, judge id and decoding: part of the verdict key
    value: float | None
    invalid: str | None = None
    detail: Mapping[str, Any] = {}


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A run: one plan collected into a store, with everything needed to report it."""

    id: str
    created_at: str
    study: str
    session: str
    session_path: str
    targets: tuple[str, ...]
    plan: Mapping[str, Any]  # the plan without its contexts and cells, as built-in values
    versions: Mapping[str, str]  # of this program and what it ran on

    def read_plan(self, form: type[T]) -> T:
        """The parts of `plan` that `form` has. Raises `DataError` when they cannot be read."""
        try:
            return msgspec.convert(self.plan, form)
        except msgspec.ValidationError as error:
            raise DataError(
                f"the stored plan cannot be read: {error}",
                where=f"run {self.id}",
                todo="report it with the version that collected the run",
            ) from error


class BatchState(StrEnum):
    """How far a provider's batch has come."""

    OPENED = "opened"  # written down; the provider may or may not have it
    SUBMITTED = "submitted"  # the provider has given it a name
    ENDED = "ended"  # nothing more will come of it


class BatchItem(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a batch, which is an attempt of the ledger like any other."""

    custom_id: str  # under which the provider sends the reply: `Request.key`
    attempt: int
    key: str
    settled: bool  # whether a reply or a failure was written down


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Requests given to a provider together, to be answered within a day or so."""

    id: int
    run: str
    provider: str
    provider_id: str | None  # the provider's name of it; None until it has answered
    state: BatchState
    opened_at: str  # ISO-8601, UTC, like the next two
    submitted_at: str | None
    ended_at: str | None
    items: tuple[BatchItem, ...]


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """What calls to one target used, as billed. Sums are over the calls that reported usage."""

    attempts: int = 0  # calls begun
    lost: int = 0  # begun and never heard of again (killed, or still in flight)
    failed: int = 0
    unreported: int = 0  # came back as a reply, without usage
    input: int = 0  # prompt tokens, cached ones included
    cached: int = 0
    cache_write: int = 0
    output: int = 0  # reasoning tokens included
    reasoning: int = 0
    longest: int = 0  # the most input tokens of one call; tariffs may change with it

    def __add__(self, other: Ledger) -> Ledger:
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        return Ledger(**{**sums, "longest": max(self.longest, other.longest)})


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger of one run, by target (a judge is a target of its own)."""

    run: str
    by_target: Mapping[str, Ledger]
    batched: Mapping[str, Ledger] = {}  # the part of it that was sent in providers' batches

    @property
    def total(self) -> Ledger:
        """All targets together."""
        return sum(self.by_target.values(), Ledger())
