"""The command line in processes of its own that need not load the program: copies of one that has.

A server loads it once. Each command is a copy (`fork`) of the server with a folder, an
environment and streams of its own, and ends as any process does. What starting a process is
about (imports, signals, audit hooks, encodings) needs a fresh Python instead: `run_fresh`.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

from contextecho.cli.main import main
from waiting import PATIENCE

FRESH = (sys.executable, "-m", "contextecho")
LATE = ("platformdirs", "py3langid", "scipy.stats")  # what commands load when they need it
MOST = 1 << 17  # bytes of a request


def exit_code(*words: object) -> int:
    """A command in this very process, which has what it prints."""
    try:
        main([str(word) for word in words])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def run_fresh(
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] = os.environ,
    timeout: float = PATIENCE,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a Python of its own, nothing on standard input."""
    return subprocess.run(
        [*FRESH, *map(str, words)],
        cwd=cwd,
        env=env,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def run_command(
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] = os.environ,
    timeout: float = PATIENCE,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a copy of the server; all else is as `run_fresh` does it."""
    arguments = [str(word) for word in words]
    request = json.dumps([arguments, str(cwd or Path.cwd()), dict(env)]).encode()
    server, process = _server()
    server.settimeout(timeout)
    with TemporaryFile() as out, TemporaryFile() as err, Path(os.devnull).open() as nothing:
        socket.send_fds(server, [request], [file.fileno() for file in (nothing, out, err)])
        try:
            code = int(server.recv(MOST))
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            _server.cache_clear()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


@cache
def _server() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """One a process; it ends when this one does."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        words = [sys.executable, __file__, str(its.fileno())]
        utf8 = os.environ | {"PYTHONIOENCODING": "utf-8"}
        process = subprocess.Popen(words, env=utf8, pass_fds=[its.fileno()], start_new_session=True)
    atexit.register(_end, ours, process)
    return ours, process


def _end(door: socket.socket, process: subprocess.Popen[bytes]) -> None:
    door.close()
    process.wait()


def _load_everything() -> None:
    import contextecho
    from contextecho.errors import ProviderError
    from contextecho.sessions.language import language_of
    from contextecho.stimuli import battery_ids, load_battery

    for module in pkgutil.walk_packages(contextecho.__path__, "contextecho."):
        if not module.name.endswith("__main__"):
            with suppress(ProviderError):  # what needs an extra that is not installed
                import_module(module.name)
    for name in LATE:
        import_module(name)
    language_of("What it knows of languages is unpacked once.")
    for battery in battery_ids():
        load_battery(battery)
    gc.freeze()


def _serve(door: socket.socket) -> None:
    while True:
        request, files, *_ = socket.recv_fds(door, MOST, 3)
        if not request:
            return None
        command = os.fork()
        if not command:
            door.close()
            for stream, file in enumerate(files):
                os.dup2(file, stream)
                os.close(file)
            words, folder, environment = json.loads(request)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            return main(words)
        for file in files:
            os.close(file)
        _, status = os.waitpid(command, 0)
        door.send(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    _load_everything()
    _serve(socket.socket(fileno=int(sys.argv[1])))
