"""Whose verdicts an analysis uses, and how far judges agree with themselves and each other.

The one thing to know: verdicts of two judges, two rubrics or two decodings are never
mixed. Each such set has its own scorer version; an analysis takes one set and says
which. Repeats, a second reading of the same reply, are kept under a scorer of their
own, so that they are never taken for first verdicts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from contextecho.contexts import canonical_json
from contextecho.scoring.judgement import READING
from contextecho.scoring.model import JudgeAgreement, JudgeMirror
from contextecho.scoring.rubric import JUDGE_DECODING, Rubric
from contextecho.stats import agreement
from contextecho.store import Store, Verdict

FIRST = "register/"
REPEAT = "register-repeat/"


def judge_version(rubric: Rubric, judge: str) -> str:
    """What tells this judge's verdicts from any other's: rubric, judge, decoding, reading."""
    identity = {
        "rubric": rubric.sha256,
        "judge": judge,
        "decoding": JUDGE_DECODING,
        "reading": READING,
    }
    return f"{rubric.id}/{hashlib.sha256(canonical_json(identity)).hexdigest()[:16]}"


class JudgeSet(msgspec.Struct, frozen=True, kw_only=True):
    """One judge's verdicts on a run, by reply key."""

    judge: str
    version: str
    first: Mapping[str, Verdict]
    repeats: Mapping[str, Verdict]

    @property
    def self_judged(self) -> int:
        """Verdicts that a model gave on its own replies."""
        return sum(bool(v.detail.get("self_judged")) for v in self.first.values())


def judge_sets(verdicts: Iterable[Verdict]) -> tuple[JudgeSet, ...]:
    """Every judge's verdicts, the set with the most valid ones first."""
    sets: dict[tuple[str, str], tuple[dict[str, Verdict], dict[str, Verdict]]] = {}
    for verdict in verdicts:
        for place, prefix in enumerate((FIRST, REPEAT)):
            if verdict.scorer.startswith(prefix):
                key = (verdict.scorer.removeprefix(prefix), verdict.scorer_version)
                sets.setdefault(key, ({}, {}))[place][verdict.reply_key] = verdict
    found = (
        JudgeSet(judge=judge, version=version, first=first, repeats=repeats)
        for (judge, version), (first, repeats) in sets.items()
        if first
    )
    return tuple(sorted(found, key=lambda s: (-_valid(s), s.judge, s.version)))


def agreements(
    sets: Sequence[JudgeSet], batteries: Mapping[str, str]
) -> tuple[JudgeAgreement, ...]:
    """How each two judges agree, battery by battery; `batteries` by reply key, in plan order."""
    pairs = combinations(sets, 2)
    return tuple(found for one, other in pairs for found in _compare(one, other, batteries))


def _compare(
    one: JudgeSet, other: JudgeSet, batteries: Mapping[str, str]
) -> Iterator[JudgeAgreement]:
    both: dict[str, list[str]] = {}  # reply keys by battery
    for key, battery in batteries.items():
        if key in one.first and key in other.first:
            both.setdefault(battery, []).append(key)
    for battery, keys in both.items():
        levels = ([_level(judge.first[key]) for key in keys] for judge in (one, other))
        yield JudgeAgreement(
            battery=battery,
            judges=(one.judge, other.judge),
            versions=(one.version, other.version),
            scores=agreement(*levels),
        )


def mirror(judge: JudgeSet, store: Store) -> JudgeMirror:
    """How far a judge can be trusted on this run, from what it read twice."""
    twice = [(judge.first.get(key), again) for key, again in judge.repeats.items()]
    read = agreement([_level(first) for first, _ in twice], [_level(again) for _, again in twice])
    notes = [f"verdict set {judge.version}"]
    if not read.n:
        notes.append("no reply was judged twice, so self-agreement is not known")
    if judge.self_judged:
        notes.append(f"{judge.self_judged} verdicts are self-judged")
    return JudgeMirror(
        judge=judge.judge,
        rubric_sha256=next((v.detail.get("rubric") for v in judge.first.values()), None),
        served=_served(judge, store),
        judged=_valid(judge),
        invalid=len(judge.first) - _valid(judge),
        repeats=read.n,
        self_exact=read.exact,
        self_within_one=read.within_one,
        note="; ".join(notes),
    )


def _served(judge: JudgeSet, store: Store) -> tuple[str, ...]:
    """The model names that came with the answers in which the verdicts were read."""
    answers = (verdict.detail.get("answer") for verdict in judge.first.values())
    replies = (store.reply(key) for key in dict.fromkeys(answers) if key)
    names = (reply.served_model for reply in replies if reply)
    return tuple(dict.fromkeys(name for name in names if name))


def _valid(judge: JudgeSet) -> int:
    return sum(v.value is not None for v in judge.first.values())


def _level(verdict: Verdict | None) -> int | None:
    return None if verdict is None or verdict.value is None else int(verdict.value)
