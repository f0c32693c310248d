"""Each provider's peculiarities on the wire: what is sent is what the official SDK sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from contextecho.contexts import Context, Decoding, Message, Request, ToolCall
from contextecho.models import (
    Caching,
    Quirks,
    asking_notes,
    find_provider,
    open_model,
    provider_ids,
    serving_of,
)
from docs.pages import page
from servers.fake import FakeProvider

KEY = "sk-test-0123456789abcdef"
DECODING = Decoding(max_output_tokens=600, temperature=0.7, top_p=0.9, seed=42)
CONTEXT = Context(
    system="Be careful.",
    messages=(
        Message(role="user", text="List the files."),
        Message(role="assistant", text="a.py"),
    ),
)
HASH = CONTEXT.sha256[:32]
SAMPLING = {"temperature": 0.7, "top_p": 0.9}
PLAIN = {"max_tokens": 600, "seed": 42} | SAMPLING


def request(target: str, context: Context = CONTEXT) -> Request:
    ask = (Message(role="user", text="Who are you?"),)
    return Request(target=target, context=context, ask=ask, decoding=DECODING)


@pytest.fixture(autouse=True)
def every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in provider_ids():
        for variable in find_provider(f"{provider}/m").key_env:
            monkeypatch.setenv(variable, KEY)


async def sent(asked: Request) -> FakeProvider:
    async with FakeProvider() as server, open_model(asked.target, base_url=server.url) as model:
        await model.answer(asked)
    assert server.broken_rules == []
    return server


def messages(system: str = "system", /, **marked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The conversation as the SDK takes it; a marked message is a part with that mark."""
    said = {system: "Be careful.", "user": "List the files.", "assistant": "a.py"}
    prefix = [
        {
            "role": role,
            "content": [{"type": "text", "text": text, **marked[role]}] if role in marked else text,
        }
        for role, text in said.items()
    ]
    return [*prefix, {"role": "user", "content": "Who are you?"}]


EPHEMERAL = {"cache_control": {"type": "ephemeral"}}
BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
NO_THOUGHTS = {"extra_body": {"thinking": {"type": "disabled"}}}

# What one gives to the SDK's `create` for each kind of target, besides the model.
CALLS: dict[str, dict[str, Any]] = {
    "openai/gpt-4.1": {
        "max_completion_tokens": 600,
        "seed": 42,
        "prompt_cache_key": HASH,
        **SAMPLING,
    },
    "openai/gpt-5": {
        "messages": messages("developer"),
        "max_completion_tokens": 600,
        "seed": 42,
        "prompt_cache_key": HASH,
    },
    "openai/gpt-5.6-luna": {
        "messages": messages("developer", assistant=BREAKPOINT),
        "max_completion_tokens": 600,
        "seed": 42,
        "prompt_cache_key": HASH,
        "prompt_cache_options": {"mode": "explicit"},
    },
    "google/gemini-2.5-pro": {"max_tokens": 600, **SAMPLING},
    "mistral/mistral-small-latest": {
        "max_tokens": 600,
        "extra_body": {"random_seed": 42},
        "prompt_cache_key": HASH,
        **SAMPLING,
    },
    "cohere/command-a-03-2025": PLAIN,
    "together/deepseek-ai/DeepSeek-V3": PLAIN,
    "openrouter/qwen/qwen3-next-80b-a3b-instruct": PLAIN,
    "openrouter/anthropic/claude-sonnet-4.5": {
        "messages": messages(system=EPHEMERAL, assistant=EPHEMERAL),
        **PLAIN,
    },
    "nvidia/nvidia/nemotron-3-nano-30b-a3b": PLAIN,
    "deepseek/deepseek-flash": PLAIN | NO_THOUGHTS,
    "moonshot/kimi-k2.6": {"max_tokens": 600, "seed": 42, **NO_THOUGHTS},
    "moonshot/kimi-k3": {"max_tokens": 600, "seed": 42},
    "groq/llama-3.3-70b-versatile": PLAIN,
    "xai/grok-4.6": PLAIN | {"extra_headers": {"x-grok-conv-id": HASH}},
    "fireworks/accounts/fireworks/models/kimi-k2p6": PLAIN | {"prompt_cache_key": HASH},
    "vllm/Qwen/Qwen3-8B": PLAIN,
    "sglang/Qwen/Qwen3-8B": PLAIN,
    "llamacpp/any": PLAIN,
    "ollama/llama3.2": PLAIN,
    "lmstudio/qwen3-8b": PLAIN,
}


@pytest.mark.parametrize("target", CALLS)
async def test_the_official_sdk_sends_the_same(target: str) -> None:
    openai = pytest.importorskip("openai")
    ours = await sent(request(target))
    model = target.partition("/")[2]
    async with (
        FakeProvider() as peer,
        openai.AsyncOpenAI(base_url=peer.url, api_key=KEY) as client,
    ):
        await client.chat.completions.create(
            **{"model": model, "messages": messages()} | CALLS[target]
        )
    assert ours.bodies == peer.bodies
    for name in ("authorization", "x-grok-conv-id", "content-type"):
        assert ours.headers[0].get(name) == peer.headers[0].get(name)


