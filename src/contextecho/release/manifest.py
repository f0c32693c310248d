"""The release's own list of its cells, where it has one.

The one thing to know: the list may name a cell whose file is not there, which is a missing
cell and not none; and it may say that a judge's answer could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from contextecho.release.cellfile import NOT_A_CELL
from contextecho.release.flags import Flag
from contextecho.release.reading import FileRead
from contextecho.release.twins import voided
from contextecho.release.walking import Found
from contextecho.store import Finding

PUBLISHED = "published"
_NAME = "MANIFEST.json"


class _Entry(msgspec.Struct):
    path: str
    judge_parse_error: str | bool | None = None


class _Listing(msgspec.Struct):
    cells: list[_Entry] = []
    protocol: str | None = None  # named by those that this program wrote


class Manifest(msgspec.Struct, frozen=True):
    """The list of one root."""

    found: Found
    listing: _Listing
    problem: str | None = None  # why it could not be read


def load_manifests(found: Sequence[Found]) -> list[Manifest]:
    """Those of all roots. Raises nothing: one that cannot be read says why."""
    return [_load(file) for file in found if file.below == _NAME]


def _load(file: Found) -> Manifest:
    try:
        return Manifest(file, msgspec.json.decode(Path(file.file).read_bytes(), type=_Listing))
    except (*NOT_A_CELL, OSError) as error:
        return Manifest(file, _Listing(), str(error))


def protocol_of(manifests: Sequence[Manifest]) -> str:
    """By which the cells were collected: all of the release by the published one."""
    named = {manifest.listing.protocol or PUBLISHED for manifest in manifests}
    return "+".join(sorted(named or {PUBLISHED}))


def heed_manifests(
    manifests: Sequence[Manifest], found: Sequence[Found], read: Sequence[FileRead]
) -> list[FileRead]:
    """The files as they are after what the manifests of their roots say of them."""
    files = {file.path: its for file, its in zip(found, read, strict=True)}
    for manifest in manifests:
        own = manifest.found.path
        says = []
        if manifest.problem is not None:
            says.append(Finding(flag=Flag.UNREADABLE.value, path=own, detail=manifest.problem))
        for entry in manifest.listing.cells:
            path = next((path for path in _ways(manifest.found, entry.path) if path in files), None)
            if path is None:
                says.append(Finding(flag=Flag.MISSING_FILE.value, path=entry.path, detail=""))
            elif entry.judge_parse_error:
                files[path] = voided(files[path], Flag.JUDGE_FAILED, str(entry.judge_parse_error))
        files[own] = _with(files[own], says)
    return list(files.values())


def _ways(manifest: Found, path: str) -> Iterator[str]:
    """A path of a manifest from the folder that was imported: it may begin with the root."""
    yield f"{manifest.root}/{path}" if manifest.root else path
    yield path
    yield path.partition("/")[2]


def _with(file: FileRead, findings: Sequence[Finding]) -> FileRead:
    return msgspec.structs.replace(file, findings=(*file.findings, *findings))
