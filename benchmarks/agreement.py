"""Claude Code files as two other parsers read them, and as we do: where the numbers differ.

    python benchmarks/agreement.py FOLDER [--markdown]

FOLDER is searched for session files; those that hold only a sub-agent's conversation, or none,
are passed over. Compared are messages of the model and sums of tokens: ours, those of
claude-code-log (Python) and those of ccusage (npm). The first is looked for in the Python that
CLAUDE_CODE_LOG_PYTHON names, else in this one; the second is the command that CCUSAGE names,
else `ccusage`. What is not there is said, and left out.

The one thing to know: each parser is shown one file at a time, since both count a message that
stands in two files once. Ours are main-thread messages; of each, the largest usage that any of
its records gives. Why the others differ: docs/formats.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from contextecho.errors import SessionError
from contextecho.sessions import Session, Speaker, read_session

SUMS = ("input", "output", "cache_creation", "cache_read")
USAGE_NAMES = {name: f"{name}_tokens" for name in ("input", "output")} | {
    name: f"{name}_input_tokens" for name in ("cache_creation", "cache_read")
}
CCUSAGE_NAMES = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_creation": "cacheCreationTokens",
    "cache_read": "cacheReadTokens",
}
Counts = dict[str, int]


class Difference(NamedTuple):
    """One number that another parser gives otherwise."""

    file: str
    parser: str
    measure: str
    ours: int
    theirs: int


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--markdown", action="store_true", help="as rows of the docs' table")
    options = arguments.parse_args()
    sessions = list(sessions_below(options.folder))
    missing = [name for name, place in PARSERS.items() if place() is None]
    for name in missing:
        print(f"{name} is not installed: left out", file=sys.stderr)
    found = differences(options.folder, sessions)
    row = (
        "| `{}` | {} | {} | {:,} | {:,} |" if options.markdown else "{:74}{:17}{:16}{:>14,}{:>14,}"
    )
    for difference in found:
        print(row.format(*difference))
    compared = len(sessions) * (len(PARSERS) - len(missing))
    print(f"{len(sessions)} sessions, {compared} comparisons, {len(found)} numbers differ")
    return 0


def sessions_below(folder: Path) -> Iterator[Session]:
    """The sessions in FOLDER that hold a conversation of the main thread."""
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            yield read_session(path)
        except SessionError:
            continue


def differences(folder: Path, sessions: list[Session]) -> list[Difference]:
    """Every number that one of the installed parsers gives otherwise than we do."""
    paths = [session.path for session in sessions]
    theirs = {
        "claude-code-log": by_claude_code_log(paths) if PARSERS["claude-code-log"]() else [],
        "ccusage": list(map(by_ccusage, paths)) if PARSERS["ccusage"]() else [],
    }
    ours = list(map(counted, sessions))
    return [
        Difference(str(path.relative_to(folder)), parser, measure, mine[measure], value)
        for parser, results in theirs.items()
        for path, mine, result in zip(paths, ours, results, strict=False)
        for measure, value in result.items()
        if mine[measure] != value
    ]


def counted(session: Session) -> Counts:
    """Our messages, and the largest usage of each."""
    said = {turn.line for turn in session.turns if turn.speaker is Speaker.MODEL}
    answers = [
        (line, record["message"])
        for line, record in session.source.records(1, sys.maxsize)
        if record.get("type") == "assistant" and record.get("isSidechain") is not True
    ]
    ours = {message.get("id") or line for line, message in answers if line in said}
    usage: dict[Any, Counts] = {own: dict.fromkeys(SUMS, 0) for own in ours}
    for line, message in answers:
        own = usage.get(message.get("id") or line, {})
        given = message.get("usage") or {}
        own |= {name: max(own[name], given.get(USAGE_NAMES[name]) or 0) for name in own}
    sums = {name: sum(each[name] for each in usage.values()) for name in SUMS}
    return {"messages": session.steps, **sums}


def claude_code_log() -> str | None:
    """The Python that has claude-code-log."""
    named = os.environ.get("CLAUDE_CODE_LOG_PYTHON")
    return named or (sys.executable if importlib.util.find_spec("claude_code_log") else None)


def ccusage() -> str | None:
    """The command ccusage."""
    return os.environ.get("CCUSAGE") or shutil.which("ccusage")


PARSERS = {"claude-code-log": claude_code_log, "ccusage": ccusage}


def by_claude_code_log(paths: list[Path]) -> list[Counts]:
    python = claude_code_log()
    assert python is not None
    script = Path(__file__).with_name("agreement_claude_code_log.py")
    lines = output([python, str(script), *map(str, paths)], {})
    return [json.loads(line) for line in lines.splitlines()]


def by_ccusage(path: Path) -> Counts:
    """What ccusage sums up with this file as all that there is."""
    command = ccusage()
    assert command is not None
    with tempfile.TemporaryDirectory() as home:
        project = Path(home) / "projects" / "project"
        project.mkdir(parents=True)
        shutil.copy(path, project / path.name)
        only = {"CLAUDE_CONFIG_DIR": home, "HOME": home}
        words = [command, "claude", "session", "--json", "--offline", "--timezone", "UTC"]
        totals = json.loads(output(words, only)).get("totals") or {}
    return {name: totals.get(written, 0) for name, written in CCUSAGE_NAMES.items()}


def output(words: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
