"""Loading a battery: a bundled one by its id, or the user's own file by its path.

The one thing to know: a battery may take its framing or its stimuli from a
bundled battery, so that no text stands in two files. Its hash therefore covers
its own bytes followed by the bytes of each file it takes from; for a file that
takes from none it is simply the file's SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from contextecho.errors import DataError
from contextecho.own_files import names_data_file, read_data_file
from contextecho.stimuli.model import Battery, Stimulus, StimulusKind
from contextecho.stimuli.source import BatterySource, Reference, parse_source
from contextecho.untrusted import make_visible

_BUNDLED = files("contextecho.stimuli") / "data"


def battery_ids() -> tuple[str, ...]:
    """Ids of the bundled batteries, sorted."""
    names = (entry.name for entry in _BUNDLED.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def load_battery(id_or_path: str | Path) -> Battery:
    """Load and check a bundled battery by id, or a battery file by path.

    Raises DataError, naming the file and the key, when there is no such
    battery or the file is not a valid one.
    """
    name = str(id_or_path)
    if name in battery_ids():
        return _resolve(_bundled_source(name), _bundled_bytes(name), name)
    if not (Path(name).exists() or names_data_file(name) or isinstance(id_or_path, Path)):
        known = ", ".join(battery_ids())
        raise DataError(f'no battery "{name}"', todo=f"one of {known}, or the path of a YAML file")
    if make_visible(name) != name:  # a plan holds the name, and a report shows it
        raise DataError(
            "its name holds characters that cannot be shown", where=name, todo="rename it"
        )
    data = read_data_file(Path(name))
    battery = _resolve(parse_source(data, name), data, name)
    if battery.id in battery_ids():
        raise DataError(f'id: "{battery.id}" is a bundled battery', where=name, todo="rename yours")
    return battery


def _bundled_bytes(battery_id: str) -> bytes:
    return (_BUNDLED / f"{battery_id}.yaml").read_bytes()


@cache
def _bundled_source(battery_id: str) -> BatterySource:
    """A bundled battery as it is written; several take from one."""
    return parse_source(_bundled_bytes(battery_id), battery_id)


def _resolve(source: BatterySource, data: bytes, name: str) -> Battery:
    """Put in what a file of these bytes takes from bundled batteries; hash and check the whole."""
    lenders = {lender: _lender(lender, name) for lender in _taken_from(source)}
    digest = hashlib.sha256(data)
    for lender in lenders:
        digest.update(_bundled_bytes(lender))
    battery = Battery(
        id=source.id,
        version=source.version,
        licence=source.licence,
        source=source.source,
        sha256=digest.hexdigest(),
        stimuli=_stimuli(source, lenders, name),
        framing=_framing(source, lenders, name),
    )
    _check(battery, name)
    return battery


def _taken_from(source: BatterySource) -> tuple[str, ...]:
    """Ids of the bundled batteries a file takes from, each once, in a fixed order."""
    stimuli = [source.select.battery] if source.select else []
    framing = [source.framing.battery] if isinstance(source.framing, Reference) else []
    return tuple(dict.fromkeys(stimuli + framing))


def _lender(battery_id: str, name: str) -> BatterySource:
    """The bundled battery that another file takes from; it has texts of its own."""
    if battery_id not in battery_ids():
        known = ", ".join(battery_ids())
        raise DataError(
            f'from: no bundled battery "{battery_id}"', where=name, todo=f"one of {known}"
        )
    return _bundled_source(battery_id)


def _framing(source: BatterySource, lenders: dict[str, BatterySource], name: str) -> str | None:
    if not isinstance(source.framing, Reference):
        return source.framing
    framing = lenders[source.framing.battery].framing
    if not isinstance(framing, str):
        raise DataError(f'framing: "{source.framing.battery}" has none of its own', where=name)
    return framing


def _stimuli(
    source: BatterySource, lenders: dict[str, BatterySource], name: str
) -> tuple[Stimulus, ...]:
    """The file's own stimuli in its order, or those it selects in the order it selects them."""
    if source.select is None:
        return _own_stimuli(source)
    offered = {stimulus.id: stimulus for stimulus in _own_stimuli(lenders[source.select.battery])}
    for wanted in source.select.stimuli:
        if wanted not in offered:
            raise DataError(
                f'select: no stimulus "{wanted}" in "{source.select.battery}"', where=name
            )
    return tuple(offered[wanted] for wanted in source.select.stimuli)


def _own_stimuli(source: BatterySource) -> tuple[Stimulus, ...]:
    if source.kind is None:
        return ()
    return tuple(
        Stimulus(kind=source.kind, **msgspec.structs.asdict(stimulus))
        for stimulus in source.stimuli
    )


def _check(battery: Battery, name: str) -> None:
    """Refuse what would make two cells ask the same, or leave a cell without a question."""
    ids = [stimulus.id for stimulus in battery.stimuli]
    if doubled := next((i for i in ids if ids.count(i) > 1), None):
        raise DataError(f'stimuli: id "{doubled}" stands twice', where=name)
    texts = [wording for stimulus in battery.stimuli for wording in stimulus.wordings]
    if doubled := _first_said_again(texts):
        raise DataError(f'stimuli: the wording "{doubled}" stands twice', where=name)
    count = len(battery.stimuli[0].wordings)
    for stimulus in battery.stimuli:
        if len(stimulus.wordings) != count:
            raise DataError(
                f"stimuli: {stimulus.id} has {len(stimulus.wordings)} wordings, "
                f"{battery.stimuli[0].id} has {count}",
                where=name,
                todo="give each as many",
            )
        if stimulus.check and stimulus.kind is not StimulusKind.STRESSOR:
            raise DataError(f"stimuli: {stimulus.id} has a `check` but is no stressor", where=name)


def _first_said_again(texts: Iterable[str]) -> str | None:
    """The first text that says again what an earlier one said."""
    seen: set[str] = set()
    for text in texts:
        letters = _letters(text)
        if letters in seen:
            return text
        seen.add(letters)
    return None


def _letters(text: str) -> str:
    """A text without case, punctuation and spacing: wordings that agree in it are one."""
    return "".join(character for character in text.casefold() if character.isalnum())
