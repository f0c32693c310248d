"""What was imported from others: cells, the scores they came with, and what is wrong with them.

The one thing to know: imported cells have tables of their own and never stand among
collected ones. Nobody here saw the call: what the source does not say is None, and a
score that cannot be trusted has no value, only what the source gave and why it is `invalid`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class ImportedVerdict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One score that the source holds; `value` is None when it may not be used."""

    scorer: str  # "register", "register/JUDGE" where the source names one, "compliance", ...
    value: float | None
    label: str | None = None  # in the judge's words
    reason: str | None = None
    invalid: str | None = None  # why there is no value
    given: str | None = None  # what the source holds, as JSON


class ImportedCell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One reply of somebody else's collection, and where it was found."""

    path: str  # of its file, from the folder that was imported
    sha256: str  # of that file
    experiment: str
    condition: str | None  # which variant of it
    target: str | None
    session: str | None
    position: str | None  # label
    turn: int | None  # as the source counts them
    arm: str | None  # in our words; the source's is in `path`
    stimulus: str | None
    paraphrase: int | None
    replicate: int | None
    text: str | None
    length: int | None  # characters of `text`; without one, what the source says
    seconds: float | None
    input_tokens: int | None
    output_tokens: int | None
    provider: str | None
    model: str | None
    collected_at: str | None
    verdicts: tuple[ImportedVerdict, ...]


class Finding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that a reader of the imported cells must know about one file."""

    flag: str
    path: str
    detail: str


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """One imported tree. Its id is made of the paths and hashes of all its files."""

    id: str
    imported_at: str  # ISO-8601, UTC
    place: str  # where it lay
    protocol: str  # by which it was collected
    files: int
    cells: int
    versions: Mapping[str, str]  # of this program and its layout of the release
