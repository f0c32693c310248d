"""Where a PostgreSQL store is: its URL, without a password, and how to get in.

The one thing to know: what stands in a command line can be read by every user of
the machine, and what stands in a message is copied into bug reports. A password
comes from `PGPASSWORD` or `~/.pgpass`, which libpq reads by itself; a URL that
holds one is refused before anything else is done with it, and not repeated.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from contextecho.errors import DataError, UsageError

SCHEMES = ("postgresql://", "postgres://")
_SECRETS = {"password", "sslpassword"}
_PASSWORD_TODO = "give it in PGPASSWORD or in ~/.pgpass"
# What libpq does with a server that no longer answers, in seconds.
_DEFAULTS: dict[str, str | int] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds, unlike the others
    "application_name": "contextecho",
}


def is_postgres(place: object) -> bool:
    """Whether a --store names a PostgreSQL database."""
    return isinstance(place, str) and place.startswith(SCHEMES)


def refuse_password(url: str) -> None:
    """Raise `UsageError` for a URL with a password in it, without repeating the URL."""
    login = url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[0]
    words = {name.lower() for name, _ in parse_qsl(url.partition("?")[2], keep_blank_values=True)}
    if ":" in login or words & _SECRETS:
        raise UsageError(
            "a password in the address of a store can be read in the list of processes",
            where="--store",
            todo=_PASSWORD_TODO,
        )


def shown(url: str) -> str:
    """The address for messages: who, where and which database, and nothing of what follows `?`."""
    return url.partition("?")[0]


def connection_words(url: str) -> str:
    """The address in libpq's own words, with our time limits where it gives none."""
    import psycopg

    try:
        given: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error as error:
        raise UsageError(
            "not an address of a PostgreSQL database",
            where="--store",
            todo="postgresql://USER@HOST/DATABASE",
        ) from error
    return psycopg.conninfo.make_conninfo("", **{**_DEFAULTS, **given})


def load_driver() -> None:
    """Raise `UsageError` when psycopg is not there."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"PostgreSQL needs psycopg: {error}", todo="pip install 'contextecho[postgres]'"
        ) from error


def no_entry(error: Any, where: str) -> DataError:
    """What a failed connection means."""
    gate = error.pgconn
    if gate is not None and gate.needs_password:
        return DataError("the server asks for a password", where=where, todo=_PASSWORD_TODO)
    if gate is not None and gate.used_password:
        return DataError(
            f"the server refuses the user or the password: {last_line(error)}",
            where=where,
            todo="see PGPASSWORD and ~/.pgpass",
        )
    return DataError(
        f"the database cannot be reached: {last_line(error)}",
        where=where,
        todo="see that the server runs and that the database is made: createdb NAME",
    )


def last_line(error: Any) -> str:
    """The message itself, without the host names and hints around it."""
    said = error.diag.message_primary or str(error).strip().rpartition("\n")[2]
    return str(said).strip()
