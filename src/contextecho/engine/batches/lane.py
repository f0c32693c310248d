"""One target's batches: handing in, waiting, reading what came back.

The one thing to know: a batch is in the store before the provider hears of it, and ends there
only when its results were read to their end. Whatever happens between, the next process finds
it, asks the provider, and goes on; nothing is handed in twice.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count

import msgspec

from contextecho.contexts import Request
from contextecho.engine.batches.cutting import cut
from contextecho.engine.batches.finding import Found, Unsure, find_batch, marker_of
from contextecho.engine.batches.pace import BatchPace
from contextecho.engine.batches.tray import Groups, Tray
from contextecho.engine.deadline import Deadline
from contextecho.engine.lane import Job
from contextecho.engine.progress import Elsewhere
from contextecho.models import BatchService, Failed, FailureKind, Model, Oddity, Result, Standing
from contextecho.store import Batch

# A batch that is malformed says nothing about the requests in it.
_OF_BATCH = {FailureKind.BAD_REQUEST: FailureKind.SERVER}
_ANSWERED = frozenset({408, 499})  # of 4xx: those after which a batch may be there all the same


@dataclass(slots=True, eq=False)
class _Out:
    """A batch that the provider has, or may have."""

    batch: Batch
    name: str | None  # the provider's; None: it may have it, and nobody can tell yet
    done: int = 0  # of its requests, as the provider says
    failures: int = 0  # looks in a row that failed
    read: set[str] = field(default_factory=set)  # custom ids that came back
    strangers: set[str] = field(default_factory=set)  # and those that it does not have
    keys: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.keys = frozenset(item.custom_id for item in self.batch.items)


class BatchLane:
    """The batches of one target."""

    def __init__(
        self,
        model: Model,
        service: BatchService,
        groups: Groups,
        job: Job,
        *,
        pace: BatchPace,
        wait: bool,
    ) -> None:
        """`wait`: until everything came back; else what is out is looked at once and left.

        Raises `UsageError` when the budget is in dollars and the price is not known.
        """
        self.stopped: str | None = None
        self.over_budget = False
        self.late = False
        self._id = model.id
        self._provider = model.id.partition("/")[0]
        self._service = service
        self._job = job
        self._pace = pace
        self._wait = wait
        self._tray = Tray(model, groups, job, min(pace.tries, job.limits.attempts))
        self._terms = service.terms
        self._out: dict[int, _Out] = {}
        self._queue_full = False  # the provider refused a batch because others wait there
        self._deadline = Deadline(job.limits.deadline)
        self._loop = asyncio.get_running_loop()

    @property
    def batches_out(self) -> int:
        """Batches that the provider has still."""
        return len(self._out)

    async def run(self) -> None:
        """Work until everything is answered, given up, or left with the provider."""
        await self._resume()
        if not self._wait:
            await self._look_at_all()
        while True:
            await self._hand_in_all()
            if not self._out or not self._wait or self._halted():
                break
            await self._wait_for_all()
            if self._out:
                break
        self._tray.give_up(self._keys_out(), all_sent=bool(self.stopped))

    # Handing in

    async def _hand_in_all(self) -> None:
        """Hand in all that is to be sent; nothing, when no more may be."""
        groups = self._tray.wanted(self._keys_out(), lambda: not self._halted())
        for requests in cut(groups, self._terms, self._service.size):
            if self._halted() or (self._queue_full and self._out):
                self._tray.not_sent(request.key for request in requests)
            else:
                await self._hand_in(requests)
        self.over_budget = self._tray.over_budget

    async def _hand_in(self, requests: list[Request]) -> None:
        batches = self._job.store.batches
        batch = batches.open(self._job.run_id, self._provider, requests)
        self._tray.sent(request.key for request in requests)
        for attempt in count(1):
            said: Found = await self._service.submit(marker_of(batch), requests)
            if isinstance(said, Failed) and _may_have_arrived(said):
                found = await self._find(batch)
                if found is not None:
                    said = Unsure() if isinstance(found, Failed) else found
            if isinstance(said, Failed):
                if self._is_given_up(said, attempt):
                    self._turned_away(batch, said)
                    return
                await self._sleep(self._job.limits.delay(attempt, said.retry_after))
            elif said is not None:
                self._is_out(batch, said)
                return

    def _is_given_up(self, failed: Failed, attempt: int) -> bool:
        last = attempt >= self._job.limits.attempts or self._is_late()
        return last or failed.stops_target or not failed.retryable

    def _turned_away(self, batch: Batch, failed: Failed) -> None:
        """The provider does not take the batch. That says nothing about a single request."""
        why = f"its provider takes no batch: {failed.message}"
        self._refuse(
            _Out(batch, None), Failed(kind=_OF_BATCH.get(failed.kind, failed.kind), message=why)
        )
        self._stop(why)

    def _is_out(self, batch: Batch, said: Standing | Unsure) -> None:
        if isinstance(said, Unsure):
            self._out[batch.id] = _Out(batch, None)
            self._say(f"whether a batch of {len(batch.items)} was taken is known when it ends")
        else:
            self._job.store.batches.submitted(batch.id, said.id)
            self._out[batch.id] = _Out(batch, said.id)
            self._say(f"batch {said.id} has {len(batch.items)} requests")
        self._count_elsewhere()

    # After a crash

    async def _resume(self) -> None:
        """Take up the batches of earlier processes."""
        batches = self._job.store.batches
        for batch in batches.unfinished(self._job.run_id):
            if batches.target(batch.id) != self._id:
                continue
            if batch.provider_id is None:
                await self._recover(batch)
            else:
                self._out[batch.id] = _Out(batch, batch.provider_id)
                self._tray.sent(item.key for item in batch.items if not item.settled)
        self._count_elsewhere()

    async def _recover(self, batch: Batch) -> None:
        """Find out whether the provider has a batch whose process died before it could tell."""
        found = await self._find(batch)
        if found is None:
            why = "the process ended before the batch was handed in"
            self._refuse(_Out(batch, None), Failed(kind=FailureKind.SERVER, message=why))
        elif isinstance(found, Failed):
            self._stop(f"what batches its provider has cannot be found out: {found.message}")
        else:
            self._is_out(batch, found)
            self._tray.sent(item.key for item in batch.items)

    async def _find(self, batch: Batch) -> Found:
        for attempt in count(1):
            found = await find_batch(self._service, self._job.store, batch, self._pace.grace)
            if not isinstance(found, Failed) or self._is_given_up(found, attempt):
                return found
            await self._sleep(self._job.limits.delay(attempt, found.retry_after))
        return None

    # Waiting

    async def _wait_for_all(self) -> None:
        """Look again and again until nothing is out, or no more time is given."""
        pause = self._pace.first
        while True:
            await self._look_at_all()
            if not self._out or self._halted():
                return
            await self._sleep(pause)
            pause = self._pace.longer(pause)

    async def _look_at_all(self) -> None:
        for out in list(self._out.values()):
            if not self.stopped:
                await self._look(out)
        self._count_elsewhere()

    async def _look(self, out: _Out) -> None:
        if out.name is None:
            await self._look_for(out)
            return
        standing = await self._service.look(out.name)
        if isinstance(standing, Failed):
            self._look_failed(out, standing)
            return
        out.failures, out.done = 0, standing.done or 0
        if standing.refused is not None:
            self._refused(out, standing)
        elif standing.ended:
            await self._read(out, standing)

    async def _look_for(self, out: _Out) -> None:
        found = await self._find(out.batch)
        if isinstance(found, Failed):
            self._look_failed(out, found)
        elif found is None:
            why = "the batch never reached the provider"
            self._refuse(out, Failed(kind=FailureKind.SERVER, message=why))
        elif isinstance(found, Standing):
            self._is_out(out.batch, found)
            await self._look(self._out[out.batch.id])

    def _look_failed(self, out: _Out, failed: Failed) -> None:
        """A batch waits for better days; it is left where it is when these do not come."""
        out.failures += 1
        gone = failed.kind in (FailureKind.AUTH, FailureKind.NOT_FOUND)
        if gone or out.failures >= self._job.limits.trials:
            self._stop(f"batch {out.name or 'in doubt'} cannot be looked at: {failed.message}")

    # Reading

    async def _read(self, out: _Out, standing: Standing) -> None:
        """Read results to their end; they stay with the provider when that fails."""
        for attempt in count(1):
            failed = await self._read_on(out, standing)
            if failed is None:
                self._ended(out, standing)
                return
            if self._is_given_up(failed, attempt):
                self._stop(f"the results of batch {out.name} cannot be read: {failed.message}")
                return
            await self._sleep(self._job.limits.delay(attempt, failed.retry_after))

    async def _read_on(self, out: _Out, standing: Standing) -> Failed | None:
        """Read results; those that were read before are passed over."""
        chunk: dict[str, Result] = {}
        failed = None
        async with aclosing(self._service.results(standing)) as results:
            async for result in results:
                if isinstance(result, Failed):
                    failed = result
                    break
                if isinstance(result, Oddity):
                    self._say(f"batch {out.name}: {result.message}")
                elif result.custom_id not in out.keys:
                    out.strangers.add(result.custom_id)
                elif result.custom_id not in out.read:
                    out.read.add(result.custom_id)
                    chunk[result.custom_id] = result
                    if len(chunk) == self._pace.together:
                        self._keep(out, chunk)
                        chunk = {}
        self._keep(out, chunk)
        return failed

    def _keep(self, out: _Out, chunk: dict[str, Result]) -> None:
        replies = {custom_id: result.reply for custom_id, result in chunk.items()}
        for custom_id in self._job.store.batches.settle(out.batch.id, replies):
            result = chunk[custom_id]
            self._tray.take(result)
            if isinstance(result.reply, Failed) and result.reply.stops_target:
                self._stop(result.reply.why_stopped)

    def _ended(self, out: _Out, standing: Standing) -> None:
        """Everything that ever will come back has come back."""
        lost = out.keys - out.read
        self._tray.lost(lost)
        if lost:
            self._say(f"batch {out.name}: {len(lost)} of {len(out.keys)} requests came not back")
        if out.strangers:
            self._say(
                f"batch {out.name}: {len(out.strangers)} results are of requests that it does not"
                f" have, the first {min(out.strangers)!r}; they are not kept"
            )
        self._end(out)

    def _refused(self, out: _Out, standing: Standing) -> None:
        """The provider took the batch, and then none of its requests."""
        message = f"the batch was refused: {standing.refused}"
        size = len(out.keys)
        if standing.queue_full and size > 1:
            self._refuse(out, Failed(kind=FailureKind.RATE_LIMIT, message=message), again=True)
            self._queue_full = True
            smaller = min(self._terms.requests, size // 2)
            self._terms = msgspec.structs.replace(self._terms, requests=smaller)
        else:
            self._refuse(out, Failed(kind=FailureKind.SERVER, message=message))
            self._stop(message)

    def _refuse(self, out: _Out, failed: Failed, *, again: bool = False) -> None:
        """Nothing of a batch was answered or billed; `again`: its being sent does not count."""
        keys = out.keys - out.read
        self._job.store.batches.settle(out.batch.id, dict.fromkeys(keys, failed))
        self._tray.not_sent(keys, again=again)
        self._say(f"a batch of {len(out.keys)}: {failed.message}")
        self._end(out)

    def _end(self, out: _Out) -> None:
        self._job.store.batches.end(out.batch.id)
        self._out.pop(out.batch.id, None)
        self._count_elsewhere()

    # All the while

    def _keys_out(self) -> frozenset[str]:
        return frozenset().union(*(out.keys for out in self._out.values()))

    def _count_elsewhere(self) -> None:
        requests = sum(len(out.keys) for out in self._out.values())
        done = sum(out.done for out in self._out.values())
        if requests:
            self._job.tally.elsewhere[self._id] = Elsewhere(requests, done)
        else:
            self._job.tally.elsewhere.pop(self._id, None)

    def _is_late(self) -> bool:
        self.late = self.late or self._deadline.passed(self._loop.time())
        return self.late

    def _halted(self) -> bool:
        return self._is_late() or self.stopped is not None

    async def _sleep(self, seconds: float) -> None:
        """As long, or until time is up."""
        if self._deadline.moment is not None:
            seconds = min(seconds, max(0.0, self._deadline.moment - self._loop.time()))
        await asyncio.sleep(seconds)

    def _stop(self, why: str) -> None:
        if self.stopped is None:
            self.stopped = why
            self._job.progress.say(f"{self._id} stopped: {why}")

    def _say(self, text: str) -> None:
        self._job.progress.say(f"{self._id}: {text}")


def _may_have_arrived(failed: Failed) -> bool:
    """Whether a batch may be with the provider although its answer was none."""
    if failed.kind is FailureKind.UNREACHABLE:
        return False
    status = failed.status
    return status is None or status in _ANSWERED or not 400 <= status < 500
