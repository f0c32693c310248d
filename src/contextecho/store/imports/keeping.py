"""Bringing a release into a store, and getting it out again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from contextecho.contexts import canonical_json
from contextecho.errors import DataError, UsageError
from contextecho.store.imports import statements
from contextecho.store.imports.model import Finding, ImportedCell, Release
from contextecho.store.imports.tables import (
    CELL_COLUMNS,
    FINDING,
    IMPORTED_CELL,
    IMPORTED_VERDICT,
    RELEASE,
    RELEASE_COLUMNS,
)
from contextecho.store.moment import now
from contextecho.store.store import Store


def keep_release(
    store: Store,
    release_id: str,
    cells: Sequence[ImportedCell],
    findings: Sequence[Finding],
    *,
    place: str,
    protocol: str,
    files: int,
    versions: Mapping[str, str],
) -> tuple[Release, bool]:
    """Bring a release in, in one transaction; gives it as it is kept, and whether it is new.

    Of one that is there already nothing is changed.
    """
    says = canonical_json(versions).decode()
    row = (release_id, now(), place, protocol, files, len(cells), says)

    def bring() -> bool:
        if not store.database.run(statements.keep(RELEASE), *row):
            return False
        store.database.run_many(statements.keep(IMPORTED_CELL), _cells(release_id, cells))
        store.database.run_many(statements.keep(IMPORTED_VERDICT), _verdicts(release_id, cells))
        store.database.run_many(statements.keep(FINDING), _findings(release_id, findings))
        return True

    is_new = store.database.write(bring)
    return find_release(store, release_id), is_new


def _cells(release: str, cells: Sequence[ImportedCell]) -> Iterator[tuple[Any, ...]]:
    for ordinal, cell in enumerate(cells):
        yield release, ordinal, *msgspec.structs.astuple(cell)[: len(CELL_COLUMNS)]


def _verdicts(release: str, cells: Sequence[ImportedCell]) -> Iterator[tuple[Any, ...]]:
    for ordinal, cell in enumerate(cells):
        for verdict in cell.verdicts:
            yield release, ordinal, *msgspec.structs.astuple(verdict)


def _findings(release: str, findings: Iterable[Finding]) -> Iterator[tuple[Any, ...]]:
    for ordinal, finding in enumerate(findings):
        yield release, ordinal, *msgspec.structs.astuple(finding)


def releases(store: Store) -> tuple[Release, ...]:
    """All releases, the one imported last first. Raises `DataError` for one changed by hand."""
    return tuple(map(_release, store.database.rows(statements.all_releases)))


def _release(row: Sequence[Any]) -> Release:
    values = dict(zip(RELEASE_COLUMNS, row, strict=True))
    try:
        return msgspec.convert({**values, "versions": msgspec.json.decode(row[-1])}, Release)
    except (msgspec.MsgspecError, TypeError) as error:
        raise DataError(
            f"a release in the store cannot be read: {error}",
            todo="the store was changed by hand; take the copy from before",
        ) from error


def find_release(store: Store, text: str = "latest") -> Release:
    """The release that `text` names: `latest`, or the beginning of one id.

    Raises `UsageError` when there is none, or more than one.
    """
    known = releases(store)
    found = known[:1] if text == "latest" else [r for r in known if r.id.startswith(text)]
    if len(found) == 1:
        return found[0]
    here = ", ".join(release.id for release in known) or "none: `contextecho import release DIR`"
    raise UsageError(
        f"{len(found)} releases match {text!r}", where=store.where, todo=f"here: {here}"
    )


def imported_columns(store: Store, release_id: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Some columns of all cells of a release, each whole, in the order of the cells.

    `names` are fields of `ImportedCell` other than `verdicts`.
    """
    rows = list(store.database.rows(statements.cells(tuple(names)), release_id))
    return list(zip(*rows, strict=True)) if rows else [()] * len(names)


def imported_verdicts(
    store: Store, release_id: str, names: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """The ordinal of the cell, and fields of the `ImportedVerdict`, of each verdict, in order."""
    return store.database.rows(statements.verdicts(tuple(names)), release_id)


def release_findings(store: Store, release_id: str) -> Iterator[Finding]:
    """What was found wrong, or worth knowing, with the files of a release; in their order."""
    for flag, path, detail in store.database.rows(statements.findings, release_id):
        yield Finding(flag=flag, path=path, detail=detail)


def uncounted_releases(store: Store) -> Iterator[str]:
    """Ids of the releases that have lost cells, or have more than came."""
    counts: dict[str, int] = dict(store.database.rows(statements.cell_counts))
    for release in releases(store):
        if counts.get(release.id, 0) != release.cells:
            yield release.id
