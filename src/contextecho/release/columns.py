"""Imported cells as columns: what an analysis of tens of thousands of them computes on.

The one thing to know: a row is a cell, and a column an array over all rows. Words are
numbers with their names beside them (`Names`); a number that is not known is NaN, and
so is a score that may not be used: `given` has what the file says all the same, which
is for showing what the published analysis did with it, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from contextecho.release.flags import Flag
from contextecho.release.reading import COMPLIANCE, REGISTER, RULE
from contextecho.release.tree import Tree
from contextecho.store import (
    Finding,
    Release,
    Store,
    imported_columns,
    imported_verdicts,
    release_findings,
)

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]

_WORDS = (
    "experiment", "condition", "target", "session", "position", "arm", "stimulus", "provider",
    "model",
)  # fmt: skip
_NUMBERS = (
    "turn", "paraphrase", "replicate", "length", "seconds", "input_tokens", "output_tokens",
)  # fmt: skip
_BITS = {flag.value: np.uint32(1 << bit) for bit, flag in enumerate(Flag)}


class Names(msgspec.Struct, frozen=True):
    """A column of words. `codes` are places in `names`, -1 where there is no word."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str | None]) -> Names:
        """The column of these words."""
        known: dict[str, int] = {}
        codes = [-1 if word is None else known.setdefault(word, len(known)) for word in words]
        return cls(np.array(codes, dtype=np.int32), tuple(known))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = self.codes[row]
        return None if code < 0 else self.names[code]

    def among(self, *words: str) -> Mask:
        """The rows with one of these words."""
        wanted = [place for place, name in enumerate(self.names) if name in words]
        return np.isin(self.codes, wanted)

    def take(self, rows: Any) -> Names:
        """Some rows; the codes keep their meaning."""
        return Names(self.codes[rows], self.names)


class Scores(msgspec.Struct, frozen=True):
    """What one scorer said of each row."""

    value: Numbers  # NaN: none, or not to be used
    given: Numbers  # as the file says; NaN: none, or not a number
    label: Names

    def take(self, rows: Any) -> Scores:
        """Some rows."""
        return Scores(self.value[rows], self.given[rows], self.label.take(rows))


