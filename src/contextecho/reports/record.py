"""The plan of a run as a report needs it, read from `RunInfo.plan`.

A store may come from an older release, so every field here may be missing; the
report then says "not recorded" instead of guessing. A plan that holds a field
in the wrong shape is a `DataError`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from contextecho.contexts import Decoding, Position, Protocol
from contextecho.studies import Origin, Study


class SnapshotRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot was, without its context."""

    position: Position
    chars: int
    tokens: int
    counter: str
    rendering: str
    summary_kept: bool | None = None
    dropped_turns: int = 0


class BatteryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Which data file a battery came from."""

    id: str
    version: str
    licence: str
    source: str
    sha256: str


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a plan that a reader must be able to check."""

    study: Study | None = None
    protocol: Protocol | None = None
    session_sha256: str | None = None
    origin: Origin | None = None
    positions: tuple[Position, ...] = ()
    snapshots: tuple[SnapshotRecord, ...] = ()
    token_counter: str | None = None
    control_ratio: Mapping[str, float] = {}
    batteries: Mapping[str, BatteryRecord] = {}
    decoding: Decoding | None = None
    serving: Mapping[str, str] = {}  # target -> how it is served beyond its name
    notes: tuple[str, ...] = ()

    @property
    def headline_contrast(self) -> str | None:
        """Id of the study's first contrast, the one the headline is about."""
        return self.study.contrasts[0].id if self.study and self.study.contrasts else None

    @property
    def negative_controls(self) -> str | None:
        """Id of the battery that must not move."""
        return self.study.negative_controls if self.study else None

    def snapshot(self, label: str) -> SnapshotRecord | None:
        """The snapshot taken at a position."""
        return next((s for s in self.snapshots if s.position.label == label), None)
