"""Deliberate faults, one at a time: what is done to a file, and what must be said of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from contextecho.release import Flag

PANEL = "probes_at_crosscompaction"
KIMI_LATE = f"{PANEL}/moonshotai-Kimi-K2-6/P5_pre_C6"
C01, C02 = f"{KIMI_LATE}/claude_session/C01.json", f"{KIMI_LATE}/filler/C02.json"
S2 = "cross_compaction/moonshotai-Kimi-K2-6/P5_pre_C6/v01/filler.json"
CONTRACT = "instruction_override/claude-sonnet-4-6/cut-4001/recent3K/S2/metrics.json"
CONTINUED = "downstream_coding/mistral-small/cutpoint-01/metrics_gpt5_3K.json"
AUDIT = "crossjudge_audit/claude-haiku-4-5/P5_pre_C6/filler/C03.json"
ONSET = "drift_onset/claude-sonnet-4-5/T0025/claude_session/C02_v03.json"
CHAIN = "cross_session/chainassemble/claude-sonnet-4-5"

TOUCHED = (
    "probes_at_crosscompaction/moonshotai-Kimi-K2-6/",
    "cross_compaction/moonshotai-Kimi-K2-6/",
    "instruction_override/claude-sonnet-4-6/cut-4001/",
    "downstream_coding/",
    "crossjudge_audit/claude-haiku-4-5/",
    "drift_onset/claude-sonnet-4-5/T0025/",
    "anchor_variants/V3_SYSTEM_INJECT/claude-sonnet-4-6/P0_start/",
    f"{CHAIN}/",
)
"""What of a tree the faults are done to, and what is flagged in a sound one."""

Deed = Callable[[Path], None]


class Fault(NamedTuple):
    """`deed` is done in the folder of results; `file` must then have `flag` with `says` in it."""

    flag: Flag
    file: str
    says: str
    deed: Deed
    files: int = 1  # how many must have the flag more than before


def keys(file: str, **changed: Any) -> Deed:
    """Other values for some keys; None for no key at all."""

    def change(folder: Path) -> None:
        held = json.loads((folder / file).read_text()) | changed
        gone = [key for key, value in changed.items() if value is None]
        kept = {key: value for key, value in held.items() if key not in gone}
        replace(folder / file, json.dumps(kept).encode())

    return change


def data(file: str, content: bytes | None = None, *, cut: int | None = None) -> Deed:
    """Other bytes, or the first of those that there are."""

    def change(folder: Path) -> None:
        place = folder / file
        replace(place, content if content is not None else place.read_bytes()[:cut])

    return change


def replace(place: Path, content: bytes) -> None:
    """Write a new file: the old one is a link to that of the sound tree."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(content)


def pipe(file: str) -> Deed:
    def change(folder: Path) -> None:
        (folder / file).unlink()
        os.mkfifo(folder / file)

    return change


def dangling(file: str) -> Deed:
    def change(folder: Path) -> None:
        (folder / file).unlink()
        (folder / file).symlink_to("nowhere")

    return change


def null(file: str, key: str) -> Deed:
    def change(folder: Path) -> None:
        held = json.loads((folder / file).read_text()) | {key: None}
        replace(folder / file, json.dumps(held).encode())

    return change


def other_root(file: str) -> Deed:
    """The same cell with another score under the other root."""

    def change(folder: Path) -> None:
        held = json.loads((folder / file).read_text())
        place = folder.parent / "data_archive" / file
        replace(place, json.dumps(held | {"reason": "another"}).encode())

    return change


def as_at(position: str, other: str) -> Deed:
    """The session's cells of one position get the prefix of another, as a clamped cut does."""

    def change(folder: Path) -> None:
        for wording in sorted((folder / CHAIN / other).iterdir()):
            source = json.loads((wording / "claude.json").read_text())
            keys(
                f"{CHAIN}/{position}/{wording.name}/claude.json",
                input_tokens=source["input_tokens"],
            )(folder)

    return change


def manifest(**entry: Any) -> Deed:
    return data("MANIFEST.json", json.dumps({"cells": [entry]}).encode())


