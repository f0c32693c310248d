"""What both wire formats demand of a history, written without looking at the code under test."""

from __future__ import annotations

import re

from contextecho.contexts import Context

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def assert_valid(context: Context) -> None:
    """Every rule of chat completions and of the messages API that a history can break."""
    if not context.messages:
        assert not context.tools
        return
    declared = [tool.name for tool in context.tools]
    assert len(set(declared)) == len(declared)
    assert all(NAME.fullmatch(name) for name in declared)
    assert context.messages[0].role == "user", "the first message is the user's"
    assert context.messages[-1].role in ("assistant", "tool"), "a question can follow"
    waiting: list[str] = []
    seen: set[str] = set()
    previous = None
    for number, message in enumerate(context.messages):
        where = f"message {number} ({message.role})"
        assert message.role in ("user", "assistant", "tool"), where
        if message.role == "tool":
            assert message.call_id in waiting, f"{where} answers a call that is open"
            waiting.remove(message.call_id)
            assert message.text.strip(), f"{where} is blank"
        else:
            assert not waiting, f"{where} comes before calls are answered"
            assert message.role != previous, f"{where} follows its like"
            assert message.call_id is None
            assert message.text.strip() or message.tool_calls, f"{where} is blank"
            assert message.text == "" or message.text.strip(), f"{where} is white space"
        if message.role != "assistant":
            assert not message.tool_calls, where
        for call in message.tool_calls:
            assert call.id not in seen, f"{where} uses a call id twice"
            assert re.fullmatch(r"[A-Za-z0-9]{9}", call.id), "Mistral takes nothing else"
            assert call.name in declared, f"{where} calls an undeclared tool"
            seen.add(call.id)
            waiting.append(call.id)
        previous = message.role
    assert not waiting, "every call is answered"
