"""The Python face: plan, collect, report. The command line calls the same functions.

    session = read_session("session.jsonl")
    cells = plan(session, target="openai/gpt-4.1", positions="compactions")
    run = collect(cells, judge="anthropic/claude-sonnet-4-6", budget="5usd")
    report(run, "report.html")

Without a model: `report_scan(scan("session.jsonl"), "scan.html")`.

The one thing to know: `plan` sends nothing, `collect` is the only call that does,
and calling it again with the same plan continues the same run.
"""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from contextecho import __version__, scoring  # by the door: numpy is loaded when replies are scored
from contextecho.contexts import (
    EstimateCounter,
    Protocol,
    Rendering,
    TokenCounter,
    Unit,
    load_protocol,
)
from contextecho.counting import counted
from contextecho.defaults import STORE, TIMEOUT, store_place
from contextecho.engine import (
    DEFAULT_LIMITS,
    Budget,
    Collection,
    Limits,
    Place,
    Progress,
    Purse,
    check_place,
    collect_in_batches,
    collect_on,
    run_in_loop,
)
from contextecho.engine import collect as collect_plan
from contextecho.errors import ProviderError, UsageError
from contextecho.models import (
    BatchService,
    Model,
    answers_here,
    asking_notes,
    batch_providers,
    check_target,
    context_limit,
    find_provider,
    open_batches,
    open_local_counter,
    open_model,
    same_model,
    serving_of,
)
from contextecho.reports import write_report, write_scan
from contextecho.sessions import Session
from contextecho.store import RunInfo, Store, open_store
from contextecho.studies import Plan, Study, load_study, make_plan, studies_of


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is reached when not at its provider's own address with its own key."""

    base_url: str | None = None
    key_env: str | None = None
    headers: Mapping[str, str] = {}
    timeout: float = TIMEOUT  # seconds, of one call
    replay: Path | str | None = None  # a store whose replies stand for the model's: nobody is asked


DIRECT = Reach()
QUESTION_TOKENS = 300  # set aside for one question; the longest bundled one has under 100


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a store, and what this call did for it."""

    store: Path | str
    info: RunInfo
    collection: Collection
    judging: scoring.Judging | None = None

    @property
    def judge(self) -> str | None:
        """The judge of this call, if any of its verdicts is in the store."""
        judging = self.judging
        return judging.judge if judging and judging.judged + judging.invalid else None


def plan(
    session: Session,
    *,
    target: str | Sequence[str],
    study: str = "trajectory",
    level: str | None = None,
    **choices: Any,
) -> Plan:
    """Say which cells `study` collects on `session` for the targets. Sends nothing.

    `study` is a catalog id or the path of a TOML file, `level` one of its levels, if it has
    any (`plans` makes all); `choices` replace what it says: positions, arms, batteries,
    paraphrases, replicates, protocol, rendering, budget_tokens, anchor, placement, system,
    padding, foreign, max_output_tokens (`studies.make_plan`). Raises `UsageError`,
    `SessionError` or `DataError`.
    """
    chosen = load_study(study)
    if level is not None:
        (chosen,) = studies_of(chosen, [level])
    return _plan(chosen, session, _targets(target), choices)


def plans(
    sessions: Sequence[Session],
    *,
    target: str | Sequence[str],
    study: str = "trajectory",
    levels: Sequence[str] | None = None,
    **choices: Any,
) -> tuple[Plan, ...]:
    """One plan for each session at each level of `study`, or at those named; else as `plan`.

    Raises `UsageError` also for fewer sessions than the study needs.
    """
    whole, targets = load_study(study), _targets(target)
    given = [_FIELDS.get(name, name) for name, value in choices.items() if value is not None]
    apart = {session.sha256: session for session in sessions}
    if len(apart) < whole.sessions:
        raise UsageError(
            f"study {whole.id} compares sessions: it needs {whole.sessions} or more, and "
            f"{counted(len(apart), 'session')} can be told apart",
            todo="name the files of several sessions",
        )
    return tuple(
        _plan(at, session, targets, choices)
        for at in studies_of(whole, levels, chosen=given)
        for session in apart.values()
    )


_FIELDS = {"placement": "anchor_placement"}  # choices that a study calls otherwise


def _targets(target: str | Sequence[str]) -> list[str]:
    targets = [target] if isinstance(target, str) else list(target)
    for name in targets:
        check_target(name)
    return targets


def _plan(study: Study, session: Session, targets: list[str], choices: dict[str, Any]) -> Plan:
    known = (make_plan.__kwdefaults__ or {}).keys()
    if unknown := sorted(choices.keys() - known):
        raise UsageError(
            f"a plan has no choice {', '.join(unknown)}",
            todo=f"known are {', '.join(sorted(known))}",
        )
    fitting = shown_to(targets, choices.get("protocol") or study.protocol)
    own = {"rendering": study.rendering, "budget_tokens": study.budget_tokens}
    choices = choices | {
        name: value
        for name, value in fitting.items()
        if choices.get(name) is None and own[name] is None
    }
    counter, estimated = _planning_counter(targets)
    made = make_plan(
        study,
        session,
        targets,
        counter=counter,
        serving={target: how for target in targets if (how := serving_of(target))},
        **choices,
    )
    asked = [note for name in made.targets for note in asking_notes(name)]
    notes = [*made.notes, *estimated, *asked, *_too_long(made)]
    if fitting["budget_tokens"] and fitting["budget_tokens"] == made.study.budget_tokens:
        notes.append(
            f"a prefix holds up to {fitting['budget_tokens']:,} tokens, fewer than the protocol's "
            f"{made.protocol.budget:,}, so that a target's context has room for the reply"
        )
    return msgspec.structs.replace(made, notes=tuple(notes))


def shown_to(targets: Sequence[str], protocol: Protocol | str) -> dict[str, Any]:
    """The `rendering` and `budget_tokens` that fit all targets, None where the protocol's do.

    Tool traffic is text where a target's chat template has no tools; a prefix leaves
    room for question and reply where a target's context is short.
    """
    rules = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
    rendering, budget = None, None
    if rules.rendering is Rendering.NATIVE and not all(find_provider(t).tools for t in targets):
        rendering = Rendering.NATIVE_TEXT
    limits = [limit for target in targets if (limit := context_limit(target))]
    if limits and rules.budget_unit is Unit.TOKENS:
        room = min(limits) - rules.decoding.max_output_tokens - QUESTION_TOKENS
        budget = room if room < rules.budget else None
    return {"rendering": rendering, "budget_tokens": budget}


def counter_for(targets: Sequence[str]) -> TokenCounter:
    """The tokenizer that fits: a local model's own where there is one, else the estimate."""
    for target in targets:
        if target.partition("/")[0] == "local":
            return open_local_counter(target)
    return EstimateCounter()


