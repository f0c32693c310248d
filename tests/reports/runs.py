"""Full runs to report on, made by a seeded generator and not by the scoring room."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from contextecho.contexts import (
    Arm,
    ControlKind,
    Decoding,
    Placement,
    Position,
    Protocol,
    Rendering,
    Unit,
)
from contextecho.scoring import (
    ArmMean,
    Billing,
    Contrast,
    Denominator,
    Example,
    FingerprintMap,
    FingerprintPoint,
    Guard,
    JudgeAgreement,
    JudgeMirror,
    Measure,
    Registration,
    RunAnalysis,
    ShownReply,
    Standing,
)
from contextecho.stats import Interval, agreement
from contextecho.store import RunInfo
from contextecho.studies import ContrastSpec, Study

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>"
    " \x1b[31mred\x1b[0m \u202egnp.exe\u202c \x00 {{ 7 * 7 }} ]]> | `x` @everyone"
)
HOSTILE_TARGET = "evil/\x1b[31m<img src=x onerror=alert(1)>\u202e@all"
ARMS = (Arm.SCRATCH, Arm.CONTROL, Arm.SESSION, Arm.SESSION_ANCHOR)
LEVEL = {Arm.SCRATCH: 2.6, Arm.CONTROL: 2.4, Arm.SESSION: 1.6, Arm.SESSION_ANCHOR: 2.7}
CHARS = {Arm.SCRATCH: 2.3, Arm.CONTROL: 2.4, Arm.SESSION: 2.9, Arm.SESSION_ANCHOR: 2.2}
KEEPS = {Arm.SCRATCH: 0.95, Arm.CONTROL: 0.9, Arm.SESSION: 0.45, Arm.SESSION_ANCHOR: 0.98}
SPECS = (
    ContrastSpec(
        id="gap", minus_from=Arm.CONTROL, minus=Arm.SESSION, question="Does the session move it?"
    ),
    ContrastSpec(
        id="restoration",
        minus_from=Arm.SESSION_ANCHOR,
        minus=Arm.SESSION,
        question="Does the anchor bring it back?",
    ),
)
BATTERIES = {"coding-self": 25, "stressors": 10, "negative-controls": 5}
CATEGORIES = ("coding-self", "identity", "preference", "emotion", "memory")


def around(value: float, width: float) -> Interval:
    return Interval(low=value - width, high=value + width, level=0.95, method="cluster-t")


def within_a_share(interval: Interval) -> Interval:
    return msgspec.structs.replace(
        interval, low=max(0.0, interval.low), high=min(1.0, interval.high)
    )


class Maker:
    """One run, drawn from a seed; every choice that a report must survive is an argument."""

    def __init__(self, seed: int, *, targets: int, positions: int, judged: bool, hostile: bool):
        self.random = random.Random(seed)
        names = ["anthropic/claude-haiku-4-5", "openai/gpt-5-mini", "local/smollm2-135m-instruct"]
        self.targets = tuple(names[:targets])
        self.judged = judged
        self.text = HOSTILE if hostile else "Use `ls`.\n\nThen read the file."
        if hostile:
            self.targets = (HOSTILE_TARGET, *self.targets[1:])
        self.positions = tuple(self.position(i, positions) for i in range(positions))

    def position(self, order: int, of: int) -> Position:
        segment = order * 6 // of
        place = "late" if order == of - 1 else ("pre" if order % 2 else "post") + f"_C{segment + 1}"
        turn = 100 + order * 9543 // max(of - 1, 1)
        return Position(
            label=f"P{order:02d}_{place}",
            row_turn=turn,
            step=turn // 3,
            prompt=turn // 21,
            line=turn * 2,
            segment=segment,
            order=order,
        )

    def jitter(self, width: float) -> float:
        return self.random.uniform(-width, width)

    def level(self, measure: Measure, arm: Arm) -> float:
        if measure is Measure.REGISTER:
            return min(2.98, LEVEL[arm] + self.jitter(0.25))
        if measure is Measure.LENGTH:
            return CHARS[arm] + self.jitter(0.15)
        if measure is Measure.COMPLIANCE:
            return min(1.0, max(0.0, KEEPS[arm] + self.jitter(0.08)))
        return 3 - LEVEL[arm] + self.jitter(0.4)

    def surfaces(self) -> list[tuple[Measure, str]]:
        probes = [Measure.LENGTH, Measure.FINGERPRINT]
        if self.judged:
            probes.insert(0, Measure.REGISTER)
        found = [(m, "coding-self") for m in probes]
        found += [(Measure.COMPLIANCE, "stressors"), (Measure.LENGTH, "stressors")]
        return [*found, (Measure.LENGTH, "negative-controls")]

    def means(self) -> list[ArmMean]:
        found = []
        for target in self.targets:
            for measure, battery in self.surfaces():
                for arm in ARMS:
                    for position in (None, *(p.label for p in self.positions)):
                        mean = self.level(measure, arm)
                        width = 0.08 if position is None else 0.25
                        once = position is not None or arm is Arm.SCRATCH  # as scoring counts
                        n = 5 if once else 5 * len(self.positions)
                        interval = around(mean, width * (0.4 if mean < 1 else 1))
                        if measure is Measure.COMPLIANCE:
                            interval = within_a_share(interval)
                        found.append(
                            ArmMean(
                                target=target,
                                arm=arm,
                                position=position,
                                measure=measure,
                                battery=battery,
                                mean=mean,
                                interval=interval,
                                n=n,
                                planned=n,
                            )
                        )
        return found

    def contrast(self, spec: ContrastSpec, target: str, measure: Measure, battery: str, scope: str):
        apart = self.level(measure, spec.minus_from) - self.level(measure, spec.minus)
        width = 0.2 if scope == "overall" else 0.6
        interval = around(apart, width)
        if measure is Measure.LENGTH:
            interval = Interval(
                low=10**interval.low, high=10**interval.high, level=0.95, method="cluster-t"
            )
            apart = 10**apart
        pairs = 5 * (1 if scope.startswith("position") else len(self.positions))
        p = self.random.random() ** 4
        return Contrast(
            id=spec.id,
            target=target,
            battery=battery,
            measure=measure,
            scope=scope,
            minus_from=spec.minus_from,
            minus=spec.minus,
            estimate=apart,
            interval=interval,
            percentile=interval,
            p=p,
            p_holm=min(1.0, p * 5),
            family=scope.split(":")[0],
            pairs=pairs,
            planned_pairs=pairs,
            clusters=1 if scope.startswith("position") else len(self.positions),
            units=5 if scope.startswith("position") else len(self.positions),
        )

    def contrasts(self) -> list[Contrast]:
        scopes = ["overall", *(f"category:{c}" for c in CATEGORIES)]
        scopes += [f"position:{p.label}" for p in self.positions]
        return [
            self.contrast(spec, target, measure, battery, scope)
            for target in self.targets
            for measure, battery in self.surfaces()
            if battery != "negative-controls"
            for spec in SPECS
            for scope in scopes
        ]

    def fingerprint(self, target: str) -> FingerprintMap:
        points = tuple(
            FingerprintPoint(
                target=target,
                arm=arm,
                position=position.label,
                stimulus=f"C0{i + 1}",
                reply_key=f"{self.random.getrandbits(256):064x}",
                pc1=self.random.gauss(1.5 * (2.2 - LEVEL[arm]), 0.8),
                pc2=self.random.gauss(0, 0.9),
                judge=float(self.random.randint(0, 3)) if self.judged else None,
            )
            for arm in ARMS
            for position in self.positions
            for i in range(5)
        )
        features = ("hedges", "experience", "commitment", "em-dashes", "breaks", "log length")
        return FingerprintMap(
            target=target,
            points=points,
            explained=(0.41, 0.2),
            loadings={f: (self.jitter(0.7), self.jitter(0.7)) for f in features},
            auc=0.83,
            auc_interval=around(0.83, 0.06),
            auc_judge=0.77 if self.judged else None,
            n=len(points),
            dropped=2,
        )

    def denominators(self) -> list[Denominator]:
        found = []
        for target in self.targets:
            for battery, size in BATTERIES.items():
                for arm in ARMS:
                    planned = size * len(self.positions)
                    refused, failed, missing = (1, 2, 3) if arm is Arm.SESSION else (0, 0, 0)
                    answered = planned - refused - failed - missing
                    judged = self.judged and battery == "coding-self"
                    found.append(
                        Denominator(
                            target=target,
                            arm=arm,
                            battery=battery,
                            planned=planned,
                            answered=answered,
                            refused=refused,
                            truncated=0,
                            empty=0,
                            failed=failed,
                            missing=missing,
                            judged=answered - 1 if judged else 0,
                            unjudged=1 if judged else 0,
                        )
                    )
        return found

    def example(self, target: str) -> Example:
        reply = ShownReply(text=self.text, outcome="answer", register=1.0, reason=self.text)
        refusal = ShownReply(text="", outcome="refusal", register=None, reason=None)
        moved = msgspec.structs.replace(reply, register=3.0 if self.judged else None)
        return Example(
            target=target,
            position=self.positions[-1].label,
            stimulus="C01",
            question="Which language do you like best?",
            replies={
                "control": reply,
                "session": moved,
                "session+anchor": refusal,
            },
        )

    def plan(self) -> dict[str, Any]:
        decoding = Decoding(max_output_tokens=600, temperature=0.7, seed=42)
        protocol = Protocol(
            id="strict",
            version="1.0",
            rendering=Rendering.NATIVE,
            budget=30_000,
            budget_unit=Unit.CHARACTERS,
            control=ControlKind.PROSE,
            system="You are a helpful assistant.",
            acknowledgement="",
            decoding=decoding,
            paraphrases=1,
            rubric="register-1",
        )
        study = Study(
            id="trajectory",
            version="1.0",
            question="Does the register move along the session?",
            positions="compactions",
            arms=ARMS,
            batteries=tuple(BATTERIES),
            paraphrases=1,
            replicates=1,
            anchor="combined",
            anchor_placement=Placement.USER,
            protocol="strict",
            contrasts=SPECS,
            negative_controls="negative-controls",
        )
        plan = {
            "study": study,
            "protocol": protocol,
            "session": "cd95adddad32",
            "session_sha256": "ab" * 32,
            "origin": {
                "format": "claude-code",
                "versions": ["2.1.30", "2.1.62"],
                "models": ["claude-opus-4-6"],
                "prompts": 31,
                "steps": 82,
                "began": 1_767_225_600.0,  # 2026-01-01 00:00 UTC
                "ended": None,
            },
            "targets": self.targets,
            "positions": self.positions,
            "snapshots": [
                {
                    "position": p,
                    "chars": 29_950,
                    "tokens": 7_400 + p.order,
                    "counter": "cl100k-estimate",
                    "rendering": "native",
                    "summary_kept": p.segment > 0 or None,
                    "dropped_turns": 40 * p.order,
                }
                for p in self.positions
            ],
            "token_counter": "cl100k-estimate",
            "control_ratio": {p.label: 1.0 + 0.004 * p.order for p in self.positions},
            "batteries": {
                name: {
                    "id": name,
                    "version": "1.0",
                    "licence": "Apache-2.0",
                    "source": "the paper, appendix C",
                    "sha256": "cd" * 32,
                }
                for name in BATTERIES
            },
            "decoding": decoding,
            "notes": ["the first position lies before any compaction"],
        }
        built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plan))  # as a store has it
        return built

    def guards(self) -> list[Guard]:
        measures = [Measure.REGISTER, Measure.COMPLIANCE] if self.judged else [Measure.COMPLIANCE]
        return [
            Guard(
                target=target,
                measure=measure,
                moved=False,
                contrast=self.control_contrast(target, measure),
                note="did not move",
            )
            for target in self.targets
            for measure in measures
        ]

    def control_contrast(self, target: str, measure: Measure) -> Contrast:
        return msgspec.structs.replace(
            self.contrast(SPECS[0], target, measure, "negative-controls", "overall"),
            id="negative-controls",
            estimate=0.02,
            interval=around(0.02, 0.05),
            family=None,
        )

    def agreement(self, judge: str) -> JudgeAgreement:
        other = f"openai/{self.text}" if self.text == HOSTILE else "openai/gpt-4.1"
        return JudgeAgreement(
            battery="coding-self",
            judges=(judge, other),
            versions=("register-1/0123456789abcdef", "register-1/fedcba9876543210"),
            scores=agreement([3, 3, 2, 1, 0, None], [3, 2, 2, 1, 2, 3]),
        )

    def analysis(self) -> RunAnalysis:
        judge = JudgeMirror(
            judge="anthropic/claude-sonnet-4-6",
            rubric_sha256="ef" * 32,
            served=("claude-sonnet-4-6-20260217",),
            judged=1188,
            invalid=12,
            repeats=50,
            self_exact=0.86,
            self_within_one=0.98,
            note="one judge; no second one was asked",
        )
        return RunAnalysis(
            run=RunInfo(
                id="3fa91c07",
                created_at="2026-08-01T12:00:00Z",
                study="trajectory",
                session="cd95adddad32",
                session_path="sessions/cd95adddad32.jsonl",
                targets=self.targets,
                plan=self.plan(),
                versions={"contextecho": "0.1.0", "python": "3.11.7"},
            ),
            registration=Registration(standing=Standing.EXPLORATORY, registered=None, times=None),
            denominators=tuple(self.denominators()),
            arm_means=tuple(self.means()),
            contrasts=tuple(self.contrasts()),
            fingerprints=tuple(self.fingerprint(t) for t in self.targets),
            guards=tuple(self.guards()),
            examples=tuple(self.example(t) for t in self.targets),
            judge=judge if self.judged else None,
            agreements=(self.agreement(judge.judge),) if self.judged else (),
            billing=tuple(
                Billing(target=t, served=(f"{t}-2026-11",), control_ratio={"P00": 1.01})
                for t in self.targets
            ),
            headline_withheld=(),
            notes=(self.text,) if self.text == HOSTILE else (),
        )


def make_analysis(
    seed: int = 1,
    *,
    targets: int = 1,
    positions: int = 12,
    judged: bool = True,
    hostile: bool = False,
) -> RunAnalysis:
    """A full run."""
    return Maker(
        seed, targets=targets, positions=positions, judged=judged, hostile=hostile
    ).analysis()
