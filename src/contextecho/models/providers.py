"""Which providers there are and how each wants to be asked, read from `data/providers.yaml`.

A target is written `provider/model`; everything after the first slash is the
provider's own model id. A provider or model that is not in the table is usable:
the provider needs a base URL, the model gets a note that it was not tried.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

import msgspec

from contextecho.bundled import read_bundled
from contextecho.errors import UsageError
from contextecho.models.allowance import NO_LIMITS, LimitHeaders


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider does differently from plain chat completions, and what its cache does.

    Facts of a cache are in tokens and seconds; `None` where its provider does not say.
    """

    token_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    sampling: bool = True  # temperature and top_p are accepted
    seed_parameter: str | None = "seed"
    call_ids: Literal["any", "nine_alphanumerics"] = "any"
    bridge_after_tool: bool = False  # needs an assistant turn between tool result and user
    alternate: bool = False  # refuses two messages of one role in a row
    answer_schema: bool = False  # holds the answer to a JSON Schema
    reasons: bool = False  # thinks unasked, and its thoughts count towards the longest reply
    thinking: Literal["disabled"] | None = None  # sent to a model that would think unasked
    prompt_cache_key: bool = False  # routes requests of one prefix to one cache
    cache_key_header: str | None = None  # the header that does so
    cache_marks: Literal["anthropic", "openai"] | None = None  # whose marks end a cached prefix
    cache_ttl: Literal["5m", "1h"] | None = None  # what Anthropic's marks ask for; its 5m if None
    cache_least: int | None = None  # the shortest prefix that is cached
    cache_step: int | None = None  # a cached prefix is a multiple of this
    cache_life: float | None = None  # after this long without use it may be gone
    cache_calls: int = 1  # answers that must have begun before a prefix is read from the cache
    cache_counts: bool = True  # what is read from it counts towards the tokens of a minute


class BatchTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider takes requests in batches, and on which terms."""

    api: Literal["anthropic", "mistral", "openai"]
    requests: int  # in one batch at most
    bytes: int  # of one batch at most
    hours: int  # after which what is not answered expires
    price: float  # of a token, as a share of what it costs in a single call


class Deployments(msgspec.Struct, frozen=True, kw_only=True):
    """Models are deployments with an address of their own, asked by an API version."""

    version: str
    version_env: str  # the variable that may hold another version


class UsageFields(msgspec.Struct, frozen=True, kw_only=True):
    """Where a `usage` object says a count: paths, of which the first that is there counts."""

    cached: tuple[tuple[str, ...], ...]
    cache_write: tuple[tuple[str, ...], ...]
    reasoning: tuple[tuple[str, ...], ...]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider: wire format, address, where its key is, and its quirks."""

    id: str
    name: str
    wire: Literal["openai", "anthropic"]
    base_url: str | None  # what stands before `/chat/completions` or `/messages`
    base_url_env: tuple[str, ...] = ()  # variables that may hold it
    deployments: Deployments | None = None
    key_env: tuple[str, ...] = ()  # variables that may hold the key, the first set one counts
    key_header: str = "authorization"  # there the key is a bearer's; elsewhere it stands alone
    key_needed: bool = True
    limits: LimitHeaders = NO_LIMITS  # the headers that say what is still allowed
    one_account: bool = False  # a key's limits hold for all its models together
    batch: BatchTerms | None = None  # None: no batch API that we know how to use
    quirks: Quirks = Quirks()
    models: Mapping[str, Mapping[str, str | int | float | bool | None]] = {}
    tools: bool = True  # tool calls and results can be shown natively
    known: bool = True

    def quirks_for(self, model: str) -> Quirks:
        """The provider's quirks, overridden by the last pattern that matches the model id."""
        quirks = self.quirks
        for pattern, overrides in self.models.items():
            if fnmatchcase(model, pattern):
                quirks = msgspec.convert({**msgspec.to_builtins(quirks), **overrides}, Quirks)
        return quirks


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the first paper's panel (Table 8)."""

    name: str
    id: str


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    providers: Mapping[str, Mapping[str, object]]
    limits: LimitHeaders  # of a provider that is not in the table: the names most servers use
    usage: UsageFields
    bridge: str
    targets: tuple[Target, ...]


@cache
def _table() -> _Table:
    return read_bundled("models", "providers", _Table)


