"""Which doors the program opens: none at all, or the one that the user named.

An audit hook of the interpreter writes down every use of a socket and every process
that is started; it is in place before the program is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import write_chat
from e2e.terminal import Terminal
from servers.serving import serving

HOOK = """
import os, sys

def watch(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.system")):
        if event == "socket.__new__" and arguments[1] in (1, -1):
            return  # a Unix pair, how an event loop wakes itself; or one that was handed over
        address = arguments[1] if event in ("socket.connect", "socket.bind") else ""
        with open(os.environ["WATCHED"], "a") as log:
            print(event, address, file=log)

sys.addaudithook(watch)
"""


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the hook; while the program is loaded it must see nothing."""
    folder = tmp_path_factory.mktemp("hook")
    (folder / "sitecustomize.py").write_text(HOOK)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WATCHED", str(folder / "loading"))
        yield folder
    assert not (folder / "loading").exists()


@pytest.fixture
def watched(tmp_path: Path, hooks: Path) -> Terminal:
    """A terminal whose commands are watched."""
    write_chat(tmp_path / "chat.jsonl")
    # A proxy that the environment names is not the host that the user named.
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy"), "http://127.0.0.1:1/")
    return Terminal(tmp_path, hooks=hooks, WATCHED=str(tmp_path / "log"), **proxies)


def seen(terminal: Terminal) -> list[str]:
    log = terminal.folder / "log"
    return log.read_text().splitlines() if log.exists() else []


def test_commands_that_need_no_model_open_no_socket(watched: Terminal, long_path: Path) -> None:
    target = ("--target", "simulated", "--positions", "last", "--n", "1")
    for words in (
        ("scan", long_path),
        ("scan", long_path, "-o", "scan.html"),
        ("sessions", "list", "."),
        ("stimuli", "list"),
        ("doctor",),
        ("plan", "chat.jsonl", "--target", "openai/gpt-4.1"),
        ("snapshot", "chat.jsonl", "--at", "last"),
        ("probe", "chat.jsonl", *target, "--judge", "simulated/judge"),
        ("report",),
    ):
        assert watched.run(*words).code == 0, words
        assert seen(watched) == [], words


def test_probe_connects_to_the_named_host_only(watched: Terminal) -> None:
    with serving() as provider:
        address = provider.url.removeprefix("http://").removesuffix("/v1")
        words = ("--target", "openai/x", "--base-url", provider.url, "--positions", "last")
        done = watched.run("probe", "chat.jsonl", *words, "--n", "1", "--quiet")
        assert provider.answered == 40
    assert done.code == 0, done.err
    host, port = address.split(":")
    connected = {line for line in seen(watched) if line.startswith("socket.connect")}
    assert connected == {f"socket.connect ('{host}', {port})"}
    others = {line.split()[0] for line in seen(watched)} - {"socket.connect", "socket.__new__"}
    assert others == set()  # no name is looked up, nothing is bound, no process is started


def test_the_watch_itself_sees_a_connection(watched: Terminal) -> None:
    words = ("--target", "openai/x", "--base-url", "http://localhost:9/v1", "--attempts", "1")
    done = watched.run("probe", "chat.jsonl", *words, "--positions", "last", "--n", "1")
    assert done.code == 6
    assert any(line.startswith("socket.getaddrinfo") for line in seen(watched))
    assert any(line.startswith("socket.connect") for line in seen(watched))
