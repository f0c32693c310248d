"""Where keys come from: the environment, or a `.env` file in the working directory.

The only place where keys are read. The one thing to know: of a `.env` only the keys are
read that were asked for, and nothing of it enters the environment, so no child process
gets it. An address is never taken from it: a file that somebody left in a folder must
not send a key elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from contextecho.errors import ProviderError, UsageError
from contextecho.models.providers import Provider

ENV_FILE = ".env"


def read_key(provider: Provider, key_env: str | None, *, needed: bool) -> str | None:
    """The key from the first variable that is set; messages name variables, never values.

    Raises `ProviderError` where it is needed and missing, or no key, and `UsageError`
    for a `.env` that cannot be read.
    """
    variables = (key_env,) if key_env else provider.key_env
    for place, value in _held(variables):
        if not value.isprintable():
            raise ProviderError(f"the value of {place} is not a key: it has control characters")
        return value
    if needed or key_env:
        raise ProviderError(
            f"no key for {provider.name}",
            todo=f"set the variable {' or '.join(variables)}, or write it into {ENV_FILE}",
        )
    return None


def place_of_key(provider: Provider) -> str | None:
    """Where the key of a provider stands: a variable, or one in `.env`; None: nowhere."""
    return next((place for place, _ in _held(provider.key_env)), None)


def _held(variables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Where something is held and what, the environment before the file."""
    for variable in variables:
        if value := os.environ.get(variable, "").strip():
            yield variable, value
    of_file = _of_file(variables)
    for variable in variables:
        if value := (of_file.get(variable) or "").strip():
            yield f"{variable} in {ENV_FILE}", value


def _of_file(variables: Sequence[str]) -> dict[str, str | None]:
    """The named variables as the `.env` file holds them; a missing file holds none."""
    if not Path(ENV_FILE).is_file():
        return {}
    from dotenv import dotenv_values

    try:
        values = dotenv_values(ENV_FILE, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot be read: {_reason(error)}", where=ENV_FILE) from None
    return {name: values.get(name) for name in variables}


def _reason(error: OSError | UnicodeError) -> str:
    """Why, without what the file holds."""
    if isinstance(error, OSError):
        return error.strerror or "no reason given"
    return "it is not UTF-8"
