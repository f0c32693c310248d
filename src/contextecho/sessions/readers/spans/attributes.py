"""Attributes of spans, whatever form an exporter gave them.

The one thing to know: `llm.input_messages.0.message.role` may be one flat key, nested
objects, a list of objects with dotted keys, or OTLP's list of keys and typed values; all
become nested objects and lists here.
"""

from __future__ import annotations

from typing import Any, Final

from contextecho.sessions.jsontext import BROKEN, decode_json

_DEEPEST: Final = 32  # levels of nesting that are looked into


def attributes_of(raw: Any) -> dict[str, Any]:
    """The attributes as nested objects; none for what are no attributes."""
    raw = parsed(raw)
    if isinstance(raw, list):
        pairs = [
            pair for pair in raw if isinstance(pair, dict) and isinstance(pair.get("key"), str)
        ]
        raw = {pair["key"]: plain(pair.get("value")) for pair in pairs}
    nested = _nested(raw) if isinstance(raw, dict) else {}
    return nested if isinstance(nested, dict) else {}


def plain(value: Any, depth: int = 0) -> Any:
    """What one of OTLP's typed values holds."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    for kind, inside in value.items():
        if kind == "arrayValue" and isinstance(inside, dict):
            values = inside.get("values")
            return [plain(one, depth + 1) for one in values] if isinstance(values, list) else []
        if kind == "kvlistValue" and isinstance(inside, dict):
            pairs = inside.get("values")
            return {
                pair["key"]: plain(pair.get("value"), depth + 1)
                for pair in (pairs if isinstance(pairs, list) else [])
                if isinstance(pair, dict) and isinstance(pair.get("key"), str)
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


def under(value: Any, *keys: str) -> Any:
    """What the keys lead to; None if they lead nowhere."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


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
    return {key: _nested(inside, depth + 1) for key, inside in found.items()}


def _number(key: str) -> tuple[int, str]:
    """The order of numbers that may be too long to be converted."""
    return len(key), key