class Cells(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of one length; `len` is the number of cells."""

    experiment: Names
    condition: Names
    target: Names
    session: Names
    position: Names
    arm: Names
    stimulus: Names
    provider: Names
    model: Names
    turn: Numbers
    paraphrase: Numbers
    replicate: Numbers
    length: Numbers  # characters
    seconds: Numbers
    input_tokens: Numbers
    output_tokens: Numbers
    flags: NDArray[np.uint32]  # a bit for each `Flag`, see `has`
    by_scorer: Mapping[str, Scores]
    texts: tuple[str | None, ...] | None  # None when they were not asked for

    def __len__(self) -> int:
        return len(self.flags)

    @property
    def score(self) -> Numbers:
        """The register score, 0..3, of the judge that the release does not name."""
        return self._value(REGISTER)

    @property
    def label(self) -> Names:
        """That judge's labels."""
        scores = self.by_scorer.get(REGISTER)
        return Names.of([None] * len(self)) if scores is None else scores.label

    @property
    def compliance(self) -> Numbers:
        """0 or 1: as the release says, else by the published rule."""
        said = self._value(COMPLIANCE)
        none_said = np.ones(len(self), dtype=bool)
        if COMPLIANCE in self.by_scorer:
            none_said = np.isnan(self.by_scorer[COMPLIANCE].given)
        return np.where(none_said, self._value(RULE), said)

    def _value(self, scorer: str) -> Numbers:
        scores = self.by_scorer.get(scorer)
        return np.full(len(self), np.nan) if scores is None else scores.value

    def has(self, *flags: Flag) -> Mask:
        """The rows with any of these flags."""
        wanted = np.uint32(sum(int(_BITS[flag.value]) for flag in flags))
        found: Mask = (self.flags & wanted) > 0
        return found

    def where(self, **words: str | Sequence[str]) -> Mask:
        """The rows whose columns of words have these, as in `where(arm="control")`."""
        found = np.ones(len(self), dtype=bool)
        for name, word in words.items():
            wanted = (word,) if isinstance(word, str) else word
            found &= getattr(self, name).among(*wanted)
        return found

    def take(self, rows: Any) -> Cells:
        """Some rows, by a mask or by their numbers."""
        chosen: dict[str, Any] = {name: getattr(self, name).take(rows) for name in _WORDS}
        chosen |= {name: getattr(self, name)[rows] for name in _NUMBERS}
        texts = self.texts
        if texts is not None:
            texts = tuple(texts[row] for row in np.arange(len(self))[rows])
        scores = {scorer: of.take(rows) for scorer, of in self.by_scorer.items()}
        return Cells(**chosen, flags=self.flags[rows], by_scorer=scores, texts=texts)


def cells_of_tree(tree: Tree, *, texts: bool = False) -> Cells:
    """The columns of a tree that was read."""
    columns = {name: list(map(attrgetter(name), tree.cells)) for name in (*_WORDS, *_NUMBERS)}
    verdicts = [
        (row, verdict.scorer, verdict.value, verdict.given, verdict.label)
        for row, cell in enumerate(tree.cells)
        for verdict in cell.verdicts
    ]
    return _cells(
        columns,
        verdicts,
        [cell.path for cell in tree.cells],
        tree.findings,
        tuple(cell.text for cell in tree.cells) if texts else None,
    )


def cells_of_store(store: Store, release: Release, *, texts: bool = False) -> Cells:
    """The columns of a release that was imported. Equal to those of its tree."""
    names = (*_WORDS, *_NUMBERS, "path", *(("text",) if texts else ()))
    columns = dict(zip(names, imported_columns(store, release.id, names), strict=True))
    verdicts = imported_verdicts(store, release.id, ("scorer", "value", "given", "label"))
    findings = release_findings(store, release.id)
    return _cells(columns, verdicts, columns["path"], findings, columns.get("text"))


def _cells(
    columns: Mapping[str, Sequence[Any]],
    verdicts: Iterable[tuple[Any, ...]],
    paths: Sequence[str],
    findings: Iterable[Finding],
    texts: tuple[str | None, ...] | None,
) -> Cells:
    named: dict[str, Any] = {name: Names.of(columns[name]) for name in _WORDS}
    named |= {name: np.array(columns[name], dtype=np.float64) for name in _NUMBERS}
    return Cells(
        **named,
        flags=_flags(paths, findings),
        by_scorer=_scores(len(paths), verdicts),
        texts=texts,
    )


def _flags(paths: Sequence[str], findings: Iterable[Finding]) -> NDArray[np.uint32]:
    """A file of several cells flags all of them."""
    by_path: dict[str, np.uint32] = {}
    for finding in findings:
        by_path[finding.path] = by_path.get(finding.path, np.uint32(0)) | _BITS[finding.flag]
    none = np.uint32(0)
    return np.array([by_path.get(path, none) for path in paths], dtype=np.uint32)


def _scores(rows: int, verdicts: Iterable[tuple[Any, ...]]) -> dict[str, Scores]:
    by_scorer: dict[str, list[tuple[Any, ...]]] = {}
    for row, scorer, *said in verdicts:
        by_scorer.setdefault(scorer, []).append((row, *said))
    return {scorer: _of_scorer(rows, said) for scorer, said in by_scorer.items()}


def _of_scorer(rows: int, said: Sequence[tuple[Any, ...]]) -> Scores:
    places, values, given, labels = zip(*said, strict=True)
    value, as_given = np.full(rows, np.nan), np.full(rows, np.nan)
    value[list(places)] = np.array(values, dtype=np.float64)
    as_given[list(places)] = [_number(text) for text in given]
    label: list[str | None] = [None] * rows
    for place, word in zip(places, labels, strict=True):
        label[place] = word
    return Scores(value, as_given, Names.of(label))


def _number(given: str | None) -> float:
    """A number as JSON; true and false are 1 and 0, anything else none."""
    if given in ("true", "false"):
        return float(given == "true")
    try:
        return float(given) if given is not None else np.nan
    except ValueError:
        return np.nan
