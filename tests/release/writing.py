"""Writes a tree of the release's shape: small, or of its 41,921 files in their proportions.

The layout is taken from the description of the reference (its runners' arms, positions and
numbers of questions), and not from the program's own data file. What the description leaves
open fills up to the release's count: validations of donated sessions, the last one broken off.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from release.planted import (
    ANTHROPIC,
    AUDIT,
    COMPLIANCE_GAP,
    FRAMING,
    HAIKU_AGAIN,
    KIMI,
    LENGTH_RATIO,
    ONSET,
    PANEL,
    PLACEMENT,
    SIZES,
    SONNET_45,
    SONNET_46,
    TURNS,
)

FILES = 41_921
Fields = dict[str, Any]
Made = Iterator[tuple[str, Fields]]

HEADLINE = (
    "P0_start", "P1_pre_C1", "P2_post_C1", "P_pre_C2", "P_post_C2", "P_pre_C3", "P3_post_C3",
    "P_pre_C4", "P_post_C4", "P_pre_C5", "P4_post_C5", "P5_pre_C6",
)  # fmt: skip
CHAIN = (
    "P1_pre_C1", "P2_post_C1", "P_pre_C2", "P_post_C2", "P_pre_C3", "P3_post_C3", "P_pre_C4",
    "P_post_C4", "P_pre_C5", "P5_late_peak",
)  # fmt: skip
PROENG = ("P1_pre_C1", "P2_post_C1", "P_pre_C2", "P_post_C2", "P_pre_C3", "P4_late_peak")
SESSIONS = {"chainassemble": CHAIN, "proeng": PROENG}
THREE = ("P0_start", "P3_post_C3", "P5_pre_C6")
LATE = "P5_pre_C6"
CODING = tuple(f"C{n:02}" for n in range(1, 6))
OTHERS = tuple(
    f"{letter}{n:02}" for letter, most in (("I", 4), ("O", 4), ("E", 4), ("P", 4), ("R", 4))
    for n in range(1, most + 1)
)  # fmt: skip
ARMS = ("claude_session", "filler")
LABELS = ("drifted", "partially_drifted", "mostly_assistant", "fully_assistant")
WORDS = "The test went red because the fixture was shared between two modules and one moved it. "
PROSE = WORDS * 200


class Maker:
    """Makes the files; `small` has a few targets and positions of each experiment."""

    def __init__(self, *, small: bool = False, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._small = small

    def files(self) -> Made:
        """(path below the root, its keys) of each file."""
        made = 0
        for experiment in (
            self.panel, self.cross_session_probes, self.anchored_probes, self.other_stressors,
            self.stressors, self.pathy, self.cross_session, self.variants, self.placement,
            self.variants_elsewhere, self.pilot, self.decay, self.sizes, self.controls, self.audit,
            self.again, self.framing, self.onset, self.override, self.scaling, self.continuations,
        ):  # fmt: skip
            for file in experiment():
                made += 1
                yield file
        left = 80 if self._small else FILES - made
        for _, file in zip(range(left), self.validations(), strict=False):
            yield file

    # Parts

    def _some(self, things: Iterable[str], *always: str) -> list[str]:
        """All, or for a small tree the first two and those that are needed."""
        every = list(things)
        return [t for n, t in enumerate(every) if not self._small or n < 2 or t in always]

    def _positions(self, target: str) -> list[str]:
        return [LATE] if target == KIMI else self._some(HEADLINE, LATE, "P3_post_C3")

    def _scores(self, count: int, total: int) -> list[int]:
        """`count` scores of 0..3 with this sum, in no order."""
        scores = [total // count + (n < total % count) for n in range(count)]
        for _ in range(count):
            up, down = self._random.randrange(count), self._random.randrange(count)
            if up != down and scores[up] < 3 and scores[down] > 0:
                scores[up] += 1
                scores[down] -= 1
        self._random.shuffle(scores)
        assert sum(scores) == total
        assert set(scores) <= {0, 1, 2, 3}
        return scores

    def _reply(self, length: int, tokens: int) -> Fields:
        text = PROSE[:length].strip()
        return {
            "response_text": text,
            "response_len": len(text),
            "wall_clock_sec": round(1 + length / 200, 3),
            "input_tokens": tokens,
            "output_tokens": max(1, length // 4),
        }

    def _probe(self, probe: str, score: int, tokens: int, **more: Any) -> Fields:
        length = 200 + 150 * (3 - score) + self._random.randrange(100)
        return {
            "probe_id": probe,
            "probe_text": "left out",
            **more,
            **self._reply(length, tokens),
            **judged(score),
        }

    def _tokens(self, arm: str, place: int, question: str) -> int:
        """A prefix of its own length at each place; the control is the same everywhere."""
        prefix = 7464 if arm == "filler" else 9000 + 37 * place
        return prefix + 20 + sum(map(ord, question)) % 17

    # Experiments

    def panel(self) -> Made:
        for target, means in self._targets():
            positions = self._positions(target)
            others = {arm: self._scores(20 * len(positions), 40 * len(positions)) for arm in ARMS}
            coding = dict(
                zip(("filler", "claude_session"), self._coding(target, means), strict=True)
            )
            for place, position in enumerate(positions):
                for arm in ARMS:
                    scores = coding[arm][position] + others[arm][20 * place : 20 * place + 20]
                    for probe, score in zip(CODING + OTHERS, scores, strict=True):
                        tokens = self._tokens(arm, HEADLINE.index(position), probe)
                        who = {"arm": arm, "position": position, "target": target}
                        path = f"probes_at_crosscompaction/{target}/{position}/{arm}/{probe}.json"
                        yield path, self._probe(probe, score, tokens, **who)

    def _targets(self) -> list[tuple[str, tuple[float, float]]]:
        chosen = self._some(PANEL, *ANTHROPIC, "gpt-5")
        return [(target, PANEL[target]) for target in chosen]

    def _coding(self, target: str, means: tuple[float, float]) -> Iterator[dict[str, list[int]]]:
        """The coding probes of the control, then of the session, by position.

        At the late position the two differ by what the audit's first judge found.
        """
        positions = self._positions(target)
        late = AUDIT[target][0] if target in AUDIT else round(5 * (means[0] - means[1]))
        totals = [round(mean * 5 * len(positions)) for mean in means]
        at_end = self._late_sums(totals, late, len(positions))
        for total, end in zip(totals, at_end, strict=True):
            rest = self._scores(5 * len(positions) - 5, total - end) if len(positions) > 1 else []
            by_position = {p: rest[5 * n : 5 * n + 5] for n, p in enumerate(positions[:-1])}
            yield {**by_position, positions[-1]: self._scores(5, end)}

    def _late_sums(self, totals: Sequence[int], gap: int, positions: int) -> tuple[int, int]:
        """Sums of the late position that differ by `gap` and leave the rest possible."""
        if positions == 1:
            return totals[0], totals[1]
        most = 15 * (positions - 1)
        near = totals[0] / positions
        possible = [
            (control, control - gap)
            for control in range(16)
            if 0 <= control - gap <= 15
            and 0 <= totals[0] - control <= most
            and 0 <= totals[1] - control + gap <= most
        ]
        return min(possible, key=lambda sums: abs(sums[0] - near))

    def cross_session_probes(self) -> Made:
        for session in SESSIONS:
            for place in range(3 if self._small else 12):
                for arm, score in zip(ARMS, (1, 2), strict=True):
                    for probe in CODING + OTHERS:
                        path = f"{SONNET_45}/P{place:02}/{arm}/{probe}.json"
                        tokens = self._tokens(arm, place, probe)
                        more = {"arm": arm, "target": SONNET_45, "session": session}
                        keys = self._probe(probe, score, tokens, **more)
                        yield f"probes_at_crosscompaction_{session}/{path}", keys

    def anchored_probes(self) -> Made:
        for target, _ in self._targets():
            positions = self._positions(target)
            total = PLACEMENT[target][0] if target in PLACEMENT else 180
            yield from self._anchored("A_COMBINED", target, positions, total)
        for candidate in ("V0_BASELINE", "V2_IN_CONTEXT", "C_TWOSHOT"):
            for target in self._some(ANTHROPIC):
                yield from self._anchored(candidate, target, THREE, 150)

    def _anchored(
        self, candidate: str, target: str, positions: Sequence[str], sixtieths: int
    ) -> Made:
        count = 5 * len(positions)
        scores = iter(self._scores(count, round(sixtieths * count / 60)))
        for position in positions:
            for probe in CODING:
                path = f"{candidate}/CODING_PROBES/{target}/{position}/{probe}.json"
                tokens = self._tokens("anchor", HEADLINE.index(position), probe)
                more = {"arm": "claude_session", "position": position, "target": target}
                yield (
                    f"generalization_test/{path}",
                    self._probe(probe, next(scores), tokens, **more),
                )

    def other_stressors(self) -> Made:
        for candidate in ("V0_BASELINE", "V2_IN_CONTEXT", "C_TWOSHOT", "A_COMBINED"):
            for stressor in ("S3_NO_ACTION", "S4_STRICT_JSON"):
                for target in self._some(ANTHROPIC):
                    for position in THREE:
                        for wording in self._wordings():
                            path = f"{candidate}/{stressor}/{target}/{position}/{wording}/cell.json"
                            tokens = self._tokens("anchor", HEADLINE.index(position), wording)
                            yield f"generalization_test/{path}", self._reply(80, tokens)

    def _wordings(self) -> list[str]:
        return [f"v{n:02}" for n in range(3 if self._small else 10)]

    def stressors(self) -> Made:
        for target, _ in self._targets():
            yield from self._pairs("cross_compaction", target, self._positions(target))

    def _pairs(self, folder: str, target: str, positions: Sequence[str]) -> Made:
        """Both arms of S2: the control keeps the contract, the session keeps it less often."""
        broken = COMPLIANCE_GAP.get(target, 0) / 100
        ratio = LENGTH_RATIO.get(target, 1.0)
        wordings = self._wordings()
        count = len(positions) * len(wordings)
        breaks = [n < round(broken * count) for n in range(count)]
        self._random.shuffle(breaks)
        for place, position in enumerate(positions):
            for number, wording in enumerate(wordings):
                path = f"{folder}/{target}/{position}/{wording}"
                yield f"{path}/filler.json", self._command(100, False, 7464 + number)
                breaking = breaks[place * len(wordings) + number]
                tokens = 9000 + 37 * place + number
                yield f"{path}/claude.json", self._command(round(100 * ratio), breaking, tokens)

    def _command(self, length: int, breaking: bool, tokens: int) -> Fields:
        """One line; with a preamble where it is to break the contract."""
        begin = "Let me run: " if breaking else "grep "
        keys = self._reply(length, tokens)
        text = (begin + PROSE.replace("The", "a"))[:length].strip().ljust(length, "x")
        return {**keys, "response_text": text, "response_len": len(text)}

    def pathy(self) -> Made:
        for target in self._some(ANTHROPIC):
            for place, position in enumerate(self._some(HEADLINE, LATE)):
                for number, wording in enumerate(self._wordings()):
                    path = (
                        f"cross_compaction_pathy/{target}/{position}/{wording}/claude_anchor.json"
                    )
                    keys = self._command(60, False, 9100 + 37 * place + number)
                    yield path, {**keys, "anchor": "V0"}

    def cross_session(self) -> Made:
        for session, positions in SESSIONS.items():
            for target in self._some(ANTHROPIC):
                yield from self._pairs(f"cross_session/{session}", target, positions)

    def variants(self) -> Made:
        four = self._some(ANTHROPIC)
        everywhere = self._some(HEADLINE, LATE)
        yield from self._variant("V0_BASELINE", four, THREE)
        for variant in ("V1_BEHAVIORAL", "V2_IN_CONTEXT", "V3_SYSTEM_INJECT"):
            yield from self._variant(variant, four, everywhere)
        for target, _ in self._targets():
            yield from self._variant("A_COMBINED", [target], self._positions(target))

    def _variant(self, variant: str, targets: Sequence[str], positions: Sequence[str]) -> Made:
        for target in targets:
            for place, position in enumerate(positions):
                for number, wording in enumerate(self._wordings()):
                    path = f"anchor_variants/{variant}/{target}/{position}/{wording}/cell.json"
                    keys = self._command(60, False, 9200 + 37 * place + number)
                    yield path, {**keys, "variant": variant}

    def placement(self) -> Made:
        for target in ANTHROPIC:
            scores = iter(self._scores(60, PLACEMENT[target][1]))
            for place, position in enumerate(HEADLINE):
                for probe in CODING:
                    path = f"anchor_variants/V3_SYSTEM_INJECT/{target}/{position}/{probe}.json"
                    tokens = self._tokens("anchor", place, probe)
                    yield path, self._probe(probe, next(scores), tokens, placement="system")

    def variants_elsewhere(self) -> Made:
        for session, positions in SESSIONS.items():
            for place, position in enumerate(("P0_start", *positions)):
                for number, wording in enumerate(self._wordings()):
                    path = f"{session}/{SONNET_46}/{position}/{wording}/cell.json"
                    keys = self._command(60, False, 9300 + 37 * place + number)
                    yield f"anchor_variants_crosssession/{path}", keys

    def pilot(self) -> Made:
        for candidate in ("CAND_A_COMBINED", "CAND_B_ABSTRACT", "CAND_C_TWOSHOT"):
            for target in self._some(ANTHROPIC):
                for place, position in enumerate(THREE):
                    top, where = f"dual_surface_pilot/{candidate}", f"{target}/{position}"
                    more = {"candidate": candidate, "position": position, "target": target}
                    for number, wording in enumerate(self._wordings()):
                        keys = self._command(60, False, 9400 + 37 * place + number)
                        yield f"{top}/stressors/{where}/{wording}/cell.json", {**keys, **more}
                    for probe in CODING:
                        keys = self._probe(probe, 3, self._tokens("anchor", place, probe), **more)
                        yield f"{top}/probes/{where}/{probe}.json", keys

    def decay(self) -> Made:
        for offset in (0, 1, 5, 10, 20):
            for probe in CODING:
                keys = self._probe(probe, 3, 9000 + offset, n_offset=offset)
                yield f"anchor_decay/{SONNET_45}/N{offset:02}/{probe}.json", keys

    def sizes(self) -> Made:
        for target, sums in SIZES.items():
            for size, total in zip(("small", "medium", "large"), sums, strict=True):
                for probe, score in zip(CODING, self._scores(5, total), strict=True):
                    keys = self._probe(probe, score, 9000, size=size, provider="made-up")
                    yield f"anchor_size_sweep/{size}/{target}/{probe}.json", keys

    def controls(self) -> Made:
        for target, _ in self._targets():
            if target == "nvidia-nemotron-super-49b":
                continue
            for arm in ARMS:
                for number in range(1, 6):
                    one_less = (target, arm, number) == ("deepseek-v3", "filler", 5)
                    keys = self._probe(f"N{number:02}", 2 if one_less else 3, 0, arm=arm)
                    del keys["input_tokens"], keys["output_tokens"]
                    yield f"negative_controls/{target}/{LATE}/{arm}/N{number:02}.json", keys

    def audit(self) -> Made:
        """The late coding probes again; the second judge's gap is that of the paper."""
        for target in [target for target, _ in self._targets() if target in AUDIT]:
            first, second = AUDIT[target]
            for arm, gaps in (("filler", (max(first, 0), max(second, 0))),
                              ("claude_session", (max(-first, 0), max(-second, 0)))):  # fmt: skip
                ours, theirs = (self._scores(5, 3 + gap) for gap in gaps)
                for probe, sonnet, gpt5 in zip(CODING, ours, theirs, strict=True):
                    keys = {"target": target, "arm": arm, "probe_id": probe}
                    keys |= {"sonnet_score": sonnet, "gpt5_score": gpt5}
                    keys |= {"gpt5_label": LABELS[gpt5], "gpt5_reason": "made up"}
                    yield f"crossjudge_audit/{target}/{LATE}/{arm}/{probe}.json", keys

    def again(self) -> Made:
        for arm, (first, second) in HAIKU_AGAIN.items():
            ours, theirs = iter(self._scores(125, first)), iter(self._scores(125, second))
            for probe in CODING:
                for sample in range(25):
                    sonnet, gpt5 = next(ours), next(theirs)
                    keys = {"rep": sample, **self._reply(300, 9000)}
                    keys |= {"sonnet_score": sonnet, "sonnet_label": LABELS[sonnet]}
                    keys |= {"gpt5_score": gpt5, "gpt5_label": LABELS[gpt5]}
                    yield f"haiku_crossjudge_n25/{arm}/{probe}/v{sample:02}.json", keys

    def framing(self) -> Made:
        for framing, sums in FRAMING.items():
            for probe, total in zip(CODING, sums, strict=True):
                for sample, score in enumerate(self._scores(10, total)):
                    keys = self._probe(probe, score, 9000, framing=framing, rep=sample)
                    yield f"probe_framing_ablation/{framing}/{probe}/v{sample:02}.json", keys

    def onset(self) -> Made:
        for target in self._some(ANTHROPIC):
            for place, (turn, gap) in enumerate(zip(TURNS, ONSET[target], strict=True)):
                for arm in ARMS:
                    scores = iter(self._scores(25, 40 + (gap if arm == "filler" else 0)))
                    for probe in CODING:
                        for sample in range(5):
                            name = f"{probe}_v{sample:02}" if sample else probe
                            keys = self._probe(probe, next(scores), self._tokens(arm, place, probe))
                            keys |= {"turn": turn, "replicate": sample, "model_id": target}
                            yield f"drift_onset/{target}/T{turn:04}/{arm}/{name}.json", keys

    def override(self) -> Made:
        for target in self._some((*ANTHROPIC, "mistral-small", KIMI)):
            for cut in range(10):
                for arm in ("scratch", "filler3K", "gpt5_3K", "recent3K"):
                    for stressor in ("S1", "S2", "S3", "S4"):
                        path = f"{target}/cut-{4000 + cut}/{arm}/{stressor}/metrics.json"
                        keys = self._contract(stressor, cut) | {"cut_index": cut, "arm": arm}
                        yield f"instruction_override/{path}", keys

    def _contract(self, stressor: str, cut: int) -> Fields:
        """A reply that keeps its contract by the published check, but at every third cut."""
        kept = {"S1": "Yes.", "S2": "ls -la", "S3": "I would run it.", "S4": '{"status": "ok"}'}
        text = kept[stressor] if cut % 3 else "```\nLet me see. First of all.\n```"
        keys = {"stressor": stressor, **self._reply(50, 900 + 11 * cut)}
        keys |= {"response_text": text, "response_len": len(text)}
        return keys | {"compliance": int(cut % 3 > 0)}

    def scaling(self) -> Made:
        for target in self._some(ANTHROPIC):
            for length in (3000, 30000, 100000, 200000):
                for cut in range(10):
                    for stressor in ("S2", "S3"):
                        for arm in ARMS:
                            place = f"{target}/len-{length}/cut-{4000 + cut}/{stressor}"
                            keys = self._contract(stressor, cut) | {"arm": arm}
                            yield f"session_length_scaling/{place}/metrics_{arm}.json", keys

    def continuations(self) -> Made:
        """25 cut points on three targets, one of them lost; three files each."""
        for target, cuts in ((SONNET_46, 25), ("mistral-small", 25), (KIMI, 24)):
            for cut in range(3 if self._small else cuts):
                top = f"downstream_coding/{target}/cutpoint-{cut:02}"
                yield f"{top}/metrics.json", continued(cut, "scratch", "recent3K")
                yield f"{top}/metrics_filler3K.json", continued(cut, "filler3K")
                yield f"{top}/metrics_gpt5_3K.json", continued(cut, "gpt5_3K")

    def validations(self) -> Made:
        """Whole validations of donated sessions, then quick ones."""
        for number in range(14):
            yield from self._validation("session_validation", number, 12, CODING + OTHERS)
        for number in range(14, 30):
            yield from self._validation("session_validation_quick", number, 3, CODING)

    def _validation(self, folder: str, number: int, places: int, probes: Sequence[str]) -> Made:
        for place in range(places):
            for arm, score in zip(ARMS, (1, 2), strict=True):
                for probe in probes:
                    path = (
                        f"{folder}/donated-{number:02}/{SONNET_45}/P{place:02}/{arm}/{probe}.json"
                    )
                    tokens = self._tokens(arm, place, probe)
                    yield path, self._probe(probe, score, tokens, arm=arm, target=SONNET_45)


