"""Making a struct of a decoded object of which some fields are of another type.

The one thing to know: a field that cannot be brought to its type is dropped, and costs
nothing else of the object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

T = TypeVar("T", bound=Struct)
Bring = Callable[[type[Struct], str, Any], Any]
"""(struct, name of a field, what is given for it) to what is nearer to the field's type."""

_fields = cache(msgspec.structs.fields)


def fitting(kind: type[T], value: dict[str, Any], bring: Bring) -> T:
    """A `kind` with the fields of `value` that have, or can be brought to, the right type."""
    found: dict[str, Any] = {}
    for field in _fields(kind):
        if field.encode_name not in value:
            continue
        given = value[field.encode_name]
        try:
            found[field.name] = (
                Raw(msgspec.json.encode(given))
                if field.type is Raw
                else msgspec.convert(bring(kind, field.name, given), field.type)
            )
        except (msgspec.ValidationError, RecursionError):
            continue
    return kind(**found)
