"""What a stored run planned: the parts of `RunInfo.plan` that scoring reads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from contextecho.contexts import Position, Protocol
from contextecho.sessions import tell_apart
from contextecho.stimuli import Battery, Stimulus
from contextecho.studies import Cell, Study


class Planned(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The axes of a run. Texts of stimuli come from here, never from today's data files."""

    study: Study
    protocol: Protocol
    positions: tuple[Position, ...]
    batteries: Mapping[str, Battery]

    @property
    def conditions(self) -> Mapping[str, str]:
        """What sets apart the conditions of each position at which the model had spoken."""
        known = {p.label: p.conditions for p in self.positions if p.conditions is not None}
        words = tell_apart(known.values())
        return {label: words[conditions] for label, conditions in known.items()}

    @cached_property
    def _stimuli(self) -> Mapping[tuple[str, str], Stimulus]:
        return {
            (battery.id, stimulus.id): stimulus
            for battery in self.batteries.values()
            for stimulus in battery.stimuli
        }

    def stimulus(self, cell: Cell) -> Stimulus:
        """The stimulus a cell asks."""
        return self._stimuli[cell.battery, cell.stimulus]

    def wording(self, cell: Cell) -> str:
        """The wording a cell asks, without the battery's framing."""
        return self.stimulus(cell).wordings[cell.paraphrase]
