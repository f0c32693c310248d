"""From a target's name to a model that answers: the room's main door.

A key goes into the headers of one endpoint and into the list of strings that are
blotted out of messages, nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from contextecho.defaults import TIMEOUT
from contextecho.errors import UsageError
from contextecho.models.addresses import call_url
from contextecho.models.keys import read_key
from contextecho.models.model import Model
from contextecho.models.providers import (
    Provider,
    Quirks,
    answers_here,
    find_provider,
    split_target,
    targets,
)
from contextecho.models.recorded import Lookup, RecordedModel

if TYPE_CHECKING:
    from contextecho.contexts import Request
    from contextecho.models.anthropic import AnthropicMessages
    from contextecho.models.openai_chat import OpenAIChat
    from contextecho.studies import Plan

_SHORTEST_SECRET = 8  # characters; a shorter one would blot out too much
_SECRET_NAMES = ("auth", "cookie", "key", "pass", "secret", "token")


def open_model(
    target: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    headers: Mapping[str, str] | None = None,
    lookup: Lookup | None = None,
    simulated: Plan | None = None,
    timeout: float = TIMEOUT,
    cache_ttl: Literal["5m", "1h"] | None = None,
) -> Model:
    """Open the model that a target names.

    `provider/model` asks that provider (or `base_url`, with the key in the
    variable `key_env` and extra `headers`); `local` and `local/PATH.gguf` start
    the embedded model; `simulated[/SETTINGS]` answers on the plan `simulated`;
    `simulated/judge` judges it. With `lookup`, replies are replayed under the
    target's name. `timeout` is for one call, in seconds. `cache_ttl` is how long Anthropic
    is to keep a prefix (its default is five minutes; an hour costs more to write).

    Raises UsageError for a name that cannot be resolved and ProviderError where
    a key or the embedded model is missing.
    """
    if lookup is not None:
        return RecordedModel(target.removeprefix("recorded/"), lookup)
    kind = target.partition("/")[0]
    if kind == "recorded":
        raise UsageError(f"{target!r} needs a recording", todo="name the store to replay")
    if kind in ("local", "simulated") and (base_url or key_env or headers):
        raise UsageError(f"{target!r} answers in this process: it takes no base URL, key or header")
    if kind == "local":
        from contextecho.models.local import open_local

        return open_local(target, timeout=timeout)
    if kind == "simulated":
        return _open_simulated(target, simulated)
    if kind == "inspect":
        return _open_inspect(target, base_url, key_env, headers or {}, timeout)
    return _open_remote(target, base_url, key_env, headers or {}, timeout, cache_ttl)


def _open_simulated(target: str, plan: Plan | None) -> Model:
    from contextecho.models.simulated import JUDGE_ID, SimulatedJudge, SimulatedModel

    if target.split(",")[0] == JUDGE_ID:
        return SimulatedJudge.parse(target)
    if plan is None:
        raise UsageError(f"{target!r} answers only on a plan, and none was given")
    return SimulatedModel.for_plan(plan, target=target)


def _open_inspect(
    target: str,
    base_url: str | None,
    key_env: str | None,
    headers: Mapping[str, str],
    timeout: float,
) -> Model:
    from contextecho.models.inspecting import open_inspect

    key = read_key(find_provider(target), key_env, needed=False)
    return open_inspect(
        target,
        asking_notes(target),
        base_url=base_url,
        key=key,
        headers=headers,
        timeout=timeout,
    )


def _open_remote(
    target: str,
    base_url: str | None,
    key_env: str | None,
    headers: Mapping[str, str],
    timeout: float,
    cache_ttl: Literal["5m", "1h"] | None,
) -> Model:
    provider = find_provider(target)
    _, model = split_target(target)
    url = call_url(provider, model, base_url)
    key = read_key(provider, key_env, needed=provider.key_needed and base_url is None)
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isprintable()):
            raise UsageError(f"the header {name!r} has characters that no header may have")
    quirks = provider.quirks_for(model)
    if quirks.cache_marks == "anthropic":
        quirks = msgspec.structs.replace(quirks, cache_ttl=cache_ttl)
    notes = _notes(target, provider, quirks)
    secrets = [key] if key and len(key) >= _SHORTEST_SECRET else []
    secrets += [value for name, value in headers.items() if _is_secret(name, value)]

    from contextecho.models.endpoint import Endpoint

    sent = {**_key_headers(provider, key), **headers}
    endpoint = Endpoint(url, sent, secrets, timeout, provider.limits)
    opened = _adapter(provider)(target, model, endpoint, quirks, notes)
    if provider.one_account:
        opened.account = f"{endpoint.host} {hashlib.sha256((key or '').encode()).hexdigest()}"
    opened.free = base_url is None and not provider.key_needed  # a server on this machine
    return opened


def _is_secret(name: str, value: str) -> bool:
    """Whether a header's value is blotted out of what comes back; plain words are none.

    A title like "assistant" is no secret, and would take the word out of every answer.
    """
    named = any(word in name.lower() for word in _SECRET_NAMES)
    return len(value) >= _SHORTEST_SECRET and (named or any(map(str.isdigit, value)))


def _adapter(provider: Provider) -> type[AnthropicMessages | OpenAIChat]:
    """The class that speaks a provider's wire format."""
    from contextecho.models.anthropic import AnthropicMessages
    from contextecho.models.openai_chat import OpenAIChat

    return AnthropicMessages if provider.wire == "anthropic" else OpenAIChat


