"""The small value that every deterministic check returns."""

from __future__ import annotations

import msgspec


class Compliance(msgspec.Struct, frozen=True):
    """Whether a reply keeps its contract; `reason` says in a few words why not ("" if it does)."""

    ok: bool
    reason: str = ""


KEPT = Compliance(ok=True)


def broken(reason: str) -> Compliance:
    """A contract not kept, and why."""
    return Compliance(ok=False, reason=reason)
