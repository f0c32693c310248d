"""The Ray cluster on which groups are asked. The only file that knows Ray.

The one thing to know: what Ray is given it shows to everybody who may look into the
cluster (task specs, its state API, its logs). So it is given no key; each process of a
node finds its own in the environment in which `ray start` was called. Ray is started by
whoever owns the machines; we join, start no dashboard, and report no usage.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from contextecho import __version__
from contextecho.engine.pace import Limits
from contextecho.engine.spread.hub import Hub, News
from contextecho.engine.spread.leases import DismissedError
from contextecho.engine.spread.words import Ask, Group, Joining, Lease, Outcome, Terms
from contextecho.engine.spread.worker import ask_group
from contextecho.errors import ContextEchoError, ProviderError, UsageError

HERE = "ray"
CONNECT_SECONDS = 10.0  # until an address counts as not reached
CHECK_SECONDS = 120.0  # for all nodes to say whether they can take part
CANCEL_SECONDS = 5.0  # for a cancelled group to write down what came back
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # of half a minute each, to find the head; 20 otherwise
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "5",  # of three tries, and not 5, 10 and 20
}
_START = "ray start --head --include-dashboard=false --disable-usage-stats"


class LostError(Exception):
    """The process or the machine that worked on a group is no more."""


def check_place(on: str) -> None:
    """Raise `UsageError` for what is no place to work, or where Ray is not installed."""
    if on != HERE and not (on.startswith("ray://") and _host_and_port(on)):
        raise UsageError("not a place to work", where="--on", todo="ray or ray://HOST:PORT")
    _load()


def _host_and_port(address: str) -> tuple[str, int] | None:
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.hostname and parts.port and not parts.path.strip("/") and "@" not in parts.netloc:
            return parts.hostname, parts.port
    return None


def _load() -> Any:
    os.environ |= _SETTINGS
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            f"--on ray needs Ray: {error}", todo="pip install 'contextecho[ray]'"
        ) from error
    return ray


@contextmanager
def join_cluster(on: str) -> Iterator[RayCluster]:
    """Join the cluster at `ray://HOST:PORT`, or with `ray` the one that this machine is part of.

    Raises `ProviderError` when there is none, within some tens of seconds.
    """
    ray = _load()
    _knock(on)
    try:
        # It would print on stdout, which is for data, what it hears of nodes that die.
        ray._private.worker._worker_logs_enabled = False
        with warnings.catch_warnings(action="ignore"):
            address = "auto" if on == HERE else on
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises many kinds, few of them its own
        todo = f"start one: {_START}" if on == HERE else "see that it runs, with the same versions"
        what = " ".join(_last_words(error).split())[:300]
        raise ProviderError(
            f"no Ray cluster can be joined: {what}", where=f"--on {on}", todo=todo
        ) from error
    try:
        yield RayCluster(ray, on)
    finally:
        ray.shutdown()


def _last_words(error: Exception) -> str:
    """What an error says; of a traceback from afar, its end."""
    said = str(error).strip()
    return said.splitlines()[-1] if "Traceback (most recent call last)" in said else said


def _knock(on: str) -> None:
    """Fail soon where nobody listens; Ray itself tries for long."""
    named = f"ray://{os.environ.get('RAY_ADDRESS', '')}" if on == HERE else on
    place = _host_and_port(named)
    if place is None:  # Ray is to look for it on this machine
        return
    try:
        with socket.create_connection(place, timeout=CONNECT_SECONDS):
            return
    except OSError as error:
        raise ProviderError(
            f"no Ray cluster answers: {error.strerror or 'no answer'}",
            where=f"--on {on}",
            todo="see that it runs; of ray://HOST:PORT the port is the client server's, 10001",
        ) from error


class RayCluster:
    """A cluster that was joined."""

    def __init__(self, ray: Any, on: str) -> None:
        self._ray = ray
        self._on = on
        self._hub: Any = None
        self._ask = ray.remote(_ask_on_node).options(
            num_cpus=1, max_retries=0, scheduling_strategy="SPREAD"
        )

    def start_hub(self, limits: Limits, room: float | None, seconds: float | None) -> None:
        """Start the hub beside the head, whose end is that of the cluster."""
        head = next((n for n in self._nodes() if "node:__internal_head__" in n["Resources"]), None)
        where = {} if head is None else {"scheduling_strategy": self._pinned(head)}
        self._hub = (
            self._ray.remote(Hub)
            .options(num_cpus=0, **where)
            .remote(limits, time.monotonic, room=room, seconds=seconds)
        )

    def refuse_unfit(self, terms: Terms, targets: tuple[str, ...]) -> None:
        """Raise `ProviderError` that names each node that cannot take part, and why."""
        check = self._ray.remote(_check_anywhere())
        parcel = pickle.dumps((terms, targets))

        def ask(node: Any) -> Any:
            there = check.options(num_cpus=0, max_retries=0, scheduling_strategy=self._pinned(node))
            return there.remote(__version__, parcel)

        nodes = [node for node in self._nodes() if node["Resources"].get("CPU")]
        if not nodes:
            raise ProviderError("no node of the cluster has a CPU", where=f"--on {self._on}")
        ends_at = time.monotonic() + CHECK_SECONDS
        asked = [(node, ask(node)) for node in nodes]
        said = [
            f"node {node['NodeManagerAddress']} {node['NodeID'][:8]} {problem}"
            for node, answer in asked
            if (problem := self._said(ask, node, answer, ends_at))
        ]
        if said:
            raise ProviderError(
                "; ".join(said),
                where=f"--on {self._on}",
                todo="nothing was asked; see docs/scale.md for what a node needs",
            )

    def _said(
        self, ask: Callable[[Any], Any], node: Any, answer: Any, ends_at: float
    ) -> str | None:
        """What a node says against taking part.

        Ray places nothing on one that has just joined or died before all of the cluster knows:
        it is asked again until it answers or is gone.
        """
        while True:
            try:
                said: str | None = self._ray.get(
                    answer, timeout=max(1.0, ends_at - time.monotonic())
                )
                return said
            except Exception as error:  # whatever happened there
                placeless = isinstance(error, self._ray.exceptions.TaskUnschedulableError)
                if not placeless or time.monotonic() > ends_at:
                    return f"did not say whether it can take part ({type(error).__name__})"
            time.sleep(1.0)
            if all(other["NodeID"] != node["NodeID"] for other in self._nodes()):
                return None
            answer = ask(node)

    def slots(self) -> int:
        """Groups that can be worked on at a time."""
        return int(sum(node["Resources"].get("CPU", 0) for node in self._nodes()))

    def begin(self, terms: Terms, group: Group, worker: str, *, is_up: bool) -> Any:
        """Let some node work on a group."""
        return self._ask.remote(terms, group, self._hub, worker, is_up=is_up)

    async def outcome(self, task: Any) -> Outcome:
        """How the work on a group ended.

        Raises `LostError` when it was lost with its process or machine, and what it raised.
        """
        try:
            ended = await self._get(task)
        except self._ray.exceptions.RayTaskError:
            raise  # a defect of ours
        except self._ray.exceptions.RayError as error:
            raise LostError(type(error).__name__) from error
        if ended is None:
            raise LostError("dismissed")
        if isinstance(ended, ContextEchoError):
            raise ended
        assert isinstance(ended, Outcome)
        return ended

    async def stop(self, tasks: list[Any]) -> None:
        """End the work on groups; what had come back is written down."""
        for force in (False, True):
            for task in tasks:
                self._ray.cancel(task, force=force)
            _, tasks = await asyncio.to_thread(
                self._ray.wait, tasks, num_returns=len(tasks), timeout=CANCEL_SECONDS
            )
            if not tasks:
                return

    # The hub

    async def lost(self, worker: str) -> None:
        """As `Hub.lost`."""
        await self._get(self._hub.lost.remote(worker))

    async def news(self) -> News:
        """As `Hub.news`."""
        return await self._get(self._hub.news.remote())  # type: ignore[no-any-return]

    async def spent(self) -> tuple[float, int]:
        """As `Hub.spent`."""
        return await self._get(self._hub.spent.remote())  # type: ignore[no-any-return]

    async def _get(self, reference: Any) -> Any:
        return await asyncio.wrap_future(reference.future())

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def _pinned(self, node: dict[str, Any]) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)


# On a node


class _HubAtADistance:
    """The hub, for a worker."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def join(self, joining: Joining) -> float | None:
        return await self._actor.join.remote(joining)  # type: ignore[no-any-return]

    async def exchange(self, ask: Ask) -> Lease:
        return await self._actor.exchange.remote(ask)  # type: ignore[no-any-return]

    async def leave(self, ask: Ask, unused: list[Any]) -> None:
        await self._actor.leave.remote(ask, unused)


def _ask_on_node(
    terms: Terms, group: Group, hub: Any, worker: str, *, is_up: bool
) -> Outcome | ContextEchoError | None:
    """The task: errors that a user can understand are its result, None that it was dismissed."""
    work = ask_group(terms, group, _HubAtADistance(hub), worker, is_up=is_up)
    try:
        return asyncio.run(work)
    except DismissedError:
        return None
    except ContextEchoError as error:
        return error


def _check_anywhere() -> Any:
    """A function that Ray sends as it stands, since the node may lack our modules."""

    def check(version: str, parcel: bytes) -> str | None:
        try:
            import contextecho
        except ImportError as error:
            return f"lacks contextecho: {error}"
        if contextecho.__version__ != version:
            return f"has contextecho {contextecho.__version__}, and this is {version}"
        from pickle import loads

        from contextecho.engine.spread.worker import problem_here

        problem = problem_here(*loads(parcel))
        return problem and f"cannot take part: {problem}"

    return check
