"""The errors of the providers' public APIs: what kind each is, whether to ask again, and when."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import pytest

from contextecho.models import Failed, FailureKind, Refusal, find_provider
from contextecho.models.endpoint import Exchange
from contextecho.models.failures import read_failure
from contextecho.models.openai_chat import read_completion

AUTH, NOT_FOUND = FailureKind.AUTH, FailureKind.NOT_FOUND
BAD, LIMIT, SERVER = FailureKind.BAD_REQUEST, FailureKind.RATE_LIMIT, FailureKind.SERVER


class Case(NamedTuple):
    """An error as a provider writes it, and what it means."""

    provider: str
    status: int
    body: Any
    kind: FailureKind
    said: str  # part of the message
    wait: float | None = None
    headers: Mapping[str, str] = MappingProxyType({})


def openai_error(message: str, type_: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


def anthropic_error(message: str, type_: str, **details: str) -> dict[str, Any]:
    error = {"type": type_, "message": message} | ({"details": details} if details else {})
    return {"type": "error", "error": error, "request_id": "req_1"}


def google_error(code: int, status: str, message: str, *details: dict[str, Any]) -> list[Any]:
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return [{"error": error}]


def openrouter_error(code: int, message: str, **metadata: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "metadata": metadata}, "user_id": "u"}


RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
SOON = round(time.time()) + 90

CASES = {
    "openai key": Case(
        "openai",
        401,
        openai_error(
            "Incorrect API key provided: sk-proj-****1234.",
            "invalid_request_error",
            "invalid_api_key",
        ),
        AUTH,
        "Incorrect API key provided: [key]",
    ),
    "openai credit": Case(
        "openai",
        429,
        openai_error(
            "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"
        ),
        AUTH,
        "exceeded your current quota",
    ),
    "openai limit": Case(
        "openai",
        429,
        openai_error("Rate limit reached for gpt-4.1", "tokens", "rate_limit_exceeded"),
        LIMIT,
        "Rate limit reached",
        1.5,
        {"retry-after-ms": "1500", "retry-after": "2"},
    ),
    "openai tokens used up": Case(
        "openai",
        429,
        openai_error("Rate limit reached for gpt-4.1", "tokens", "rate_limit_exceeded"),
        LIMIT,
        "Rate limit reached",
        6.0,
        {
            "x-ratelimit-remaining-requests": "10",
            "x-ratelimit-reset-requests": "1h0m0s",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "6s",
        },
    ),
    "openai model": Case(
        "openai",
        404,
        openai_error(
            "The model `gpt-9` does not exist", "invalid_request_error", "model_not_found"
        ),
        NOT_FOUND,
        "does not exist",
    ),
    "openai length": Case(
        "openai",
        400,
        openai_error("maximum context length", "invalid_request_error", "context_length_exceeded"),
        BAD,
        "maximum context length",
    ),
    "openai server": Case(
        "openai",
        500,
        openai_error("The server had an error", "server_error"),
        SERVER,
        "had an error",
    ),
    "anthropic key": Case(
        "anthropic",
        401,
        anthropic_error("invalid x-api-key", "authentication_error"),
        AUTH,
        "invalid x-api-key",
    ),
    "anthropic limit": Case(
        "anthropic",
        429,
        anthropic_error("would exceed your rate limit", "rate_limit_error"),
        LIMIT,
        "would exceed",
        30.0,
        {"retry-after": "30"},
    ),
    "anthropic spend": Case(
        "anthropic",
        429,
        anthropic_error(
            "monthly limit", "rate_limit_error", error_code="enforced_spend_limit_reached"
        ),
        AUTH,
        "monthly limit",
    ),
    "anthropic overloaded": Case(
        "anthropic", 529, anthropic_error("Overloaded", "overloaded_error"), LIMIT, "Overloaded"
    ),
    "anthropic too large": Case(
        "anthropic",
        413,
        anthropic_error("Request exceeds the maximum size", "request_too_large"),
        BAD,
        "maximum size",
    ),
    "google key": Case(
        "google",
        400,
        google_error(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            {"@type": ERROR_INFO, "reason": "API_KEY_INVALID"},
        ),
        AUTH,
        "API key not valid",
    ),
    "google limit": Case(
        "google",
        429,
        google_error(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota.",
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
            {"@type": RETRY_INFO, "retryDelay": "27.5s"},
        ),
        LIMIT,
        "exceeded your current quota",
        27.5,
    ),
    "google unavailable": Case(
        "google",
        503,
        google_error(503, "UNAVAILABLE", "The model is overloaded."),
        SERVER,
        "overloaded",
    ),
    "mistral key": Case("mistral", 401, {"detail": "Unauthorized"}, AUTH, "Unauthorized"),
    "mistral fields": Case(
        "mistral",
        422,
        {"detail": [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required"}]},
        BAD,
        "Field required",
    ),
    "mistral order": Case(
        "mistral",
        400,
        {
            "object": "error",
            "message": "Unexpected role 'user' after role 'tool'",
            "type": "invalid_request_message_order",
            "code": "3230",
        },
        BAD,
        "Unexpected role",
    ),
    "mistral limit": Case(
        "mistral",
        429,
        {"message": "Rate limit exceeded", "type": "rate_limited", "code": "1300"},
        LIMIT,
        "Rate limit exceeded",
    ),
    "cohere key": Case("cohere", 401, {"message": "invalid api token"}, AUTH, "invalid api token"),
    "together limit": Case(
        "together",
        429,
        {"error": {"message": "slow down", "type": "dynamic_request_limited"}},
        LIMIT,
        "slow down",
        12.0,
        {"x-ratelimit-reset": "12"},
    ),
    "groq limit": Case(
        "groq",
        429,
        openai_error("Rate limit reached for model", "tokens", "rate_limit_exceeded"),
        LIMIT,
        "Rate limit reached",
        2.0,
        {"retry-after": "2"},
    ),
    "deepseek credit": Case(
        "deepseek",
        402,
        openai_error("Insufficient Balance", "unknown_error", "invalid_request_error"),
        AUTH,
        "Insufficient Balance",
    ),
    "moonshot credit": Case(
        "moonshot",
        429,
        {
            "error": {
                "message": "Your account is suspended due to insufficient balance",
                "type": "exceeded_current_quota_error",
            }
        },
        AUTH,
        "insufficient balance",
    ),
    "moonshot overloaded": Case(
        "moonshot",
        429,
        {"error": {"message": "try again later", "type": "engine_overloaded_error"}},
        LIMIT,
        "try again",
    ),
    "xai key": Case(
        "xai",
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "Incorrect API key provided: xa***jU.",
        },
        AUTH,
        "Incorrect API key provided: [key]",
    ),
    "azure limit": Case(
        "azure",
        429,
        {
            "error": {
                "code": "429",
                "message": "exceeded token rate limit. Please retry after 37 s.",
            }
        },
        LIMIT,
        "exceeded token rate limit",
        37.0,
        {"retry-after": "37", "x-ratelimit-remaining-tokens": "-1"},
    ),
    "azure deployment": Case(
        "azure",
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}},
        NOT_FOUND,
        "does not exist",
    ),
    "openrouter free": Case(
        "openrouter",
        429,
        openrouter_error(
            429,
            "Rate limit exceeded: free-models-per-min.",
            headers={
                "X-RateLimit-Limit": "20",
                "X-RateLimit-Remaining": "0",
                "X-RateLimit-Reset": f"{SOON}000",
            },
        ),
        LIMIT,
        "free-models-per-min",
        90.0,
    ),
    "openrouter upstream": Case(
        "openrouter",
        502,
        openrouter_error(502, "Provider returned error", raw="engine is down", provider_name="X"),
        SERVER,
        "Provider returned error: engine is down",
    ),
    "nvidia model": Case(
        "nvidia",
        404,
        {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "no such function"},
        NOT_FOUND,
        "no such function",
    ),
    "vllm length": Case(
        "vllm",
        400,
        {"object": "error", "message": "too many tokens", "type": "BadRequestError", "code": 400},
        BAD,
        "too many tokens",
    ),
    "llama.cpp loading": Case(
        "llamacpp",
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        SERVER,
        "Loading model",
    ),
    "ollama model": Case(
        "ollama", 404, {"error": "model 'x' not found"}, NOT_FOUND, "model 'x' not found"
    ),
}


def read(case: Case) -> Failed | Refusal:
    limits = find_provider(f"{case.provider}/m").limits
    return read_failure(case.status, case.headers, msgspec.json.encode(case.body), (), limits)


@pytest.mark.parametrize("name", CASES)
def test_an_error_is_what_its_provider_means_by_it(name: str) -> None:
    case = CASES[name]
    failed = read(case)
    assert isinstance(failed, Failed)
    assert failed.kind is case.kind
    assert case.said in failed.message
    assert failed.message.startswith(f"HTTP {case.status}: ")
    assert failed.retryable == (case.kind in (LIMIT, SERVER))
    assert failed.stops_target == (case.kind in (AUTH, NOT_FOUND))
    if case.wait is None:
        assert failed.retry_after is None
    else:
        assert failed.retry_after == pytest.approx(case.wait, abs=5 if case.wait == 90 else 0)


def test_azures_filter_is_a_refusal() -> None:
    body = {
        "error": {
            "code": "content_filter",
            "message": "The response was filtered",
            "innererror": {"code": "ResponsibleAIPolicyViolation"},
        }
    }
    assert isinstance(read(Case("azure", 400, body, BAD, "")), Refusal)


def test_a_routers_error_within_a_200_has_its_upstreams_kind() -> None:
    body = msgspec.json.encode(openrouter_error(429, "Provider returned error", raw="busy"))
    failed = read_completion(Exchange(body, 0.0))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status) == (LIMIT, 429)
    assert "busy" in failed.message


SDKS = ("openai", "anthropic")
STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)


@pytest.mark.parametrize("sdk", SDKS)
@pytest.mark.parametrize("said", [None, "false", "true"])
def test_what_the_official_sdk_asks_again_is_asked_again(sdk: str, said: str | None) -> None:
    """Except what can help no call to this target: a refused key, a model that is not there."""
    client, httpx2 = client_of(sdk)
    headers = {} if said is None else {"x-should-retry": said}
    for status in STATUSES:
        theirs = client._should_retry(httpx2.Response(status, headers=headers))
        failed = read_failure(status, headers, b"{}", ())
        assert isinstance(failed, Failed)
        assert failed.retryable == (theirs and not failed.stops_target), status


@pytest.mark.parametrize("sdk", SDKS)
@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "17"},
        {"retry-after": "2.5"},
        {"retry-after-ms": "1500", "retry-after": "9"},
        {"retry-after": formatdate(time.time() + 3600, usegmt=True)},
    ],
)
def test_a_wait_is_as_long_as_the_official_sdk_reads_it(sdk: str, headers: dict[str, str]) -> None:
    client, httpx2 = client_of(sdk)
    theirs = client._parse_retry_after_header(httpx2.Headers(headers))
    failed = read_failure(429, headers, b"{}", ())
    assert isinstance(failed, Failed)
    assert failed.retry_after == pytest.approx(theirs, abs=5)  # a date, read at two moments


def client_of(sdk: str) -> tuple[Any, Any]:
    module = pytest.importorskip(sdk)
    httpx2 = pytest.importorskip("httpx2")
    return (module.OpenAI if sdk == "openai" else module.Anthropic)(api_key="k"), httpx2