def _planning_counter(targets: Sequence[str]) -> tuple[TokenCounter, list[str]]:
    """`counter_for`; without the embedded model the estimate, and a note of what that means."""
    try:
        return counter_for(targets), []
    except ProviderError as missing:
        return EstimateCounter(), [
            f"tokens are estimated; by the model's own count forks may end elsewhere: {missing}"
        ]


def collect(
    plan: Plan,
    *,
    store: str | Path = STORE,
    on: str | None = None,
    prereg: str | Path | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **terms: Any,
) -> Run:
    """Ask everything in `plan` that the store does not hold yet, then judge it.

    What was collected stays, whatever ends this. `on` is a Ray cluster, "ray" or
    "ray://HOST:PORT", whose nodes ask the targets; the store is a PostgreSQL database then.
    `prereg` is the file of a pre-registration (`contextecho prereg lock`): what differs from it
    is refused, and the run keeps its hash.
    `terms` (judge, budget, reach, ...) and what is raised for them: see `prepare`; and
    `BudgetError` when the budget does not allow the first call.
    """
    if prereg is not None:
        plan = keep_to(prereg, [plan], terms.get("judge"))[0]
    how = {"reach": terms.get("reach", DIRECT), "batch": terms.get("batch", False)}
    place = None if on is None else place_of(on, plan, store, **how)
    if place is not None and (own := terms.get("models", {}).keys() & set(plan.targets)):
        raise UsageError(f"an open model cannot go to other machines: {', '.join(own)}", where="on")
    with prepare(plan, **terms) as prepared:
        return prepared.collect(store, place=place, progress=progress, limits=limits)


def keep_to(prereg: str | Path, plans: Sequence[Plan], judge: str | None) -> tuple[Plan, ...]:
    """The plans, registered under the lock in a file. Raises `UsageError` for what differs."""
    return scoring.keep_to(Path(prereg), plans, [judge] if judge else [], versions())


