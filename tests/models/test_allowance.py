"""What a reply's headers allow: every provider's names and forms of time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.contexts import Request
from contextecho.models import Allowance, Answer, Failed, find_provider, open_model
from contextecho.models.allowance import LimitHeaders, read_allowance
from servers.fake import FakeProvider, Fault

Ask = Callable[..., Request]

NOON = {"date": "Thu, 21 Aug 2025 12:00:00 GMT"}
OPENAI = {  # the example of OpenAI's guide to rate limits
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-limit-tokens": "150000",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-requests": "1s",
    "x-ratelimit-reset-tokens": "6m0s",
}


def told(target: str, headers: dict[str, str]) -> Allowance | None:
    return read_allowance({**NOON, **headers}, find_provider(target).limits)


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "nobody/knows"])
def test_openais_headers_are_read_and_those_of_who_copies_it(target: str) -> None:
    assert told(target, OPENAI) == Allowance(
        requests_limit=60,
        requests_left=59,
        requests_reset=1,
        tokens_limit=150_000,
        tokens_left=149_984,
        tokens_reset=360,
    )


def test_anthropics_input_tokens_are_read_with_rfc_3339_times() -> None:
    headers = {  # of a recorded answer, its clock moved to noon
        "anthropic-ratelimit-input-tokens-limit": "80000",
        "anthropic-ratelimit-input-tokens-remaining": "79000",
        "anthropic-ratelimit-input-tokens-reset": "2025-08-21T12:00:30Z",
        "anthropic-ratelimit-output-tokens-limit": "16000",
        "anthropic-ratelimit-output-tokens-remaining": "16000",
        "anthropic-ratelimit-output-tokens-reset": "2025-08-21T12:00:00Z",
        "anthropic-ratelimit-requests-limit": "1000",
        "anthropic-ratelimit-requests-remaining": "999",
        "anthropic-ratelimit-requests-reset": "2025-08-21T11:59:59Z",
        "anthropic-ratelimit-tokens-limit": "96000",
        "anthropic-ratelimit-tokens-remaining": "96000",
        "anthropic-ratelimit-tokens-reset": "2025-08-21T11:59:59Z",
    }
    assert told("anthropic/claude-sonnet-4-6", headers) == Allowance(
        requests_limit=1000,
        requests_left=999,
        requests_reset=0,
        tokens_limit=80_000,
        tokens_left=79_000,
        tokens_reset=30,
    )


def test_mistrals_minutes_are_read_and_its_month_is_not() -> None:
    headers = {  # of a recorded answer
        "x-ratelimit-limit-req-minute": "60",
        "x-ratelimit-remaining-req-minute": "59",
        "x-ratelimit-limit-tokens-minute": "50000",
        "x-ratelimit-remaining-tokens-minute": "47196",
        "x-ratelimit-limit-tokens-month": "4000000",
        "x-ratelimit-remaining-tokens-month": "3950246",
    }
    assert told("mistral/mistral-small-latest", headers) == Allowance(
        requests_limit=60, requests_left=59, tokens_limit=50_000, tokens_left=47_196
    )


def test_a_provider_whose_headers_are_not_known_tells_nothing() -> None:
    assert told("cohere/command-a-03-2025", OPENAI) is None


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0", 0.0),
        ("59", 59.0),
        ("1.5", 1.5),
        ("12ms", 0.012),
        ("7.66s", 7.66),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723.0),
        ("350µs", 0.00035),
        ("1755777690", 90.0),  # Unix times
        ("1755777690500", 90.5),
        ("1755777000", 0.0),  # past
        ("2025-08-21T14:00:00+01:00", 3600.0),
        ("2025-08-21T12:00:00.250Z", 0.25),
    ],
)
def test_each_form_of_time_is_read(said: str, seconds: float) -> None:
    allowance = read_allowance({**NOON, "reset": said}, LimitHeaders(tokens_reset="reset"))
    assert allowance == Allowance(tokens_reset=pytest.approx(seconds, abs=1e-9))


# Azure says -1 for what it does not count.
@pytest.mark.parametrize("odd", ["", "-1", "soon", "6m0", "1e9", "nan", "٤", "2025-08-21T12:00:00"])
def test_what_is_no_number_and_no_time_was_not_said(odd: str) -> None:
    names = LimitHeaders(tokens_left="left", tokens_reset="reset")
    assert read_allowance({**NOON, "left": odd, "reset": odd}, names) is None


@given(st.text(max_size=40))
def test_no_header_breaks_the_reader(said: str) -> None:
    names = LimitHeaders(tokens_left="said", tokens_reset="said")
    allowance = read_allowance({**NOON, "said": said}, names)
    assert allowance is None or (allowance.tokens_reset or 0.0) >= 0.0


@pytest.mark.parametrize("target", ["openai/gpt-4.1", "mine/llama"])
async def test_an_answer_and_a_failure_carry_their_allowance(
    ask: Ask, keys: str, target: str
) -> None:
    async with (
        FakeProvider(faults=[None, Fault.RATE_LIMIT], headers=OPENAI) as provider,
        open_model(target, base_url=provider.url) as model,
    ):
        answer, failed = [await model.answer(ask(target)) for _ in range(2)]
    assert isinstance(answer, Answer)
    assert isinstance(failed, Failed)
    for reply in (answer, failed):
        assert reply.allowance is not None
        assert (reply.allowance.requests_left, reply.allowance.tokens_reset) == (59, 360)


async def test_a_silent_provider_carries_none(ask: Ask, keys: str) -> None:
    async with (
        FakeProvider() as provider,
        open_model("openai/gpt-4.1", base_url=provider.url) as model,
    ):
        reply = await model.answer(ask("openai/gpt-4.1"))
    assert reply.allowance is None
