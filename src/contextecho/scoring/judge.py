"""Judging a run: a second model reads each reply and places it on the register scale.

The one thing to know: judging never generates. Replies stay as they are; a judge, a
rubric or a decoding that changes makes new verdicts beside the old ones. Only answers
with text are sent, each with the bare wording it answers, so that the judge sees
neither arm, position, target nor framing (paper, section 2.2).

One invocation asks in two passes: every reply without a verdict; then once more those
whose verdict could not be read, together with the declared share that is judged twice
to see how far the judge agrees with itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil

import msgspec

from contextecho.contexts import Request
from contextecho.engine import (
    DEFAULT_LIMITS,
    Collection,
    Limits,
    Progress,
    Purse,
    Reason,
    ask_requests,
)
from contextecho.errors import UsageError
from contextecho.models import (
    Answer,
    Failed,
    FailureKind,
    Model,
    Refusal,
    Reply,
    Truncated,
    same_model,
)
from contextecho.scoring.judgement import Judgement, read_judgement
from contextecho.scoring.planned import Planned
from contextecho.scoring.rubric import Rubric, load_rubric
from contextecho.scoring.scores import JUDGED_KINDS, Outcome, outcome_of
from contextecho.scoring.verdicts import FIRST, REPEAT, judge_version
from contextecho.store import RunInfo, Store, Verdict

# Longer than any output budget allows; a judge is not shown a part and called on the whole.
MAXIMUM_CHARACTERS = 60_000
REPEAT_SHARE = 0.05
REPEATS = (10, 50)  # at least and at most
_FIRST_SAMPLE, _RETRY_SAMPLE, _REPEAT_SAMPLE = 0, 1, 2


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """What one invocation did. Counts are of distinct replies."""

    judge: str
    rubric: str
    version: str  # of the verdicts
    replies: int  # that can be judged: answers to probes and negative controls
    judged: int  # with a valid verdict now, earlier invocations included
    invalid: int  # whose verdict could not be read, twice
    unjudged: int  # without a verdict: calls that failed or were not made
    repeats: int  # judged twice
    reason: Reason | None  # why some are unjudged; None: calls failed, or none are
    stopped: str | None  # why the judge was given up
    dollars: float | None  # of the whole run, judging included


class _Item(msgspec.Struct, frozen=True):
    """A text to judge. The same answer to the same wording is one item, and asked once."""

    probe: str
    response: str
    targets: dict[str, str]  # reply key -> target, for every reply with this text

    @property
    def key(self) -> str:
        """The reply key that stands for the item."""
        return min(self.targets)


async def judge_run(
    store: Store,
    run: RunInfo,
    judge: Model,
    *,
    rubric: Rubric | None = None,
    allow_self: bool = False,
    repeat_share: float = REPEAT_SHARE,
    purse: Purse | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Judging:
    """Judge every reply of `run` that has no verdict of this judge under this rubric.

    The rubric is the protocol's unless another is given. Raises `UsageError` when the
    judge is one of the targets and `allow_self` is not set (then such verdicts are
    marked), and what `ask_requests` raises.
    """
    rubric = rubric or load_rubric(run.read_plan(Planned).protocol.rubric)
    own = [target for target in run.targets if same_model(target, judge.id)]
    if own and not allow_self:
        raise UsageError(
            f"{judge.id} would judge its own replies ({', '.join(own)})",
            todo="name another judge, or allow self-judging, which the report then marks",
        )
    bench = _Bench(store, run, judge.id, rubric, frozenset(own))
    asked: list[Collection] = []

    async def ask(doing: str, wanted: Sequence[tuple[_Item, int]]) -> None:
        asked.append(
            await ask_requests(
                {judge.id: [bench.requests(wanted)]},
                store,
                run.id,
                {judge.id: judge},
                total=len(wanted),
                doing=doing,
                on_reply=bench.read,
                purse=purse,
                progress=progress,
                limits=limits,
            )
        )

    await ask("judging", [(item, _FIRST_SAMPLE) for item in bench.unread()])
    again = [(item, _RETRY_SAMPLE) for item in bench.unreadable()]
    again += [(item, _REPEAT_SAMPLE) for item in bench.unrepeated(repeat_share)]
    if again and asked[0].reason is None:
        await ask("judging again", again)
    return bench.result(asked[-1])


class _Bench:
    """What one judge has before it: replies, verdicts so far, requests on their way."""

    def __init__(
        self, store: Store, run: RunInfo, judge: str, rubric: Rubric, own: frozenset[str]
    ) -> None:
        """`own` are the targets that the judge itself is."""
        self._store = store
        self._judge = judge
        self._rubric = rubric
        self._own = own
        self._version = judge_version(rubric, judge)
        self._items = _items(store, run)
        self._first = self._stored(run, FIRST)
        self._repeats = self._stored(run, REPEAT)
        self._unreadable: list[_Item] = []
        self._sent: dict[str, tuple[_Item, int]] = {}  # by request key

    def _stored(self, run: RunInfo, prefix: str) -> dict[str, Verdict]:
        return {
            verdict.reply_key: verdict
            for verdict in self._store.verdicts(run.id)
            if verdict.scorer == prefix + self._judge and verdict.scorer_version == self._version
        }

    def unread(self) -> list[_Item]:
        """Replies without a verdict; those too long to be shown whole get theirs here."""
        wanted = []
        for item in self._items:
            if self._first.keys() >= item.targets.keys():
                continue
            if len(item.response) > MAXIMUM_CHARACTERS:
                why = f"too long for the judge: {len(item.response)} characters"
                self._keep(item, FIRST, Judgement(score=None, reason="", invalid=why), None)
            else:
                wanted.append(item)
        return wanted

    def unreadable(self) -> list[_Item]:
        """Replies whose first verdict could not be read."""
        return self._unreadable

    def unrepeated(self, share: float) -> Iterator[_Item]:
        """The declared share of replies, less those that were judged twice already.

        Reply keys are hashes, so the first ones in order are a random sample that
        every invocation draws again.
        """
        least, most = REPEATS
        wanted = min(max(ceil(share * len(self._items)), least), most) if share else 0
        for item in sorted(self._items, key=lambda item: item.key)[:wanted]:
            if item.key not in self._repeats and item.key in self._first:
                yield item

    def requests(self, wanted: Iterable[tuple[_Item, int]]) -> Iterator[Request]:
        """The judge's requests, made one by one as they are asked."""
        for item, sample in wanted:
            request = self._rubric.request(self._judge, item.probe, item.response, sample)
            self._sent[request.key] = (item, sample)
            yield request

    def read(self, request: Request, reply: Reply) -> None:
        """Read one answer of the judge and keep the verdict, unless it is to be asked again."""
        item, sample = self._sent.pop(request.key)
        judgement = read_reply(reply, self._rubric)
        if judgement is None:
            return
        if judgement.invalid and sample == _FIRST_SAMPLE:
            self._unreadable.append(item)
        else:
            scorer = REPEAT if sample == _REPEAT_SAMPLE else FIRST
            self._keep(item, scorer, judgement, request.key)

    def _keep(self, item: _Item, scorer: str, judgement: Judgement, answer: str | None) -> None:
        """Keep a verdict for every reply with the item's text (of a repeat, for one)."""
        kept = self._repeats if scorer == REPEAT else self._first
        for key, target in item.targets.items():
            if key in kept or (scorer == REPEAT and key != item.key):
                continue
            detail: dict[str, object] = {
                "reason": judgement.reason,
                "answer": answer,
                "rubric": self._rubric.sha256,
            }
            if target in self._own:
                detail["self_judged"] = True
            kept[key] = Verdict(
                reply_key=key,
                scorer=scorer + self._judge,
                scorer_version=self._version,
                value=None if judgement.score is None else float(judgement.score),
                invalid=judgement.invalid,
                detail=detail,
            )
            self._store.put_verdict(kept[key])

    def result(self, last: Collection) -> Judging:
        """The counts as they stand after the last pass."""
        replies = sum(len(item.targets) for item in self._items)
        judged = sum(v.value is not None for v in self._first.values())
        return Judging(
            judge=self._judge,
            rubric=self._rubric.id,
            version=self._version,
            replies=replies,
            judged=judged,
            invalid=len(self._first) - judged,
            unjudged=replies - len(self._first),
            repeats=len(self._repeats),
            reason=last.reason,
            stopped=last.stopped_targets.get(self._judge),
            dollars=last.dollars,
        )


def _items(store: Store, run: RunInfo) -> Sequence[_Item]:
    """The distinct texts that answer probes and negative controls, in plan order."""
    planned = run.read_plan(Planned)
    items: dict[tuple[str, str], _Item] = {}
    for stored in store.replies(run.id):
        if planned.stimulus(stored.cell).kind not in JUDGED_KINDS or stored.reply is None:
            continue
        if outcome_of(stored.reply) is Outcome.ANSWERED:
            asked = planned.wording(stored.cell), stored.reply.text
            item = items.setdefault(asked, _Item(*asked, {}))
            item.targets[stored.key] = stored.cell.target
    return tuple(items.values())


def read_reply(reply: Reply, rubric: Rubric) -> Judgement | None:
    """The judgement in a judge's reply; None where the call failed and may be made again."""
    match reply:
        case Answer():
            return read_judgement(reply.text, rubric.scale)
        case Refusal():
            why = "the judge refused"
        case Truncated():
            why = "the judge's answer was cut at its output budget"
        case Failed(kind=FailureKind.BAD_REQUEST):
            why = f"the judge rejected the request: {reply.message}"
        case Failed():
            return None
    return Judgement(score=None, reason="", invalid=why)
