"""What the store keeps: replies by request key, verdicts by reply and scorer, runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from contextecho.models import Reply
from contextecho.studies import Cell


class StoredReply(msgspec.Struct, frozen=True, kw_only=True):
    """A cell with the reply that answers it (None: not collected yet)."""

    cell: Cell
    key: str  # Request.key
    reply: Reply | None
    attempts: int
    collected_at: str | None  # ISO-8601, UTC


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One scorer's reading of one reply. `value` is None when there is none, and `invalid` says why."""

    reply_key: str
    scorer: str  # "register/JUDGE_ID", "compliance", "length", "fingerprint"
    scorer_version: str  # rubric or rules hash, judge id and decoding: part of the verdict key
    value: float | None
    invalid: str | None = None
    detail: Mapping[str, Any] = {}


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A run: one plan collected into a store, with everything needed to report it."""

    id: str
    created_at: str
    study: str
    session: str
    session_path: str
    targets: tuple[str, ...]
    plan: Mapping[str, Any]  # the plan without its contexts, as built-in values
    versions: Mapping[str, str]  # of this program and what it ran on
