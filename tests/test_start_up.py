"""Starting is free: what is heavy is loaded by the command that needs it, and by no other."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import NamedTuple

import pytest

from contextecho.cli.main import COMMANDS
from timing import slowness

HEAVY = {
    "numpy",
    "scipy",
    "aiohttp",
    "matplotlib",
    "rich",
    "jinja2",
    "sqlite3",
    "yaml",
    "sqlalchemy",
    "psycopg",
    "pyarrow",
    "ray",
}
LIMIT = 0.150  # seconds of CPU for `--help` where the limits were set (issue 2)

_LOADED = """
import json, sys
from contextecho.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*words: str) -> set[str]:
    """The top-level modules that a command line leaves loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *words], capture_output=True, text=True, check=True
    )
    assert done.stdout
    return {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("--version",)], ids=str)
def test_help_and_version_load_nothing_heavy(words: tuple[str, ...]) -> None:
    assert loaded(*words) & (HEAVY | {"msgspec", "asyncio"}) == set()


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_every_command_loads_nothing_heavy(command: str) -> None:
    assert loaded(command, "--help") & HEAVY == set()


def test_light_commands_open_no_http_client_and_draw_nothing() -> None:
    assert loaded("stimuli", "list") & {"aiohttp", "matplotlib", "numpy", "jinja2"} == set()


def test_importing_the_package_is_free() -> None:
    program = "import sys; import contextecho; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    modules = {name.partition(".")[0] for name in done.stdout.split()}
    assert modules & (HEAVY | {"msgspec", "click"}) == set()


class Times(NamedTuple):
    """CPU seconds, the best of some runs each: a loaded machine only ever adds."""

    help: float
    floor: float  # the interpreter with click, which no command line of ours can go below


def cpu(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.devnull}
    subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(runs: int) -> Times:
    """Both in turn, so that both meet the same machine."""
    pairs = [(cpu("-m", "contextecho", "--help"), cpu("-c", "import click")) for _ in range(runs)]
    return Times(*(min(column) for column in zip(*pairs, strict=True)))


def test_help_costs_little_more_than_python_and_click() -> None:
    times = measure(5)
    print(f"--help {times.help * 1000:.0f} ms, floor {times.floor * 1000:.0f} ms of CPU")
    assert times.help < 1.8 * times.floor


@pytest.mark.slow
def test_help_takes_less_than_150_ms_of_cpu() -> None:
    times = measure(10)
    print(f"--help {times.help * 1000:.0f} ms, floor {times.floor * 1000:.0f} ms of CPU")
    assert times.help < LIMIT * slowness()
