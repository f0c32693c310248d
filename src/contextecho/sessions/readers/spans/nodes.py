"""The spans of a trace, as far as they are known before what they say is read.

The one thing to know: a span is a call of a model, an agent's or a tool's work, or
something else; how many agents and tools a call stands below says whose call it is.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from msgspec import Struct

from contextecho.sessions.building.fields import instant, string, under
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.model import Span
from contextecho.sessions.readers.spans import langsmith, openinference, otel
from contextecho.sessions.readers.spans.attributes import attributes_of, labels_of, parsed
from contextecho.sessions.readers.spans.said import Exchange

_AGENTS: Final = ("agent", "invoke_agent")
_TOOLS: Final = ("tool", "execute_tool")
_OF_AN_AGENT: Final = ("subagent", "middleware", "compaction")  # LangSmith's ls_agent_type
_LATEST: Final = 1e11  # seconds, in the year 5138
_THREADS: Final = ("thread_id", "session_id", "conversation_id")


class Node(Struct, gc=False, kw_only=True):
    """One span."""

    line: int
    span: Span
    trace: str
    id: str
    parent: str | None
    name: str
    work: str  # "call", "agent", "tool" or "other"
    begin: float | None
    end: float | None
    conversation: str | None
    model: str | None
    failed: bool


def is_span(value: Any) -> bool:
    """Whether this is a span or a run, of whatever exporter."""
    return isinstance(value, dict) and (_is_run(value) or _trace(value) is not None)


def node_of(found: Placed) -> Node:
    """The span as a node of its trace."""
    value = found.value
    if _is_run(value):
        return _node_of_run(found)
    attributes = labels_of(value.get("attributes"))
    model = under(attributes, "llm", "model_name") or under(
        attributes, "gen_ai", "response", "model"
    )
    talk = under(attributes, "gen_ai", "conversation", "id") or under(attributes, "session", "id")
    status = under(value, "status", "code") or under(value, "status", "status_code")
    return Node(
        line=found.line,
        span=found.span,
        trace=_trace(value) or "",
        id=_text(value.get("spanId"), value.get("span_id"), under(value, "context", "span_id")),
        parent=_text(*(value.get(k) for k in ("parentSpanId", "parent_id", "parent_span_id")))
        or None,
        name=_text(value.get("name")),
        work=_work(value, attributes),
        begin=_time(value, "startTimeUnixNano", "start_time"),
        end=_time(value, "endTimeUnixNano", "end_time"),
        conversation=_text(talk) or None,
        model=_text(model, under(attributes, "gen_ai", "request", "model")) or None,
        failed="ERROR" in str(status or value.get("status_code")) or status == 2,
    )


def exchange_of(value: Any) -> Exchange:
    """What is said in a call."""
    if _is_run(value):
        return langsmith.exchange_of(value)
    attributes = attributes_of(value.get("attributes"))
    if openinference.is_call(attributes):
        return openinference.exchange_of(attributes)
    return otel.exchange_of(attributes, value)


def _node_of_run(found: Placed) -> Node:
    run = found.value
    metadata, kind = under(parsed(run.get("extra")), "metadata"), run["run_type"]
    work = {"llm": "call", "tool": "tool"}.get(kind, "other")
    if under(metadata, "ls_agent_type") in _OF_AN_AGENT and work == "other":
        work = "agent"
    return Node(
        line=found.line,
        span=found.span,
        trace=_text(run.get("trace_id"), run.get("id")),
        id=_text(run.get("id")),
        parent=string(run, "parent_run_id"),
        name=_text(run.get("name")),
        work=work,
        begin=_time(run, "", "start_time"),
        end=_time(run, "", "end_time"),
        conversation=_text(*(under(metadata, key) for key in _THREADS)) or None,
        model=_text(langsmith.model_of(run)) or None,
        failed=bool(run.get("error")),
    )


def _is_run(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("run_type"), str)
        and isinstance(value.get("id"), str)
        and ("inputs" in value or "outputs" in value)
    )


def _trace(value: dict[str, Any]) -> str | None:
    """The id of a span's trace; None for what is no span."""
    ids = value.get("traceId"), value.get("trace_id"), under(value, "context", "trace_id")
    return (_text(*ids) or None) if "attributes" in value else None


def _work(value: dict[str, Any], attributes: dict[str, Any]) -> str:
    kind = _text(
        under(attributes, "openinference", "span", "kind"),
        value.get("span_kind"),
        under(attributes, "gen_ai", "operation", "name"),
    ).lower()
    if kind in _AGENTS:
        return "agent"
    if kind in _TOOLS:
        return "tool"
    is_call = openinference.is_call(attributes) or otel.is_call(attributes)
    return "call" if is_call or kind == "llm" else "other"


def _time(value: dict[str, Any], nanoseconds: str, key: str) -> float | None:
    """Seconds since 1970, of ISO 8601, or of a number whose size tells its unit."""
    found: Any = value.get(nanoseconds, value.get(key))
    try:
        number = float(found) if nanoseconds in value else found
        if not isinstance(number, int | float):
            return instant(number)
        for _ in range(3):  # milli-, micro-, nanoseconds
            number = number / 1e3 if abs(number) > _LATEST else number
        return float(number) if isfinite(number) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _text(*values: Any) -> str:
    """The first of these that is a text and not empty."""
    return next((value for value in values if isinstance(value, str) and value), "")
