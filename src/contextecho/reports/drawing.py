"""Figures as files for a paper: which ones, in which formats, under which names.

The renderer needs matplotlib, an extra that most users never install; it is
imported here, when a figure is drawn, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from contextecho.errors import UsageError
from contextecho.reports.gallery import figures, select
from contextecho.reports.typeset import listing
from contextecho.scoring import RunAnalysis

DRAWN_FORMATS = ("pdf", "svg", "png")


def draw_figures(
    analysis: RunAnalysis,
    directory: Path | str,
    formats: Iterable[str] = ("pdf",),
    only: Iterable[str] = (),
) -> tuple[Path, ...]:
    """Draw a run's figures into `directory` as `ID.FORMAT`; the paths in drawing order.

    `only` names families ("trajectory") or ids; the directory is made if need be.
    Raises `UsageError` for an unknown format or figure, without matplotlib, and
    for a place that cannot be written.
    """
    wanted = tuple(dict.fromkeys(formats))
    for name in wanted:
        if name not in DRAWN_FORMATS:
            raise UsageError(f"no figure format {name!r}", todo=f"choose {listing(DRAWN_FORMATS)}")
    chosen = select(figures(analysis), only)
    if find_spec("matplotlib") is None:
        raise UsageError(
            "figures for a paper need matplotlib",
            todo="pip install 'contextecho[figures]'",
        )
    save = import_module("contextecho.reports.mpl").save
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(path for figure in chosen for path in save(figure, folder, wanted))
    except OSError as error:
        raise UsageError(
            f"cannot write the figures: {error.strerror}",
            where=str(folder),
            todo="name a folder that can be written",
        ) from error
