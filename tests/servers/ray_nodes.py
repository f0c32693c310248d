"""A Ray cluster of the tests' own: nodes by `ray start`, on ports and in folders of their own.

The one thing to know: Ray leaves processes behind however it is stopped, so every process
below a node, and every one that bears its mark in its environment, is killed by its id.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from waiting import PATIENCE, wait_until

MARK = "CONTEXTECHO_TEST_NODE"
MEMORY = 90_000_000  # bytes of the object store; Ray takes no less than 75 MB
# Until as many nodes have ever joined.
_WAIT = """
import sys, time
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
while len(ray.nodes()) < int(sys.argv[2]):
    time.sleep(0.1)
"""


class Node:
    """One `ray start`, with all that it starts."""

    def __init__(self, words: list[str], environment: Mapping[str, str]) -> None:
        self.mark = token_hex(8)
        self._folder = Path(tempfile.mkdtemp(prefix="ce-ray-"))
        # Beside this Python: another Ray on the PATH may be another version.
        program = str(Path(sys.executable).with_name("ray"))
        low = free_port()
        common = [
            f"--object-store-memory={MEMORY}",
            "--disable-usage-stats",
            f"--min-worker-port={low + 1}",
            f"--max-worker-port={low + 60}",
            "--block",
        ]
        self._log = (self._folder / "log").open("wb")
        self.process = subprocess.Popen(
            [program, "start", *words, *common],
            env={**environment, MARK: self.mark, "RAY_USAGE_STATS_ENABLED": "0"},
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text("utf-8", errors="replace")

    def kill(self) -> None:
        """`kill -9` for all of it at once."""
        pids = self.pids()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        wait_until(lambda: not any(map(_lives, pids)))

    def pids(self) -> set[int]:
        """The node's processes, by descent or mark."""
        parents = dict(_parents())
        found = {self.process.pid} | {pid for pid in parents if self._is_marked(pid)}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def _is_marked(self, pid: int) -> bool:
        with suppress(OSError):
            return f"{MARK}={self.mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        return False

    def close(self) -> None:
        self.kill()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Cluster:
    """A head without a place for work of its own unless `head_cpus`, and nodes beside it."""

    def __init__(self, *, head_cpus: int = 1, **environment: str) -> None:
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.environ.get("HOME", "/"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "200",  # a busy machine takes long
            **environment,
        }
        self.folder = Path(tempfile.mkdtemp(prefix="ce-ray-"))  # short: sockets are in it
        self._port, client = free_port(), free_port()
        self.address = f"ray://127.0.0.1:{client}"
        self.nodes: list[Node] = []
        self.head = self._start(
            "--head",
            f"--port={self._port}",
            f"--ray-client-server-port={client}",
            "--include-dashboard=false",
            f"--temp-dir={self.folder}",
            f"--num-cpus={head_cpus}",
        )
        wait_until(lambda: _listens(client), self.head.process)
        self.environment = {"RAY_ADDRESS": f"127.0.0.1:{self._port}"}

    def add_node(self, *, cpus: int = 1, **environment: str) -> Node:
        """Start another node; the cluster lists it when this returns."""
        address = f"127.0.0.1:{self._port}"
        node = self._start(f"--address={address}", f"--num-cpus={cpus}", **environment)
        waiting = [sys.executable, "-c", _WAIT, address, str(len(self.nodes))]
        subprocess.run(waiting, env=self._environment, check=True, timeout=PATIENCE)
        return node

    def _start(self, *words: str, **environment: str) -> Node:
        words = ("--node-ip-address=127.0.0.1", *words)
        node = Node(list(words), {**self._environment, **environment})
        self.nodes.append(node)
        return node

    def close(self) -> None:
        """Kill every node; nothing may be left."""
        for node in reversed(self.nodes):
            node.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port() -> int:
    """A port that neither Ray takes by itself nor the system gives to whoever connects."""
    for _ in range(1_000):
        port = 24_000 + int.from_bytes(os.urandom(2)) % 8_000  # Ray itself takes 10,001 to 23,999
        with socket.socket() as door, suppress(OSError):
            door.bind(("127.0.0.1", port))
            return port
    raise OSError("no free port")


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _lives(pid: int) -> bool:
    """A zombie whose parent has not looked is no life."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _parents() -> list[tuple[int, int]]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            found.append((int(folder.name), int(fields[1])))
    return found
