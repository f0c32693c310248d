"""The command line in processes of its own that need not load the program: copies of one that has.

A server loads it once and uses it once. Each command is a copy (`fork`) of the server with a
folder, an environment and streams of its own, and ends as any process does, with -9 too. What
starting a process is about (imports, interrupts, encodings) needs a fresh Python: `run_fresh`.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory, TemporaryFile

from contextecho.cli.main import main
from waiting import PATIENCE

FRESH = (sys.executable, "-m", "contextecho")
MAIN = "contextecho.cli.main:main"
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
    hooks: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a copy of the server; all else is as `run_fresh` does it.

    `hooks`: a folder whose `sitecustomize` the server runs before it loads anything.
    """
    return run_copy(MAIN, *words, cwd=cwd, env=env, timeout=timeout, hooks=hooks)


def run_copy(
    function: str,
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] = os.environ,
    timeout: float = PATIENCE,
    hooks: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a function (`module:name`, it takes the list of words) in a copy of the server."""
    with TemporaryFile() as out, TemporaryFile() as err, Path(os.devnull).open() as nothing:
        files = [file.fileno() for file in (nothing, out, err)]
        copy = start_copy(function, *words, files=files, cwd=cwd, env=env, hooks=hooks)
        code = copy.wait(timeout)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(words), code, out.read(), err.read())


def start_copy(
    function: str,
    *words: object,
    files: Sequence[int],
    cwd: Path | None = None,
    env: Mapping[str, str] = os.environ,
    hooks: Path | None = None,
) -> Copy:
    """Begin it and leave it running; `files` are its three streams."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        request = [function, list(map(str, words)), str(cwd or Path.cwd()), dict(env)]
        every = [its.fileno(), *files]
        socket.send_fds(_server(hooks), [json.dumps(request).encode()], every)
    return Copy(ours)


class Copy:
    """A process that the server has made; it is watched and ended as a `Popen` is."""

    def __init__(self, door: socket.socket) -> None:
        """`door`: where its number is told, then how it ended."""
        self._door = door
        self.pid = int(door.recv(MOST))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        with suppress(BlockingIOError):
            self._ended(0)
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait until it has ended; one that does not is killed."""
        try:
            return self._ended(timeout)
        except TimeoutError:
            self.kill()
            raise

    def kill(self) -> None:
        """End it with -9, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _ended(self, timeout: float) -> int:
        if self.returncode is None:
            self._door.settimeout(timeout)
            self.returncode = int(self._door.recv(MOST))
            self._door.close()
        return self.returncode


@cache
def _server(hooks: Path | None) -> socket.socket:
    """One a process; it ends when this one does."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        words = [sys.executable, __file__, str(its.fileno())]
        variables = dict(os.environ)
        if hooks:
            path = (str(hooks), os.environ.get("PYTHONPATH", ""))
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        process = subprocess.Popen(
            words, env=variables, pass_fds=[its.fileno()], start_new_session=True
        )
    atexit.register(_end, ours, process)
    return ours


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
    with TemporaryDirectory() as folder:
        _use_everything(Path(folder))
    gc.freeze()


def _use_everything(folder: Path) -> None:
    """What commands read, compile and prepare when they first need it, they do here, once."""
    session, store = folder / "chat.jsonl", folder / "store"
    turns = [{"role": role, "content": "It is done."} for role in ("user", "assistant")]
    session.write_text("".join(json.dumps(turn) + "\n" for turn in turns * 10))
    target = ("--target", "simulated", "--positions", "last", "--n", "1")
    os.environ.update(HOME=str(folder), CONTEXTECHO_CACHE=str(folder / "cache"))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for words in (
            ("probe", session, *target, "--judge", "simulated/judge", "--quiet"),
            *(("report", "-o", folder / f"report.{form}") for form in ("html", "md", "csv")),
            ("plan", session, *target),
            ("scan", session, "-o", folder / "scan.html"),
        ):
            options = ("--store", store) if words[0] in ("probe", "report") else ()
            assert exit_code(*words, *options) == 0, words
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # which commands handle
    assert threading.active_count() == 1, "a copy has this thread only"


def _serve(door: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who keep copies
    while True:
        request, files, *_ = socket.recv_fds(door, MOST, 4)
        if not request:
            return None
        if not os.fork():
            door.close()
            return _keep(request, *files)
        for file in files:
            os.close(file)


def _keep(request: bytes, its: int, *files: int) -> None:
    """Make the copy, tell its number, wait for it, tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    copy = os.fork()
    if not copy:
        os.close(its)
        return _become(*json.loads(request), files)
    for file in files:
        os.close(file)
    teller = socket.socket(fileno=its)
    teller.send(str(copy).encode())
    _, status = os.waitpid(copy, 0)
    with suppress(BrokenPipeError):  # the test has ended before it
        teller.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(
    function: str, words: list[str], folder: str, environment: dict[str, str], files: list[int]
) -> None:
    for stream, file in enumerate(files):
        os.dup2(file, stream)
    for file in set(files) - {0, 1, 2}:
        os.close(file)
    # As Python opens them: what a stream can do (seek, show lines at once) it is asked here.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    code = _outcome(function, words)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # to take the program down object by object would first copy all its memory


def _outcome(function: str, words: list[str]) -> int:
    try:
        resolve_name(function)(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    _load_everything()
    _serve(socket.socket(fileno=int(sys.argv[1])))
