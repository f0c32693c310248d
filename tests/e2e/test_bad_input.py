"""Everything that can be wrong, as a user meets it: one clear line, the documented exit code.

Exit codes: 2 usage, 4 incomplete, 5 budget, 6 provider (docs: `contextecho --help`).
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from e2e.conftest import write_chat
from e2e.ledger import FILE, query, settled_texts
from e2e.serving import serving
from e2e.terminal import Done, Terminal
from servers.fake import Fault

NOWHERE = "http://127.0.0.1:9/v1"  # the discard port: nothing listens there
SIMULATED = ("--target", "simulated")
SHORT = ("--positions", "even:2", "--n", "1", "--arms", "control,session")


def refused(done: Done, code: int, *said: str) -> None:
    """One line says what is wrong, the exit code is `code`, and there is no data on stdout."""
    assert done.code == code, done.err
    (line,) = done.errors
    assert done.err.splitlines()[-1] == line, "the reason is the last thing said"
    for words in said:
        assert words in line


def slowly(*values: object) -> object:
    """A row of a table that only the slow tests go through: its kin is in the quick ones."""
    return pytest.param(*values, marks=pytest.mark.slow)


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
    assert (skipped["count"], skipped["first_line"]) == (1, 81)


@pytest.mark.parametrize(
    ("positions", "said"),
    [("1300", "ends at row turn 80"), ("step:41", "40")],
)
def test_a_session_shorter_than_the_first_position(
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
        ((*SIMULATED, "--arms", "session,foreign"), "foreign"),
        ((*SIMULATED, "--positions", "here"), "here"),
        slowly((*SIMULATED, "--positions", "even:0"), "even:0"),
        ((*SIMULATED, "--anchor", "Z9"), "Z9"),
        slowly((*SIMULATED, "--rendering", "braille"), "braille"),
        slowly((*SIMULATED, "--placement", "tail"), "tail"),
        slowly((*SIMULATED, "--n", "0"), "0 paraphrases"),
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
    done = terminal.run("probe", chat, "--quiet", *words)
    refused(done, 2, said)
    assert (done.out, len(done.err.splitlines())) == ("", 1)


def test_a_command_that_does_not_exist(terminal: Terminal) -> None:
    refused(terminal.run("prob"), 2, "No such command 'prob'")


def test_more_wordings_than_a_battery_has_are_said_not_made_up(
    terminal: Terminal, chat: str
) -> None:
    done = terminal.run("plan", chat, *SIMULATED, "--n", "11", "--positions", "last")
    assert done.code == 0
    assert "has 10 wordings, fewer than 11" in done.out


# Keys and servers


def test_a_missing_key_names_the_variable_and_sends_nothing(terminal: Terminal, chat: str) -> None:
    done = terminal.run("probe", chat, "--target", "openai/x", *SHORT, "--quiet")
    refused(done, 6, "no key", "OPENAI_API_KEY")
    assert done.out == ""


def test_a_key_variable_that_is_not_set(terminal: Terminal, chat: str) -> None:
    words = ("--target", "openai/x", "--base-url", NOWHERE, "--key-env", "MY_KEY")
    refused(terminal.run("probe", chat, *words, *SHORT, "--quiet"), 6, "MY_KEY")


def test_the_embedded_model_without_its_weights(terminal: Terminal, chat: str) -> None:
    done = terminal.run("probe", chat, "--target", "local", *SHORT, "--quiet")
    refused(done, 6, "not installed", "install")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a session and a store that holds 20 good replies to it."""
    terminal = Terminal(tmp_path_factory.mktemp("collected"))
    write_chat(terminal.folder / "chat.jsonl")
    with serving(text="A good reply.") as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT)
        done = terminal.run("probe", "chat.jsonl", *words, "--battery", "coding-self")
    assert done.code == 0
    assert len(settled_texts(terminal.folder)) == 40
    return terminal.folder


