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

from contextecho.errors import DataError
from contextecho.own_files import names_data_file
from contextecho.studies.checking import problems_of
from contextecho.studies.model import ContrastSpec, Level, Study

_BUNDLED = files("contextecho.studies") / "catalog"
_FORM = f"compare with the bundled {_BUNDLED / 'trajectory.toml'}"
_NONE = {"anchor": None, "negative_controls": None}  # TOML has no null: left out means none
_STUDY_KEYS = {*Study.__struct_fields__} - {"level"}  # a file has levels, a plan has one
_PARTS = {"contrasts": {*ContrastSpec.__struct_fields__}, "levels": {*Level.__struct_fields__}}


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
            todo="`contextecho studies list` names them; or give the path of a .toml file",
        )
    return _find_files(_read(path, str(path)), path.parent)


def _find_files(study: Study, folder: Path) -> Study:
    """The study with its files named from where it lies, not from where it is read."""

    def found(name: str | None) -> str | None:
        return str(folder / name) if name is not None and names_data_file(name) else name

    def all_found(names: tuple[str, ...] | None) -> tuple[str | None, ...] | None:
        return None if names is None else tuple(map(found, names))

    replace = msgspec.structs.replace
    return replace(
        study,
        batteries=all_found(study.batteries),
        negative_controls=found(study.negative_controls),
        anchor=found(study.anchor),
        levels=tuple(
            replace(level, batteries=all_found(level.batteries), anchor=found(level.anchor))
            for level in study.levels
        ),
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
    if problems := list(problems_of(study)):
        raise DataError("; ".join(problems), where=name, todo=_FORM)
    return study


def _refuse_unknown(content: dict[str, Any], name: str) -> None:
    unknown = set(content) - _STUDY_KEYS
    for key, known in _PARTS.items():
        for part in content.get(key, ()):
            if isinstance(part, dict):
                unknown |= {f"{key}.{one}" for one in part.keys() - known}
    if unknown:
        raise DataError(f"has unknown keys: {', '.join(sorted(unknown))}", where=name, todo=_FORM)