def wire_body(request: Request) -> bytes:
    """The body that would be sent for a request, byte for byte.

    Opens nothing and needs no key. Raises `UsageError` for a target that answers on
    this machine, which is sent nothing.
    """
    provider = find_provider(request.target)
    _, model = split_target(request.target)
    if answers_here(request.target):
        raise UsageError(f"{request.target!r} answers on this machine: no provider is sent a body")
    if provider.id == "inspect":
        raise UsageError(f"{request.target!r} is asked through inspect_ai, which makes the body")

    from contextecho.models.endpoint import Endpoint

    nowhere = Endpoint("http://127.0.0.1", {}, (), TIMEOUT)  # opened by a call, and none is made
    return _adapter(provider)(request.target, model, nowhere, provider.quirks_for(model)).body(
        request
    )


def context_limit(target: str) -> int | None:
    """Tokens that a target reads and writes at most in one call; None where we do not set it."""
    if target.partition("/")[0] != "local":
        return None
    from contextecho.models.local import CONTEXT_LIMIT

    return CONTEXT_LIMIT


def _key_headers(provider: Provider, key: str | None) -> dict[str, str]:
    headers = {}
    if provider.wire == "anthropic":
        from contextecho.models.anthropic import API_VERSION

        headers["anthropic-version"] = API_VERSION
    if key:
        bearer = provider.key_header == "authorization"
        headers[provider.key_header] = f"Bearer {key}" if bearer else key
    return headers


def check_target(target: str) -> None:
    """Refuse what `open_model` would refuse by the name alone. Opens nothing, reads no key."""
    if find_provider(target).id == "simulated":
        from contextecho.models.simulated import parse_process

        parse_process(target.partition("/")[2])


def serving_of(target: str) -> str:
    """How a target is asked or served, where its name alone does not say; often empty.

    It is part of each request's key: a reply that was served in another way is
    another reply. Opens nothing and needs no key. Raises `UsageError`, also for
    weights of the user's own that are not there.
    """
    if target.partition("/")[0] == "local":
        from contextecho.models.local import serving_of_local

        return serving_of_local(target)
    if answers_here(target):
        return ""
    provider = find_provider(target)
    return "; ".join(_peculiarities(target, provider, provider.quirks_for(split_target(target)[1])))


def notes_of(target: str) -> tuple[str, ...]:
    """What to read the answers of a target with, where we supply its model. Opens nothing."""
    kind = target.partition("/")[0]
    if kind == "simulated":
        return ("no model: its answers are made up here, and any gap in them is planted",)
    if kind != "local":
        return ()
    from contextecho.models.local import notes_of_local

    return notes_of_local(target)


def asking_notes(target: str) -> tuple[str, ...]:
    """What the user must know about how a provider is asked, one line each. Opens nothing."""
    if answers_here(target):
        return ()
    provider = find_provider(target)
    return _notes(target, provider, provider.quirks_for(split_target(target)[1]))


def _notes(target: str, provider: Provider, quirks: Quirks) -> tuple[str, ...]:
    """What the user must know about how this target is asked."""
    notes = _peculiarities(target, provider, quirks)
    if provider.known and target not in {listed.id for listed in targets()}:
        return f"{target} is not in the table of known targets; it is asked like its kin", *notes
    return notes


def _peculiarities(target: str, provider: Provider, quirks: Quirks) -> tuple[str, ...]:
    """How what this target is sent differs from what the protocol says."""
    notes = []
    if provider.id == "inspect":
        notes.append(
            f"{target} is asked through inspect_ai, which makes the request: it may merge messages "
            "of one role in a row, and leaves out declared tools and, at Anthropic, sampling"
        )
    if quirks.reasons:
        notes.append(
            f"{target} thinks before it answers, and its thoughts count towards the longest reply: "
            "with --max-output below 4000 or so many replies are cut, and a cut reply is no score"
        )
    if not quirks.sampling:
        notes.append(f"{target} accepts no temperature and no top_p; they are not sent")
    if quirks.seed_parameter is None:
        notes.append(f"{provider.name} accepts no seed; none is sent")
    if quirks.bridge_after_tool:
        notes.append(
            f"{provider.name} refuses a user message after a tool result; "
            "a bridging assistant turn stands between them"
        )
    if quirks.alternate:
        notes.append(
            f"{target} refuses two messages of one role in a row; they are one message, and a "
            "bridging assistant turn stands before a question that would be the second"
        )
    if quirks.thinking == "disabled":
        notes.append(
            f"{target} is asked not to think first: it refuses a history of tool calls whose "
            "thoughts are left out"
        )
    return tuple(notes)
