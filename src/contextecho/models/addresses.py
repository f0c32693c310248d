"""Where a call goes: a provider's base URL, the path of its wire format, a deployment's own path.

The one thing to know: what the user gives (`--base-url`) comes before the provider's own
variable, and that before the table.
"""

from __future__ import annotations

import os
from urllib.parse import quote

from contextecho.errors import UsageError
from contextecho.models.providers import Deployments, Provider, provider_ids

_PATHS = {"anthropic": "messages", "openai": "chat/completions"}


def call_url(provider: Provider, model: str, base_url: str | None) -> str:
    """The URL to which calls of a model are posted. Raises `UsageError` when none is known."""
    base = base_url or _of_environment(provider) or provider.base_url
    if base is None:
        raise _unknown(provider, model)
    path = _PATHS[provider.wire]
    if provider.deployments is None:
        return f"{base.rstrip('/')}/{path}"
    return _deployment_url(provider.deployments, base, model, path)


def _deployment_url(deployments: Deployments, base: str, model: str, path: str) -> str:
    """An Azure address: `RESOURCE`, `RESOURCE/openai/v1`, or a deployment's target URI."""
    base, _, query = base.partition("?")
    base = base.rstrip("/").removesuffix(f"/{path}")
    if base.endswith("/v1"):
        return f"{base}/{path}" + (f"?{query}" if query else "")
    if "/deployments/" not in base:
        base = f"{base.removesuffix('/openai')}/openai/deployments/{quote(model, safe='')}"
    version = os.environ.get(deployments.version_env) or deployments.version
    return f"{base}/{path}?{query or f'api-version={version}'}"


def _of_environment(provider: Provider) -> str | None:
    return next(filter(None, map(os.environ.get, provider.base_url_env)), None)


def _unknown(provider: Provider, model: str) -> UsageError:
    target = f"{provider.id}/{model}"
    if provider.known:
        variables = " or ".join(provider.base_url_env)
        return UsageError(
            f"no address of {provider.name} is known",
            where=target,
            todo=f"set the variable {variables}, or give --base-url",
        )
    return UsageError(
        f"unknown provider {provider.id!r}",
        where=target,
        todo=f"known are {', '.join(provider_ids())}; for any other give --base-url",
    )
