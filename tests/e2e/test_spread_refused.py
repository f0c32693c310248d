"""What `--on` refuses before it looks for a cluster."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from e2e.refusing import SHORT, SIMULATED, refused
from e2e.terminal import Done, Terminal
from servers.fake import NOWHERE
from servers.postgres import PostgresServer
from servers.serving import serving
from waiting import PATIENCE

STORE = ("--store", "postgresql://me@127.0.0.1:9/drift")
TARGET = ("--target", "openai/x", "--base-url", NOWHERE)
with_ray = pytest.mark.skipif(find_spec("ray") is None, reason="no Ray here")


@with_ray
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*TARGET, "--on", "ray"), "the store must be a PostgreSQL database"),
        ((*SIMULATED, *STORE, "--on", "ray"), "simulated answers on this machine"),
        ((*TARGET, *STORE, "--on", "ray", "--header", "X-Key: sk-0123"), "leave out --header"),
        (
            ("--target", "openai/x", "--base-url", "http://me:sk-0123@h/v1", *STORE, "--on", "ray"),
            "leave out --header, and any password in --base-url",
        ),
        ((*TARGET, *STORE, "--on", "dask://h:1"), "not a place to work"),
        ((*TARGET, *STORE, "--on", "ray://h"), "not a place to work"),
        ((*TARGET, *STORE, "--on", "ray://me:sk-0123@h:1"), "not a place to work"),
    ],
    ids=str,
)
def test_what_cannot_be_spread_is_refused(
    terminal: Terminal, chat: str, words: tuple[str, ...], said: str
) -> None:
    done = terminal.run("probe", chat, *words, *SHORT)
    refused(done, 2, "--on: ", said)
    assert "sk-0123" not in done.out + done.err


def test_without_ray_the_extra_is_named(terminal: Terminal, chat: str, tmp_path: Path) -> None:
    """Whether or not it is installed here: a module of this name that is none stands before it."""
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "ray.py").write_text("raise ImportError('no module named ray')")
    path = f"{tmp_path / 'none'}:{':'.join(sys.path)}"
    bare = Terminal(terminal.folder, fresh=True, PYTHONPATH=path)
    done = bare.run("probe", chat, *TARGET, *STORE, *SHORT, "--on", "ray")
    refused(done, 2, "--on ray needs Ray: no module named ray", "pip install 'contextecho[ray]'")


@with_ray
@pytest.mark.slow
def test_an_address_where_no_cluster_is_is_one_line(
    tmp_path: Path, chat: str, postgres: PostgresServer
) -> None:
    """All are asked at once: Ray waits for a quarter of a minute where somebody is silent."""
    with serving() as provider:  # somebody listens there, and is no cluster
        silent = provider.url.removeprefix("http://").removesuffix("/v1")
        target = ("--target", "openai/x", "--base-url", provider.url, "--store", postgres.url())
        asked = {}
        for address, variables in {
            "ray://127.0.0.1:9": {},
            f"ray://{silent}": {},
            "ray": {"RAY_ADDRESS": "127.0.0.1:9"},
        }.items():
            asking = Terminal(tmp_path, fresh=True, OPENAI_API_KEY="sk-0123", **variables)
            asked[address] = asking.start_fresh("probe", chat, *target, *SHORT, "--on", address)
        for address, process in asked.items():
            out, err = process.communicate(timeout=PATIENCE)
            done = Done(process.returncode, out.decode(), err.decode())
            refused(done, 6, f"--on {address}: no Ray cluster")
        assert provider.calls == 0
