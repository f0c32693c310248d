"""One conversation as spans, in the forms of the public schemas.

The one thing to know: the calls are said once, in `CALLS`, with OpenAI's messages; each
exporter here writes them as its schema does, so that the same counts must come out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]

U1, U2 = {"role": "user", "content": "Where is it?"}, {"role": "user", "content": "And the other?"}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "scout", "arguments": '{"what": "it"}'},
}
A1 = {"role": "assistant", "content": "I ask.", "tool_calls": [CALL]}
R1 = {"role": "tool", "tool_call_id": "c1", "content": "in a.py"}
A2, A3 = {"role": "assistant", "content": "In a.py."}, {"role": "assistant", "content": "Gone."}
S, SCOUT = {"role": "system", "content": "Be brief."}, {"role": "system", "content": "You scout."}
NAMER = {"role": "system", "content": "You name."}


def node(
    id: str, work: str, parent: str | None, trace: str = "t1", **fields: Any
) -> dict[str, Any]:
    begin = fields.pop("at", int(id))
    return {"id": id, "work": work, "parent": parent, "trace": trace, "at": begin} | fields


# Of the main thread: two prompts, three calls of a model, one call of a tool with its result.
# Beside it: a call that names the session, and one of the agent that the tool runs.
CALLS: list[dict[str, Any]] = [
    node("1", "agent", None, name="main"),
    node("2", "call", "1", heard=[S, U1], said=A1),
    node("3", "tool", "1", name="scout"),
    node("4", "agent", "3", name="scout agent"),
    node("5", "call", "4", heard=[SCOUT, {"role": "user", "content": "Find it."}], said=A3),
    node("6", "call", "1", heard=[S, U1, A1, R1], said=A2),
    node("7", "call", "1", heard=[NAMER, U1], said={"role": "assistant", "content": "Search"}),
    node("8", "agent", None, "t2", name="main"),
    node("9", "call", "8", "t2", heard=[S, U1, A1, R1, A2, U2], said=A3),
]


def as_lines(spans: list[Any]) -> str:
    return "\n".join(json.dumps(span) for span in spans)


def iso(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000000"


def typed(value: Any) -> dict[str, Any]:
    """One of OTLP's typed values."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    return {"intValue": str(value)}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in attributes.items()]


def otlp(said: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[list[dict[str, Any]]], Any]:
    """Spans of OTLP; `said` makes the attributes and events of a call."""

    def export(calls: list[dict[str, Any]]) -> Any:
        spans = []
        for one in calls:
            operation = {"agent": "invoke_agent", "tool": "execute_tool"}.get(one["work"], "chat")
            found = said(one) if one["work"] == "call" else {"attributes": {}}
            basic = {"gen_ai.operation.name": operation}
            basic |= {"gen_ai.conversation.id": "talk-1"} if one["work"] == "agent" else {}
            basic |= {"gen_ai.response.model": "m-1"} if one["work"] == "call" else {}
            spans.append(
                {
                    "traceId": one["trace"],
                    "spanId": one["id"],
                    "parentSpanId": one["parent"] or "",
                    "name": one.get("name", "chat m-1"),
                    "startTimeUnixNano": str(1767225600_000_000_000 + one["at"] * 10**9),
                    "endTimeUnixNano": str(1767225600_500_000_000 + one["at"] * 10**9),
                    "attributes": pairs(basic | found["attributes"]),
                    "events": found.get("events", []),
                    "status": {},
                }
            )
        scope = {"scope": {"name": "x"}, "spans": spans}
        return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}

    return export


def parts(message: Message) -> Message:
    """A message in the parts of the conventions since 1.37."""
    if message["role"] == "tool":
        answer = {"type": "tool_call_response", "id": message["tool_call_id"]}
        return {"role": "tool", "parts": [answer | {"response": message["content"]}]}
    found: list[Any] = [{"type": "text", "content": message["content"]}]
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = json.loads(function["arguments"])
        found.append(
            {
                "type": "tool_call",
                "id": call["id"],
                "name": function["name"],
                "arguments": arguments,
            }
        )
    return {"role": message["role"], "parts": found}


def in_attributes(one: dict[str, Any]) -> dict[str, Any]:
    """Since 1.37: structured attributes, with the instructions apart."""
    system = [{"type": "text", "content": one["heard"][0]["content"]}]
    heard = [parts(message) for message in one["heard"][1:]]
    messages = {"gen_ai.input.messages": heard, "gen_ai.output.messages": [parts(one["said"])]}
    return {"attributes": {"gen_ai.system_instructions": system} | messages}