def place_of(on: str, plan: Plan, store: str | Path, reach: Reach, *, batch: bool = False) -> Place:
    """The cluster `on` which a plan is collected. Raises `UsageError` for what cannot be spread."""
    check_place(on)
    if batch:
        problem = "batches are handed in from one machine"
        raise UsageError(problem, where="--on", todo="leave out --batch or --on")
    here = [target for target in plan.targets if answers_here(target)]
    if "://" not in str(store):
        problem = "several machines cannot write a file: the store must be a PostgreSQL database"
        raise UsageError(problem, where="--on", todo="--store postgresql://USER@HOST/DATABASE")
    if reach.replay is not None or here:
        what = ", ".join(here) or "a recording"
        raise UsageError(
            f"{what} answers on this machine: there is nothing to spread", where="--on"
        )
    if reach.headers or "@" in urlsplit(reach.base_url or "").netloc:
        problem = "what goes to the nodes can be read by all who see the cluster"
        todo = "leave out --header, and any password in --base-url"
        raise UsageError(problem, where="--on", todo=todo)
    return Place(
        on=on,
        store=str(store),
        base_url=reach.base_url,
        key_env=reach.key_env,
        timeout=reach.timeout,
    )


@contextmanager
def prepare(
    plan: Plan,
    *,
    judge: str | None = None,
    budget: str | Purse | None = None,
    reach: Reach = DIRECT,
    judge_reach: Reach | None = None,
    allow_self_judging: bool = False,
    models: Mapping[str, Model] | None = None,
    batch: bool = False,
    wait: bool = True,
) -> Iterator[Prepared]:
    """Open all that `plan` needs, and refuse what needs no call to be refused. Sends nothing.

    `budget` ("5usd", "2Mtok", or a purse that several plans share) covers targets and judge.
    `reach` is for the targets, `judge_reach` for the judge (default: `reach` when it is of the
    same provider); `models` are open models of your own, by the name of the target or judge that
    each stands for.

    With `batch`, targets are asked through their providers' batch APIs, and the judge live once
    all has come back; without `wait`, what is not back yet is left with the provider, and the
    same call goes on another time.

    Raises `UsageError` (also for a judge that is one of the targets) and `ProviderError`
    without a key.
    """
    purse = Purse(Budget.parse(budget)) if isinstance(budget, str) else budget
    refuse_self_judging(plan, judge, allowed=allow_self_judging)
    for problem in _too_long(plan):
        raise UsageError(problem, todo="lower --context (budget_tokens) or --max-output")
    own = models or {}
    with ExitStack() as recordings:
        opened = {t: own.get(t) or _open(t, plan, reach, recordings) for t in plan.targets}
        reader = None if judge is None else own.get(judge)
        if judge is not None and reader is None:
            its_reach = judge_reach or _reach_of(judge, plan, reach)
            reader = _open(judge, plan, its_reach, recordings)
        yield Prepared(
            plan,
            opened,
            reader,
            purse,
            allow_self_judging=allow_self_judging,
            services=_services(opened) if batch else None,
            wait=wait,
        )


class Prepared:
    """A plan, and the open models that it will be asked of."""

    def __init__(
        self,
        plan: Plan,
        models: Mapping[str, Model],
        judge: Model | None,
        purse: Purse | None,
        *,
        allow_self_judging: bool,
        services: Mapping[str, BatchService] | None,
        wait: bool,
    ) -> None:
        """`models` has one for each target of the plan; `purse` pays for all of it.

        With `services`, one for each target as well, they are asked in batches.
        """
        self._plan = plan
        self._models = models
        self._judge = judge
        self._purse = purse
        self._allow_self_judging = allow_self_judging
        self._services = services
        self._wait = wait

    def collect(
        self,
        store: str | Path,
        *,
        place: Place | None = None,
        progress: Progress | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Run:
        """Ask, then judge; closes the models. Raises `KeyboardInterrupt` on SIGINT.

        With a `place` (`place_of`) its nodes ask the targets, and the judge is asked from here.
        """
        how = {"purse": self._purse, "progress": progress, "limits": limits}
        with open_store(store) as opened:
            info = opened.begin_run(self._plan, self._plan.session_path, versions())
            scoring.refuse_unregistered(opened, info, self._plan.registered)
            work = self._work(opened, info, place, **how)
            models = [*self._models.values(), *([self._judge] if self._judge else [])]
            collection, judging = run_in_loop(work, models)
        return Run(store=store_place(store), info=info, collection=collection, judging=judging)

    def _way(self, place: Place | None) -> Callable[..., Awaitable[Collection]]:
        """How targets are asked: from the nodes of a cluster, in batches, or live from here."""
        if place is not None:
            return partial(collect_on, place)
        if self._services is not None:
            return partial(collect_in_batches, services=self._services, wait=self._wait)
        return collect_plan

    async def _work(
        self, store: Store, info: RunInfo, place: Place | None, **how: Any
    ) -> tuple[Collection, scoring.Judging | None]:
        collect = self._way(place)
        collection = await collect(self._plan, store, info, self._models, **how)
        if self._judge is None or collection.reason is not None:
            return collection, None
        judging = await scoring.judge_run(
            store, info, self._judge, allow_self=self._allow_self_judging, **how
        )
        return collection, judging


def report(run: Run, path: str | Path, *, judge: str | None = None) -> scoring.RunAnalysis:
    """Analyse a run and write its report; the file's ending says html, md, json or csv.

    `judge` names whose verdicts to use: by default those of the call that made `run`, else
    those of the judge with the most.
    """
    with open_store(run.store, create=False) as store:
        found = store.find_run(run.info.id)
        analysis = scoring.analyse_run(store, found, judge=judge or run.judge)
    write_report(analysis, Path(path))
    return analysis


def scan(*paths: str | Path, processes: int | None = 1) -> scoring.Screened:
    """Screen sessions, or all below folders, as `contextecho scan` does. Sends nothing.

    What cannot be read is in `unread` of what comes back, and raises nothing. More than
    one of `processes` (None: one a core) is for programs whose main module can be imported
    again, as with `multiprocessing`.
    """
    return scoring.screen_all([Path(path) for path in paths], processes=processes)


def report_scan(screened: scoring.Screened, path: str | Path) -> Path:
    """Write the report of a scan; the file's ending says html or md.

    Raises `UsageError` if no session was screened, for another ending, and for a place that
    cannot be written.
    """
    return write_scan(screened, path)


def versions() -> dict[str, str]:
    """What a run is collected with, for its provenance."""
    libraries = ("aiohttp", "msgspec", "numpy", "scipy")
    return {
        "contextecho": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in libraries},
    }