@pytest.fixture
def kept(collected: Path, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal in a copy of it; whatever the test does, the replies must still be there."""
    shutil.copytree(collected, tmp_path / "kept")
    folder = tmp_path / "kept"
    before = settled_texts(folder)
    yield Terminal(folder)
    assert settled_texts(folder).count("A good reply.") == len(before)


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (Fault.UNAUTHORIZED, 6, "HTTP 401"),
        (Fault.NOT_FOUND, 6, "HTTP 404"),
        (Fault.RATE_LIMIT, 6, "HTTP 429"),
        slowly(Fault.NO_CREDIT, 6, "HTTP 429"),
        (Fault.SERVER_ERROR, 6, "HTTP 500"),
        slowly(Fault.OVERLOADED, 6, "HTTP 529"),
        slowly(Fault.BAD_REQUEST, 6, "HTTP 400"),
        (Fault.HTML, 6, "an HTML page"),
        slowly(Fault.WRONG_JSON, 6, "something else than a chat completion"),
        slowly(Fault.ERROR_IN_200, 6, "upstream is busy"),
        slowly(Fault.REDIRECT, 6, "redirected"),
        slowly(Fault.CUT, 6, "the connection broke"),
        slowly(Fault.SLOW, 6, "no complete answer within 0.3 seconds"),
        (Fault.EMPTY, 4, "40 failed"),
        slowly(Fault.REASONING_ONLY, 4, "40 failed"),
    ],
)
def test_a_server_that_only_fails(kept: Terminal, fault: Fault, code: int, said: str) -> None:
    with serving(always=fault, limit=None) as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT, "--timeout", "0.3")
        done = kept.run("probe", "chat.jsonl", *words, "--attempts", "1", "--replicates", "2")
    refused(done, code, said, "the same command continues")
    assert "40 of 80 requests answered" in done.errors[0]


def test_a_server_that_is_down(kept: Terminal) -> None:
    words = ("--target", "openai/x", "--base-url", NOWHERE, *SHORT, "--replicates", "2")
    done = kept.run("probe", "chat.jsonl", *words, "--attempts", "1", "--quiet")
    refused(done, 6, "cannot connect", "40 of 80 requests answered")


def test_refused_and_cut_replies_are_kept_and_never_scored(terminal: Terminal, chat: str) -> None:
    faults = [Fault.REFUSAL, Fault.LENGTH, Fault.EMPTY] * 5
    with serving(faults=faults, text="As an AI, I have no favourites.") as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, "--attempts", "1", "--json")
        done = terminal.run("probe", chat, *words, *SHORT, "--battery", "coding-self", "--quiet")
    refused(done, 4, "35 of 40 requests answered, 5 failed")
    sums = {"refused": 0, "truncated": 0, "empty": 0, "answered": 0, "planned": 0, "judged": 0}
    for denominator in done.json["denominators"]:
        sums = {name: total + denominator[name] for name, total in sums.items()}
    assert sums == {
        "refused": 5, "truncated": 5, "empty": 5, "answered": 25, "planned": 40, "judged": 0
    }  # fmt: skip


def test_a_key_is_never_shown_nor_stored(tmp_path: Path, chat: str) -> None:
    secret = "sk-secret-0123456789abcdef"
    terminal = Terminal(tmp_path, OPENAI_API_KEY=secret)
    with serving(always=Fault.UNAUTHORIZED) as provider:  # it echoes the key
        words = ("--target", "openai/x", "--base-url", provider.url, "--attempts", "1")
        done = terminal.run("probe", chat, *words, *SHORT)
        assert provider.headers[0]["authorization"] == f"Bearer {secret}"
    refused(done, 6, "HTTP 401")
    assert secret not in done.out + done.err
    for path in (tmp_path / ".contextecho").iterdir():
        assert secret.encode() not in path.read_bytes()


def test_a_rate_limit_now_and_then_is_waited_for(terminal: Terminal, chat: str) -> None:
    with serving(faults=[None, Fault.RATE_LIMIT, Fault.SERVER_ERROR]) as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, "--attempts", "3")
        done = terminal.run("probe", chat, *words, *SHORT, "--quiet")
        assert provider.calls == provider.answered + 2
    assert (done.code, done.errors) == (0, [])
    ((failed,),) = query(terminal.folder, "SELECT count(*) FROM attempt WHERE outcome = 'failed'")
    assert failed == 2


def test_a_judge_that_is_down_loses_no_reply(terminal: Terminal, chat: str) -> None:
    words = (*SIMULATED, "--judge", "other/judge", "--judge-base-url", NOWHERE, *SHORT)
    done = terminal.run("probe", chat, *words, "--attempts", "1", "--quiet")
    refused(done, 6, "the judge was given up", "cannot connect")
    assert len(settled_texts(terminal.folder)) == 40


# Budgets


@pytest.mark.parametrize(
    ("budget", "code", "said"),
    [
        ("0", 5, "a budget of 0 allows no call"),
        slowly("0usd", 5, "a budget of 0 allows no call"),
        ("10tok", 5, "too little for the first call"),
        ("5usd", 2, "the price of openai/x is not known"),
        slowly("-1usd", 2, "not a budget"),
    ],
)
def test_a_budget_that_allows_no_call(kept: Terminal, budget: str, code: int, said: str) -> None:
    with serving() as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT, "--replicates", "2")
        done = kept.run("probe", "chat.jsonl", *words, "--quiet", f"--budget={budget}")
        assert provider.calls == 0
    refused(done, code, said)


def test_a_budget_that_runs_out_keeps_what_it_bought_and_the_next_one_goes_on(
    terminal: Terminal, chat: str
) -> None:
    with serving() as provider:
        words = ("--target", "openai/x", "--base-url", provider.url, *SHORT, "--quiet")
        done = terminal.run("probe", chat, *words, "--budget", "20ktok")
        refused(done, 5, "the budget is used up", "the same command continues")
        bought = len(settled_texts(terminal.folder))
        assert 0 < bought == provider.answered < 40
        assert provider.billed_input + provider.billed_output <= 20_000
        assert terminal.run("probe", chat, *words).code == 0
        assert provider.answered == 40


# Stores


def test_a_store_that_is_a_text_file(terminal: Terminal, chat: str) -> None:
    (terminal.folder / "notes.txt").write_text("not a store\n" * 100)
    done = terminal.run("probe", chat, *SIMULATED, *SHORT, "--quiet", "--store", "notes.txt")
    refused(done, 2, "notes.txt", "not a usable SQLite file")
    assert (terminal.folder / "notes.txt").read_text() == "not a store\n" * 100


def test_a_store_of_another_program(terminal: Terminal, chat: str) -> None:
    with closing(sqlite3.connect(terminal.folder / "other.sqlite")) as db:
        db.execute("CREATE TABLE song (title TEXT)")
        db.commit()
    done = terminal.run("probe", chat, *SIMULATED, *SHORT, "--quiet", "--store", "other.sqlite")
    refused(done, 2, "other.sqlite", "not a contextecho store")


@pytest.mark.parametrize("command", ["probe", "plan", "report"])
def test_a_store_of_a_newer_version(kept: Terminal, command: str) -> None:
    with closing(sqlite3.connect(kept.folder / FILE)) as db:
        db.execute("PRAGMA user_version = 99")
    words = {"report": ("latest",)}.get(command, ("chat.jsonl", *SIMULATED, *SHORT))
    refused(kept.run(command, *words), 2, "schema 99", "upgrade contextecho")


def test_a_store_that_cannot_be_made(terminal: Terminal, chat: str) -> None:
    (terminal.folder / "file").write_text("in the way")
    words = ("probe", chat, *SIMULATED, *SHORT, "--quiet", "--store")
    refused(terminal.run(*words, "file/store"), 2, "file/store")
    if Path("/proc/self").exists():  # a file system where nobody may write, not even root
        refused(terminal.run(*words, "/proc/contextecho"), 2, "/proc/contextecho")


def test_a_damaged_store(kept: Terminal) -> None:
    damaged = kept.folder / "damaged.sqlite"
    content = bytearray((kept.folder / FILE).read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    damaged.write_bytes(content)
    refused(kept.run("report", "latest", "--store", "damaged.sqlite"), 2, "damaged.sqlite")


@pytest.mark.parametrize("command", ["report", "figures"])
def test_no_store_and_no_run(terminal: Terminal, kept: Terminal, command: str) -> None:
    refused(terminal.run(command), 2, "there is no store here")
    assert not (terminal.folder / FILE).exists()
    refused(kept.run(command, "zzzz"), 2, "0 runs match 'zzzz'")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "report.docx"), "report.docx"),
        (("-o", "no/such/folder/report.html"), "no/such/folder"),
        slowly(("--format", "pdf"), "pdf"),
        slowly(("--judge", "openai/none"), "openai/none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_report_that_cannot_be_written(kept: Terminal, words: tuple[str, ...], said: str) -> None:
    refused(kept.run("report", *words), 2, said)


def test_a_battery_file_that_is_none(terminal: Terminal, chat: str) -> None:
    (terminal.folder / "mine.yaml").write_text("id: mine\nstimuli: 3\n")
    (terminal.folder / "study.toml").write_text("id = 'mine'\nquestionn = 'what?'\n")
    refused(terminal.run("plan", chat, *SIMULATED, "--battery", "mine.yaml"), 2, "mine.yaml")
    refused(
        terminal.run("plan", chat, *SIMULATED, "--study", "study.toml"),
        2,
        "study.toml",
        "questionn",
    )


def test_hostile_words_in_a_session_reach_no_terminal(terminal: Terminal) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202e<script>alert(1)</script>"
    rows = [
        {"role": role, "content": f"{hostile} {number}"}
        for number in range(20)
        for role in ("user", "assistant")
    ]
    path = terminal.folder / "hostile\x1b[31m.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (("scan", path.name), ("plan", path.name, *SIMULATED, "--positions", "last")):
        done = terminal.run(*words)
        assert done.code == 0
        assert not set("\x1b\x07\u202e") & set(done.out + done.err)
