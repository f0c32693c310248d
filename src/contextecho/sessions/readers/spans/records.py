"""The spans of a file: lines, elements of a document, or what OTLP and runs hold inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import msgspec

from contextecho.sessions.building.fields import under
from contextecho.sessions.building.jsontext import BROKEN, decode_json
from contextecho.sessions.building.placed import Document, Placed, placed_lines
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Span
from contextecho.sessions.readers.spans.nodes import is_span

LISTS: Final = ("resourceSpans", "runs", "spans", "data")
"""Where an exporter puts what it exports, if not in an array."""

_DEEPEST: Final = 32  # runs inside runs


class _Scope(msgspec.Struct):
    spans: list[msgspec.Raw] = []


class _Resource(msgspec.Struct):
    scopeSpans: list[_Scope] = []  # noqa: N815


class _Export(msgspec.Struct):
    """What OTLP sends, with no span decoded."""

    resourceSpans: list[_Resource]  # noqa: N815


_export = msgspec.json.Decoder(_Export).decode


def is_record(value: Any) -> bool:
    """Whether a line, or an element of a document, is of an export of spans."""
    if is_span(value):
        return True
    lists = [value.get(key) for key in LISTS] if isinstance(value, dict) else []
    inside = (one for found in lists if isinstance(found, list) for one in found)
    return any(is_span(one) or isinstance(under(one, "scopeSpans"), list) for one in inside)


def spans_of(file: BinaryIO, end: int, tally: Tally) -> Iterator[Placed]:
    """Every span up to byte `end` with its place; in a document they are numbered."""
    file.seek(0)
    first = next((line for line in file if line.strip()), b"")
    file.seek(0)
    if _in_otlp(first) is not None:
        yield from _lines_of_otlp(file, end, tally)
    elif isinstance(decode_json(first), dict):
        for found in placed_lines(file, end, tally, is_record, ("id", "name", *LISTS)):
            alone = is_span(found.value) and "child_runs" not in found.value
            yield from [found] if alone else _inside(_read(file, found.span), found, tally)
    else:
        data = file.read(end)
        places = _in_otlp(data)
        spans = _of_document(data, tally) if places is None else _at(places, data, 0, 1, tally)
        for number, found in enumerate(spans, 1):
            yield Placed(number, found.span, found.value)


def _lines_of_otlp(file: BinaryIO, end: int, tally: Tally) -> Iterator[Placed]:
    """The spans of a file of which each line is an export."""
    offset = 0
    for number, line in enumerate(file, 1):
        line = line[: end - offset]
        places = _in_otlp(line)
        if places is None and line.strip():
            tally.add("broken line", number)
        yield from _at(places or [], line, offset, number, tally)
        offset += len(line)


def _at(
    places: list[tuple[int, int]], data: bytes, offset: int, line: int, tally: Tally
) -> Iterator[Placed]:
    """The spans at these places in `data`, which begins at `offset`."""
    for begin, length in places:
        value = decode_json(data[begin : begin + length])
        if is_span(value):
            yield Placed(line, Span(offset + begin, length), value)
        else:
            tally.add("not a span", line)


def _in_otlp(data: bytes) -> list[tuple[int, int]] | None:
    """(begin, length) of each span of an export; None for what is no whole export."""
    try:
        resources = _export(data).resourceSpans if b'"resourceSpans"' in data else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if resources is None:
        return None
    found, begin = [], 0
    for raw in (
        span for resource in resources for scope in resource.scopeSpans for span in scope.spans
    ):
        element = bytes(raw)
        begin = data.index(element, begin)
        found.append((begin, len(element)))
        begin += len(element)
    return found


def _read(file: BinaryIO, span: Span) -> bytes:
    """The bytes of a line, with the file left where it was."""
    here = file.tell()
    file.seek(span.offset)
    data = file.read(span.length)
    file.seek(here)
    return data


def _of_document(data: bytes, tally: Tally) -> Iterator[Placed]:
    document = Document(data)
    if document.has_array():
        for found in document.elements(tally=tally):
            yield from _inside(_cut(data, found.span), found, tally)
    elif (whole := document.placed()) is not None:
        yield from _inside(_cut(data, whole.span), whole, tally)
    else:
        yield from _in_lists(document, data, Placed(1, Span(0, len(data)), None), tally)


def _inside(data: bytes, found: Placed, tally: Tally, depth: int = 0) -> Iterator[Placed]:
    """The spans in one record: itself, and those in it."""
    value = found.value
    if is_span(value):
        yield found
        if isinstance(value.get("child_runs"), list) and depth < _DEEPEST:
            for child in Document(data, found.span.offset).elements("child_runs", tally=tally):
                inner = Placed(found.line, child.span, child.value)
                yield from _inside(
                    _cut(data, child.span, found.span.offset), inner, tally, depth + 1
                )
    elif is_record(value):
        yield from _in_lists(Document(data, found.span.offset), data, found, tally)
    else:
        tally.add("not a span", found.line)


def _in_lists(document: Document, data: bytes, found: Placed, tally: Tally) -> Iterator[Placed]:
    """The spans in the lists of an object, which OTLP nests by resource and scope."""
    offset = found.span.offset
    for key in LISTS:
        for one in document.elements(key, tally=tally):
            inner = Placed(found.line, one.span, one.value)
            part = _cut(data, one.span, offset)
            if key == "resourceSpans":
                yield from _of_resource(part, inner, tally)
            else:
                yield from _inside(part, inner, tally)


def _of_resource(data: bytes, found: Placed, tally: Tally) -> Iterator[Placed]:
    offset = found.span.offset
    for scope in Document(data, offset).elements("scopeSpans", tally=tally):
        part = _cut(data, scope.span, offset)
        for one in Document(part, scope.span.offset).elements("spans", tally=tally):
            if is_span(one.value):
                yield Placed(found.line, one.span, one.value)
            else:
                tally.add("not a span", found.line)


def _cut(data: bytes, span: Span, offset: int = 0) -> bytes:
    """The bytes of a value in `data`, which begins at `offset` in the file."""
    return data[span.offset - offset : span.offset - offset + span.length]


def first_values(head: bytes) -> Iterator[Any]:
    """What the first lines of a file hold, or the first elements of a document.

    Of a line of OTLP it is the first span.
    """
    is_lines = False
    for line in head.split(b"\n"):
        places = _in_otlp(line)
        begin, length = places[0] if places else (0, len(line))
        value = decode_json(line[begin : begin + length])
        is_lines = is_lines or isinstance(value, dict)
        if value is not BROKEN:
            yield value
    if not is_lines:
        document = Document(head)
        yield document.value()
        for keys in ((), *((key,) for key in LISTS)):
            for found in document.elements(*keys, tally=Tally()):
                yield {keys[0]: [found.value]} if keys == ("resourceSpans",) else found.value
