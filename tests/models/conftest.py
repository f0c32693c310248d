"""A prefix with tools, as both wire formats must be able to carry it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contextecho.contexts import Context, Decoding, Message, Request, ToolCall, ToolSpec

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def context() -> Context:
    return Context(
        system="You are a careful assistant.",
        messages=(
            Message(role="user", text="List the files, please."),
            Message(
                role="assistant",
                text="I look.",
                tool_calls=(
                    ToolCall(id="toolu_01", name="Bash", arguments={"command": "ls", "n": 1}),
                    ToolCall(id="toolu_02", name="Bash", arguments={"command": "pwd"}),
                ),
            ),
            Message(role="tool", call_id="toolu_01", text="a.py\nb.py"),
            Message(role="tool", call_id="toolu_02", text="no such shell", is_error=True),
        ),
        tools=(
            ToolSpec(
                name="Bash",
                description="Runs a command.",
                parameters={"type": "object", "properties": {"command": {"type": "string"}}},
            ),
        ),
    )


@pytest.fixture
def ask(context: Context) -> Callable[..., Request]:
    def build(target: str, text: str = "Are we friends?", **decoding: float | int) -> Request:
        settings = {"max_output_tokens": 600, "temperature": 0.7, "top_p": 0.9, "seed": 42}
        return Request(
            target=target,
            context=context,
            ask=(Message(role="user", text=text),),
            decoding=Decoding(**(settings | decoding)),
        )

    return build


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> str:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    return KEY
