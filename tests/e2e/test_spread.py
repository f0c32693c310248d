"""A run spread over two nodes of a Ray cluster is the run of one process, reply for reply.

The one thing to know: starting Ray takes longer than all the rest, so one cluster serves all
these tests; a test that kills a node adds its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from e2e.conftest import write_chat
from e2e.terminal import Terminal
from e2e.test_interruption import own_text
from servers.fake import FakeProvider
from servers.postgres import PostgresServer
from servers.ray_nodes import Cluster
from servers.serving import serving
from store.raw import count, query
from waiting import PATIENCE, wait_until

pytestmark = [
    pytest.mark.slow,
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
def cluster() -> Iterator[Cluster]:
    """A head that works too; nodes are added by those who need one more."""
    started = Cluster(OPENAI_API_KEY=SECRET)
    yield started
    started.close()


@pytest.fixture
def here(tmp_path: Path, cluster: Cluster) -> Terminal:
    """A terminal on a machine of the cluster."""
    write_chat(tmp_path / "chat.jsonl")
    return Terminal(tmp_path, fresh=True, OPENAI_API_KEY=SECRET, **cluster.environment)


def probe(provider: FakeProvider, url: str, *words: str) -> tuple[str, ...]:
    target = ("--target", "openai/x", "--base-url", provider.url)
    return ("probe", "chat.jsonl", *target, *WORDS, "--store", url, *words)


def asked(provider: FakeProvider) -> Counter[str]:
    return Counter(own_text(body) for body in provider.bodies)


def texts(url: str) -> set[str]:
    settled = "SELECT text FROM reply JOIN attempt ON attempt.id = reply.attempt WHERE settled = 1"
    return {text for (text,) in query(url, settled)}


def test_two_nodes_one_killed_in_mid_run_give_what_one_process_gives(
    here: Terminal, cluster: Cluster, postgres: PostgresServer
) -> None:
    url = postgres.url()
    node = cluster.add_node()
    with serving(text=own_text, latency=0.1) as provider:
        alone = here.run(*probe(provider, "alone"))
        assert alone.code == 0, alone.err
        calm = provider.calls
        provider.bodies.clear()
        provider.answered, provider.most_answers = 0, 30
        process = here.start(*probe(provider, url, "--on", cluster.address))
        wait_until(lambda: provider.answered == 30 and provider.in_flight > 1, process)
        node.kill()
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
