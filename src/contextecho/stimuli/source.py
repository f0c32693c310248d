"""The form of a battery's data file, and reading one as written.

Nothing is resolved here: a `BatterySource` still says "C01 from identity25"
where `battery.py` will put the stimulus. What a single file can get wrong
(YAML, missing or unknown or doubled keys, types) is found here, and named
with its file and key.
"""

from __future__ import annotations

from collections.abc import Hashable
from importlib.resources import files
from typing import Annotated, Any, Literal, get_args

import msgspec
import yaml

from contextecho.errors import DataError
from contextecho.stimuli.model import StimulusKind

Id = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._+-]*\Z")]
"""A name that can stand in a cell's id, a file name and a command line."""

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
"""Controls that could drive a terminal (tab and newline do not); surrogates, half characters."""

Text = Annotated[str, msgspec.Meta(pattern=rf"\A[^{_CONTROL}]+\Z")]
"""Text of one or more lines."""

Line = Annotated[
    str, msgspec.Meta(pattern=rf"\A[^\s{_CONTROL}](?:[^\n{_CONTROL}]*[^\s{_CONTROL}])?\Z")
]
"""One line of text without white space around it."""

_FORM = f"compare with the bundled {files('contextecho.stimuli') / 'data' / 'identity25.yaml'}"


Check = Literal["S1", "S2", "S3", "S4"]
"""How a stressor's reply is checked."""

_CHOICES = {"check": get_args(Check), "kind": tuple(StimulusKind)}
"""The values of the keys that take no others, for the error that names one."""


class StimulusSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stimulus as its file gives it."""

    id: Id
    category: Id
    wordings: Annotated[tuple[Line, ...], msgspec.Meta(min_length=1)]
    check: Check | None = None
    answers: tuple[Line, ...] = ()


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take it from this bundled battery."""

    battery: Id = msgspec.field(name="from")


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take these stimuli of this bundled battery."""

    battery: Id = msgspec.field(name="from")
    stimuli: Annotated[tuple[Id, ...], msgspec.Meta(min_length=1)]


class BatterySource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A data file: either `kind` with `stimuli`, or `select`."""

    id: Id
    version: Text
    licence: Text
    source: Text
    kind: StimulusKind | None = None
    framing: Text | Reference | None = None
    stimuli: tuple[StimulusSource, ...] = ()
    select: Selection | None = None


class _StrictLoader(yaml.SafeLoader):
    """YAML as data only; a key that stands twice is an error, where YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {name!r} stands twice", problem_mark=key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


def parse_source(data: bytes, name: str) -> BatterySource:
    """Decode a battery file's bytes; `name` is what errors call the file.

    Raises DataError, naming the line (not YAML) or the key (not a battery).
    """
    try:
        content = yaml.load(data.decode(), Loader=_StrictLoader)
        source = msgspec.convert(content, BatterySource)
    except UnicodeDecodeError as error:
        raise DataError("is not UTF-8 text", where=name, todo=_FORM) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" at line {mark.line + 1}" if mark else ""
        raise DataError(f"is not YAML{line}: {error.problem}", where=name, todo=_FORM) from error
    except msgspec.ValidationError as error:
        problem = f"is not a battery: {error}{_known_values(str(error))}"
        raise DataError(problem, where=name, todo=_FORM) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"is not YAML: {reason}", where=name, todo=_FORM) from error
    if (source.select is None) == (not source.stimuli):
        raise DataError("needs either `stimuli` or `select`", where=name, todo=_FORM)
    if (source.select is None) != (source.kind is not None):
        raise DataError("needs `kind` with `stimuli`, none with `select`", where=name, todo=_FORM)
    return source


def _known_values(problem: str) -> str:
    """What may stand at the key that a decoder's message ends with, where that is a choice."""
    key = problem.removesuffix("`").rpartition(".")[2]
    return f", use {', '.join(_CHOICES[key])}" if key in _CHOICES else ""
