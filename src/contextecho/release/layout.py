"""The layout of the release as data: which file is what, and what its path says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import msgspec

from contextecho.bundled import read_bundled

_FIELD = re.compile(r"\\\{(\w+)(?::([^{}]*))?\\\}")
_FORMS = {
    "wording": r"v(?P<wording>\d\d)",
    "sample": r"v(?P<sample>\d\d)",
    "onset": r"T(?P<onset>\d{4,})",
    "repeat": r"(?P<stimulus>[^/]+?)(?:_v(?P<sample>\d\d))?",
}
_STRESSOR = re.compile(r"(S[1-4])_\w+")


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One kind of path."""

    path: str
    kind: str
    of: Mapping[str, str] = {}  # what the path does not say
    dual: str | None = None  # which of two meanings of its folder is taken

    @property
    def experiment(self) -> str:
        """The first folder; of those that say the session in their name, without it."""
        return self.path.partition("/")[0].partition("{")[0].rstrip("_")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The path as an expression."""
        return re.compile(_FIELD.sub(_group, re.escape(self.path)))


def _group(found: re.Match[str]) -> str:
    name, words = found[1], found[2]
    if name in _FORMS:
        return _FORMS[name]
    return f"(?P<{name}>{words.replace(chr(92), '') if words else '[^/]+?'})"


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A session as the reference counted it."""

    turns: int
    positions: Mapping[str, int]


class SelfJudged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which cells the target itself judged."""

    experiment: str
    session: str
    targets: tuple[str, ...]
    not_at: tuple[str, ...]
    not_of: tuple[str, ...]


class Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many cells the release is said to have."""

    cells: int
    where: str


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What the path of a cell says of it."""

    place: Place
    fields: Mapping[str, str]
    arm_as_written: str | None

    def get(self, name: str) -> str | None:
        """A field, None when neither the path nor its kind says it."""
        return self.fields.get(name)

    def number(self, name: str) -> int | None:
        """A field that is a number."""
        found = self.fields.get(name)
        return None if found is None else int(found)


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The whole layout."""

    version: str
    licence: str
    source: str
    roots: tuple[str, ...]
    arms: Mapping[str, str]
    arm_aliases: tuple[str, ...]
    labels: Mapping[str, int]
    labels_unread: tuple[str, ...]
    kinds: Mapping[str, tuple[str, ...]]
    places: tuple[Place, ...]
    asides: tuple[str, ...]
    legacy: tuple[str, ...]
    sessions: Mapping[str, Session]
    judges: Mapping[str, str]
    self_judged: SelfJudged
    stated: tuple[Stated, ...]
    sha256: str = ""

    @cached_property
    def _by_folder(self) -> Mapping[str, list[Place]]:
        found: dict[str, list[Place]] = {}
        for place in self.places:
            found.setdefault(place.experiment, []).append(place)
        return found

    @cached_property
    def _asides(self) -> re.Pattern[str]:
        return re.compile("|".join(self.asides))

    @cached_property
    def _legacy(self) -> re.Pattern[str]:
        return re.compile("|".join(self.legacy))

    def read_path(self, path: str) -> Said | None:
        """What the path below a root says; None when it is not that of a cell."""
        folder = path.partition("/")[0]
        for place in self._places(folder):
            if found := place.pattern.fullmatch(path):
                return self._said(place, found.groupdict())
        return None

    def _places(self, folder: str) -> list[Place]:
        """Those that may begin with this folder."""
        return self._by_folder.get(folder) or self._by_folder.get(folder.rpartition("_")[0], [])

    def _said(self, place: Place, found: Mapping[str, Any]) -> Said | None:
        fields = {**place.of, **{name: value for name, value in found.items() if value is not None}}
        written = found.get("arm")
        if written is not None:
            if written not in self.arms:
                return None
            fields["arm"] = self.arms[written]
        if stressor := _STRESSOR.fullmatch(fields.get("stimulus", "")):
            fields["stimulus"] = stressor[1]
        return Said(place=place, fields=fields, arm_as_written=written)

    def is_known_folder(self, path: str) -> bool:
        """Whether the first folder of a path is an experiment's."""
        folder = path.partition("/")[0]
        return bool(self._places(folder)) or self.is_aside(path) or self.is_legacy(path)

    def is_aside(self, path: str) -> bool:
        """Whether the file belongs to the release and holds no cell."""
        return self._asides.fullmatch(path) is not None

    def is_legacy(self, path: str) -> bool:
        """Whether the file is of the panel that is left out."""
        return self._legacy.fullmatch(path) is not None


@cache
def load_layout() -> Layout:
    """The layout that is known; read once. Raises `DataError` when its file is damaged."""
    return read_bundled("release", "layout", Layout)
