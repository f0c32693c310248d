"""A run as the tree of small JSON files in which the first paper's data was released.

The one thing to know: a reply lies at `results/PART/TARGET/POSITION/ARM/STIMULUS.json`
under the release's field names. Its arms are `claude_session` and `filler`; the arms
that it did not have keep our names. The first sample of a question has the bare name,
the others end in `_vNN`, as in the release's `drift_onset`. A missing value is left out:
never 0, never -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from contextecho.contexts import Protocol
from contextecho.errors import UsageError
from contextecho.models import Failed
from contextecho.stimuli import Battery, Stimulus, StimulusKind
from contextecho.store.model import RunInfo, StoredReply, Verdict
from contextecho.store.store import Store
from contextecho.studies import Cell, Study

_ARMS = {"session": "claude_session", "control": "filler"}
_PARTS = {
    StimulusKind.PROBE: "probes_at_crosscompaction",
    StimulusKind.NEGATIVE_CONTROL: "negative_controls",
    StimulusKind.STRESSOR: "stressors",  # the release has another layout for each of them
}
_REGISTER = "register/"


class _Planned(msgspec.Struct, frozen=True, kw_only=True):
    study: Study
    protocol: Protocol
    batteries: Mapping[str, Battery]


def export_tree(store: Store, run: RunInfo, folder: Path, judge: str | None = None) -> int:
    """Write the replies of a run into `folder`/results, scored by `judge`; gives how many.

    Without `judge` its only judge is taken. Raises `UsageError` when there are several.
    """
    planned = run.read_plan(_Planned)
    verdicts = _verdicts(store, run, judge)
    folders = _folders(run.targets)
    manifest: list[dict[str, str]] = []
    written: set[Path] = set()
    for stored in store.replies(run.id):
        if stored.reply is None or isinstance(stored.reply, Failed):
            continue
        cell, stimulus = stored.cell, _stimulus(planned, stored.cell)
        sample = cell.paraphrase * planned.study.replicates + cell.replicate
        name = stimulus.id + (f"_v{sample:02}" if sample else "")
        place = Path(_PARTS[stimulus.kind], folders[cell.target], cell.position, _arm(cell))
        path = place / f"{name}.json"
        if path in written:
            raise UsageError(
                f"two batteries of the run have a stimulus {stimulus.id!r}", where=run.id
            )
        written.add(path)
        (folder / "results" / place).mkdir(parents=True, exist_ok=True)
        fields = dict(_fields(stored, stimulus, planned.batteries[cell.battery]))
        if verdict := verdicts.get(stored.key):
            fields |= _judged(verdict)
        _write(folder / "results" / path, fields)
        manifest.append({"path": path.as_posix(), "collected_at": stored.collected_at or ""})
    (folder / "results").mkdir(parents=True, exist_ok=True)
    _write(
        folder / "results" / "MANIFEST.json",
        {"protocol": planned.protocol.id, "cells": manifest},
    )
    return len(manifest)


def _fields(stored: StoredReply, stimulus: Stimulus, battery: Battery) -> Iterator[tuple[str, Any]]:
    cell, reply = stored.cell, stored.reply
    assert reply is not None  # nothing else is exported
    yield "probe_id", stimulus.id
    yield "probe_category", stimulus.category
    yield "probe_text", stimulus.wordings[cell.paraphrase]
    yield "arm", _arm(cell)
    yield "position", cell.position
    yield "target", cell.target
    yield "session", cell.session
    yield "battery", battery.id
    yield "response_text", reply.text
    yield "response_len", len(reply.text)
    if reply.seconds is not None:
        yield "wall_clock_sec", reply.seconds
    for ours, theirs in (("input", "input_tokens"), ("output", "output_tokens")):
        tokens = getattr(reply.usage, ours, None)
        if tokens is not None:
            yield theirs, tokens
    yield "collected_at", stored.collected_at


def _judged(verdict: Verdict) -> dict[str, Any]:
    """`score` and `reason`; a verdict that could not be read says why instead."""
    if verdict.value is None:
        return {"judge_parse_error": verdict.invalid}
    judged = {"score": int(verdict.value), "judge": _judge(verdict.scorer)}
    reason = verdict.detail.get("reason")
    return {**judged, "reason": reason} if reason is not None else judged


def _verdicts(store: Store, run: RunInfo, judge: str | None) -> dict[str, Verdict]:
    """The register verdicts by reply, of one judge with one rubric."""
    found: dict[tuple[str, str], dict[str, Verdict]] = {}
    for verdict in store.verdicts(run.id):
        if verdict.scorer.startswith(_REGISTER):
            of = found.setdefault((verdict.scorer, verdict.scorer_version), {})
            of[verdict.reply_key] = verdict
    named = {
        who: by for who, by in found.items() if judge in (None, who[0].removeprefix(_REGISTER))
    }
    if len(named) > 1 or (judge and not named):
        known = ", ".join(sorted({_judge(scorer) for scorer, _ in found})) or "none"
        raise UsageError(
            f"{len(named)} judges with their rubrics match", where="--judge", todo=f"here: {known}"
        )
    return next(iter(named.values()), {})


def _judge(scorer: str) -> str:
    return scorer.removeprefix(_REGISTER)


def _folders(targets: tuple[str, ...]) -> dict[str, str]:
    """The folder of each target: without its provider, dots as dashes, as in the release."""
    short = {target: _dashed(target.partition("/")[2] or target) for target in targets}
    taken = list(short.values())
    return {t: name if taken.count(name) == 1 else _dashed(t) for t, name in short.items()}


def _dashed(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_=," else "-" for c in name)


def _arm(cell: Cell) -> str:
    return _ARMS.get(cell.arm, cell.arm)


def _stimulus(planned: _Planned, cell: Cell) -> Stimulus:
    battery = planned.batteries[cell.battery]
    return next(stimulus for stimulus in battery.stimuli if stimulus.id == cell.stimulus)


def _write(file: Path, fields: Mapping[str, Any]) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n")
