"""How 200 answers are read: visible text, stop reasons, billed tokens."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from contextecho.models import Answer, Failed, FailureKind, Refusal, Reply, Truncated, Usage
from contextecho.models.anthropic import read_message
from contextecho.models.endpoint import Exchange
from contextecho.models.openai_chat import read_completion


def completion(message: dict[str, Any], finish: str | None = "stop", **usage: Any) -> Reply:
    body = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
    return read_completion(Exchange(msgspec.json.encode(body), 1.5))


def message(blocks: list[dict[str, Any]], stop: str, **usage: Any) -> Reply:
    body = {"content": blocks, "stop_reason": stop, "usage": usage, "model": "m"}
    return read_message(Exchange(msgspec.json.encode(body), 1.5))


def test_open_thinking_is_not_part_of_the_answer() -> None:
    reply = completion({"content": "<think>\nHm.\n</think>\n\nNo, I am an AI."})
    assert isinstance(reply, Answer)
    assert reply.text == "No, I am an AI."


def test_a_think_tag_within_the_answer_stays() -> None:
    reply = completion({"content": "Write <think>x</think> like this."})
    assert reply.text == "Write <think>x</think> like this."


def test_text_parts_are_joined_and_thinking_parts_left_out() -> None:
    reply = completion(
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Yes."}]}
    )
    assert reply.text == "Yes."


@pytest.mark.parametrize("finish", ["length", "max_tokens", "model_length"])
def test_an_exhausted_budget_is_truncated_even_without_text(finish: str) -> None:
    reply = completion({"content": None, "reasoning_content": "long"}, finish)
    assert isinstance(reply, Truncated)


def test_a_filtered_answer_is_a_refusal() -> None:
    assert isinstance(completion({"content": "So"}, "content_filter"), Refusal)


def test_a_tool_call_instead_of_an_answer_is_empty_and_says_so() -> None:
    reply = completion({"content": None, "tool_calls": [{}]}, "tool_calls")
    assert isinstance(reply, Failed)
    assert reply.kind is FailureKind.EMPTY
    assert "called a tool" in reply.message


def test_hidden_reasoning_that_only_the_total_holds_counts_as_output() -> None:
    reply = completion({"content": "x"}, prompt_tokens=10, completion_tokens=5, total_tokens=115)
    assert reply.usage == Usage(input=10, output=105)


def test_cached_and_reasoning_tokens_are_read() -> None:
    reply = completion(
        {"content": "x"},
        prompt_tokens=2006,
        completion_tokens=300,
        total_tokens=2306,
        prompt_tokens_details={"cached_tokens": 1920},
        completion_tokens_details={"reasoning_tokens": 256},
    )
    assert reply.usage == Usage(input=2006, cached=1920, output=300, reasoning=256)


def test_anthropic_input_is_the_sum_of_its_three_parts() -> None:
    reply = message(
        [{"type": "text", "text": "x"}],
        "end_turn",
        input_tokens=50,
        cache_read_input_tokens=100_000,
        cache_creation_input_tokens=248,
        output_tokens=7,
    )
    assert reply.usage == Usage(input=100_298, cached=100_000, cache_write=248, output=7)


def test_anthropic_thinking_alone_is_empty() -> None:
    reply = message([{"type": "thinking", "thinking": "Hm."}], "end_turn")
    assert isinstance(reply, Failed)
    assert reply.kind is FailureKind.EMPTY


@pytest.mark.parametrize(
    ("stop", "kind"),
    [
        ("end_turn", Answer),
        ("stop_sequence", Answer),
        ("max_tokens", Truncated),
        ("model_context_window_exceeded", Truncated),
        ("refusal", Refusal),
    ],
)
def test_each_anthropic_stop_reason_has_its_outcome(stop: str, kind: type) -> None:
    reply = message([{"type": "text", "text": "x"}], stop)
    assert type(reply) is kind
    assert reply.stop_reason == stop
    assert reply.seconds == 1.5


ODD = (-1, 2**53 + 1, 2**63, 10**30, "10", 10.5, True, [], {}, None)


@pytest.mark.parametrize("odd", ODD)
def test_a_token_count_that_cannot_be_is_none_and_the_text_counts(odd: object) -> None:
    reply = completion({"content": "Yes."}, prompt_tokens=odd, completion_tokens=7)
    assert isinstance(reply, Answer)
    assert reply.text == "Yes."
    assert reply.usage == Usage(input=None, output=7)
    other = message(
        [{"type": "text", "text": "Yes."}], "end_turn", input_tokens=odd, output_tokens=7
    )
    assert isinstance(other, Answer)
    assert other.usage == Usage(input=None, output=7)


def test_a_sum_that_is_less_than_its_parts_is_not_said() -> None:
    """A price would be below zero for it, and a budget grow."""
    reply = completion(
        {"content": "x"},
        prompt_tokens=10,
        completion_tokens=5,
        prompt_tokens_details={"cached_tokens": 11},
        completion_tokens_details={"reasoning_tokens": 6},
    )
    assert reply.usage == Usage(cached=11, reasoning=6)
    other = message(
        [{"type": "text", "text": "x"}],
        "end_turn",
        input_tokens=10,
        output_tokens=5,
        output_tokens_details={"thinking_tokens": 6},
    )
    assert other.usage == Usage(input=10, reasoning=6)


@pytest.mark.parametrize(
    ("code", "kind", "status"),
    [
        ("overloaded_error", FailureKind.RATE_LIMIT, 529),
        ("authentication_error", FailureKind.AUTH, 401),
        ("no_such_error", FailureKind.SERVER, 500),
    ],
)
def test_an_anthropic_error_inside_a_200_has_its_own_status(
    code: str, kind: FailureKind, status: int
) -> None:
    body = {"type": "error", "error": {"type": code, "message": "No, k-1234567."}}
    reply = read_message(Exchange(msgspec.json.encode(body), 1.5), ("k-1234567",))
    assert isinstance(reply, Failed)
    assert (reply.kind, reply.status) == (kind, status)
    assert reply.message == f"HTTP {status}: No, [key]."


@pytest.mark.parametrize("odd", [5, [], "much", 1.5])
def test_side_fields_of_another_type_are_not_said_and_the_text_counts(odd: object) -> None:
    chat = {
        "choices": [{"message": {"content": "Yes.", "refusal": 5}, "finish_reason": 1}],
        "model": 5,
        "usage": odd,
    }
    reply = read_completion(Exchange(msgspec.json.encode(chat), 1.5))
    assert reply == Answer(text="Yes.", seconds=1.5)
    body = {
        "content": [{"type": "text", "text": "Yes."}],
        "stop_reason": 1,
        "model": 5,
        "usage": odd,
    }
    assert read_message(Exchange(msgspec.json.encode(body), 1.5)) == Answer(
        text="Yes.", seconds=1.5
    )


def test_odd_details_of_usage_leave_the_rest_of_it() -> None:
    reply = completion(
        {"content": "x"},
        prompt_tokens=10,
        completion_tokens=5,
        prompt_tokens_details=[],
        completion_tokens_details="none",
    )
    assert reply.usage == Usage(input=10, output=5)


@pytest.mark.parametrize("code", ["²", "٤٢٩", "9" * 5000, "1301", "-1"])
def test_an_error_code_that_is_no_status_is_a_server_failure(code: str) -> None:
    body = {"error": {"code": code, "message": "busy"}}
    reply = read_completion(Exchange(msgspec.json.encode(body), 1.5))
    assert isinstance(reply, Failed)
    assert (reply.kind, reply.status) == (FailureKind.SERVER, None)
