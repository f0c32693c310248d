"""Files that are no sessions and words that name nothing: one clear line, exit code 2."""

from __future__ import annotations

import os

import pytest

from e2e.ledger import FILE
from e2e.refusing import SIMULATED, refused, slowly
from e2e.terminal import Terminal
from servers.fake import NOWHERE

# Sessions

FILES: dict[str, bytes] = {
    "empty.jsonl": b"",
    "blank.jsonl": b"\n\n\n",
    "binary.jsonl": bytes(range(256)) * 8,
    "text.jsonl": b"hello, this is no session\n",
    "other.jsonl": b'{"level": "info", "message": "started"}\n' * 3,
    "cut.jsonl": b'{"type": "user", "message": {"role": "us',
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(64),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["scan", slowly("probe")])
def test_a_file_that_holds_no_conversation(terminal: Terminal, name: str, command: str) -> None:
    (terminal.folder / name).write_bytes(FILES[name])
    done = terminal.run(command, name, *(SIMULATED if command == "probe" else ()))
    refused(done, 2, name)
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert not (terminal.folder / FILE).exists()


@pytest.mark.parametrize(
    "words",
    [
        ("scan", "nothing.jsonl"),
        slowly(("sessions", "show", "nothing.jsonl")),
        slowly(("snapshot", "nothing.jsonl", "--at", "5")),
        slowly(("plan", "nothing.jsonl", *SIMULATED)),
        ("probe", "nothing.jsonl", *SIMULATED),
    ],
    ids=lambda words: words[0],
)
def test_a_missing_file(terminal: Terminal, words: tuple[str, ...]) -> None:
    done = terminal.run(*words)
    refused(done, 2, "nothing.jsonl", "no such file")
    assert (done.out, len(done.err.splitlines())) == ("", 1)


@pytest.mark.parametrize(
    "words", [("scan", "."), ("sessions", "list", "."), ("probe", ".", *SIMULATED)]
)
def test_a_folder_without_sessions(terminal: Terminal, words: tuple[str, ...]) -> None:
    (terminal.folder / "notes.txt").write_text("nothing here")
    refused(terminal.run(*words), 2)


@pytest.mark.parametrize(
    "words",
    [
        ("scan", "pipe"),
        ("sessions", "show", "pipe"),
        ("plan", "chat.jsonl", *SIMULATED, "--system", "pipe"),
        ("plan", "chat.jsonl", *SIMULATED, "--battery", "pipe"),
        ("plan", "chat.jsonl", *SIMULATED, "--study", "pipe"),
        ("plan", "chat.jsonl", *SIMULATED, "--anchor", "pipe.yaml"),
    ],
    ids=lambda words: " ".join(words[-2:]),
)
def test_a_pipe_that_nobody_writes_to(
    terminal: Terminal, chat: str, words: tuple[str, ...]
) -> None:
    os.mkfifo(terminal.folder / words[-1])
    refused(terminal.run(*words), 2, words[-1])


def test_latest_without_any_session(terminal: Terminal) -> None:
    refused(terminal.run("scan", "latest"), 2, "no session found")


def test_a_session_with_a_cut_line_is_read_without_it_and_says_so(
    terminal: Terminal, chat: str
) -> None:
    path = terminal.folder / chat
    whole = terminal.run("sessions", "show", chat, "--json").json
    with path.open("ab") as file:
        file.write(b'{"role": "user", "content": "and the')
    cut = terminal.run("sessions", "show", chat, "--json").json
    assert cut["row_turns"] == whole["row_turns"] == 80
    assert whole["skipped"] == []
    (skipped,) = cut["skipped"]
    assert (skipped["count"], skipped["lines"]) == (1, [81])


@pytest.mark.parametrize(
    ("positions", "said"),
    [("1300", "ends at row turn 80"), ("step:41", "40")],
)
def test_a_session_shorter_than_a_position(
    terminal: Terminal, chat: str, positions: str, said: str
) -> None:
    done = terminal.run("plan", chat, *SIMULATED, "--positions", positions)
    refused(done, 2, said)


# Words that name nothing


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "nobody/x"), "unknown provider 'nobody'"),
        slowly(("--target", "gpt-4.1"), "not a target"),
        slowly(("--target", "simulated/gap=wide"), "simulated target"),
        slowly(("--target", "simulated/gap=9"), "beyond 0 to 3"),
        slowly(("--target", "local/none.gguf"), "none.gguf"),
        slowly(("--target", "openai/x", "--base-url", "ftp://here"), "not an http(s) address"),
        slowly(("--target", "openai/x", "--base-url", NOWHERE, "--header", "x"), "not a header"),
        ((*SIMULATED, "--study", "unheard"), 'no study "unheard"'),
        ((*SIMULATED, "--protocol", "loose"), "'strict', 'published'"),
        ((*SIMULATED, "--battery", "unheard"), "unheard"),
        ((*SIMULATED, "--arms", "session,elsewhere"), "elsewhere"),
        ((*SIMULATED, "--positions", "here"), "here"),
        slowly((*SIMULATED, "--positions", "even:0"), "even:0"),
        ((*SIMULATED, "--anchor", "Z9"), "Z9"),
        slowly((*SIMULATED, "--rendering", "braille"), "braille"),
        slowly((*SIMULATED, "--placement", "tail"), "tail"),
        slowly((*SIMULATED, "--n", "0"), "'--n'"),
        ((*SIMULATED, "--n", "11"), "there are 10 (use 1 to 10)"),
        slowly((*SIMULATED, "--context", "0"), "0"),
        slowly((*SIMULATED, "--system", "none.txt"), "none.txt"),
        ((*SIMULATED, "--budget", "much"), "not a budget"),
        ((*SIMULATED, "--judge", "nobody/judge"), "unknown provider"),
        slowly((*SIMULATED, "--attempts", "0"), "--attempts"),
        ((*SIMULATED, "--colour"), "--colour"),
        ((), "--target"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_choice_that_does_not_exist(
    terminal: Terminal, chat: str, words: tuple[str, ...], said: str
) -> None:
    done = terminal.run("probe", chat, *words)
    refused(done, 2, said)
    assert (done.out, len(done.err.splitlines())) == ("", 1)


def test_a_command_that_does_not_exist(terminal: Terminal) -> None:
    refused(terminal.run("prob"), 2, "No such command 'prob'")


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (2, ("--target", "openai/a", "--judge", "openai/a", "--base-url", NOWHERE), "judge itself"),
        (6, ("--target", "openai/a"), "no key for OpenAI"),
    ],
    ids=["self-judging", "no key"],
)
def test_what_needs_no_plan_is_refused_before_one_is_shown(
    terminal: Terminal, chat: str, code: int, words: tuple[str, ...], said: str
) -> None:
    done = terminal.run("probe", chat, *words)
    refused(done, code, said)
    assert (done.out, len(done.err.splitlines())) == ("", 1)
    assert not (terminal.folder / FILE).exists()
