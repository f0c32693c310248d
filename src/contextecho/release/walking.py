"""Finding the files of a release: under which folders its results lie, and all files there.

The one thing to know: older runners wrote `data_archive/`, the release has `results/`, and
a folder may have both, or be one of them. Links to files are followed, since a download
cache is made of them; links to folders below a root are not, since they may go in circles.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from contextecho.errors import UsageError
from contextecho.release.layout import Layout
from contextecho.untrusted import mend_halves


class Found(msgspec.Struct, frozen=True, gc=False):
    """A file below a root."""

    file: str  # to open it
    root: str  # from the folder that was named, empty for that folder itself
    below: str  # from the root

    @property
    def path(self) -> str:
        """From the folder that was named."""
        return f"{self.root}/{self.below}" if self.root else self.below


def find_files(folder: Path, layout: Layout) -> list[Found]:
    """All files below the roots in `folder`, by path. Raises `UsageError` when it has no root."""
    if not folder.is_dir():
        raise UsageError("there is no such folder", where=str(folder))
    roots = list(_roots(folder, layout))
    if not roots:
        raise UsageError(
            "this is not the tree of the release",
            where=str(folder),
            todo=f"name the folder that holds {' or '.join(f'{root}/' for root in layout.roots)}",
        )
    return [found for root in roots for found in _below(folder / root, root)]


def _roots(folder: Path, layout: Layout) -> Iterator[str]:
    """As paths from the folder: the folder itself, or those in it and in its own folders."""
    if folder.resolve().name in layout.roots or _holds_experiments(folder, layout):
        yield ""
        return
    for place in (folder, *sorted(path for path in folder.iterdir() if path.is_dir())):
        for root in layout.roots:
            if (place / root).is_dir():
                yield (place / root).relative_to(folder).as_posix()


def _holds_experiments(folder: Path, layout: Layout) -> bool:
    experiments = {place.experiment for place in layout.places}
    return any(path.name in experiments for path in folder.iterdir())


def _below(top: Path, root: str) -> Iterator[Found]:
    start = os.fspath(top)
    for folder, folders, files in os.walk(start):
        folders.sort()
        below = folder[len(start) :].strip(os.sep).replace(os.sep, "/")
        for name in sorted(files):
            shown = mend_halves(f"{below}/{name}" if below else name)  # it may be no UTF-8
            yield Found(f"{folder}{os.sep}{name}", root, shown)
