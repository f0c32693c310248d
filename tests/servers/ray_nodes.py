"""A Ray cluster of the tests' own: nodes by `ray start`, on ports and in folders of their own.

The one thing to know: Ray leaves processes behind however it is stopped, so every process
below a node, and every one that bears its mark in its environment, is killed by its id.
"""

from __future__ import annotations

import ctypes
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

from waiting import wait_until

MARK = "CONTEXTECHO_TEST_NODE"
MEMORY = 90_000_000  # bytes of the object store; Ray takes no less than 75 MB
TRIES = 3  # to start a node
LINES = 20  # of each log, for whoever looks why a test failed
# A dead node refuses at once and is given up after two seconds; a busy one may take its time.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_agent_register_timeout_ms": "200000",
    "RAY_worker_register_timeout_seconds": "200",
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "200",
    "GRPC_ENABLE_FORK_SUPPORT": "0",  # else what Ray's client server starts crashes now and then
    "RAY_enable_worker_prestart": "0",  # a worker costs a second and more; few are needed
    "RAY_enable_metrics_collection": "0",
}
_libc = ctypes.CDLL(None)


class Node:
    """One `ray start`, with all that it starts."""

    def __init__(self, words: list[str], environment: Mapping[str, str]) -> None:
        self.mark = token_hex(8)
        self._folder = Path(tempfile.mkdtemp(prefix="ce-ray-"))
        # Beside this Python: another Ray on the PATH may be another version.
        program = str(Path(sys.executable).with_name("ray"))
        common = [
            f"--object-store-memory={MEMORY}",
            "--disable-usage-stats",
            "--min-worker-port=0",  # whichever the system gives
            "--max-worker-port=0",
            "--block",
        ]
        self.log = self._folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [program, "start", *words, *common],
                env={**environment, MARK: self.mark},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def is_up(self) -> bool:
        """Whether it has joined the cluster, or is its head."""
        return b"Ray runtime started" in self.log.read_bytes()

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
        shutil.rmtree(self._folder, ignore_errors=True)


class Cluster:
    """A head, which works too, and one more node, each with one CPU."""

    def __init__(self, *, node: Mapping[str, str], **both: str) -> None:
        """`both` have these variables; `node` are those of the one that is not the head."""
        program = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.environ.get("HOME", "/"),
            "LANG": "C.UTF-8",
            **program,
            **_SETTINGS,
            **both,
        }
        self.folder = Path(tempfile.mkdtemp(prefix="ce-ray-"))  # short: sockets are in it
        port, client = free_port(), free_port()
        self.address = f"ray://127.0.0.1:{client}"
        self.nodes: list[Node] = []
        try:
            self.head = self._start(
                {},
                "--head",
                f"--port={port}",
                f"--ray-client-server-port={client}",
                "--include-dashboard=false",
                "--no-monitor",
                f"--temp-dir={self.folder}",
            )
            self.node = self._start(node, f"--address=127.0.0.1:{port}")
            wait_until(lambda: _listens(client), self.head.process)
        except BaseException:
            print(self.told())
            self.close()
            raise
        # Of a command on one of its machines; with the mark, it ends with the cluster.
        self.environment = {
            "RAY_ADDRESS": f"127.0.0.1:{port}",
            MARK: self.head.mark,
            **program,
        }

    def _start(self, more: Mapping[str, str], *words: str) -> Node:
        """Start a node. Ray gives it half a minute, on a busy machine too: it has three tries."""
        words = ("--node-ip-address=127.0.0.1", "--num-cpus=1", *words)
        for _ in range(TRIES):
            node = Node(list(words), {**self._environment, **more})
            self.nodes.append(node)
            wait_until(lambda node=node: node.is_up() or node.process.poll() is not None)
            if node.is_up():
                return node
            node.kill()
        raise AssertionError(f"a node did not start, {TRIES} times")

    def told(self) -> str:
        """The ends of all logs."""
        logs = [node.log for node in self.nodes]
        logs += sorted(self.folder.glob("session_2*/logs/*.*"))
        return "\n".join(
            f"== {log}\n{end}" for log in logs if log.is_file() and (end := _end_of(log))
        )

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


def _end_with_parent() -> None:
    """Between `fork` and `exec`: tests that are killed leave no cluster behind (Linux)."""
    _libc.prctl(1, signal.SIGTERM)


def _end_of(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace").splitlines()
    return "\n".join([line for line in lines if "[state-dump]" not in line][-LINES:])


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