def test_every_provider_that_speaks_chat_completions_is_compared_with_the_sdk() -> None:
    compared = {target.partition("/")[0] for target in CALLS} | {"anthropic", "azure"}
    assert set(provider_ids()) - compared == {"inspect", "local", "simulated"}


AZURE: dict[str, dict[str, Any]] = {
    "gpt-4.1-prod": PLAIN,
    "gpt-5-mini": {
        "messages": messages("developer"),
        "max_completion_tokens": 600,
        "seed": 42,
    },
}


@pytest.mark.parametrize("deployment", AZURE)
@pytest.mark.parametrize("version", [None, "2025-01-01-preview"])
async def test_azure_is_asked_at_the_deployment_as_the_sdk_asks_it(
    deployment: str, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai = pytest.importorskip("openai")
    if version is None:
        monkeypatch.delenv("OPENAI_API_VERSION", raising=False)
    else:
        monkeypatch.setenv("OPENAI_API_VERSION", version)
    async with FakeProvider() as server:
        resource = server.url.removesuffix("/v1")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", resource)
        asked = request(f"azure/{deployment}")
        async with open_model(asked.target) as model:
            await model.answer(asked)
        async with openai.AsyncAzureOpenAI(
            azure_endpoint=resource, api_key=KEY, api_version=version or "2024-10-21"
        ) as client:
            await client.chat.completions.create(
                **{"model": deployment, "messages": messages()} | AZURE[deployment]
            )
    assert server.broken_rules == []
    assert server.paths[0] == server.paths[1]
    assert server.bodies[0] == server.bodies[1]
    assert [headers.get("api-key") for headers in server.headers] == [KEY, KEY]
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "/openai/deployments/one%2Fa/chat/completions?api-version=2024-10-21"),
        ("/openai", "/openai/deployments/one%2Fa/chat/completions?api-version=2024-10-21"),
        ("/openai/v1/", "/openai/v1/chat/completions"),
        (
            "/openai/deployments/two/chat/completions?api-version=2025-04-01-preview",
            "/openai/deployments/two/chat/completions?api-version=2025-04-01-preview",
        ),
    ],
)
async def test_azures_addresses_are_taken_as_its_portal_shows_them(
    base: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_VERSION", raising=False)
    asked = request("azure/one/a")
    async with FakeProvider() as server:
        url = server.url.removesuffix("/v1") + base
        async with open_model(asked.target, base_url=url) as model:
            await model.answer(asked)
    assert server.paths == [path]


@pytest.mark.parametrize("ttl", [None, "5m", "1h"])
async def test_anthropics_marks_are_the_sdks_for_each_lifetime(ttl: Any) -> None:
    anthropic = pytest.importorskip("anthropic")
    mark = {"cache_control": {"type": "ephemeral"} | ({"ttl": ttl} if ttl else {})}

    def text(said: str, **marked: Any) -> list[dict[str, Any]]:
        return [{"type": "text", "text": said, **marked}]

    asked = request("anthropic/claude-opus-5")  # takes no sampling, as the SDK sends none
    async with FakeProvider() as server:
        async with open_model(asked.target, base_url=server.url, cache_ttl=ttl) as model:
            await model.answer(asked)
        async with anthropic.AsyncAnthropic(
            base_url=server.url.removesuffix("/v1"), api_key=KEY
        ) as client:
            await client.messages.create(
                model="claude-opus-5",
                max_tokens=600,
                system=text("Be careful.", **mark),
                messages=[
                    {"role": "user", "content": text("List the files.")},
                    {"role": "assistant", "content": text("a.py", **mark)},
                    {"role": "user", "content": text("Who are you?")},
                ],
            )
    assert server.broken_rules == []
    ours, theirs = server.bodies
    assert ours == theirs
    assert server.headers[0]["x-api-key"] == KEY


def test_an_hour_at_anthropic_is_what_the_engine_goes_by() -> None:
    target = "anthropic/claude-sonnet-4-6"
    assert open_model(target).caching == Caching(calls=1, life=300.0)
    assert open_model(target, cache_ttl="1h").caching == Caching(calls=1, life=3600.0)


GEMMA = "vllm/google/gemma-3-27b-it"


def spoken(server: FakeProvider) -> Iterator[tuple[str, str]]:
    for message in server.bodies[0]["messages"]:
        yield message["role"], message["content"]


async def test_a_template_that_wants_turns_gets_turns() -> None:
    context = Context(
        messages=(
            Message(role="user", text="One."),
            Message(role="user", text="Two."),
            Message(role="assistant", text="Three."),
            Message(role="assistant", text="Four."),
            Message(role="user", text="Five."),
        )
    )
    server = await sent(request(GEMMA, context))
    assert list(spoken(server)) == [
        ("user", "One.\n\nTwo."),
        ("assistant", "Three.\n\nFour."),
        ("user", "Five."),
        ("assistant", "(continuing)"),
        ("user", "Who are you?"),
    ]
    assert "two messages of one role in a row" in serving_of(GEMMA)


async def test_merged_turns_keep_their_calls() -> None:
    call = ToolCall(id="c1", name="Bash", arguments={"command": "ls"})
    context = Context(
        messages=(
            Message(role="user", text="List."),
            Message(role="assistant", text="I look."),
            Message(role="assistant", text="", tool_calls=(call,)),
            Message(role="tool", call_id="c1", text="a.py"),
        )
    )
    server = await sent(request(GEMMA, context))
    assistant = server.bodies[0]["messages"][1]
    assert assistant["content"] == "I look."
    assert [made["id"] for made in assistant["tool_calls"]] == ["c1"]


async def test_an_anthropic_model_at_openrouter_is_marked_at_its_last_words() -> None:
    context = Context(
        messages=(
            Message(role="user", text="List."),
            Message(
                role="assistant",
                tool_calls=(ToolCall(id="c1", name="Bash", arguments={}),),
            ),
            Message(role="tool", call_id="c1", text=" "),
        )
    )
    server = await sent(request("openrouter/anthropic/claude-haiku-4.5", context))
    assert server.bodies[0]["messages"][0]["content"] == [
        {"type": "text", "text": "List.", **EPHEMERAL}
    ]
    assert str(server.bodies[0]).count("cache_control") == 1


async def test_without_a_prefix_nothing_is_marked() -> None:
    server = await sent(request("openai/gpt-5.6", Context()))
    assert "prompt_cache_options" not in server.bodies[0]
    assert "breakpoint" not in str(server.bodies[0])


@pytest.mark.parametrize("target", ["deepseek/deepseek-flash", "moonshot/kimi-k2.6"])
def test_that_a_model_is_kept_from_thinking_is_part_of_how_it_is_asked(target: str) -> None:
    assert "asked not to think" in serving_of(target)


def test_a_model_that_cannot_but_think_says_so() -> None:
    assert "thinks before it answers" in " ".join(asking_notes("moonshot/kimi-k3"))


@pytest.mark.parametrize(
    ("target", "port"),
    [
        ("vllm/m", 8000),
        ("sglang/m", 30000),
        ("llamacpp/m", 8080),
        ("ollama/m", 11434),
        ("lmstudio/m", 1234),
    ],
)
def test_a_server_of_ones_own_needs_no_address_no_key_and_no_money(
    target: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = find_provider(target)
    assert provider.base_url == f"http://127.0.0.1:{port}/v1"
    for variable in provider.key_env:
        monkeypatch.delenv(variable)
    assert open_model(target).free
    assert not open_model(target, base_url="https://elsewhere.example/v1").free


# Facts of caches by model, each as the table's source says it.
CACHES = [
    ("anthropic/claude-sonnet-4-6", {"cache_least": 1024, "cache_life": 300.0, "cache_calls": 1}),
    ("anthropic/claude-haiku-4-5", {"cache_least": 4096, "cache_counts": False}),
    ("openai/gpt-4.1", {"cache_least": 1024, "cache_step": 128, "cache_life": 300.0}),
    ("openai/gpt-5.6", {"cache_least": 1024, "cache_step": 1, "cache_life": 1800.0}),
    ("google/gemini-2.5-pro", {"cache_least": 2048, "cache_life": None}),
    ("google/gemini-3.6-flash", {"cache_least": 4096}),
    ("deepseek/deepseek-flash", {"cache_calls": 2, "cache_life": 3600.0}),
    ("groq/llama-3.3-70b-versatile", {"cache_life": 7200.0, "cache_counts": False}),
    ("cohere/command-a-03-2025", {"cache_least": None, "cache_life": None}),
]


@pytest.mark.parametrize(("target", "facts"), CACHES)
def test_a_caches_facts_are_those_of_its_source(target: str, facts: dict[str, Any]) -> None:
    quirks = find_provider(target).quirks_for(target.partition("/")[2])
    assert {name: getattr(quirks, name) for name in facts} == facts


def test_every_quirk_is_explained() -> None:
    named = [row[0] for row in dict(page("models.md").tables)["Quirks"]]
    explained = {name.strip("`") for cell in named for name in cell.split(", ")}
    assert explained == set(Quirks.__struct_fields__)


def test_every_provider_is_listed_with_its_keys() -> None:
    rows = dict(page("models.md").tables)["Providers and keys"]
    listed = {name.strip("`"): row[1] for row in rows for name in row[0].split(", ")}
    assert set(listed) == set(provider_ids()) - {"inspect", "local", "simulated"}
    for name, keys in listed.items():
        provider = find_provider(f"{name}/m")
        named = " or ".join(f"`{variable}`" for variable in provider.key_env)
        assert keys == (named if provider.key_needed else "none needed")
