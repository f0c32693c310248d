"""A user's terminal: an empty HOME, a folder to work in, no keys, and the real command line."""

from __future__ import annotations

import os
import pty
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from commandline import FRESH, MAIN, Copy, run_command, run_fresh, start_copy
from waiting import PATIENCE


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return msgspec.json.decode(self.out)

    @property
    def errors(self) -> list[str]:
        """The lines with which the program says what is wrong."""
        return [line for line in self.err.splitlines() if line.startswith("contextecho: ")]

    @property
    def next(self) -> str:
        """The command that is named last, without the program's name."""
        last = self.err.splitlines()[-1]
        assert last.startswith("Next: contextecho "), self.err
        return last.removeprefix("Next: contextecho ")


class Terminal:
    """Runs `contextecho` in `folder`, which is also its HOME."""

    def __init__(
        self, folder: Path, *, fresh: bool = False, hooks: Path | None = None, **variables: str
    ) -> None:
        """`variables` are added to an environment that holds nothing of the tester's.

        `fresh`: each command is a Python of its own, which loads the program.
        `hooks`: a folder whose `sitecustomize` ran before the program was loaded.
        """
        self.folder = folder
        self._run = run_fresh if fresh else partial(run_command, hooks=hooks)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            **variables,
        }

    def run(self, *words: object, timeout: float = PATIENCE) -> Done:
        """Run a command to its end; nothing of it may be a traceback."""
        done = self._run(*words, cwd=self.folder, env=self.environment, timeout=timeout)
        found = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in found.err, found.err
        return found

    def type(self, *words: object, answer: str) -> Done:
        """Run a command on a real terminal, and answer what it asks; `out` is all that it shows."""
        ours, its = pty.openpty()
        process = start_copy(MAIN, *words, files=[its] * 3, cwd=self.folder, env=self.environment)
        os.close(its)
        os.write(ours, f"{answer}\n".encode())
        shown = b""
        with suppress(OSError):  # how a terminal tells that nobody writes to it any more
            while piece := os.read(ours, 4096):
                shown += piece
        os.close(ours)
        return Done(process.wait(), shown.decode(), "")

    def start(self, *words: object) -> Copy:
        """Begin a command and leave it running; nobody hears what it says."""
        with Path(os.devnull).open("r+") as nothing:
            files = [nothing.fileno()] * 3
            return start_copy(MAIN, *words, files=files, cwd=self.folder, env=self.environment)

    def start_fresh(self, *words: object) -> subprocess.Popen[bytes]:
        """Begin it in a Python of its own, which can be interrupted."""
        return subprocess.Popen(
            [*FRESH, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
