"""What a plan would ask, cost, take, and be able to detect; nothing is sent.

The one thing to know: input is known (prefixes are fixed texts, counted by the
plan's counter), output is not. So every sum has a low, an expected and a high
value, and high is the bound that the request itself sets. An unknown price
gives no dollars at all, never zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

from contextecho import stats  # by the door: its scipy is loaded only for the detectable gap
from contextecho.contexts import EstimateCounter
from contextecho.engine.pace import DEFAULT_LIMITS
from contextecho.models import Price, Usage, answers_here, find_price, find_provider
from contextecho.stimuli import StimulusKind
from contextecho.store import Store
from contextecho.studies import Cell, Plan

# Providers read a prefix from their cache from this length on (OpenAI and Anthropic).
CACHEABLE_TOKENS = 1_024
# A reply is a sentence, or a paragraph, or runs into its bound.
REPLY_TOKENS = (40, 200)
LOCAL_REPLY_TOKENS = (20, 40)  # the embedded model is brief
# Rubric, question and reply; reason and score. Reasoning judges may run into the bound.
JUDGE_INPUT_TOKENS = 600
JUDGE_OUTPUT_TOKENS = (60, 120, 2_048)
SECONDS_A_CALL = 4.0  # hosted models take 2 to 10 s
# Tokens a second of the embedded model. Measured on two quiet cores: it reads 200 to 300 and
# writes about 118; on a busy machine half of that.
LOCAL_READ_RATE = 150.0
LOCAL_WRITE_RATE = 60.0
# Of one reply, from the half-widths of the first paper's Table 4 (.40 at n = 25).
REPLY_SD = 0.72


class Range(msgspec.Struct, frozen=True):
    """A value that is not known yet."""

    low: float
    expected: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)


class TargetEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls to one target would use; those in the store already are left out."""

    target: str
    judges: bool
    requests: int  # to be asked
    prefixes: int
    input_tokens: int
    cached_tokens: int  # of these, read from the provider's prefix cache
    output_tokens: Range
    dollars: Range | None  # None: the price is not known
    dollars_uncached: Range | None  # the same without prefix caching
    seconds: float  # in a batch, after which it expires
    batched: bool = False  # asked through the provider's batch API


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What collecting a plan would take."""

    cells: int
    requests: int  # distinct: cells that ask the same thing are asked once
    stored: int  # of these, in the store already
    targets: tuple[TargetEstimate, ...]
    token_counter: str
    detectable_gap: float | None  # in rubric points, at 80% power; None: nothing is detectable
    pairs_per_position: int  # 0: no register question is asked
    positions: int  # at which the arms of the first contrast differ; the others show no gap

    @property
    def dollars(self) -> Range | None:
        """All targets together; None as soon as one price is not known."""
        return _sum(target.dollars for target in self.targets)

    @property
    def dollars_uncached(self) -> Range | None:
        """The same without prefix caching."""
        return _sum(target.dollars_uncached for target in self.targets)

    @property
    def seconds(self) -> float:
        """Targets are asked side by side, judges after them."""
        asking = max((t.seconds for t in self.targets if not t.judges), default=0.0)
        return asking + sum(t.seconds for t in self.targets if t.judges)


def estimate_plan(
    plan: Plan, *, judge: str | None = None, store: Store | None = None, batch: bool = False
) -> Estimate:
    """Estimate what collecting `plan` would take, and judging it by `judge`.

    With `store`, replies that are there already are not counted as work; with `batch`, targets
    are asked through their providers' batch APIs.
    """
    groups = list(_groups(plan, store))
    targets = [
        _estimate_target(plan, target, [g for g in groups if g.target == target])
        for target in plan.targets
    ]
    if batch:
        targets = [_in_batches(target) for target in targets]
    if judge is not None:
        targets.append(_estimate_judge(judge, sum(group.judged for group in groups)))
    positions, pairs, gap = _detectable_gap(plan)
    return Estimate(
        cells=len(plan.cells),
        requests=sum(group.distinct for group in groups),
        stored=sum(group.distinct - group.requests for group in groups),
        targets=tuple(targets),
        token_counter=plan.token_counter,
        detectable_gap=gap,
        pairs_per_position=pairs,
        positions=positions,
    )


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    """The distinct requests on one prefix."""

    target: str
    prefix_tokens: int
    distinct: int
    requests: int  # not in the store
    ask_tokens: int  # of these, without their prefix
    judged: int  # distinct requests whose replies a judge reads


def _groups(plan: Plan, store: Store | None) -> Iterator[_Group]:
    counter = EstimateCounter()
    for prefix, cells in plan.by_prefix():
        distinct = {plan.request(cell).key: cell for cell in cells}
        open_cells = [
            cell for key, cell in distinct.items() if store is None or store.reply(key) is None
        ]
        texts = [plan.question(cell)[0].text for cell in open_cells]
        tokens = {text: counter.count(text) for text in set(texts)}
        yield _Group(
            target=cells[0].target,
            prefix_tokens=plan.prefix_tokens[prefix],
            distinct=len(distinct),
            requests=len(open_cells),
            ask_tokens=sum(tokens[text] for text in texts),
            judged=sum(_is_judged(plan, cell) for cell in distinct.values()),
        )


def _is_judged(plan: Plan, cell: Cell) -> bool:
    return plan.stimulus(cell).kind is not StimulusKind.STRESSOR


def _estimate_target(plan: Plan, target: str, groups: list[_Group]) -> TargetEstimate:
    work = [group for group in groups if group.requests]
    requests = sum(group.requests for group in work)
    shared = [g for g in work if _is_local(target) or g.prefix_tokens >= CACHEABLE_TOKENS]
    bound = plan.decoding.max_output_tokens
    usual = LOCAL_REPLY_TOKENS if _is_local(target) else REPLY_TOKENS
    low, expected = (min(tokens, bound) for tokens in usual)
    return _target_estimate(
        target,
        judges=False,
        requests=requests,
        prefixes=len(work),
        input_tokens=sum(g.prefix_tokens * g.requests + g.ask_tokens for g in work),
        cached_tokens=sum(g.prefix_tokens * (g.requests - 1) for g in shared),
        written_tokens=sum(g.prefix_tokens for g in shared),
        output=Range(low * requests, expected * requests, bound * requests),
    )


def _estimate_judge(judge: str, replies: int) -> TargetEstimate:
    low, expected, high = JUDGE_OUTPUT_TOKENS
    return _target_estimate(
        judge,
        judges=True,
        requests=replies,
        prefixes=1,
        input_tokens=JUDGE_INPUT_TOKENS * replies,
        cached_tokens=0,  # the rubric is shorter than what providers cache
        written_tokens=0,
        output=Range(low * replies, expected * replies, high * replies),
    )


def _target_estimate(
    target: str,
    *,
    judges: bool,
    requests: int,
    prefixes: int,
    input_tokens: int,
    cached_tokens: int,
    written_tokens: int,
    output: Range,
) -> TargetEstimate:
    cached = Usage(input=input_tokens, cached=cached_tokens, cache_write=written_tokens)
    uncached = Usage(input=input_tokens)
    return TargetEstimate(
        target=target,
        judges=judges,
        requests=requests,
        prefixes=prefixes,
        input_tokens=input_tokens,
        cached_tokens=cached_tokens,
        output_tokens=output,
        dollars=_dollars(target, cached, output),
        dollars_uncached=_dollars(target, uncached, output),
        seconds=_seconds(target, requests, input_tokens - cached_tokens, output.expected),
    )


def _in_batches(target: TargetEstimate) -> TargetEstimate:
    """The same calls in batches, where nobody knows what a cache will serve.

    From all that a cache can serve, over none of it, to every call writing its prefix anew.
    """
    terms = find_provider(target.target).batch
    if terms is None:
        return target
    written = Usage(input=target.input_tokens, cache_write=target.input_tokens)
    worst = _dollars(target.target, written, target.output_tokens)
    dollars = None
    if target.dollars is not None and target.dollars_uncached is not None and worst is not None:
        span = target.dollars.low, target.dollars_uncached.expected, worst.high
        dollars = Range(*(terms.price * value for value in span))
    return msgspec.structs.replace(
        target,
        cached_tokens=0,
        dollars=dollars,
        dollars_uncached=dollars,
        seconds=terms.hours * 3600.0 if target.requests else 0.0,
        batched=True,
    )


def _dollars(target: str, usage: Usage, output: Range) -> Range | None:
    if answers_here(target):
        return Range(0.0, 0.0, 0.0)
    price = find_price(target)
    if price is None:
        return None
    return Range(*(_price(price, usage, tokens) for tokens in msgspec.structs.astuple(output)))


def _price(price: Price, usage: Usage, output: float) -> float:
    # `up_to` bounds one call; this is the sum of many.
    every_length = msgspec.structs.replace(price, up_to=None)
    return every_length.cost(msgspec.structs.replace(usage, output=round(output))) or 0.0


def _seconds(target: str, requests: int, read_tokens: int, written_tokens: float) -> float:
    if _is_local(target):
        return read_tokens / LOCAL_READ_RATE + written_tokens / LOCAL_WRITE_RATE
    if answers_here(target):
        return 0.0  # simulated or recorded: no time worth a word
    return SECONDS_A_CALL * math.ceil(requests / DEFAULT_LIMITS.concurrency)


def _is_local(target: str) -> bool:
    return target.partition("/")[0] == "local"


def _detectable_gap(plan: Plan) -> tuple[int, int, float | None]:
    """Positions, probe pairs a position in the first contrast, and the least gap they can show.

    With a single position the probes themselves are the clusters (stats, `drift_gap`).
    """
    probes = {
        (cell.battery, cell.stimulus, cell.paraphrase, cell.replicate)
        for cell in plan.cells
        if plan.stimulus(cell).kind is StimulusKind.PROBE
    }
    pairs, clusters = len(probes), _positions_that_tell(plan)
    if not pairs or not clusters:
        return clusters, pairs, None
    sd_pair = REPLY_SD * math.sqrt(2)
    if clusters == 1:
        stimuli = len({(battery, stimulus) for battery, stimulus, *_ in probes})
        gap = stats.minimum_detectable_gap(sd_pair, stimuli, pairs // stimuli)
    else:
        gap = stats.minimum_detectable_gap(sd_pair, clusters, pairs)
    return clusters, pairs, gap


def _positions_that_tell(plan: Plan) -> int:
    """Positions at which the arms of the first contrast are shown different prefixes.

    Those that show them what an earlier one showed are the same again, and count once.
    """
    if not plan.study.contrasts:
        return 0
    contrast = plan.study.contrasts[0]
    prefixes = {(cell.position, cell.arm): cell.prefix for cell in plan.cells}
    shown = {
        tuple(prefixes[position.label, arm] for arm in (contrast.minus_from, contrast.minus))
        for position in plan.positions
    }
    return sum(len(set(pair)) > 1 for pair in shown)


def _sum(ranges: Iterable[Range | None]) -> Range | None:
    total = Range(0.0, 0.0, 0.0)
    for one in ranges:
        if one is None:
            return None
        total += one
    return total