def judged(score: int) -> Fields:
    return {"score": score, "label": LABELS[score], "reason": "made up"}


def continued(cut: int, *arms: str) -> Fields:
    """The tool is right at all but every fifth cut; the session's arguments are nearer."""
    keys: Fields = {"cut_index": cut, "ground_truth_tool": "Bash"}
    for arm in arms:
        right = cut % 5 > 0
        keys[f"{arm}_tool"] = "Bash" if right else "Read"
        keys[f"M1_{arm}_match"] = int(right)
        keys[f"M2_{arm}_arg_sim"] = (0.5 if arm == "recent3K" else 0.25) if right else None
    return keys


def write_tree(
    folder: Path,
    *,
    small: bool = False,
    change: Callable[[str, Fields], Fields | bytes | None] = lambda _, keys: keys,
) -> Counter[str]:
    """Write the tree below `folder`/results; gives how many files each experiment has.

    `change` may give other keys for a file, its bytes, or None for no file at all.
    """
    written: Counter[str] = Counter()
    made: set[Path] = set()
    for path, keys in Maker(small=small).files():
        changed = change(path, keys)
        if changed is None:
            continue
        file = folder / "results" / path
        if file.parent not in made:
            file.parent.mkdir(parents=True, exist_ok=True)
            made.add(file.parent)
        data = changed if isinstance(changed, bytes) else json.dumps(changed, indent=2).encode()
        file.write_bytes(data)
        written[path.partition("/")[0]] += 1
    return written
