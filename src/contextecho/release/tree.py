"""A whole release: all its files read, and what is seen only when they are put side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from contextecho import __version__
from contextecho.release.flags import Flag
from contextecho.release.layout import load_layout
from contextecho.release.manifest import heed_manifests, load_manifests, protocol_of
from contextecho.release.reading import FileRead, read_file
from contextecho.release.selfjudging import self_judged
from contextecho.release.twins import same_prefixes, two_versions
from contextecho.release.walking import Found, find_files
from contextecho.store import Finding, ImportedCell, Release, Store, keep_release


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a release. Equal trees have the same id, wherever they lie."""

    id: str
    place: str
    protocol: str  # by which it was collected
    files: int
    copies: int  # of these: files that another root holds as well, the same; read once
    cells: tuple[ImportedCell, ...]  # by path
    findings: tuple[Finding, ...]  # by path


def read_release(folder: Path | str) -> Tree:
    """Read the tree in `folder`, and change nothing.

    Raises `UsageError` when there is no such tree; what is wrong in it is in `findings`.
    """
    layout = load_layout()
    found = sorted(find_files(Path(folder), layout), key=lambda file: file.path)
    read = list(map(read_file, found))
    found_once, read_once = _without_copies(found, read)
    read_once = two_versions(found_once, read_once)
    manifests = load_manifests(found_once)
    read_once = heed_manifests(manifests, found_once, read_once)
    cells = [cell for file in read_once for cell in file.cells]
    findings = [finding for file in read_once for finding in file.findings]
    findings += [*same_prefixes(cells), *self_judged(cells, layout)]
    return Tree(
        id=_id_of(read),
        place=str(folder),
        protocol=protocol_of(manifests),
        files=len(read),
        copies=len(read) - len(read_once),
        cells=tuple(cells),
        findings=tuple(sorted(findings, key=lambda f: (f.path, list(Flag).index(Flag(f.flag))))),
    )


def import_release(store: Store, tree: Tree) -> tuple[Release, bool]:
    """Bring a tree into a store; gives it as it is kept, and whether it is new there."""
    return keep_release(
        store,
        tree.id,
        tree.cells,
        tree.findings,
        place=tree.place,
        protocol=tree.protocol,
        files=tree.files,
        versions={"contextecho": __version__, "layout": load_layout().version},
    )


def _without_copies(
    found: Sequence[Found], read: Sequence[FileRead]
) -> tuple[list[Found], list[FileRead]]:
    """One of each file that two roots hold alike."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for file, its in zip(found, read, strict=True):
        named = file.below, its.sha256
        if its.sha256 and named in seen:
            continue
        seen.add(named)
        kept.append((file, its))
    return [file for file, _ in kept], [its for _, its in kept]


def _id_of(read: Sequence[FileRead]) -> str:
    """Twelve hex digits that name the content of a tree."""
    hashed = hashlib.sha256()
    for file in read:
        hashed.update(f"{file.path}\0{file.sha256}\n".encode(errors="surrogateescape"))
    return hashed.hexdigest()[:12]