def in_json(one: dict[str, Any]) -> dict[str, Any]:
    """Since 1.37, where a span cannot hold structures: texts of JSON."""
    structured = in_attributes(one)["attributes"]
    return {"attributes": {key: json.dumps(value) for key, value in structured.items()}}


def in_events(one: dict[str, Any]) -> dict[str, Any]:
    """Up to 1.36: an event a message, its body as a text of JSON in one attribute."""
    events = []
    for message in one["heard"]:
        body = {key: value for key, value in message.items() if key != "tool_call_id"}
        body |= {"id": message["tool_call_id"]} if "tool_call_id" in message else {}
        events.append((f"gen_ai.{message['role']}.message", body))
    events.append(("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": one["said"]}))
    return {
        "attributes": {"gen_ai.system": "openai"},
        "events": [
            {"name": name, "attributes": pairs({"gen_ai.event.content": json.dumps(body)})}
            for name, body in events
        ],
    }


def blocks(message: Message) -> str:
    """The content of a message in blocks of Bedrock's Converse API, as a text of JSON."""
    if message["role"] == "tool":
        content = [{"text": message["content"]}]
        result = {"toolUseId": message["tool_call_id"], "status": "success", "content": content}
        return json.dumps([{"toolResult": result}])
    found: list[Any] = [{"text": message["content"]}]
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = json.loads(function["arguments"])
        used = {"toolUseId": call["id"], "name": function["name"], "input": arguments}
        found.append({"toolUse": used})
    return json.dumps(found)


def in_converse(one: dict[str, Any]) -> dict[str, Any]:
    """Up to 1.36, as Strands Agents writes it: the body in the event's attributes."""
    events = [
        (f"gen_ai.{message['role']}.message", {"role": message["role"], "content": blocks(message)})
        for message in one["heard"]
    ]
    events.append(("gen_ai.choice", {"finish_reason": "stop", "message": blocks(one["said"])}))
    return {
        "attributes": {"gen_ai.system": "strands-agents"},
        "events": [{"name": name, "attributes": pairs(body)} for name, body in events],
    }


def in_numbers(one: dict[str, Any]) -> dict[str, Any]:
    """Of older instrumentations: numbered attributes."""
    found: dict[str, Any] = {"gen_ai.system": "openai"}
    for kind, messages in (("prompt", one["heard"]), ("completion", [one["said"]])):
        for number, message in enumerate(messages):
            at = f"gen_ai.{kind}.{number}"
            found |= {f"{at}.role": message["role"], f"{at}.content": message["content"]}
            if "tool_call_id" in message:
                found[f"{at}.tool_call_id"] = message["tool_call_id"]
            for place, call in enumerate(message.get("tool_calls", ())):
                found |= {f"{at}.tool_calls.{place}.id": call["id"]}
                found |= {f"{at}.tool_calls.{place}.{k}": v for k, v in call["function"].items()}
    return {"attributes": found}


def dotted(message: Message) -> dict[str, Any]:
    """A message of OpenInference, as one object with dotted keys."""
    found = {"message.role": message["role"], "message.content": message["content"]}
    if "tool_call_id" in message:
        found["message.tool_call_id"] = message["tool_call_id"]
    calls = [
        {"tool_call.id": call["id"]}
        | {f"tool_call.function.{key}": value for key, value in call["function"].items()}
        for call in message.get("tool_calls", ())
    ]
    return found | ({"message.tool_calls": calls} if calls else {})


def flat(value: Any, at: str) -> dict[str, Any]:
    """A structure as flat attributes with numbers in their names."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: dict[str, Any] = {}
    for key, inside in items:
        name = f"{at}.{key}" if at else str(key)
        found |= flat(inside, name) if isinstance(inside, dict | list) else {name: inside}
    return found


def deep(attributes: dict[str, Any]) -> dict[str, Any]:
    """Flat attributes as nested objects, with numbers as keys."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        here = found
        *way, last = key.split(".")
        for step in way:
            here = here.setdefault(step, {})
        here[last] = value
    return found


def in_texts(attributes: dict[str, Any], made: Callable[[Any], Any]) -> dict[str, Any]:
    """The same attributes, each list of messages a text of JSON of what is `made` of it."""
    return {
        key: json.dumps(made(value)) if isinstance(value, list) else value
        for key, value in attributes.items()
    }


