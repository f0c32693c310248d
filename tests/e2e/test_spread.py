"""A run spread over two nodes of a Ray cluster is the run of one process, reply for reply.

The one thing to know: starting Ray takes longer than all the rest, so one cluster of two nodes
serves all these tests. The last one kills a node.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from e2e.conftest import write_chat
from e2e.refusing import refused
from e2e.terminal import Terminal
from e2e.test_interruption import own_text
from e2e.test_keys import processes
from servers.fake import FakeProvider
from servers.postgres import PostgresServer
from servers.ray_nodes import Cluster
from servers.serving import serving
from store.raw import count, query
from waiting import PATIENCE, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.skipif(find_spec("ray") is None, reason="no Ray: pip install 'contextecho[ray]'"),
]

SECRET = "sk-nodes-0123456789abcdef"
WORDS = ("--positions", "even:3", "--n", "1")
REQUESTS = 100  # 10 prefixes, 5 + 5 questions on each
REPLIES = """SELECT ordinal, cell.key, outcome, text, stop_reason, served_model, input, output
FROM cell JOIN reply ON reply.key = cell.key JOIN attempt ON attempt.id = reply.attempt
ORDER BY ordinal"""
TWICE = "SELECT key FROM attempt WHERE ended_at > '' GROUP BY key HAVING count(*) > 1"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the node that is not the head looks for the program first."""
    return tmp_path_factory.mktemp("other")


@pytest.fixture(scope="module")
def cluster(other: Path) -> Iterator[Cluster]:
    """A head and a node that may be given another program."""
    path = f"{other}:{os.environ.get('PYTHONPATH', '')}"
    started = Cluster(node={"PYTHONPATH": path}, OPENAI_API_KEY=SECRET)
    yield started
    started.close()


@pytest.fixture
def here(tmp_path: Path, cluster: Cluster) -> Iterator[Terminal]:
    """A terminal on a machine of the cluster; what the cluster told is shown where a test fails."""
    write_chat(tmp_path / "chat.jsonl")
    keys = {"OPENAI_API_KEY": SECRET, "OTHER": SECRET}
    yield Terminal(tmp_path, fresh=True, **keys, **cluster.environment)
    print(cluster.told())


def probe(provider: FakeProvider, url: str, *words: str) -> tuple[str, ...]:
    target = ("--target", "openai/x", "--base-url", provider.url)
    return ("probe", "chat.jsonl", *target, *WORDS, "--store", url, *words)


def asked(provider: FakeProvider) -> Counter[str]:
    return Counter(own_text(body) for body in provider.bodies)


def texts(url: str) -> set[str]:
    settled = "SELECT text FROM reply JOIN attempt ON attempt.id = reply.attempt WHERE settled = 1"
    return {text for (text,) in query(url, settled)}


@pytest.mark.parametrize(
    ("package", "key", "said"),
    [
        (
            "__version__ = '0.0.9'",
            "OTHER",
            ("has contextecho 0.0.9, and this is", "set the variable OTHER"),
        ),
        (
            "raise ImportError('it is not there')",
            "OPENAI_API_KEY",  # the head can take part
            ("lacks contextecho: it is not there",),
        ),
    ],
    ids=["another version, no key", "no program"],
)
def test_a_node_that_cannot_take_part_is_named_before_anything_is_asked(
    here: Terminal,
    postgres: PostgresServer,
    other: Path,
    package: str,
    key: str,
    said: tuple[str, ...],
) -> None:
    (other / "contextecho").mkdir()
    (other / "contextecho" / "__init__.py").write_text(package)
    try:
        with serving() as provider:
            words = ("--on", "ray", "--key-env", key)
            done = here.run(*probe(provider, postgres.url(), *words))
            assert provider.calls == 0
    finally:
        shutil.rmtree(other / "contextecho")
    refused(done, 6, *said)
    assert len(re.findall(r"node [0-9.]+ [0-9a-f]{8} ", done.err)) == len(said)
    assert SECRET not in done.err


def test_a_run_from_outside_the_cluster_shows_it_no_key(
    here: Terminal, cluster: Cluster, postgres: PostgresServer
) -> None:
    url = postgres.url()
    with serving(text=f"My key is {SECRET}.", latency=0.05) as provider:
        words = ("--on", cluster.address, "--budget", "2Mtok")
        done = here.run(*probe(provider, url, *words))
        assert done.code == 0, done.err
        lines = [line for line, _ in dict(processes()).values()]
        assert {headers["authorization"] for headers in provider.headers} == {f"Bearer {SECRET}"}
        assert max(asked(provider).values()) == 1
    assert count(url, "reply") == REQUESTS
    assert texts(url) == {"My key is [key]."}
    key = SECRET.encode()
    assert [line for line in lines if key in line] == []
    written = [path for path in cluster.folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" for path in written)
    assert [path for path in written if key in path.read_bytes()] == []
    assert SECRET not in done.out + done.err


def test_an_interrupted_run_keeps_what_came_back_and_goes_on(
    here: Terminal, cluster: Cluster, postgres: PostgresServer, interruptible: None
) -> None:
    url = postgres.url()
    with serving(text=own_text) as provider:
        provider.most_answers = 20
        process = here.start_fresh(*probe(provider, url, "--on", "ray", "--quiet"))
        wait_until(lambda: provider.answered == 20, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, err.decode()
        line = "contextecho: interrupted; run the same command to continue\n"
        assert err.decode().endswith(line)
        assert b"Traceback" not in err
        wait_until(lambda: provider.in_flight == 0)  # nobody asks any more
        stored, before = texts(url), asked(provider)
        assert len(stored) >= 19
        provider.most_answers = 10 * REQUESTS
        done = here.run(*probe(provider, url, "--on", "ray", "--quiet"))
        assert done.code == 0, done.err
        assert not (asked(provider) - before).keys() & stored
    assert count(url, "reply") == REQUESTS
    assert query(url, TWICE) == []


def test_two_nodes_one_killed_in_mid_run_give_what_one_process_gives(
    here: Terminal, cluster: Cluster, postgres: PostgresServer
) -> None:
    url = postgres.url()
    with serving(text=own_text, latency=0.1) as provider:
        alone = here.run(*probe(provider, "alone"))
        assert alone.code == 0, alone.err
        calm = provider.calls
        provider.bodies.clear()
        provider.answered, provider.most_answers = 0, 30
        process = here.start_fresh(*probe(provider, url, "--on", "ray"))
        wait_until(lambda: provider.answered == 30 and provider.in_flight > 1, process)
        cluster.node.kill()
        wait_until(lambda: count(url, "reply") >= 25, process)
        stored, before = texts(url), asked(provider)
        provider.most_answers = 10 * REQUESTS
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err.decode()
        assert b"a worker was lost" in err
        assert calm == len(asked(provider)) == REQUESTS
        assert not (asked(provider) - before).keys() & stored, "a stored reply was asked again"
    ((lost,),) = query(url, "SELECT count(*) FROM attempt WHERE ended_at IS NULL")
    assert 0 < sum(asked(provider).values()) - REQUESTS <= lost
    assert query(url, TWICE) == []
    assert query(here.folder / "alone", REPLIES) == query(url, REPLIES)
    assert out.decode() == alone.out
    assert here.run("store", "check", "--store", url).code == 0
