"""`contextecho doctor`: what works on this machine, and what to do about the rest.

It sends nothing: keys are looked for, never tried, and never shown.
"""

from __future__ import annotations

import os
import platform
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec

from contextecho import __version__
from contextecho.cli.finding import say_reading
from contextecho.cli.options import json_option, store_option
from contextecho.cli.printing import print_json, say_next, show
from contextecho.counting import counted
from contextecho.errors import ReaderWarning, UsageError


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at; `todo` is empty when nothing needs doing."""

    name: str
    ok: bool
    detail: str
    todo: str = ""


@click.command()
@store_option
@json_option
def command(store: Path | str, as_json: bool) -> None:
    """Say what works on this machine, and what to do about the rest. Sends nothing."""
    findings = list(_look(store))
    if as_json:
        print_json(findings)
    else:
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            mark = "ok " if finding.ok else "-- "
            todo = f"  ->  {finding.todo}" if finding.todo else ""
            show(f"{mark} {finding.name:<{width}}  {finding.detail}{todo}")
    say_next("demo") if _local(findings) else say_next("local", "install")


def _local(findings: list[Finding]) -> bool:
    return next(finding.ok for finding in findings if finding.name == "embedded model")


def _look(store: Path | str) -> Iterator[Finding]:
    yield Finding(
        name="program",
        ok=True,
        detail=f"contextecho {__version__}, Python {platform.python_version()}",
    )
    yield _embedded_model()
    yield _figures()
    yield from _keys()
    yield from _readers()
    yield _sessions()
    yield _store(store)


def _embedded_model() -> Finding:
    from contextecho.models import local_status

    status = local_status()
    return Finding(
        name="embedded model",
        ok=status.problem is None,
        detail=status.problem or f"ready, {status.path}",
        todo=status.todo or "",
    )


def _figures() -> Finding:
    there = find_spec("matplotlib") is not None
    return Finding(
        name="paper figures",
        ok=there,
        detail="matplotlib is installed" if there else "matplotlib is not installed",
        todo="" if there else "pip install 'contextecho[figures]'",
    )


def _keys() -> Iterator[Finding]:
    from contextecho.models import find_provider, place_of_key, provider_ids

    for provider_id in provider_ids():
        provider = find_provider(f"{provider_id}/model")
        if not (provider.key_env and provider.key_needed):
            continue
        place = place_of_key(provider)
        yield Finding(
            name=f"key: {provider_id}",
            ok=place is not None,
            detail=f"{place} is set" if place else "no key",
            todo="" if place else f"to use it, set {' or '.join(provider.key_env)}",
        )


def _readers() -> Iterator[Finding]:
    """Those of other packages; what is said here of one is not said again as a warning."""
    from contextecho.sessions import other_readers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReaderWarning)
        found = other_readers()
    for reader in found.usable:
        yield Finding(
            name=f"reader: {reader.NAME}", ok=True, detail=f"of the package {reader.package}"
        )
    for error in found.refused:
        yield Finding(name=error.where, ok=False, detail=error.what, todo=error.todo)


def _sessions() -> Finding:
    from contextecho.sessions import retention_warning, survey

    found = survey(processes=None, on_reading=say_reading)
    if not found.sessions:
        return Finding(
            name="sessions",
            ok=False,
            detail="none found where clients keep them",
            todo="name a file: contextecho scan PATH",
        )
    formats = Counter(session.format for session in found.sessions)
    kinds = ", ".join(f"{count:,} {format}" for format, count in formats.most_common())
    agents = counted(found.sub_agents, "session")
    besides = f"; besides {agents} of sub-agents" if found.sub_agents else ""
    return Finding(
        name="sessions",
        ok=True,
        detail=f"{len(found.sessions):,} found ({kinds}){besides}",
        todo=retention_warning() or "",
    )


def _store(path: Path | str) -> Finding:
    if not isinstance(path, Path):
        return _database(path)
    place = path if path.exists() else path.absolute().parent
    writable = os.access(place, os.W_OK)
    return Finding(
        name="store",
        ok=writable,
        detail=f"{path} {'can be written' if writable else 'cannot be written'}",
        todo="" if writable else "name another folder with --store",
    )


def _database(url: str) -> Finding:
    from contextecho.store import find_store

    try:
        found = find_store(url)
    except UsageError as error:
        return Finding(name="store", ok=False, detail=error.what, todo=error.todo)
    if found is None:
        return Finding(name="store", ok=True, detail="the database is reached, and empty")
    with found:
        return Finding(name="store", ok=True, detail=f"{found.where} is reached")
