"""What the processes of a spread collection tell each other.

The one thing to know: no key is among these words; each process reads its own. And clocks of
different machines are not compared: whoever tells a moment also tells what his clock shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from contextecho.contexts import Request
from contextecho.engine.budget import Unit
from contextecho.engine.pace import Limits
from contextecho.engine.progress import Tally
from contextecho.engine.quota import Sent
from contextecho.engine.sizes import Weight
from contextecho.models import Allowance, Usage


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What all groups of one invocation have in common."""

    store: str  # the URL of the database
    run: str
    token: str  # of the lock that the command holds as long as it lives
    base_url: str | None
    key_env: str | None
    timeout: float  # seconds, of one call
    limits: Limits
    unit: Unit | None  # of the budget; None: there is none


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of work: requests to one target on one prefix."""

    target: str
    prefix: str  # Context.sha256
    requests: Sequence[Request]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the work on a group ended."""

    tally: Tally
    stopped: str | None  # why the target was given up
    over_budget: bool
    late: bool


class Joining(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that begins: which limits it shares, as its open model knows them."""

    worker: str
    account: str
    most: int | None  # calls at once, the target's own bound
    cached_count: bool
    weight: Weight  # of its requests, about


class Back(msgspec.Struct, kw_only=True):
    """A call that came back."""

    sent: Sent  # when, and with which pass
    usage: Usage | None
    allowance: Allowance | None
    filled: bool = False  # it came back well, and no slot of the worker was idle
    hold_until: float | None = None  # of a call that met a rate limit


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker tells the hub: what happened since it last did, and what it needs."""

    worker: str
    now: float  # on the clock of the worker
    back: Sequence[Back]
    in_flight: int
    passes: int  # at hand
    most: int  # further passes it could use
    worst: float  # what one more call may take of the budget
    short: float  # of the budget, for the next call that has a pass
    held: float  # of the budget, for calls that are out and passes at hand
    spent: float  # of the budget, since it last told
    tally: Tally
    said: Sequence[str]  # for the user


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub answers: what the worker may do until it asks again."""

    slots: int = 0  # calls it may have in flight
    passes: Sequence[Sent] = ()  # one for each further call
    money: float = 0.0  # of the budget, besides what it holds
    hold: float = 0.0  # seconds in which no call may be sent
    again: float = 0.0  # seconds after which to ask again, whatever happens
    over: bool = False  # the budget has no room, and none will be found
    begun: bool = True  # some worker was given a call to make
    dismissed: bool = False  # somebody else has the group now