def _too_long(plan: Plan) -> Iterator[str]:
    """Targets whose context does not hold every prefix and the longest reply after it."""
    for target in plan.targets:
        limit = context_limit(target)
        room = None if limit is None else limit - plan.decoding.max_output_tokens
        longer = [n for n in plan.prefix_tokens.values() if room is not None and n > room]
        if longer:
            yield (
                f"{target} reads and writes at most {limit:,} tokens in a call, and {len(longer)} "
                f"of {len(plan.prefix_tokens)} prefixes leave no room for a reply of "
                f"{plan.decoding.max_output_tokens:,}: the longest has {max(longer):,}"
            )


def _open(target: str, plan: Plan, reach: Reach, recordings: ExitStack) -> Model:
    if reach.replay is not None:
        recording = recordings.enter_context(open_store(reach.replay, create=False))
        return open_model(target, lookup=recording.reply)
    if answers_here(target):
        return open_model(target, simulated=plan, timeout=reach.timeout)
    return open_model(
        target,
        base_url=reach.base_url,
        key_env=reach.key_env,
        headers=reach.headers,
        timeout=reach.timeout,
    )


def refuse_without_batches(targets: Sequence[str]) -> None:
    """Targets whose provider has no batch API cannot be asked in batches. Raises `UsageError`."""
    if without := [target for target in targets if find_provider(target).batch is None]:
        raise _without_batches(without)


def _without_batches(targets: Sequence[str]) -> UsageError:
    return UsageError(
        f"{', '.join(targets)} cannot be asked in batches",
        where="--batch",
        todo=f"these providers can: {', '.join(batch_providers())}; ask the others without it",
    )


def _services(models: Mapping[str, Model]) -> dict[str, BatchService]:
    """The batch API of each target. Raises `UsageError`, also for a replay and own models."""
    found = {
        target: service for target, model in models.items() if (service := open_batches(model))
    }
    if without := [target for target in models if target not in found]:
        raise _without_batches(without)
    return found


def _reach_of(judge: str | None, plan: Plan, reach: Reach) -> Reach:
    """The targets' own way for a replay or a judge of the same provider; else straight there."""
    providers = {target.partition("/")[0] for target in plan.targets}
    same = judge is not None and judge.partition("/")[0] in providers
    return reach if same or reach.replay else DIRECT


def refuse_self_judging(plan: Plan, judge: str | None, *, allowed: bool) -> None:
    """The judge may not be a target under another name. Raises `UsageError`; asks nothing."""
    own = [target for target in plan.targets if judge and same_model(target, judge)]
    if own and not allowed:
        raise UsageError(
            f"{', '.join(own)} would judge itself",
            where="--judge",
            todo="name another judge, or --allow-self-judging, which the report then marks",
        )
