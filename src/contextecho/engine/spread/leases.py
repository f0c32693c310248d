"""A worker's side of the limits and the budget that it shares with others.

The one thing to know: a lane asks here as it asks in a lone process, and is answered at
once from what the hub has leased. The line to the hub says what happened and fetches more,
one exchange at a time, so that what happens during one goes into the next together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from dataclasses import replace
from typing import Protocol

from contextecho.engine.account import Account, Lane
from contextecho.engine.budget import Budget, Purse
from contextecho.engine.pace import Limits
from contextecho.engine.progress import Quiet, Tally
from contextecho.engine.quota import Sent
from contextecho.engine.sizes import Weight
from contextecho.engine.spread.words import Ask, Back, Lease
from contextecho.models import Model, Reply


class DismissedError(Exception):
    """The hub takes this worker for lost; its group is somebody else's."""


class Shared(Protocol):
    """The hub, wherever it is."""

    def exchange(self, ask: Ask) -> Awaitable[Lease]:
        """As `Hub.exchange`."""
        ...

    def leave(self, ask: Ask, unused: list[Sent]) -> Awaitable[None]:
        """As `Hub.leave`."""
        ...


class LeasedAccount(Account):
    """Slots and passes that the hub has given to the one lane of this worker."""

    def __init__(self, limits: Limits, line: Line) -> None:
        """`line` is told what the hub should hear soon."""
        super().__init__(limits, None)
        self.slots = 0
        self.passes: deque[Sent] = deque()
        self.back: list[Back] = []  # since the hub was last told
        self._again = 0.0
        self._is_over = False
        self._line = line

    def is_full(self, lane: Lane) -> bool:
        """Whether all leased slots are taken; over budget none is needed to find that out."""
        return self.in_flight >= self.slots and not self._is_over

    def wait(self, weight: Weight, now: float) -> float:
        """Nothing with a pass at hand; else until the hub is asked again at the latest.

        A pass is also missing where the budget has no room, which is the purse's to say.
        """
        return 0.0 if self.passes or self._is_over else self._again

    def sent(self, weight: Weight, now: float) -> Sent:
        """Use a pass, and fetch more before they are used up."""
        self._take_slot()
        sent = replace(self.passes.popleft(), at=now)
        if len(self.passes) <= self.slots // 4:
            self._line.want()
        return sent

    def came_back(self, model: Model, weight: Weight, sent: Sent, reply: Reply, now: float) -> None:
        """Keep for the hub what a reply tells."""
        self.back.append(Back(sent=sent, usage=reply.usage, allowance=reply.allowance))

    def bore(self) -> None:
        """The call that came back just now came back well."""
        self.back[-1].filled = self._filled >= self.slots

    def limited(self, sent: Sent, now: float, until: float) -> None:
        """The call that came back just now met a rate limit: the others must hear of it."""
        self._hold_until = max(self._hold_until, until)
        self.back[-1].hold_until = until
        self._line.tell()

    def landed(self) -> None:
        """A call is out no more; a slot without a pass waits for the hub."""
        super().landed()
        if not self.passes:
            self._line.tell()

    def take(self, lease: Lease, now: float) -> None:
        """Take over what the hub says."""
        self.slots = lease.slots
        self.passes.extend(lease.passes)
        self._hold_until = max(self._hold_until, now + lease.hold)
        self._again = lease.again
        self._is_over = lease.over
        self._wake()


class LeasedPurse(Purse):
    """Money that the hub has given to this worker."""

    def __init__(self, budget: Budget, worst: float, line: Line) -> None:
        """`worst` is what the first call may take."""
        super().__init__(budget)
        self.worst = worst  # of the call that was last thought of
        self._stock = 0.0
        self._told = 0.0  # of what was spent
        self._is_over = False
        self._line = line

    @property
    def may_find_room(self) -> bool:
        """Whether the hub may yet give some."""
        return not self._is_over

    @property
    def held(self) -> float:
        """What calls that are out and those to come may take."""
        return self._reserved + self._stock

    @property
    def short(self) -> float:
        """What the next call lacks."""
        return max(0.0, self.worst - self._stock)

    def reserve(self, worst: float) -> bool:
        """Set the worst case of a call aside, if what is at hand suffices."""
        self.worst = worst
        if worst > self._stock:
            self._line.want()
            return False
        self._stock -= worst
        self._reserved += worst
        self.calls_out += 1
        return True

    def tell(self) -> float:
        """What was spent since this was last asked."""
        news, self._told = self.spent - self._told, self.spent
        return news

    def keep_for(self, passes: int) -> None:
        """Let others have what is at hand beyond so many calls, or is too little for one.

        What is too little is kept while a call is out that may leave the rest.
        """
        kept = min(self._stock, passes * self.worst)
        self._stock = kept if self.calls_out or kept >= self.worst else 0.0

    def take(self, lease: Lease) -> None:
        """Take over what the hub says."""
        self._stock += lease.money
        self._is_over = lease.over
        self.calls = int(lease.begun)


class Said(Quiet):
    """What a lane says, for the hub to pass on."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def say(self, text: str) -> None:
        """Keep it."""
        self.texts.append(text)


class Line:
    """The worker's line to the hub."""

    def __init__(self, hub: Shared, worker: str, limits: Limits, tally: Tally) -> None:
        """`tally` is told with each exchange."""
        self.account = LeasedAccount(limits, self)
        self.purse: LeasedPurse | None = None
        self.progress = Said()
        self._hub = hub
        self._worker = worker
        self._tally = tally
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._is_dry = False  # the hub had nothing to give: what is wanted can wait

    def tell(self) -> None:
        """Something happened that the hub should hear now."""
        self._event.set()

    def want(self) -> None:
        """More could be used."""
        if not self._is_dry:
            self._event.set()

    async def hold(self) -> None:
        """Talk to the hub when there is a reason, and now and then; never ends by itself.

        Raises `DismissedError`, and what the way to the hub raises.
        """
        while True:
            self._event.clear()
            lease = await self._hub.exchange(self._ask())
            if lease.dismissed:
                raise DismissedError
            self._is_dry = not (lease.passes or lease.money)
            if self.purse is not None:
                self.purse.take(lease)
            self.account.take(lease, self._loop.time())
            timer = self._loop.call_later(lease.again, self._event.set)
            await self._event.wait()
            timer.cancel()

    async def leave(self) -> None:
        """Tell the rest, and give back what was not used."""
        unused = list(self.account.passes)
        self.account.passes.clear()
        await self._hub.leave(self._ask(leaving=True), unused)

    def _ask(self, *, leaving: bool = False) -> Ask:
        account, purse = self.account, self.purse
        back, account.back = account.back, []
        said, self.progress.texts = self.progress.texts, []
        if purse is not None:
            purse.keep_for(len(account.passes))
        known = self._tally.closed + account.in_flight + len(account.passes)
        return Ask(
            worker=self._worker,
            now=self._loop.time(),
            back=back,
            in_flight=account.in_flight,
            passes=len(account.passes),
            most=0 if leaving else max(1, self._tally.total - known),
            worst=0.0 if purse is None else purse.worst,
            short=0.0 if purse is None or leaving or not account.passes else purse.short,
            held=0.0 if purse is None else purse.held,
            spent=0.0 if purse is None else purse.tell(),
            tally=self._tally,
            said=said,
        )
