"""One target's lane: a window of calls, what each reply means, and when to stop.

The one thing to know: every call is a task of its own, in a bounded window. Its slot
is free once it is known what the reply means; so the next call is written down in
one transaction with that reply, and is sent when both are on disk. A request that
failed goes back to the agenda. A lane stops alone, the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from contextecho.contexts import Request
from contextecho.engine.account import Account, account_of
from contextecho.engine.agenda import Agenda, Item
from contextecho.engine.breaker import Breaker, State
from contextecho.engine.budget import Purse, Tariff, too_small
from contextecho.engine.deadline import Deadline
from contextecho.engine.pace import Limits
from contextecho.engine.progress import Progress, Tally
from contextecho.engine.quota import Sent
from contextecho.models import Failed, FailureKind, Model, Price, Reply, find_price
from contextecho.store import Store

OnReply = Callable[[Request, Reply], None]

_LOOKED_UP_IN_A_ROW = 64  # requests looked up in the store before others on the loop get a turn


@dataclass(slots=True)
class Job:
    """What all lanes of one invocation share."""

    store: Store
    run_id: str
    limits: Limits
    purse: Purse | None
    tally: Tally
    progress: Progress
    on_reply: OnReply | None
    lanes: list[Lane] = field(default_factory=list)
    accounts: dict[str, Account] = field(default_factory=dict)

    def account(self, model: Model) -> Account:
        """The limits under which a model is asked, shared with others of its account."""
        name = account_of(model)
        if name not in self.accounts:
            self.accounts[name] = Account(self.limits, model.max_concurrency)
        return self.accounts[name]

    def wake_all(self) -> None:
        """Let every lane look again at the purse."""
        for lane in self.lanes:
            lane.wake()


class Lane:
    """The calls to one target."""

    def __init__(
        self,
        model: Model,
        groups: Iterable[Iterable[Request]],
        job: Job,
        *,
        is_up: bool = False,
    ) -> None:
        """`groups` are the requests of one prefix each, in the order to be asked.

        `is_up`: the target has answered a call of this invocation already.

        Raises `UsageError` when the budget is in dollars and the price is not known.
        """
        self.stopped: str | None = None  # why this target was given up
        self.over_budget = False
        self.late = False
        self._model = model
        self._job = job
        self._tariff = Tariff(model, job.purse.budget.unit) if job.purse else None
        self._price: Price | None = find_price(model.id)
        self._account = job.account(model)
        self._breaker = Breaker(job.limits)
        self._deadline = Deadline(job.limits.deadline)
        self._agenda = Agenda(groups, job.limits.most_concurrency, model.caching)
        self.in_flight = 0  # calls that hold a slot
        self._calls: set[asyncio.Task[None]] = set()  # those, and those whose reply is being kept
        self._error: BaseException | None = None
        self._look_at: float | None = None  # when waiting work can begin, if nothing lands before
        self._is_up = is_up  # it has answered a call of this invocation
        self._answered = is_up  # now or before
        self._given_up = 0  # requests in a row
        self._looked_up = 0  # requests, in the store
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        job.lanes.append(self)
        self._account.join(self)

    @property
    def batches_out(self) -> int:
        """None: every call of a lane is one of its own."""
        return 0

    def wake(self) -> None:
        """Let the lane look for work."""
        self._event.set()

    async def run(self) -> None:
        """Work until nothing is left to do, or no more may be done.

        What is still out at the deadline is dropped: the ledger knows it as lost.

        Raises what a call raised: that is a defect, or a store that cannot be written.
        """
        try:
            while self._error is None and await self._launch():
                await self._sleep()
        finally:
            await asyncio.sleep(0)  # a task that never ran would not give its slot back
            for task in self._calls:
                task.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)
            self._account.leave(self)
        if self._error is not None:
            raise self._error
        await self._count_stored()

    # Beginning calls

    async def _launch(self) -> bool:
        """Begin every call that may begin now; False when nothing is left to wait for."""
        self._look_at = None
        waits = False
        while not self._halted():
            now = self._loop.time()
            self._look_at = self._account.held_until(now) or self._breaker.next_trial_at(now)
            waits = self._account.is_full(self) or self._breaker.on_trial
            if waits or self._look_at is not None:
                break
            item = self._agenda.next(now)
            if item is None:
                self._look_at = self._agenda.due
                break
            if item.is_new and self._reuse(item):
                await self._let_others()
                continue
            if not self._has_room(item) or not self._afford(item):
                break
            self._begin(item)
        if self._calls:
            return not self._deadline.passed(self._loop.time())
        return not self._halted() and (waits or self._look_at is not None or self._agenda.has_front)

    def _halted(self) -> bool:
        """Whether no call may begin any more: now, or when the next one could."""
        begun = self._loop.time() if self._look_at is None else self._look_at
        self.late = self.late or not self._deadline.allows(begun)
        return bool(self.stopped) or self.over_budget or self.late

    async def _count_stored(self) -> None:
        """What the lane did not come to is not missing if the store holds it."""
        for item in self._agenda.rest():
            self._reuse(item)
            await self._let_others()

    async def _let_others(self) -> None:
        """Now and then give the others on the loop a turn; not between a look and a call."""
        self._looked_up += 1
        if self._looked_up % _LOOKED_UP_IN_A_ROW == 0:
            await asyncio.sleep(0)

    def _reuse(self, item: Item) -> bool:
        """Take the reply from the store, if this request was settled before."""
        item.is_new = False
        reply = self._job.store.reply(item.request.key)
        if reply is None:
            return False
        item.left_cold()
        if isinstance(reply, Failed):
            self._job.tally.failed += 1
        else:
            self._answered = True
            self._job.tally.reused += 1
        self._tell(item, reply)
        return True

    def _has_room(self, item: Item) -> bool:
        """Whether the minute has room for the call; until it has, the item waits in front."""
        now = self._loop.time()
        item.weight = self._account.weigh(item.request)
        wait = self._account.wait(item.weight, now)
        if wait > 0:
            self._agenda.put_back(item)
            self._look_at = now + wait
        return wait <= 0

    def _afford(self, item: Item) -> bool:
        """Set the worst case of the call aside; without room for it the item waits in front."""
        purse = self._job.purse
        if purse is None or self._tariff is None:
            return True
        item.worst = self._tariff.worst(item.request)
        if purse.reserve(item.worst):
            return True
        self._agenda.put_back(item)
        if not purse.may_find_room:
            if not purse.calls:
                raise too_small(purse.budget, item.worst)
            self.over_budget = True
        return False

    # One call

    def _begin(self, item: Item) -> None:
        self.in_flight += 1
        sent = self._account.sent(item.weight, self._loop.time())
        self._breaker.sent()
        item.attempts += 1
        begun = self._job.store.opened_attempt(self._job.run_id, item.request)
        task = self._loop.create_task(self._call(item, sent, begun))
        self._calls.add(task)
        task.add_done_callback(self._ended)

    async def _call(self, item: Item, sent: Sent, begun: asyncio.Future[int]) -> None:
        """Ledger, call, ledger; whose reply is the last word on its request is told at the end."""
        try:
            attempt = await begun
            reply = await self._model.answer(item.request)
            kept = self._job.store.settled(attempt, reply)
            is_last = self._learn(item, sent, reply)
        finally:
            self._land()
        await kept
        if is_last:
            self._close(item, reply)

    def _land(self) -> None:
        self.in_flight -= 1
        self._account.landed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._error = task.exception()
        if self._error is not None or not self._calls:
            self.wake()

    def _learn(self, item: Item, sent: Sent, reply: Reply) -> bool:
        """Decide what a reply means for the lane; False when its request is asked again."""
        self._pay(item, reply)
        self._account.came_back(self._model, item.weight, sent, reply, self._loop.time())
        if isinstance(reply, Failed):
            return self._failed(item, reply, sent)
        self._deadline.learn(self._loop.time() - sent.at)
        self._succeeded(item)
        return True

    def _pay(self, item: Item, reply: Reply) -> None:
        job = self._job
        job.tally.add(reply.usage, self._dollars(reply))
        if job.purse is not None and self._tariff is not None:
            self._tariff.learn(item.request, reply)
            job.purse.settle(item.worst, self._tariff.actual(reply, item.worst))
            job.wake_all()

    def _dollars(self, reply: Reply) -> float | None:
        if self._model.free or (reply.usage is None and isinstance(reply, Failed)):
            return 0.0
        if self._price is None or reply.usage is None:
            return None
        return self._price.cost(reply.usage)

    def _succeeded(self, item: Item) -> None:
        self._answered = True
        self._given_up = 0
        item.warmed(self._loop.time())
        self._account.bore()
        self._up()

    def _failed(self, item: Item, reply: Failed, sent: Sent) -> bool:
        """Stop the lane, ask again later, or give the request up; whether it was given up."""
        now = self._loop.time()
        gone = reply.kind is FailureKind.UNREACHABLE and self._is_up  # it may come back
        if reply.stops_target and not gone:
            self._stop(reply.why_stopped)
        elif reply.kind is FailureKind.BAD_REQUEST:
            self._lose_patience(reply)
            self._up()
        else:
            self._read_failure(item, reply, sent, now)
            if self._again(item, reply, sent, now):
                return False
        item.left_cold()
        return True

    def _up(self) -> None:
        """The target has said something: it is up, whatever it said."""
        self._is_up = True
        if self._breaker.answered() is State.CLOSED:
            self._job.progress.say(f"{self._model.id} answers again")

    def _read_failure(self, item: Item, reply: Failed, sent: Sent, now: float) -> None:
        """What a failure says about the target rather than about the request."""
        if reply.kind is FailureKind.EMPTY:
            self._up()
        elif self._is_up:
            self._count_failure(self._breaker.failed(item.request.key, sent.at, now), reply)

    def _count_failure(self, state: State, reply: Failed) -> None:
        if state is State.OPENED:
            self._job.progress.say(
                f"{self._model.id} is left alone for a while, then tried again:"
                f" {self._job.limits.patience} requests in a row failed, the last: {reply.message}"
            )
        elif state is State.GIVEN_UP:
            self._stop(f"it failed {self._job.limits.trials} trials, the last: {reply.message}")

    def _again(self, item: Item, reply: Failed, sent: Sent, now: float) -> bool:
        """Ask again when it is time, as often as that is allowed; whether it is."""
        if item.attempts < self._job.limits.attempts:
            due = now + self._job.limits.delay(item.attempts, reply.retry_after)
            if reply.kind is FailureKind.RATE_LIMIT:
                self._account.limited(sent, now, due)
            self._agenda.retry(item, due)
            return True
        if not self._is_up:
            self._lose_patience(reply)
        return False

    def _lose_patience(self, reply: Failed) -> None:
        """Stop a target whose set-up is in doubt: after one request if it never answered any."""
        self._given_up += 1
        patience = self._job.limits.patience if self._answered else 1
        if self._given_up >= patience:
            in_a_row = f"{self._given_up} requests in a row failed, the last: "
            self._stop((in_a_row if self._given_up > 1 else "") + reply.message)

    def _close(self, item: Item, reply: Reply) -> None:
        """Count a request and tell its last reply, now that this is on disk."""
        if isinstance(reply, Failed):
            self._job.tally.failed += 1
        else:
            self._job.tally.done += 1
        self._tell(item, reply)

    def _stop(self, message: str) -> None:
        if self.stopped is None:
            self.stopped = message
            self._job.progress.say(f"{self._model.id} stopped: {message}")

    def _tell(self, item: Item, reply: Reply) -> None:
        if self._job.on_reply is not None:
            self._job.on_reply(item.request, reply)

    # Waiting

    async def _sleep(self) -> None:
        """Until a call lands, waiting work is due, the purse has changed, or time is up."""
        moments = [at for at in (self._look_at, self._deadline.moment) if at is not None]
        timer = self._loop.call_at(min(moments), self._event.set) if moments else None
        await self._event.wait()
        self._event.clear()
        if timer is not None:
            timer.cancel()