def bridge_text() -> str:
    """What an assistant turn says that only keeps a provider's order of roles."""
    return _table().bridge


def usage_fields() -> UsageFields:
    """Where chat completions say what was cached, and what was thought."""
    return _table().usage


def targets() -> tuple[Target, ...]:
    """The 23 targets of Table 8, in the paper's order."""
    return _table().targets


def provider_ids() -> tuple[str, ...]:
    """The providers of the table, in alphabetical order."""
    return tuple(sorted(_table().providers))


def split_target(target: str) -> tuple[str, str]:
    """`provider/model` in two; `local` and `simulated` may stand alone.

    Raises UsageError for anything else, saying how a target is written.
    """
    provider, _, model = target.partition("/")
    if not provider or (not model and provider not in _OURS) or not target.isprintable():
        raise UsageError(
            f"{target!r} is not a target",
            todo="write PROVIDER/MODEL, for example openai/gpt-4.1, local or simulated",
        )
    return provider, model


def find_provider(target: str) -> Provider:
    """The provider of a target; an unknown one is plain chat completions without an address."""
    name, _ = split_target(target)
    entry = _table().providers.get(name)
    if entry is None:
        variable = re.sub(r"\W+", "_", name).upper() + "_API_KEY"
        return Provider(
            id=name,
            name=name,
            wire="openai",
            base_url=None,
            key_env=(variable,),
            limits=_table().limits,
            known=False,
        )
    return msgspec.convert({"id": name, **entry}, Provider)


def batch_providers() -> tuple[str, ...]:
    """The providers that take requests in batches, in alphabetical order."""
    return tuple(name for name in provider_ids() if find_provider(f"{name}/x").batch)


# These answer on this machine and may stand alone: `local`, `simulated`.
_OURS = ("local", "simulated", "recorded")

# Where a cloud says who made a model, and in which region it runs: `us.anthropic.`.
_VENDOR = re.compile(r"^(?:[a-z][a-z-]*\.)+(?=[a-z])")
# What may end a name without making it another model.
_ENDINGS = re.compile(
    r"(?:@.*"  # Vertex: @20250929, @default
    r"|-v\d+:\d+"  # Bedrock
    r"|:.*"  # OpenRouter: :free
    r"|-(?:preview|exp)(?:-\d{2}-\d{2}|-\d{2}-\d{4})?"
    r"|-(?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{4}|00\d)"
    r"|(?<=-instruct)(?:-\d{4})?-(?:turbo|tput|lite)"
    # How the weights are packed.
    r"|[-_.](?:awq|gptq|gguf|mlx|exl[23]|bnb|hf|dynamic|quantized|[48]-?bits?|(?:mx|nv)?fp(?:4|8|16|32)"
    r"|bf16|nf4|int[48]|w\d+a\d+|i?q\d(?:_[a-z0-9]+)*))$"
)
_VERSION = re.compile(r"-v\d+$")


def answers_here(target: str) -> bool:
    """Whether a target answers on this machine, and so for no money and without a key."""
    return target.partition("/")[0] in _OURS


def same_model(a: str, b: str) -> bool:
    """Whether two targets are one model: the same name through any provider or snapshot.

    Dated snapshots, previews, `latest` aliases, regions and vendors of a cloud, serving
    variants (`-turbo`, `:free`) and quantised weights count as the same model, because
    this decides whether a model would judge itself: the doubtful case is refused.
    """
    (one, one_bare), (other, other_bare) = _family(a), _family(b)
    return one in (other, other_bare) or one_bare == other


def _family(target: str) -> tuple[str, str]:
    """What is left of a name: as it is, and without the `-v3` that stood before a date."""
    provider, _, model = target.strip().partition("/")
    if provider in _OURS:
        return target.strip(), target.strip()
    name = _VENDOR.sub("", model.rsplit("/", 1)[-1].strip().lower())
    dated = False
    while ending := _ENDINGS.search(name, 1):
        dated = dated or ending[0][1:].isdigit()
        name = name[: ending.start()]
    bare = _VERSION.sub("", name) if dated else name
    return _letters(name), _letters(bare)


def _letters(name: str) -> str:
    """Letters and digits only: `llama-3.3`, `llama3-3` and `Llama_3.3` are one."""
    return re.sub(r"[^a-z0-9]", "", name)
