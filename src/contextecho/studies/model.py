"""A study says which cells to collect and which contrasts to report; a plan lists them.

A `Study` is a data file (`catalog/*.toml`, or the user's own); a `Plan` is a
study applied to a session and targets: every cell, and every context that
cells share. Cells are tiny; the contexts are held once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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


class Plan(msgspec.Struct, frozen=True, kw_only=True):
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
    cells: tuple[Cell, ...]
    decoding: Decoding
    serving: Mapping[str, str]  # target -> how it is served, where its name alone does not say
    notes: tuple[str, ...]  # what a reader of the plan must know, one line each

    def stimulus(self, cell: Cell) -> Stimulus:
        """The stimulus a cell asks."""
        return next(s for s in self.batteries[cell.battery].stimuli if s.id == cell.stimulus)

    def request(self, cell: Cell) -> Request:
        """The request that collects a cell."""
        text = self.batteries[cell.battery].ask(self.stimulus(cell), cell.paraphrase)
        return Request(
            target=cell.target,
            context=self.contexts[cell.prefix],
            ask=(Message(role="user", text=text),),
            decoding=self.decoding,
            sample=cell.replicate,
            serving=self.serving.get(cell.target, ""),
        )

    def by_prefix(self) -> Iterator[tuple[str, tuple[Cell, ...]]]:
        """Cells grouped by (target, prefix), in plan order: the unit of prefix caching."""
        groups: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            groups.setdefault((cell.target, cell.prefix), []).append(cell)
        for (_, prefix), cells in groups.items():
            yield prefix, tuple(cells)
