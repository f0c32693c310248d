"""The tables: the paper's targets, sameness of models, prices."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from contextecho.models import Usage, find_price, find_provider, open_model, same_model, targets

_ROW = re.compile(r"^(.+?)\t(.+?)\t(\S+)\t\d\d-\d\d–\d\d-\d\d$", re.MULTILINE)
_PREFIX = {
    "Anthropic": "anthropic",
    "OpenAI": "openai",
    "Google": "google",
    "Together AI": "together",
    "OpenRouter": "openrouter",
    "Mistral": "mistral",
    "Cohere": "cohere",
    "NVIDIA": "nvidia",
}


def test_the_targets_are_the_papers_table_8(shared: Path) -> None:
    paper = (shared / "papers/contextecho.txt").read_text(encoding="utf-8")
    rows = _ROW.findall(paper.replace("$", "").replace("\u00a0", " "))
    assert len(rows) == 23
    expected = [(name, f"{_PREFIX[provider]}/{model}") for name, provider, model in rows]
    assert [(target.name, target.id) for target in targets()] == expected


def test_every_target_opens_once_its_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for target in targets():
        for variable in find_provider(target.id).key_env:
            monkeypatch.setenv(variable, "a-test-key")
        assert open_model(target.id).id == target.id


def test_a_model_outside_the_table_opens_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-test-key")
    assert "not in the table" in " ".join(open_model("openai/gpt-99").notes)
    assert open_model("openai/gpt-4.1").notes == ()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5-20250929"),
        ("anthropic/claude-sonnet-4-5", "openrouter/anthropic/claude-sonnet-4.5"),
        ("openai/gpt-4o", "openrouter/openai/gpt-4o-2024-08-06"),
        ("mistral/mistral-large-latest", "mistral/mistral-large-2512"),
        ("cohere/command-a-03-2025", "openrouter/cohere/command-a"),
        (
            "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
            "openrouter/meta-llama/llama-3.3-70b-instruct:free",
        ),
        (
            "together/Qwen/Qwen3-235B-A22B-Instruct-2507-tput",
            "openrouter/qwen/qwen3-235b-a22b-instruct-2507",
        ),
        ("local", "local"),
        (
            "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "anthropic/claude-sonnet-4-5",
        ),
        ("bedrock/meta.llama3-3-70b-instruct-v1:0", "x/meta-llama/Llama-3.3-70B-Instruct"),
        ("vertex/claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-4-5"),
        ("google/gemini-2.5-pro-preview-05-06", "google/gemini-2.5-pro"),
        ("google/gemini-2.5-flash-preview-09-2025", "google/gemini-2.5-flash"),
        ("openrouter/deepseek/deepseek-chat-v3-0324", "deepseek/deepseek-chat"),
        ("x/deepseek-ai/DeepSeek-V3-0324", "together/deepseek-ai/DeepSeek-V3"),
        ("vllm/Qwen/Qwen2.5-7B-Instruct-AWQ", "together/Qwen/Qwen2.5-7B-Instruct"),
        ("vllm/Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "together/Qwen/Qwen2.5-7B-Instruct-Turbo"),
        ("vllm/x/Llama-3.1-8B-Instruct-INT4", "vllm/x/Llama-3.1-8B-Instruct-FP8-dynamic"),
        ("vllm/x/Llama-3.1-8B-Instruct-quantized.w4a16", "vllm/x/Llama-3.1-8B-Instruct"),
        ("vllm/x/Llama-3.1-8B-Instruct-Q4_K_M-GGUF", "vllm/x/Llama-3.1-8B-Instruct-4bit"),
        (" openai/gpt-4.1 ", "openai/gpt-4.1"),
        ("openai/ gpt-4.1", "openai/gpt-4.1"),
    ],
)
def test_one_model_under_two_names_is_the_same(a: str, b: str) -> None:
    assert same_model(a, b)
    assert same_model(b, a)


def test_the_papers_23_targets_are_23_models() -> None:
    ids = [target.id for target in targets()]
    assert not [(a, b) for a in ids for b in ids if a < b and same_model(a, b)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("openai/gpt-4", "openai/gpt-4-turbo"),
        ("anthropic/claude-opus-4-1", "anthropic/claude-opus-4-5"),
        ("simulated/gap=0.3", "simulated/judge"),
        ("local", "local/other.gguf"),
        ("x/deepseek-ai/DeepSeek-V3-0324", "x/deepseek-ai/DeepSeek-V2-0628"),
        ("openai/gpt-4o", "openai/gpt-4o-mini-2024-07-18"),
        ("bedrock/us.anthropic.claude-opus-4-1-20250805-v1:0", "anthropic/claude-sonnet-4-1"),
        ("mistral/mistral-large-2512", "mistral/mistral-small-2506"),
    ],
)
def test_two_models_are_not_the_same(a: str, b: str) -> None:
    assert not same_model(a, b)


def test_a_call_costs_what_the_price_page_says() -> None:
    # 50 fresh, 100,000 cached, 248 written, 7 out on Haiku 4.5 at $1, $0.10, $1.25 and $5:
    # 50 + 10,000 + 310 + 35 = 10,395 millionths of a dollar.
    price = find_price("anthropic/claude-haiku-4-5")
    assert price is not None
    usage = Usage(input=100_298, cached=100_000, cache_write=248, output=7)
    assert price.cost(usage) == pytest.approx(0.010395, abs=1e-12)


def test_an_unknown_price_is_none_and_never_zero() -> None:
    assert find_price("together/deepseek-ai/DeepSeek-V3") is None
    price = find_price("google/gemini-2.5-pro")
    assert price is not None
    assert price.cost(Usage(input=100, output=None)) is None
    assert price.cost(Usage(input=300_000, output=1)) is None  # another tariff


def test_the_door_imports_no_client_and_no_runtime() -> None:
    check = (
        "import sys, contextecho.models; "
        "print([m for m in ('aiohttp', 'numpy', 'xllamacpp', 'scipy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_models_of_one_key_share_an_account_where_the_provider_counts_them_together(monkeypatch):
    def account(target: str, key: str) -> str | None:
        monkeypatch.setenv("FIREWORKS_API_KEY", key)
        monkeypatch.setenv("OPENAI_API_KEY", key)
        return open_model(target).account

    one, other = account("fireworks/a", "key-number-1"), account("fireworks/b", "key-number-1")
    assert one == other
    assert one is not None
    assert "key-number-1" not in one
    assert account("fireworks/a", "key-number-2") != one
    assert account("openai/a", "key-number-1") is None
