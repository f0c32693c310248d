"""Whether a provider has a batch of which we do not know: its answer was never heard.

The one thing to know: a batch is handed in again only when the provider's own list does not
have it. Where batches bear no marker, one of as many requests that has not ended may be it;
then nobody can tell yet, and nothing is sent until it ends and shows its custom ids.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import aclosing
from datetime import datetime

import msgspec

from contextecho.models import BatchService, Failed, FailureKind, Oddity, Standing
from contextecho.store import Batch, Store

_SKEW = 3600.0  # seconds by which our clock may be ahead of the provider's
_RECENT = 600.0  # seconds: a batch that was written down earlier is in the list if it is anywhere
_ENOUGH = 100  # results that decide whose a batch is: another study may share some requests
_SHARE = 9  # times as many of them must be ours as are not


class Unsure(msgspec.Struct, frozen=True):
    """Nobody can tell yet."""


Found = Standing | Unsure | Failed | None


def marker_of(batch: Batch) -> str:
    """What a batch is marked with: the same for every process that looks for it."""
    told = f"{batch.run} {batch.provider} {batch.opened_at} {batch.items[0].key}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]


async def find_batch(service: BatchService, store: Store, batch: Batch, grace: float) -> Found:
    """The batch as the provider has it; None: it has not, also when asked again after `grace`."""
    found = await _look(service, store, batch)
    if found is None and time.time() - _opened(batch) < _RECENT:
        await asyncio.sleep(grace)
        found = await _look(service, store, batch)
    return found


async def _look(service: BatchService, store: Store, batch: Batch) -> Found:
    listed = await service.search(marker_of(batch), _opened(batch) - _SKEW)
    if isinstance(listed, Failed):
        return listed
    if service.marks:
        return listed[0] if listed else None
    unsure = False
    for standing in listed:
        if standing.total != len(batch.items) or store.batches.knows(batch.provider, standing.id):
            continue
        holds = await _holds(service, standing, batch) if standing.ended else None
        if holds:
            return standing
        unsure = unsure or holds is None
    return Unsure() if unsure else None


async def _holds(service: BatchService, standing: Standing, batch: Batch) -> bool | None:
    """Whether results are those of the batch; None: that cannot be read at the moment."""
    keys = {item.custom_id for item in batch.items}
    ours = others = 0
    async with aclosing(service.results(standing)) as results:
        async for result in results:
            if isinstance(result, Failed):
                return False if result.kind is FailureKind.NOT_FOUND else None
            if isinstance(result, Oddity):
                continue
            if result.custom_id in keys:
                ours += 1
            else:
                others += 1
            if ours + others == _ENOUGH:
                break
    return ours > others * _SHARE


def _opened(batch: Batch) -> float:
    return datetime.fromisoformat(batch.opened_at).timestamp()