def calls_in_texts(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages with dotted keys whose calls are a text of JSON of their own."""
    return [in_texts(message, lambda calls: calls) for message in messages]


def phoenix(form: Callable[[dict[str, Any]], Any]) -> Callable[[list[dict[str, Any]]], Any]:
    """Spans as Phoenix exports them; `form` is how it writes attributes."""

    def export(calls: list[dict[str, Any]]) -> Any:
        spans = []
        for one in calls:
            kind = {"call": "LLM"}.get(one["work"], one["work"].upper())
            attributes: dict[str, Any] = {"openinference.span.kind": kind, "session.id": "talk-1"}
            if one["work"] == "call":
                attributes |= {
                    "llm.model_name": "m-1",
                    "llm.input_messages": [dotted(message) for message in one["heard"]],
                    "llm.output_messages": [dotted(one["said"])],
                }
            spans.append(
                {
                    "name": one.get("name", "ChatCompletion"),
                    "context": {"trace_id": one["trace"], "span_id": one["id"]},
                    "span_kind": kind,
                    "parent_id": one["parent"],
                    "start_time": iso(one["at"]) + "+00:00",
                    "end_time": iso(one["at"])[:-7] + ".500000+00:00",
                    "status_code": "OK",
                    "attributes": form(attributes),
                    "events": [],
                }
            )
        return spans

    return export


def constructed(message: Message) -> dict[str, Any]:
    """A message as LangChain serialises it."""
    name = {"user": "Human", "assistant": "AI", "system": "System", "tool": "Tool"}[message["role"]]
    kwargs: dict[str, Any] = {"content": message["content"], "type": name.lower()}
    if "tool_call_id" in message:
        kwargs["tool_call_id"] = message["tool_call_id"]
    if "tool_calls" in message:
        kwargs["tool_calls"] = [
            {
                "name": call["function"]["name"],
                "args": json.loads(call["function"]["arguments"]),
                "id": call["id"],
                "type": "tool_call",
            }
            for call in message["tool_calls"]
        ]
    names = ["langchain", "schema", "messages", f"{name}Message"]
    return {"lc": 1, "type": "constructor", "id": names, "kwargs": kwargs}


def of_langchain(one: dict[str, Any]) -> dict[str, Any]:
    answer = {"text": one["said"]["content"], "message": constructed(one["said"])}
    return {
        "inputs": {"messages": [[constructed(message) for message in one["heard"]]]},
        "outputs": {"generations": [[answer]], "llm_output": {"model_name": "m-1"}},
    }


def of_openai(one: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": one["said"], "finish_reason": "stop"}
    outputs = {"model": "m-1", "choices": [choice]}
    return {"inputs": {"messages": one["heard"], "model": "m-1"}, "outputs": outputs}


def langsmith(said: Callable[[dict[str, Any]], Any]) -> Callable[[list[dict[str, Any]]], Any]:
    """Runs as LangSmith exports them; `said` makes the inputs and outputs of a call."""

    def export(calls: list[dict[str, Any]]) -> Any:
        runs = []
        for one in calls:
            kind = {"call": "llm", "agent": "chain"}.get(one["work"], one["work"])
            metadata = {"thread_id": "talk-1"}
            metadata |= {"ls_agent_type": "subagent"} if one.get("name") == "scout agent" else {}
            content = said(one) if one["work"] == "call" else {"inputs": {}, "outputs": {}}
            runs.append(
                {
                    "id": one["id"],
                    "trace_id": one["trace"],
                    "parent_run_id": one["parent"],
                    "dotted_order": f"20260101T0000{one['at']:02}000000Z{one['id']}",
                    "name": one.get("name", "ChatModel"),
                    "run_type": kind,
                    "start_time": iso(one["at"]),
                    "end_time": iso(one["at"])[:-7] + ".500000",
                    "session_id": "project-1",
                    "extra": {"metadata": metadata},
                    "error": None,
                }
                | content
            )
        return runs

    return export


EXPORTS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "otel attributes": otlp(in_attributes),
    "otel texts of JSON": otlp(in_json),
    "otel events": otlp(in_events),
    "otel converse": otlp(in_converse),
    "otel numbered": otlp(in_numbers),
    "openinference": phoenix(lambda attributes: attributes),
    "openinference flat": phoenix(lambda attributes: flat(attributes, "")),
    "openinference nested": phoenix(lambda attributes: deep(flat(attributes, ""))),
    "openinference text": phoenix(lambda attributes: json.dumps(deep(flat(attributes, "")))),
    "openinference texts of dotted keys": phoenix(lambda a: in_texts(a, lambda found: found)),
    "openinference texts in texts": phoenix(lambda a: in_texts(a, calls_in_texts)),
    "openinference texts of flat keys": phoenix(lambda a: in_texts(a, lambda m: flat(m, ""))),
    "openinference texts of nested": phoenix(lambda a: in_texts(a, lambda m: deep(flat(m, "")))),
    "openinference texts in OTLP": phoenix(lambda a: pairs(in_texts(a, lambda found: found))),
    "langsmith langchain": langsmith(of_langchain),
    "langsmith openai": langsmith(of_openai),
}
