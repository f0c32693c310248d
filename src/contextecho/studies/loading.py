"""Studies as data: the bundled catalog and the user's own TOML files.

The one thing to know: a study is valid before anything is planned. Unknown and
missing keys, arms that a contrast needs and the study does not collect, and
anchored arms without an anchor are found here, named by file and key.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from contextecho.contexts import anchor_ids, protocol_ids
from contextecho.errors import DataError
from contextecho.own_files import names_data_file
from contextecho.studies.model import ContrastSpec, Study

_BUNDLED = files("contextecho.studies") / "catalog"
_FORM = f"compare with the bundled {_BUNDLED / 'trajectory.toml'}"
_NONE = {"anchor": None, "negative_controls": None}  # TOML has no null: left out means none
_CONTRAST_KEYS = set(ContrastSpec.__struct_fields__)


def study_ids() -> tuple[str, ...]:
    """Ids of the bundled studies, sorted."""
    names = (entry.name for entry in _BUNDLED.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_study(id_or_path: str) -> Study:
    """A bundled study by its id, or a user's own by the path of its TOML file.

    Raises DataError, naming the file and the key.
    """
    if id_or_path in study_ids():
        return _read(_BUNDLED / f"{id_or_path}.toml", id_or_path)
    path = Path(id_or_path)
    if path.suffix != ".toml" or not path.is_file():
        raise DataError(
            f'there is no study "{id_or_path}"',
            todo=f"use one of {', '.join(study_ids())}, or the path of a .toml file",
        )
    return _find_files(_read(path, str(path)), path.parent)


def _find_files(study: Study, folder: Path) -> Study:
    """The study with its files named from where it lies, not from where it is read."""

    def found(name: str) -> str:
        return str(folder / name) if names_data_file(name) else name

    controls = study.negative_controls
    return msgspec.structs.replace(
        study,
        batteries=tuple(map(found, study.batteries)),
        negative_controls=None if controls is None else found(controls),
        anchor=None if study.anchor is None else found(study.anchor),
    )


def _read(file: Traversable, name: str) -> Study:
    try:
        content = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
        _refuse_unknown(content, name)
        study = msgspec.convert({**_NONE, **content}, Study)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise DataError(f"cannot be read as TOML: {error}", where=name, todo=_FORM) from error
    except msgspec.ValidationError as error:
        raise DataError(f"is not a study: {error}", where=name, todo=_FORM) from error
    _check(study, name)
    return study


def _refuse_unknown(content: dict[str, Any], name: str) -> None:
    unknown = set(content) - set(Study.__struct_fields__)
    for contrast in content.get("contrasts", ()):
        if isinstance(contrast, dict):
            unknown |= {f"contrasts.{key}" for key in set(contrast) - _CONTRAST_KEYS}
    if unknown:
        raise DataError(f"has unknown keys: {', '.join(sorted(unknown))}", where=name, todo=_FORM)


def _check(study: Study, name: str) -> None:
    """What types cannot say."""
    problems = [
        f"contrasts.{contrast.id} needs arm {arm}, which `arms` does not name"
        for contrast in study.contrasts
        for arm in (contrast.minus_from, contrast.minus)
        if arm not in study.arms
    ]
    problems += [
        f"contrasts.{contrast.id} takes arm {contrast.minus} from itself"
        for contrast in study.contrasts
        if contrast.minus_from == contrast.minus
    ]
    ids = [contrast.id for contrast in study.contrasts]
    problems += [
        f'`contrasts.id` is "{twice}" more than once'
        for twice in sorted(set(ids))
        if ids.count(twice) > 1
    ]
    if not study.arms:
        problems.append("`arms` is empty")
    if any(arm.anchored for arm in study.arms) and study.anchor is None:
        problems.append("`anchor` is missing, and `arms` has an anchored arm")
    if study.anchor is not None and not (
        names_data_file(study.anchor) or study.anchor in anchor_ids()
    ):
        problems.append(f'`anchor` is "{study.anchor}"; there are {", ".join(anchor_ids())}')
    if study.protocol not in protocol_ids():
        problems.append(f'`protocol` is "{study.protocol}"; there are {", ".join(protocol_ids())}')
    for key, value in (("paraphrases", study.paraphrases), ("replicates", study.replicates)):
        if value < 1:
            problems.append(f"`{key}` is {value}, and must be 1 or more")
    if len(set(study.arms)) < len(study.arms):
        problems.append("`arms` names an arm twice")
    if problems:
        raise DataError("; ".join(problems), where=name, todo=_FORM)
