"""One run as the report walks through it: look-ups over a `RunAnalysis` and its plan.

Everything that decides *which* numbers belong together (surfaces, the headline
contrast, withheld targets) is here; how they look is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from contextecho.contexts import Arm
from contextecho.reports.figures import Station
from contextecho.reports.record import PlanRecord
from contextecho.scoring import (
    OVERALL,
    ArmMean,
    Contrast,
    FingerprintMap,
    Guard,
    Measure,
    RunAnalysis,
)

_MeanKey = tuple[str, Measure, str, Arm, str | None]


class View(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """An analysis with its plan, indexed."""

    analysis: RunAnalysis
    plan: PlanRecord

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets in the order of the run."""
        return self.analysis.run.targets

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be read with the numbers: noted first on planning, then on analysis."""
        return tuple(dict.fromkeys((*self.plan.notes, *self.analysis.notes)))

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that were planned or seen, in the fixed order of `Arm`."""
        seen = {d.arm for d in self.analysis.denominators}
        seen |= {m.arm for m in self.analysis.arm_means}
        if self.plan.study:
            seen |= set(self.plan.study.arms)
        return tuple(arm for arm in Arm if arm in seen)

    @cached_property
    def stations(self) -> tuple[Station, ...]:
        """The positions in session order; without a plan, as the means name them."""
        if self.plan.positions:
            return tuple(
                Station(
                    label=p.label,
                    row_turn=p.row_turn,
                    step=p.step,
                    prompt=p.prompt,
                    segment=p.segment,
                )
                for p in sorted(self.plan.positions, key=lambda p: p.order)
            )
        labels = dict.fromkeys(m.position for m in self.analysis.arm_means if m.position)
        return tuple(
            Station(label=label, row_turn=None, step=None, prompt=None, segment=None)
            for label in labels
        )

    @cached_property
    def _means(self) -> Mapping[_MeanKey, ArmMean]:
        return {
            (m.target, m.measure, m.battery, m.arm, m.position): m for m in self.analysis.arm_means
        }

    def mean(
        self, target: str, measure: Measure, battery: str, arm: Arm, position: str | None
    ) -> ArmMean | None:
        """The arm mean at a position, or over all of them."""
        return self._means.get((target, measure, battery, arm, position))

    def distinct(self, target: str, battery: str, arm: Arm, n: int) -> int:
        """How many different replies stand at `n` places of a denominator.

        Scratch replies are asked once and shown at every position; all others
        belong to one.
        """
        if arm is not Arm.SCRATCH:
            return n
        return n // max(1, len(self._shown_at.get((target, battery), ())))

    @cached_property
    def _shown_at(self) -> Mapping[tuple[str, str], set[str]]:
        places: dict[tuple[str, str], set[str]] = {}
        for m in self.analysis.arm_means:
            if m.arm is Arm.SCRATCH and m.position is not None:
                places.setdefault((m.target, m.battery), set()).add(m.position)
        return places

    def surfaces(self, measure: Measure) -> tuple[str, ...]:
        """Batteries that carry a measure, the negative controls left out."""
        batteries = dict.fromkeys(
            m.battery
            for m in self.analysis.arm_means
            if m.measure is measure and m.mean is not None
        )
        return tuple(b for b in batteries if b != self.plan.negative_controls)

    @cached_property
    def contracts(self) -> tuple[str, ...]:
        """Batteries of stressors: those with a compliance rate."""
        return self.surfaces(Measure.COMPLIANCE)

    def probes(self, measure: Measure) -> tuple[str, ...]:
        """Batteries of probes that carry a measure."""
        return tuple(b for b in self.surfaces(measure) if b not in self.contracts)

    @cached_property
    def lead(self) -> tuple[Measure, ...]:
        """The measures the run is about: the judge's if there is one, else the judge-free ones."""
        if self.probes(Measure.REGISTER):
            return (Measure.REGISTER,)
        return tuple(m for m in (Measure.FINGERPRINT, Measure.LENGTH) if self.probes(m))

    def contrasts(
        self, target: str, measure: Measure, battery: str, scope: str | None = None
    ) -> tuple[Contrast, ...]:
        """Contrasts on one surface in the order of the study; of one scope if given."""
        return tuple(
            c
            for c in self._contrasts.get((target, measure, battery), ())
            if scope is None or c.scope == scope
        )

    @cached_property
    def _contrasts(self) -> Mapping[tuple[str, Measure, str], list[Contrast]]:
        groups: dict[tuple[str, Measure, str], list[Contrast]] = {}
        for contrast in self.analysis.contrasts:
            key = (contrast.target, contrast.measure, contrast.battery)
            groups.setdefault(key, []).append(contrast)
        return groups

    @cached_property
    def headline_id(self) -> str | None:
        """The contrast that the headline is about: the study's first."""
        if self.plan.headline_contrast:
            return self.plan.headline_contrast
        return self.analysis.contrasts[0].id if self.analysis.contrasts else None

    def headlined(self, target: str) -> tuple[Contrast, ...]:
        """The headline contrast over the whole run, on every surface that was asked about."""
        return tuple(
            c
            for c in self.analysis.contrasts
            if (c.target, c.scope, c.id) == (target, OVERALL, self.headline_id)
        )

    def headline(self, target: str, measure: Measure, battery: str) -> Contrast | None:
        """The headline contrast over the whole run on one surface."""
        found = self.headlined(target)
        return next((c for c in found if (c.measure, c.battery) == (measure, battery)), None)

    def fingerprint(self, target: str) -> FingerprintMap | None:
        """The fingerprint map of a target, if it has replies to place."""
        return next((f for f in self.analysis.fingerprints if f.target == target), None)

    def moved_guards(self, target: str) -> tuple[Guard, ...]:
        """The negative controls that moved; any of them withholds the target's headline."""
        return tuple(g for g in self.analysis.guards if g.target == target and g.moved)


def view_of(analysis: RunAnalysis) -> View:
    """`analysis` with its plan read. Raises `DataError` if the plan is malformed."""
    return View(analysis=analysis, plan=analysis.run.read_plan(PlanRecord))
