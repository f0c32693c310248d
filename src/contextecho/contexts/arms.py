"""The arms of a contrast, each made from one snapshot.

The one thing to know: arms differ only where they should. All of them have the
snapshot's system prompt; the control has the session's messages one by one, in
role, shape and length, with neutral prose for every word of the session
(docs/decisions/0003-token-matching.md says why tool messages stay tool
messages); words that the protocol itself added stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import msgspec

from contextecho.contexts.anchors import Anchor
from contextecho.contexts.idle import Idle
from contextecho.contexts.model import Context, Message, Snapshot, ToolCall, ToolSpec
from contextecho.contexts.prose import ProseReader, load_control
from contextecho.contexts.protocol import Arm, ControlKind, Placement, Protocol
from contextecho.contexts.tokens import TokenCounter, call_tokens, context_tokens
from contextecho.contexts.wording import wording
from contextecho.errors import UsageError


def apply_arm(
    snapshot: Snapshot,
    arm: Arm,
    protocol: Protocol,
    *,
    counter: TokenCounter,
    anchor: Anchor | None = None,
    placement: Placement = Placement.USER,
    foreign: Snapshot | None = None,
    idle: Idle | None = None,
) -> Context:
    """The context of `arm`, with `idle` exchanges after the anchor of those that have messages.

    Raises UsageError for an anchored arm without an anchor, and for the foreign arm without
    the snapshot of another session.
    """
    if arm is Arm.SCRATCH:
        return Context(system=snapshot.context.system)
    context = _bare(snapshot, arm, protocol, counter, foreign)
    if arm.anchored:
        if anchor is None:
            raise UsageError(f"arm {arm} needs an anchor", todo="name one with --anchor")
        context = _anchored(context, anchor, placement)
    if idle is None:
        return context
    return msgspec.structs.replace(context, messages=context.messages + idle.messages)


def _bare(
    snapshot: Snapshot,
    arm: Arm,
    protocol: Protocol,
    counter: TokenCounter,
    foreign: Snapshot | None,
) -> Context:
    """The context of `arm` without what is put behind it."""
    session = snapshot.context
    if arm in (Arm.SESSION, Arm.SESSION_ANCHOR):
        return session
    if arm is Arm.FOREIGN:
        if foreign is None:
            raise UsageError(
                f"arm {arm} needs another session", todo="name its file with --foreign"
            )
        return msgspec.structs.replace(foreign.context, system=session.system)
    if protocol.control is ControlKind.FILLER:
        return _filler_control(session, protocol)
    return _prose_control(session, protocol, counter)


def _anchored(context: Context, anchor: Anchor, placement: Placement) -> Context:
    if placement is Placement.SYSTEM:
        system = "\n\n".join(filter(None, (context.system, anchor.system)))
        return msgspec.structs.replace(context, system=system)
    return msgspec.structs.replace(context, messages=context.messages + anchor.messages)


def _filler_control(session: Context, protocol: Protocol) -> Context:
    """The published control: as many characters of filler as the prefix has, no more structure."""
    filler = load_control().filler
    messages = tuple(
        message
        if message.text == protocol.acknowledgement
        else msgspec.structs.replace(message, text=filler(len(message.text)))
        for message in session.messages
    )
    return msgspec.structs.replace(session, messages=messages)


def _prose_control(session: Context, protocol: Protocol, counter: TokenCounter) -> Context:
    """Message by message, the same role and shape in the same number of tokens of prose."""
    tools = {spec.name: _neutral_tool(spec, i) for i, spec in enumerate(session.tools, start=1)}
    neutral = Context(tools=tuple(tools.values()))
    matcher = _Matcher(
        tools=tools,
        counter=counter,
        prose=ProseReader(),
        owed=context_tokens(Context(tools=session.tools), counter)
        - context_tokens(neutral, counter),
    )
    kept = {protocol.acknowledgement, wording().opening}
    messages = tuple(
        message if message.text in kept and not message.tool_calls else matcher.message(message)
        for message in session.messages
    )
    return Context(system=session.system, messages=messages, tools=neutral.tools)


def _neutral_tool(spec: ToolSpec, index: int) -> ToolSpec:
    """A tool with as many parameters as `spec`, whose names say nothing."""
    names = wording().control_tool
    properties = {
        f"{names.parameter}{i}": {"type": "string"}
        for i in range(1, max(1, len(spec.parameters["properties"])) + 1)
    }
    return ToolSpec(
        name=f"{names.name}{index}",
        description=spec.description,
        parameters={"type": "object", "properties": properties},
    )


@dataclass
class _Matcher:
    """Puts prose in the place of words, piece by piece, and keeps the account.

    `owed` is what the control is behind so far, in tokens; each piece makes up
    for the one before, so the total is off by no more than the last word.
    """

    tools: Mapping[str, ToolSpec]
    counter: TokenCounter
    prose: ProseReader
    owed: int

    def message(self, message: Message) -> Message:
        """The same shape, in prose; an error is not repeated as one."""
        return msgspec.structs.replace(
            message,
            text=self._text(message.text),
            tool_calls=tuple(self._call(call) for call in message.tool_calls),
            is_error=False,
        )

    def _text(self, text: str) -> str:
        """The text in prose; the headers of a quoted transcript stay."""
        parts = _headers().split(text)
        return "".join(
            part if not part.strip() or _headers().fullmatch(part) else self._part(part)
            for part in parts
        )

    def _part(self, part: str) -> str:
        begin, end = len(part) - len(part.lstrip("\n")), len(part.rstrip("\n"))

        def measure(words: str) -> int:
            return self.counter.count(f"{part[:begin]}{words}{part[end:]}")

        wanted = self.counter.count(part) + self.owed
        words = self.prose.take(max(1, wanted), measure)
        self.owed = wanted - measure(words)
        return f"{part[:begin]}{words}{part[end:]}"

    def _call(self, call: ToolCall) -> ToolCall:
        tool = self.tools[call.name]
        parameter = next(iter(tool.parameters["properties"]))

        def with_words(words: str) -> ToolCall:
            return ToolCall(id=call.id, name=tool.name, arguments={parameter: words})

        def measure(words: str) -> int:
            return call_tokens(with_words(words), self.counter)

        wanted = call_tokens(call, self.counter) + self.owed
        words = self.prose.take(max(1, wanted), measure)
        self.owed = wanted - measure(words)
        return with_words(words)


@cache
def _headers() -> re.Pattern[str]:
    lines = "|".join(re.escape(header) for header in wording().headers.values())
    return re.compile(rf"^({lines})$", re.MULTILINE)
