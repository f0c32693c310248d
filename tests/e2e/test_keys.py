"""A key goes to its provider and nowhere else, whatever the provider does with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.refusing import SHORT, refused
from e2e.terminal import Done, Terminal
from servers.fake import FakeProvider, Fault
from servers.serving import serving

SECRET = "sk-secret-0123456789abcdef"
JUDGES = "sk-judges-fedcba9876543210"
ECHO = {
    "x-request-id": SECRET,
    "retry-after": SECRET,
    "x-ratelimit-limit-requests": SECRET,
    "set-cookie": f"key={SECRET}",
}


def echoed(body: dict) -> str:
    """An answer with the key with which it was asked."""
    return f"My key is {SECRET if body['model'] == 'x' else JUDGES}, and I like it."


def keyed(folder: Path, where: str) -> Terminal:
    """A terminal whose keys stand in the environment or in `.env`."""
    keys = {"OPENAI_API_KEY": SECRET, "JUDGES_KEY": JUDGES}
    if where == "environment":
        return Terminal(folder, **keys)
    lines = [f"{name}={value}\n" for name, value in keys.items()]
    (folder / ".env").write_text("".join(lines), encoding="utf-8")
    return Terminal(folder)


def leaks(folder: Path, *runs: Done) -> list[str]:
    """Where a key is found: in a file (but its own), or in what a command wrote."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".env"]
    written = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    written |= {f"run {n}": (run.out + run.err).encode() for n, run in enumerate(runs)}
    keys = (SECRET.encode(), JUDGES.encode())
    return [name for name, data in written.items() if any(key in data for key in keys)]


@pytest.mark.parametrize("where", ["environment", pytest.param(".env", marks=pytest.mark.slow)])
def test_a_key_that_the_server_echoes_everywhere_is_nowhere(
    tmp_path: Path, chat: str, where: str
) -> None:
    """In answers, errors, pages and headers; from target and judge; in every kind of output."""
    terminal = keyed(tmp_path, where)
    faults = [None, Fault.RATE_LIMIT, Fault.SERVER_ERROR, Fault.HTML, None, Fault.BAD_REQUEST]
    with serving(faults=faults, text=echoed, headers=ECHO) as provider:
        at = ("--target", "openai/x", "--base-url", provider.url)
        judge = ("--judge", "openai/y", "--judge-base-url", provider.url)
        judge += ("--judge-key-env", "JUDGES_KEY")
        runs = [
            terminal.run("plan", chat, "--target", "openai/x", *SHORT, "--json"),
            terminal.run("probe", chat, *at, *judge, *SHORT, "-o", "probe.html"),
            terminal.run("probe", chat, *at, *judge, *SHORT, "--json", "--attempts", "1"),
            *(terminal.run("report", "-o", f"report.{form}") for form in ("md", "json", "csv")),
            terminal.run("doctor", "--json"),
            terminal.run("doctor"),
        ]
        sent = {headers["authorization"] for headers in provider.headers}
    assert sent == {f"Bearer {SECRET}", f"Bearer {JUDGES}"}
    assert "OPENAI_API_KEY" in runs[-1].out + runs[-1].err  # where it is, is said
    kept = (tmp_path / ".contextecho" / "store.sqlite").read_bytes()
    assert b"My key is [key], and I like it." in kept
    assert {path.suffix for path in tmp_path.glob("report.*")} == {".md", ".json", ".csv"}
    assert leaks(tmp_path, *runs) == []


def test_a_refused_key_is_not_shown(tmp_path: Path, chat: str) -> None:
    terminal = keyed(tmp_path, "environment")
    with serving(always=Fault.UNAUTHORIZED) as provider:  # it echoes the key
        words = ("--target", "openai/x", "--base-url", provider.url, "--attempts", "1")
        done = terminal.run("probe", chat, *words, *SHORT)
        assert provider.headers[0]["authorization"] == f"Bearer {SECRET}"
    refused(done, 6, "HTTP 401")
    assert leaks(tmp_path, done) == []


def test_a_key_from_a_file_is_not_in_the_process_list_nor_in_any_environment(
    tmp_path: Path, chat: str
) -> None:
    terminal = keyed(tmp_path, ".env")
    with serving(text="Yes.", latency=0.2) as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT)
        process = terminal.start_fresh("probe", chat, *words, "--quiet")
        try:
            wait_for_calls(provider)
            seen = dict(processes())
        finally:
            process.kill()
            process.communicate()
    assert str(process.pid) in seen
    assert [pid for pid, (line, _) in seen.items() if SECRET.encode() in line] == []
    line, environment = seen[str(process.pid)]
    assert b"probe" in line
    assert b"HOME=" in environment
    assert SECRET.encode() not in environment


def wait_for_calls(provider: FakeProvider) -> None:
    end = time.monotonic() + 60
    while not provider.calls:
        assert time.monotonic() < end, "it never asked"
        time.sleep(0.05)


def processes() -> Iterator[tuple[str, tuple[bytes, bytes]]]:
    """Command line and environment of every process that may be read."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield (
                folder.name,
                ((folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()),
            )
        except OSError:  # it ended, or is another's
            continue
