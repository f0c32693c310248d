"""Whether a run was registered before it was collected.

The one thing to know: a run is called preregistered only when every reply to it was
asked for after the lock, also those that another run of the same store had collected.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from contextecho.errors import UsageError
from contextecho.store import ReplyTimes, RunInfo, Store
from contextecho.studies import Registered


class Standing(StrEnum):
    """What a report may call itself."""

    PREREGISTERED = "preregistered"
    AMENDED = "amended"
    EXPLORATORY = "exploratory"


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands to the pre-registration that it was begun under."""

    standing: Standing
    registered: Registered | None
    times: ReplyTimes | None  # before the lock: `earlier`

    @property
    def said(self) -> str:
        """In a sentence, with what it rests on."""
        if self.registered is None or self.times is None:
            return f"{self.standing}: begun without a pre-registration"
        lock = f"lock {self.registered.lock[:12]} of {self.registered.locked_at}"
        if self.times.earlier:
            early = f"{self.times.earlier:,} of {self.times.replies:,} replies were asked before"
            return f"{self.standing}: {early} {lock}"
        first = f"first asked {self.times.first}" if self.times.first else "no reply yet"
        return f"{self.standing}: {lock}, {first}"


class _Planned(msgspec.Struct, frozen=True, kw_only=True):
    registered: Registered | None = None


def registration_of(store: Store, run: RunInfo) -> Registration:
    """How a run stands to its pre-registration, by the times of its replies."""
    registered = run.read_plan(_Planned).registered
    if registered is None:
        return Registration(standing=Standing.EXPLORATORY, registered=None, times=None)
    times = store.reply_times(run.id, registered.locked_at)
    standing = Standing.AMENDED if registered.amendments else Standing.PREREGISTERED
    return Registration(
        standing=Standing.EXPLORATORY if times.earlier else standing,
        registered=registered,
        times=times,
    )


def refuse_unregistered(store: Store, run: RunInfo, registered: Registered | None) -> None:
    """Raise `UsageError` for a run that cannot be collected as registered by a lock."""
    if registered is None:
        return
    kept = registration_of(store, run)
    if kept.registered is None or kept.registered.first != registered.first:
        how = "without a pre-registration" if kept.registered is None else "under another one"
        raise _not_registered(f"run {run.id} was begun {how}")
    if kept.times and kept.times.earlier:
        raise _not_registered(
            f"{kept.times.earlier:,} of the replies to run {run.id} were asked before the lock"
        )


def _not_registered(problem: str) -> UsageError:
    return UsageError(
        problem,
        where="--prereg",
        todo="collect into another store, or leave the lock out: the run is exploratory then",
    )
