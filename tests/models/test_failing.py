"""What comes back when things go wrong, and that no key comes with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextecho.contexts import Request
from contextecho.errors import ProviderError, UsageError
from contextecho.models import (
    Answer,
    Failed,
    FailureKind,
    Refusal,
    Reply,
    Truncated,
    endpoint,
    open_model,
)
from contextecho.models.endpoint import Exchange
from contextecho.models.failures import clean, read_failure, retry_after
from contextecho.models.openai_chat import read_completion
from contextecho.untrusted import one_line
from servers.fake import NOWHERE, FakeProvider, Fault

Ask = Callable[..., Request]
TARGETS = ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5")

KINDS = {
    Fault.RATE_LIMIT: FailureKind.RATE_LIMIT,
    Fault.OVERLOADED: FailureKind.RATE_LIMIT,
    Fault.SERVER_ERROR: FailureKind.SERVER,
    Fault.UNAUTHORIZED: FailureKind.AUTH,
    Fault.NO_CREDIT: FailureKind.AUTH,
    Fault.NOT_FOUND: FailureKind.NOT_FOUND,
    Fault.REDIRECT: FailureKind.NOT_FOUND,
    Fault.BAD_REQUEST: FailureKind.BAD_REQUEST,
    Fault.HTML: FailureKind.NOT_JSON,
    Fault.WRONG_JSON: FailureKind.NOT_JSON,
    Fault.EMPTY: FailureKind.EMPTY,
    Fault.REASONING_ONLY: FailureKind.EMPTY,
    Fault.CUT: FailureKind.SERVER,
    Fault.SLOW: FailureKind.SERVER,
}


def patience(fault: Fault | None) -> float:
    """Seconds: long enough for a request to arrive, and for an answer that is not late."""
    return 1.0 if fault is Fault.SLOW else 300.0


async def reply_to(fault: Fault, request: Request, **settings: str) -> Reply:
    async with (
        FakeProvider(always=fault, **settings) as provider,
        open_model(request.target, base_url=provider.url, timeout=patience(fault)) as model,
    ):
        return await model.answer(request)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", KINDS)
async def test_each_fault_is_a_failure_of_its_kind(
    ask: Ask, keys: str, target: str, fault: Fault
) -> None:
    reply = await reply_to(fault, ask(target))
    assert isinstance(reply, Failed)
    assert reply.kind is KINDS[fault]
    assert "\n" not in reply.message
    assert reply.message


@pytest.mark.parametrize("target", TARGETS)
async def test_refusals_and_truncations_are_not_answers(ask: Ask, keys: str, target: str) -> None:
    assert isinstance(await reply_to(Fault.REFUSAL, ask(target)), Refusal)
    assert isinstance(await reply_to(Fault.CONTENT_FILTER, ask(target)), Refusal)
    truncated = await reply_to(Fault.LENGTH, ask(target))
    assert isinstance(truncated, Truncated)
    assert truncated.text == "A plain answer."


async def test_every_status_of_success_is_an_answer(ask: Ask, keys: str) -> None:
    body = b'{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}]}'
    request = ask("openai/gpt-4.1")
    async with (
        FakeProvider(raw=(201, body)) as provider,
        open_model(request.target, base_url=provider.url) as model,
    ):
        assert isinstance(await model.answer(request), Answer)


async def test_an_answer_without_end_is_cut_off(
    ask: Ask, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_LONGEST", 10_000)
    request = ask("openai/gpt-4.1")
    async with (
        FakeProvider(raw=(200, b" " * 10_001)) as provider,
        open_model(request.target, base_url=provider.url) as model,
    ):
        reply = await model.answer(request)
    assert isinstance(reply, Failed)
    assert (reply.kind, reply.message) == (
        FailureKind.NOT_JSON,
        "the server answered with more than 32 MB",
    )


async def test_an_error_inside_a_200_keeps_its_own_status(ask: Ask, keys: str) -> None:
    reply = await reply_to(Fault.ERROR_IN_200, ask("openai/gpt-4.1"))
    assert isinstance(reply, Failed)
    assert (reply.kind, reply.status) == (FailureKind.RATE_LIMIT, 429)


async def test_the_providers_waiting_time_is_passed_on(ask: Ask, keys: str) -> None:
    reply = await reply_to(Fault.RATE_LIMIT, ask("openai/gpt-4.1"), retry_after="17")
    assert isinstance(reply, Failed)
    assert reply.retry_after == 17.0


async def test_nobody_listening_is_unreachable_and_stops_the_target(ask: Ask, keys: str) -> None:
    async with open_model("openai/gpt-4.1", base_url=NOWHERE) as model:
        reply = await model.answer(ask("openai/gpt-4.1"))
    assert isinstance(reply, Failed)
    assert reply.kind is FailureKind.UNREACHABLE
    assert reply.stops_target


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
async def test_tls_to_a_plain_port_says_so(ask: Ask, keys: str, said: bytes) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        open_model("openai/gpt-4.1", base_url=f"https://127.0.0.1:{port}/v1") as model,
    ):
        reply = await model.answer(ask("openai/gpt-4.1"))
    assert isinstance(reply, Failed)
    assert reply.kind is FailureKind.UNREACHABLE
    assert "does not answer in TLS" in reply.message


def test_a_user_in_the_base_url_and_a_key_are_one_line(keys: str) -> None:
    with pytest.raises(UsageError, match="user name or password") as caught:
        open_model("openai/gpt-4.1", base_url="http://me:hidden@127.0.0.1:1/v1")
    assert "hidden" not in str(caught.value)
    assert keys not in str(caught.value)


async def test_a_user_in_the_base_url_without_a_key_is_sent(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with FakeProvider() as provider:
        url = provider.url.replace("//", "//me:hidden@")
        async with open_model("openai/gpt-4.1", base_url=url) as model:
            await model.answer(ask("openai/gpt-4.1"))
    assert provider.headers[0]["authorization"].startswith("Basic ")


async def test_a_host_name_that_cannot_be_is_unreachable(ask: Ask, keys: str) -> None:
    for host in ("exämple..com", "a" * 70 + ".com"):
        async with open_model("openai/gpt-4.1", base_url=f"http://{host}/v1") as model:
            reply = await model.answer(ask("openai/gpt-4.1"))
        assert isinstance(reply, Failed)
        assert reply.kind is FailureKind.UNREACHABLE


def test_a_header_with_a_line_break_is_refused() -> None:
    with pytest.raises(UsageError, match="x-gate"):
        open_model("openai/x", base_url="http://h/v1", headers={"x-gate": "a\r\nb"})


async def test_cancelling_a_call_is_not_swallowed(ask: Ask, keys: str) -> None:
    async with (
        FakeProvider(always=Fault.SLOW) as provider,
        open_model("openai/gpt-4.1", base_url=provider.url) as model,
    ):
        call = asyncio.create_task(model.answer(ask("openai/gpt-4.1")))
        while not provider.calls:
            await asyncio.sleep(0.005)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


@pytest.mark.parametrize("target", TARGETS)
async def test_no_key_leaves_by_reply_repr_or_log(
    ask: Ask, keys: str, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret_header = "another-secret-value"
    seen = []
    for fault in (*KINDS, Fault.REFUSAL, Fault.LENGTH, Fault.CONTENT_FILTER, None):
        async with FakeProvider(always=fault) as provider:
            headers = {"x-gate": secret_header}
            async with open_model(
                target, base_url=provider.url, headers=headers, timeout=patience(fault)
            ) as model:
                reply = await model.answer(ask(target))
                seen += [repr(reply), str(reply), repr(model), str(vars(model))]
            assert keys in str(provider.headers)  # it was sent, and echoed by the 401
    text = "".join(seen) + caplog.text
    assert keys not in text
    assert secret_header not in text


def test_a_masked_echo_of_a_key_is_blotted_out() -> None:
    body = b'{"error": {"message": "Incorrect API key provided: sk-test*****cdef. See docs."}}'
    reply = read_failure(401, {}, body, ())
    assert isinstance(reply, Failed)
    assert reply.message == "HTTP 401: Incorrect API key provided: [key] See docs."


@pytest.mark.parametrize(
    "echo",
    [
        "sk-proj-4f9a1c77",  # cut off behind
        "...9a1c77e2b8d05",  # and in front
        "sk%2Dproj%2D4f9a1c77e2b8d05",
        "key=sk-proj-4f9a1c77e2b8&x",
    ],
)
def test_a_piece_of_a_key_is_blotted_out(echo: str) -> None:
    body = msgspec.json.encode({"error": f"no such key: {echo} at all"})
    reply = read_failure(401, {}, body, ("sk-proj-4f9a1c77e2b8d05",))
    assert isinstance(reply, Failed)
    assert reply.message == "HTTP 401: no such key: [key] at all"


def test_what_a_word_shares_with_a_key_by_chance_stays() -> None:
    assert clean("see sk-proj-keys here", ("sk-proj-4f9a1c77e2b8d05",)) == "see sk-proj-keys here"


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        open_model("openai/gpt-4.1")


def test_a_base_url_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert open_model("openai/x", base_url="http://127.0.0.1:1/v1").id == "openai/x"


def test_a_key_with_a_line_break_inside_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one\nsk-two")
    with pytest.raises(ProviderError) as caught:
        open_model("openai/gpt-4.1")
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("target", ["gpt-4.1", "", "/x", "openai/", "recorded/openai/x"])
def test_what_is_not_a_target_is_a_usage_error(target: str) -> None:
    with pytest.raises(UsageError):
        open_model(target)


@pytest.mark.parametrize("target", ["local", "simulated/judge"])
def test_a_base_url_for_a_target_in_this_process_is_not_ignored(target: str) -> None:
    with pytest.raises(UsageError, match="no base URL"):
        open_model(target, base_url="http://127.0.0.1:8000/v1")


def test_an_unknown_provider_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="anthropic, azure, cohere"):
        open_model("nobody/x")


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8000", "ftp://host/v1", "http://", "nonsense", "http://[bad/v1", "http://h:99999"],
)
def test_a_base_url_that_is_none_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="base URL"):
        open_model("openai/x", base_url=url)


def test_waiting_times_are_read_as_seconds_or_dates() -> None:
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert retry_after({}) is None


def test_a_date_is_one_on_the_clock_of_the_server() -> None:
    """Ours may be days off: these are years from today."""
    date = {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}
    assert retry_after({**date, "date": "Wed, 21 Oct 2015 07:27:30 GMT"}) == 30.0
    assert retry_after({**date, "date": "Wed, 21 Oct 2015 07:28:30 GMT"}) == 0.0
    assert retry_after({**date, "date": "no date"}) == 0.0  # then ours counts


DATES = st.from_regex(
    r"(Mon|Wed), [0-9]{1,3} (Jan|Oct) [0-9]{1,25} [0-9]{1,2}:[0-9]{2}:00 ([+-][0-9]{1,20}|GMT)",
    fullmatch=True,
)


@given(st.text() | DATES)
@example("Wed, 21 Oct 2015 07:28:00 +999999999999999")
@example("Wed, 21 Oct 99999999999999999999 07:28:00 GMT")
def test_no_waiting_time_breaks_the_reader(value: str) -> None:
    seconds = retry_after({"retry-after": value})
    assert seconds is None or seconds >= 0


def test_a_long_error_page_without_blanks_is_read_in_one_go() -> None:
    """Each letter of it was a beginning to search from: a page of 64 kB took a minute."""
    body = b"a" * 1_000_000 + b" sk-proj-****1234"
    reply = read_failure(500, {}, body, ())
    text = reply.message if isinstance(reply, Failed) else reply.text
    assert len(text) <= 400
    echo = read_failure(401, {}, b"Incorrect API key provided: sk-proj-****1234. See", ())
    assert "sk-proj" not in (echo.message if isinstance(echo, Failed) else echo.text)


@given(st.integers(100, 599), st.binary(max_size=200))
def test_any_error_page_is_one_short_line(status: int, body: bytes) -> None:
    reply = read_failure(status, {}, body, ("secret",))
    text = reply.message if isinstance(reply, Failed) else reply.text
    assert len(text) < 400
    assert text == one_line(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_reply(body: bytes) -> None:
    assert isinstance(read_completion(Exchange(body, 0.0)), Failed)


DEEP = b"[" * 100_000
ODD_BODIES = (
    DEEP,
    b'{"choices": ' + DEEP,
    b'{"content": [], "usage": ' + DEEP,
    b"1" * 5000,
    b'{"error": {"code": ' + b"1" * 5000 + b"}}",
    b'{"choices": [{"message": {"content": "\xff"}}]}',
)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("body", ODD_BODIES)
async def test_one_odd_answer_is_not_json_and_raises_nothing(
    ask: Ask, keys: str, target: str, body: bytes
) -> None:
    async with (
        FakeProvider(raw=(200, body)) as provider,
        open_model(target, base_url=provider.url) as model,
    ):
        reply = await model.answer(ask(target))
    assert isinstance(reply, Failed)
    assert reply.kind is FailureKind.NOT_JSON


@pytest.mark.parametrize("body", ODD_BODIES)
def test_an_odd_error_page_keeps_its_status(body: bytes) -> None:
    reply = read_failure(503, {}, body, ())
    assert isinstance(reply, Failed)
    assert (reply.kind, reply.status) == (FailureKind.SERVER, 503)


@pytest.mark.parametrize("target", TARGETS)
async def test_a_key_echoed_in_an_answer_is_blotted_out(ask: Ask, keys: str, target: str) -> None:
    chat = (
        f'{{"choices": [{{"message": {{"content": "It is {keys}."}}}}], "model": "m-{keys}",'
        f' "content": [{{"type": "text", "text": "It is {keys}."}}]}}'
    )
    async with (
        FakeProvider(raw=(200, chat.encode())) as provider,
        open_model(target, base_url=provider.url) as model,
    ):
        reply = await model.answer(ask(target))
    assert reply.text == "It is [key]."
    assert reply.served_model == "m-[key]"


def test_a_silent_error_page_says_so() -> None:
    for body in (b" ", b'" "', b""):
        reply = read_failure(500, {}, body, ())
        assert isinstance(reply, Failed)
        assert reply.message == "HTTP 500: no further word from the server"


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert clean("a\x1b[31mb\r\nc\u2028d\u202ee") == "a⟨U+001B⟩[31mb c⟨U+2028⟩d⟨U+202E⟩e"


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("X-Title", "assistant", True),
        ("X-Api-Key", "sesame-open", False),
        ("Authorization", "Basic open-sesame", False),
        ("X-Team", "team-4711-a", False),
        ("X-Token", "short", True),
    ],
)
async def test_a_header_is_blotted_out_of_answers_when_it_can_be_a_secret(
    ask: Ask, keys: str, name: str, value: str, kept: bool
) -> None:
    request = ask("openai/gpt-4.1")
    async with (
        FakeProvider(text=f"I am {value}.") as provider,
        open_model(request.target, base_url=provider.url, headers={name: value}) as model,
    ):
        reply = await model.answer(request)
    assert reply.text == (f"I am {value}." if kept else "I am [key].")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("start", "said", "read"),
    [(b"\xef\xbb\xbf", "Yes.", "Yes."), (b"", "Half \\ud83d.", "Half \ufffd.")],
    ids=["byte order mark", "half a character"],
)
async def test_a_paid_answer_is_not_lost_for_a_sign(
    ask: Ask, keys: str, target: str, start: bytes, said: str, read: str
) -> None:
    body = (
        f'{{"choices": [{{"message": {{"content": "{said}"}}}}],'
        f' "content": [{{"type": "text", "text": "{said}"}}]}}'
    )
    async with (
        FakeProvider(raw=(200, start + body.encode())) as provider,
        open_model(target, base_url=provider.url) as model,
    ):
        reply = await model.answer(ask(target))
    assert isinstance(reply, Answer)
    assert reply.text == read


@pytest.mark.parametrize("target", ["mine/\udcff", "mine/a\nb", "mine/\x1b[31m"])
def test_a_target_that_cannot_be_shown_is_none(target: str) -> None:
    with pytest.raises(UsageError, match="is not a target"):
        open_model(target, base_url="http://127.0.0.1:9/v1")
