"""A study says which cells to collect and which contrasts to report; a plan lists them.

A `Study` is a data file (`catalog/*.toml`, or the user's own); a `Plan` is a
study applied to a session and targets: every cell, and every context that
cells share. Cells are tiny; the contexts are held once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import overload

import msgspec

from contextecho.contexts import (
    Arm,
    Context,
    Decoding,
    Message,
    Placement,
    Position,
    Protocol,
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


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """A declaration of axes and of the contrasts it reports."""

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
            text = self.batteries[cell.battery].ask(self.stimulus(cell), cell.paraphrase)
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
