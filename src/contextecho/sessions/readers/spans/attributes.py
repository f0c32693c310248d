"""Attributes of spans, whatever form an exporter gave them.

The one thing to know: `llm.input_messages.0.message.role` may be one flat key, nested
objects, a list of objects with dotted keys, or OTLP's list of keys and typed values; all
become nested objects and lists here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from contextecho.sessions.building.fields import list_in, object_in, objects_in
from contextecho.sessions.building.jsontext import BROKEN, decode_json

_DEEPEST: Final = 32  # levels of nesting that are looked into
_OF_TOOLS: Final = frozenset({"arguments", "response", "result"})  # their keys are no exporter's
_LONG: Final = (
    *("llm.input_messages", "llm.output_messages", "llm.tools", "input.value", "output.value"),
    *("gen_ai.input", "gen_ai.output", "gen_ai.prompt", "gen_ai.completion"),
    *("gen_ai.system_instructions", "gen_ai.tool"),
)


def attributes_of(raw: Any) -> dict[str, Any]:
    """The attributes as nested objects; none for what are no attributes."""
    pairs, made_plain = _pairs(raw)
    return _as_object({key: made_plain(value) for key, value in pairs})


def labels_of(raw: Any) -> dict[str, Any]:
    """The same without messages and what else is long: `True` stands in their place."""
    light: dict[str, Any] = {}
    pairs, made_plain = _pairs(raw)
    for key, value in pairs:
        long = next((name for name in _LONG if key.startswith(name)), None)
        light[long or key] = made_plain(value) if long is None else True
    for top in ("llm", "gen_ai"):
        inside = light.get(top)
        if isinstance(inside, dict):
            names = [key for key in inside if f"{top}.{key}".startswith(_LONG)]
            light[top] = inside | dict.fromkeys(names, True)
    return _as_object(light)


def _pairs(raw: Any) -> tuple[list[tuple[str, Any]], Callable[[Any], Any]]:
    """The keys of attributes with their values, and what makes a value plain."""
    raw = parsed(raw)
    if isinstance(raw, dict):
        return list(raw.items()), _as_it_is
    pairs = (pair for pair in objects_in(raw) if isinstance(pair.get("key"), str))
    typed = [(pair["key"], pair.get("value")) for pair in pairs]
    return typed, plain


def _as_it_is(value: Any) -> Any:
    return value


def _as_object(attributes: dict[str, Any]) -> dict[str, Any]:
    return object_in(_nested(attributes))


def plain(value: Any, depth: int = 0) -> Any:
    """What one of OTLP's typed values holds."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    for kind, inside in value.items():
        if kind == "arrayValue" and isinstance(inside, dict):
            return [plain(one, depth + 1) for one in list_in(inside, "values")]
        if kind == "kvlistValue" and isinstance(inside, dict):
            return {
                pair["key"]: plain(pair.get("value"), depth + 1)
                for pair in objects_in(inside, "values")
                if isinstance(pair.get("key"), str)
            }
        if kind.endswith("Value"):
            return inside
    return None


def parsed(value: Any) -> Any:
    """The value that a text of JSON holds; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[", '"')):
        return value
    found = decode_json(value.encode("utf-8", "replace"))
    return value if found is BROKEN else found


def structured(value: Any) -> Any:
    """What a text of JSON holds, nested as attributes are; any other value as it is."""
    return _nested(parsed(value)) if isinstance(value, str) else value


def _nested(value: Any, depth: int = 0) -> Any:
    """Dotted keys as objects, and objects whose keys are numbers as lists."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_nested(one, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, inside in value.items():
        *way, last = key.split(".", _DEEPEST)
        here: Any = found
        for step in way:
            here = here.setdefault(step, {}) if isinstance(here, dict) else None
        if isinstance(here, dict):
            here.setdefault(last, inside)
    if found and all(key.isdecimal() for key in found):
        return [_nested(found[key], depth + 1) for key in sorted(found, key=_number)]
    return {
        key: inside if key in _OF_TOOLS else _nested(inside, depth + 1)
        for key, inside in found.items()
    }


def _number(key: str) -> tuple[int, str]:
    """The order of numbers that may be too long to be converted."""
    return len(key), key