FAULTS = {
    "a score of -1": Fault(
        Flag.INVALID_SCORE, C01, "register -1", keys(C01, score=-1, label="parse_error")
    ),
    "a score out of range": Fault(
        Flag.INVALID_SCORE, C01, "register 7", keys(C01, score=7, label="invalid_score")
    ),
    "a score between two": Fault(Flag.INVALID_SCORE, C01, "register 2.9", keys(C01, score=2.9)),
    "a score that is a text": Fault(Flag.INVALID_SCORE, C01, 'register "3"', keys(C01, score="3")),
    "a score that is true": Fault(Flag.INVALID_SCORE, C01, "register true", keys(C01, score=True)),
    "a score that is null": Fault(Flag.INVALID_SCORE, C01, "register null", null(C01, "score")),
    "the second judge's -1": Fault(
        Flag.INVALID_SCORE, AUDIT, "register/gpt5 -1", keys(AUDIT, gpt5_score=-1)
    ),
    "a compliance of 2": Fault(
        Flag.INVALID_SCORE, CONTRACT, "compliance 2", keys(CONTRACT, compliance=2)
    ),
    "a similarity above 1": Fault(
        Flag.INVALID_SCORE, CONTINUED, "M2_gpt5_3K_arg_sim 1.5",
        keys(CONTINUED, M2_gpt5_3K_arg_sim=1.5),
    ),
    "another label": Fault(
        Flag.LABEL_MISMATCH, C01, "register 3 is 'drifted'", keys(C01, score=3, label="drifted")
    ),
    "a label that is none": Fault(
        Flag.LABEL_MISMATCH, C01, "register 3 is 'fine'", keys(C01, score=3, label="fine")
    ),
    "no text": Fault(Flag.EMPTY_REPLY, C02, "", keys(C02, response_text="", response_len=0)),
    "white space": Fault(Flag.EMPTY_REPLY, S2, "", keys(S2, response_text=" \n", response_len=2)),
    "a text that is null": Fault(Flag.EMPTY_REPLY, C02, "", null(C02, "response_text")),
    "a provider's error": Fault(
        Flag.EMPTY_REPLY, S2, "no content", keys(S2, response_text="", error="no content")
    ),
    "a judge that failed": Fault(
        Flag.JUDGE_FAILED, C01, "no JSON", keys(C01, judge_parse_error="no JSON")
    ),
    "a judge that failed, by the manifest": Fault(
        Flag.JUDGE_FAILED, C01, "True", manifest(path=f"results/{C01}", judge_parse_error=True)
    ),
    "another arm within": Fault(
        Flag.PATH_MISMATCH, C01, "arm 'control', by its path 'session'", keys(C01, arm="filler")
    ),
    "another target within": Fault(Flag.PATH_MISMATCH, C01, "gpt-5", keys(C01, target="gpt-5")),
    "another probe within": Fault(Flag.PATH_MISMATCH, C01, "'C02'", keys(C01, probe_id="C02")),
    "another position within": Fault(
        Flag.PATH_MISMATCH, C01, "P0_start", keys(C01, position="P0_start")
    ),
    "another turn within": Fault(Flag.PATH_MISMATCH, ONSET, "turn 250", keys(ONSET, turn=250)),
    "another replicate within": Fault(
        Flag.PATH_MISMATCH, ONSET, "replicate 2, by its path 3", keys(ONSET, replicate=2)
    ),
    "two vocabularies that disagree": Fault(
        Flag.TWO_VOCABULARIES, C01, "judge_score is 1", keys(C01, score=2, judge_score=1,
                                                             label="mostly_assistant")
    ),
    "two roots that disagree": Fault(
        Flag.TWO_VERSIONS, C01, f"data_archive/{C01}", other_root(C01), files=2
    ),
    "another compliance": Fault(
        Flag.COMPLIANCE_MISMATCH, CONTRACT, "0, the rule 1", keys(CONTRACT, compliance=0)
    ),
    "a truncated file": Fault(Flag.UNREADABLE, C01, "truncated", data(C01, cut=100)),
    "an empty file": Fault(Flag.UNREADABLE, C01, "truncated", data(C01, b"")),
    "no object": Fault(Flag.UNREADABLE, C01, "Expected `object`", data(C01, b"[1, 2]")),
    "no UTF-8": Fault(Flag.UNREADABLE, C01, "", data(C01, b'{"score": 3, "label": "\xff\xfe"}')),
    "half a character": Fault(Flag.UNREADABLE, C01, "", data(C01, rb'{"response_text": "\ud83d"}')),
    "not a number": Fault(Flag.UNREADABLE, C01, "", data(C01, b'{"score": NaN}')),
    "a text where a number stands": Fault(
        Flag.UNREADABLE, C01, "input_tokens", keys(C01, input_tokens="many")
    ),
    "a number no database holds": Fault(
        Flag.UNREADABLE, C01, "input_tokens", keys(C01, input_tokens=2**63)
    ),
    "a score without end": Fault(Flag.INVALID_SCORE, C01, "1000000", keys(C01, score=10**30)),
    "nested without end": Fault(
        Flag.UNREADABLE, C01, "recursion", data(C01, b'{"a": ' + b"[" * 100_000 + b"]" * 100_000)
    ),
    "a pipe": Fault(Flag.UNREADABLE, C01, "not a regular file", pipe(C01)),
    "a link to nowhere": Fault(Flag.UNREADABLE, C01, "No such file", dangling(C01)),
    "a huge file": Fault(
        Flag.UNREADABLE, C01, "more than 8 MB", data(C01, b'{"a": "' + b"x" * (9 << 20) + b'"}')
    ),
    "no score": Fault(Flag.MISSING_KEY, C01, "score", keys(C01, score=None)),
    "no token counts": Fault(
        Flag.MISSING_KEY, S2, "input_tokens, output_tokens",
        keys(S2, input_tokens=None, output_tokens=None),
    ),
    "no similarity though the tool is right": Fault(
        Flag.MISSING_KEY, CONTINUED, "M2_gpt5_3K_arg_sim",
        keys(CONTINUED, M2_gpt5_3K_arg_sim=None),
    ),
    "no arm in a continuation": Fault(
        Flag.MISSING_KEY, CONTINUED, "M1_<arm>_match", keys(CONTINUED, M1_gpt5_3K_match=None)
    ),
    "a key nobody knows": Fault(Flag.UNKNOWN_KEY, C01, "mood", keys(C01, mood="good")),
    "another length": Fault(
        Flag.LENGTH_MISMATCH, C01, "said to be 5", keys(C01, response_len=5)
    ),
    "a file nobody knows": Fault(
        Flag.UNKNOWN_FILE, f"{PANEL}/notes.txt", "", data(f"{PANEL}/notes.txt", b"?")
    ),
    "a file beside the experiments": Fault(
        Flag.UNKNOWN_FILE, ".DS_Store", "", data(".DS_Store", b"?")
    ),
    "an arm nobody knows": Fault(
        Flag.UNKNOWN_FILE, f"{KIMI_LATE}/lorem/C01.json", "",
        data(f"{KIMI_LATE}/lorem/C01.json", b"{}"),
    ),
    "a folder nobody knows": Fault(
        Flag.UNKNOWN_FOLDER, "dreams/a.json", "dreams", data("dreams/a.json", b"{}")
    ),
    "the panel that was left out": Fault(
        Flag.LEGACY, "kimi_panel/phase2_a/target__kimi__scratch.json", "",
        data("kimi_panel/phase2_a/target__kimi__scratch.json", b"{}"),
    ),
    "a position nobody knows": Fault(
        Flag.UNKNOWN_POSITION, f"{CHAIN}/P9_later/v00/claude.json", "P9_later",
        data(f"{CHAIN}/P9_later/v00/claude.json",
             b'{"response_text": "ls", "input_tokens": 1, "output_tokens": 1}'),
    ),
    "one prefix at two positions": Fault(
        Flag.SAME_PREFIX, f"{CHAIN}/P_post_C4/v00/claude.json", "as at P_pre_C4",
        as_at("P_post_C4", "P_pre_C4"), files=6,
    ),
    "a cell of the manifest that is not there": Fault(
        Flag.MISSING_FILE, "results/a/b.json", "", manifest(path="results/a/b.json")
    ),
    "a manifest that is cut": Fault(
        Flag.UNREADABLE, "MANIFEST.json", "", data("MANIFEST.json", b'{"cells": [')
    ),
}  # fmt: skip


def copy_of(tree: Path, place: Path) -> Path:
    """A tree whose files are links to those of another; gives its folder of results."""
    shutil.copytree(tree, place, copy_function=os.link)
    return place / "results"
