"""A study says which cells to collect and which contrasts to report; a plan lists them.

A `Study` is a data file (`catalog/*.toml`, or the user's own); a `Plan` is a
study applied to a session and targets: every cell, and every context that
cells share. Cells are tiny; the contexts are held once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, overload

import msgspec

from contextecho.contexts import (
    Arm,
    Context,
    Decoding,
    History,
    Message,
    Placement,
    Position,
    Protocol,
    Rendering,
    Request,
    Snapshot,
)
from contextecho.stimuli import Battery, Stimulus


class ContrastSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A difference to report: mean of `minus_from` minus mean of `minus` on one measure."""

    id: str  # "gap", "restoration", ...
    minus_from: Arm
    minus: Arm
    question: str


class IdleTurns(msgspec.Struct, frozen=True, kw_only=True):
    """Exchanges after the anchor, before the question (`contexts.load_idle`)."""

    kind: str
    turns: int


class Level(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One setting of what a study varies: what it gives stands in place of the study's own."""

    id: str
    at: float | None = None  # where it stands on a figure's axis, in the unit of `Study.varies`
    group: str | None = None  # levels of one group are joined by a line
    positions: str | None = None
    batteries: tuple[str, ...] | None = None
    protocol: str | None = None
    rendering: Rendering | None = None
    budget_tokens: int | None = None
    anchor: str | None = None
    anchor_placement: Placement | None = None
    history: History | None = None
    framing: bool | None = None
    idle: IdleTurns | None = None

    @property
    def choices(self) -> dict[str, Any]:
        """What it gives, by field of `Study`."""
        given = msgspec.structs.asdict(self)
        return {
            name: value
            for name, value in given.items()
            if name not in ("id", "at", "group") and value is not None
        }


class Study(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A declaration of axes and of the contrasts it reports.

    A study with levels is collected as one plan for each of them (`studies_of`).
    """

    id: str
    version: str
    question: str
    positions: str  # a position policy: "compactions", "even:12", "onset", "100,1300", "last"
    arms: tuple[Arm, ...]
    batteries: tuple[str, ...]
    paraphrases: int
    replicates: int
    anchor: str | None  # recipe id, for anchored arms
    anchor_placement: Placement
    protocol: str
    contrasts: tuple[ContrastSpec, ...]
    negative_controls: str | None  # battery id, collected on the same arms; guards the headline
    estimand: str = ""  # what the first contrast estimates, in words
    sessions: int = 1  # how many it needs to say what it asks
    judges: int = 1  # how many must read the same replies; 0: no judge is needed
    rendering: Rendering | None = None  # the protocol's unless given, like the next
    budget_tokens: int | None = None
    history: History = History.SEGMENT
    framing: bool = True  # whether a battery's framing stands before each question
    idle: IdleTurns | None = None
    varies: str | None = None  # what the levels are settings of
    levels: tuple[Level, ...] = ()
    level: Level | None = None  # the one that this is the study at

    @property
    def family(self) -> str:
        """Over what Holm's correction of the headline reaches (`scoring.contrasts`, `.series`)."""
        over = ["targets", "batteries"]
        over += ["levels"] * bool(self.levels) + ["sessions"] * (self.sessions > 1)
        first = self.contrasts[0].id if self.contrasts else "no contrast"
        return f"{first} on the primary measure, of all {', '.join(over[:-1])} and {over[-1]}"


class Cell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One reply to collect (design, section 1)."""

    study: str
    target: str
    session: str
    position: str  # label
    arm: Arm
    battery: str
    stimulus: str
    paraphrase: int
    replicate: int
    prefix: str  # Context.sha256 after the arm was applied

    @property
    def id(self) -> str:
        """Readable and unique within a run."""
        return (
            f"{self.target}|{self.session}|{self.position}|{self.arm}|{self.battery}/{self.stimulus}"
            f"|p{self.paraphrase}|r{self.replicate}"
        )


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What the session says of itself: who spoke in it, for how long, and when."""

    format: str  # the reader's name: that of the client, mostly
    versions: tuple[str, ...]  # of the client, in order of first use
    models: tuple[str, ...]  # in order of first use
    prompts: int
    steps: int
    began: float | None  # first turn with a time: seconds since 1970, UTC
    ended: float | None  # last turn with one


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """The pre-registration that a run was begun under (`studies.prereg`)."""

    lock: str  # its SHA-256
    locked_at: str  # ISO-8601, UTC
    first: str  # SHA-256 of the lock that it amends in the end; its own if it amends none
    amendments: int


class Picked(Sequence[Cell]):
    """Some of the cells of a plan, looked up when they are needed."""

    def __init__(self, cells: Sequence[Cell], ordinals: Sequence[int]) -> None:
        """`ordinals` say which, in order."""
        self._cells = cells
        self._ordinals = ordinals

    def __len__(self) -> int:
        return len(self._ordinals)

    def __iter__(self) -> Iterator[Cell]:
        return map(self._cells.__getitem__, self._ordinals)

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> Picked: ...
    def __getitem__(self, index: int | slice) -> Cell | Picked:
        if isinstance(index, slice):
            return Picked(self._cells, self._ordinals[index])
        return self._cells[self._ordinals[index]]


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Every cell of a study on one session, ordered by prefix, and what they share."""

    study: Study
    protocol: Protocol
    session: str
    session_sha256: str
    session_path: str  # where it was read; not part of what is collected
    origin: Origin
    targets: tuple[str, ...]
    positions: tuple[Position, ...]
    snapshots: tuple[Snapshot, ...]  # of the session arm, one a position
    contexts: Mapping[str, Context]  # by Context.sha256
    prefix_tokens: Mapping[str, int]  # by Context.sha256
    token_counter: str
    control_ratio: Mapping[str, float]  # position label -> control tokens / session tokens
    batteries: Mapping[str, Battery]
    cells: Sequence[Cell]
    decoding: Decoding
    serving: Mapping[str, str]  # target -> how it is served, where its name alone does not say
    notes: tuple[str, ...]  # what a reader of the plan must know, one line each
    registered: Registered | None = None  # not part of what is collected

    @cached_property
    def _stimuli(self) -> Mapping[tuple[str, str], Stimulus]:
        return {
            (name, stimulus.id): stimulus
            for name, battery in self.batteries.items()
            for stimulus in battery.stimuli
        }

    @cached_property
    def _questions(self) -> dict[tuple[str, str, int], tuple[Message, ...]]:
        return {}  # those asked so far: cells share them

    @cached_property
    def _groups(self) -> Mapping[tuple[str, str], Sequence[int]]:
        """The ordinals of the cells of each (target, prefix); a range where they stand together."""
        groups: dict[tuple[str, str], Sequence[int]] = {}
        following = 0
        for group, cells in groupby(self.cells, key=lambda cell: (cell.target, cell.prefix)):
            first, following = following, following + sum(1 for _ in cells)
            ordinals = range(first, following)
            groups[group] = [*groups[group], *ordinals] if group in groups else ordinals
        return groups

    def stimulus(self, cell: Cell) -> Stimulus:
        """The stimulus a cell asks."""
        return self._stimuli[cell.battery, cell.stimulus]

    def question(self, cell: Cell) -> tuple[Message, ...]:
        """The messages that a cell puts behind its prefix."""
        wording = cell.battery, cell.stimulus, cell.paraphrase
        asked = self._questions.get(wording)
        if asked is None:
            battery, framed = self.batteries[cell.battery], self.study.framing
            text = battery.ask(self.stimulus(cell), cell.paraphrase, framed=framed)
            asked = self._questions[wording] = (Message(role="user", text=text),)
        return asked

    def request(self, cell: Cell) -> Request:
        """The request that collects a cell."""
        return Request(
            target=cell.target,
            context=self.contexts[cell.prefix],
            ask=self.question(cell),
            decoding=self.decoding,
            sample=cell.replicate,
            serving=self.serving.get(cell.target, ""),
        )

    def by_prefix(self, target: str | None = None) -> Iterator[tuple[str, Sequence[Cell]]]:
        """Cells grouped by (target, prefix), in plan order: the unit of prefix caching."""
        for (asked, prefix), ordinals in self._groups.items():
            if target in (None, asked):
                yield prefix, Picked(self.cells, ordinals)
