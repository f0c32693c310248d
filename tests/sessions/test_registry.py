"""A reader of another package that is not as it should be harms its own files alone."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commandline import exit_code
from contextecho.errors import PassingError, ReaderWarning, SessionError
from contextecho.sessions import example_session, read_session, registry, survey
from sessions.looking import format_of

Install = Callable[[str, str], None]

NAMED = 'NAME = "shouts"\n'
SNIFFS = 'def sniff(head): return head.startswith(b"SHOUT")\n'
READS = "def read(path): raise ValueError('too\\nloud')\n"
GOOD = f"""
{NAMED}{SNIFFS}
def read(path):
    from contextecho.sessions import read_session
    return read_session(path.with_name("chat.json"))
"""
LATE = f"""
{NAMED}{SNIFFS}
from msgspec.structs import replace
class Late:
    sha256 = "0"
    def contents(self, turns): raise KeyError("gone")
    def records(self, first_line, last_line): raise KeyError("gone")
def read(path):
    from contextecho.sessions import read_session
    return replace(read_session(path.with_name("chat.json")), source=Late())
"""
TWO = f"""
{NAMED}{SNIFFS}
def members(path): return ["a", "b"]
def read_member(path, member):
    from contextecho.sessions import read_session
    if member == "a":
        raise ValueError("hoarse")
    return read_session(path.with_name("chat.json"))
"""
CHAT = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
FAILED = (
    "cannot be read: the reader shouts failed: ValueError: too loud; "
    "report it to the package loud, or uninstall that"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of the reader's, one of ours, and a chat, which is looked at after the reader's."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "a.jsonl").write_text("SHOUT\n")
    (folder / "chat.json").write_text(json.dumps(CHAT))
    shutil.copy(example_session(), folder / "ours.jsonl")
    return folder


def test_a_reader_that_fails_is_the_error_of_its_file_alone(folder: Path, install: Install) -> None:
    install("loud", NAMED + SNIFFS + READS)
    found = {each.path.name: each.summary.error for each in survey([folder]).sessions}
    assert found == {"a.jsonl": FAILED, "chat.json": None, "ours.jsonl": None}
    with pytest.raises(PassingError) as refused:
        read_session(folder / "a.jsonl")
    assert str(refused.value) == f"{folder / 'a.jsonl'}: {FAILED}"
    assert isinstance(refused.value.__cause__, ValueError)


@pytest.mark.parametrize(
    "words", [["sessions", "list"], ["scan"], ["sessions", "keep", "--to", "kept"]]
)
def test_commands_on_a_folder_tell_of_the_file_and_do_the_rest(
    folder: Path,
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    install("loud", NAMED + SNIFFS + READS)
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("COLUMNS", "400")
    assert exit_code(*words, folder, "--json") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    rows = document["kept" if "keep" in words else "sessions"]
    read = [Path(row["path"]).name.removesuffix(".zst") for row in rows if not row.get("error")]
    assert sorted(read) == ["chat.json", "ours.jsonl"]
    assert FAILED in captured.out + captured.err


def test_a_file_that_is_named_ends_the_command_with_the_reason(
    folder: Path, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("loud", NAMED + SNIFFS + READS)
    assert exit_code("sessions", "show", folder / "a.jsonl") == 2
    assert capsys.readouterr().err == f"contextecho: {folder / 'a.jsonl'}: {FAILED}\n"


def test_of_a_packed_file_the_packed_one_is_named(folder: Path, install: Install) -> None:
    install("loud", NAMED + SNIFFS + READS)
    packed = folder / "a.jsonl.gz"
    packed.write_bytes(gzip.compress((folder / "a.jsonl").read_bytes()))
    with pytest.raises(PassingError) as refused:
        read_session(packed)
    assert str(refused.value) == f"{packed}: {FAILED}"


def test_a_file_that_nobody_else_knows_is_the_error_of_a_reader_that_fails_looking(
    folder: Path, install: Install
) -> None:
    install("loud", NAMED + "def sniff(head): raise ValueError('too\\nloud')\n" + READS)
    found = survey([folder])
    assert sorted(each.path.name for each in found.sessions) == ["chat.json", "ours.jsonl"]
    assert [(error.where, error.what) for error in found.unread] == [
        (str(folder / "a.jsonl"), FAILED)
    ]
    with pytest.raises(PassingError, match="the reader shouts failed"):
        read_session(folder / "a.jsonl")


def test_what_fails_when_content_is_loaded_is_told_the_same_way(
    folder: Path, install: Install
) -> None:
    install("loud", LATE)
    session = read_session(folder / "a.jsonl")
    for load in (session.contents(session.turns), session.source.records(1, 2)):
        with pytest.raises(PassingError, match="the reader shouts failed: KeyError: 'gone'"):
            list(load)


def test_one_of_several_sessions_that_fails_hides_no_other(folder: Path, install: Install) -> None:
    install("loud", TWO)
    found = {each.summary.member: each.summary.error for each in survey([folder]).sessions}
    assert found.pop("a") == FAILED.replace("too loud", "hoarse")
    assert found == {"b": None, None: None}


def test_what_a_reader_gives_has_to_be_a_session(folder: Path, install: Install) -> None:
    install("loud", NAMED + SNIFFS + "def read(path): return {}\n")
    with pytest.raises(PassingError, match="the reader shouts failed: it gave no Session"):
        read_session(folder / "a.jsonl")


@pytest.mark.parametrize(
    ("raised", "met"),
    [
        ("KeyboardInterrupt()", KeyboardInterrupt),
        ("SystemExit(0)", PassingError),
        ("RecursionError()", PassingError),
        ("__import__('contextecho').errors.SessionError('is torn')", SessionError),
    ],
)
def test_what_goes_through_and_what_does_not(
    folder: Path, install: Install, raised: str, met: type[BaseException]
) -> None:
    install("loud", f"import contextecho.errors\n{NAMED}{SNIFFS}def read(path): raise {raised}\n")
    with pytest.raises(met) as refused:
        read_session(folder / "a.jsonl")
    assert refused.type is met


def test_memory_that_is_not_there_is_no_fault_of_the_readers(
    folder: Path, install: Install
) -> None:
    install("loud", f"{NAMED}{SNIFFS}def read(path): raise MemoryError\n")
    with pytest.raises(PassingError, match="needs more memory than there is"):
        read_session(folder / "a.jsonl")


def test_a_failure_is_not_kept_in_the_index(folder: Path, install: Install) -> None:
    """The package may be mended without a new version."""
    install("loud", NAMED + SNIFFS + READS)
    survey([folder])
    registry.other_readers.cache_clear()
    module: Any = __import__("loud")
    module.read = lambda path: read_session(path.with_name("chat.json"))
    found = {each.path.name: each.summary.error for each in survey([folder]).sessions}
    assert found["a.jsonl"] is None


CANNOT = [
    ("import no_such_module_at_all", "cannot be loaded: ModuleNotFoundError: No module named"),
    ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
    (NAMED, "is no reader: it needs NAME, sniff and read"),
    (f"NAME = 1\n{SNIFFS}{READS}", "is no reader: it needs NAME, sniff and read"),
    (
        f'NAME = "codex"\n{SNIFFS}{READS}',
        "is not used: the name codex is that of a reader of this program",
    ),
    (
        f'NAME = "chat"\n{SNIFFS}{READS}',
        "is not used: the name chat is that of a reader of this program",
    ),
]


@pytest.mark.parametrize(("source", "reason"), CANNOT)
def test_one_that_cannot_be_used_is_told_of_once_and_the_others_read(
    folder: Path, install: Install, source: str, reason: str
) -> None:
    install("loud", source)
    with pytest.warns(ReaderWarning) as told:
        found = survey([folder]).sessions
    assert {each.path.name for each in found} == {"chat.json", "ours.jsonl"}
    (message,) = [str(each.message) for each in told]
    assert message.startswith(f"reader: x: {reason}")
    assert message.endswith("(report it to the package loud, or uninstall that)")
    assert "\n" not in message


def test_of_two_with_one_name_the_first_is_used(folder: Path, install: Install) -> None:
    install("loud", GOOD)
    install("loud_too", GOOD)
    with pytest.warns(
        ReaderWarning, match="the name shouts is that of a reader of the package loud "
    ):
        assert format_of(folder / "a.jsonl") == "shouts"
    assert [each.package for each in registry.other_readers().usable] == ["loud"]


def test_commands_say_it_in_one_line_and_doctor_in_a_row(
    folder: Path,
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install("loud", "import no_such_module_at_all")
    install("louder", GOOD)
    monkeypatch.setenv("HOME", str(folder.parent))
    assert exit_code("sessions", "list", folder) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "no_such_module_at_all" in line] == [
        "contextecho: reader: x: cannot be loaded: ModuleNotFoundError: No module named "
        "'no_such_module_at_all' (report it to the package loud, or uninstall that)"
    ]
    registry.other_readers.cache_clear()
    exit_code("doctor", "--json", "--store", folder.parent / "store")
    captured = capsys.readouterr()
    assert "no_such_module_at_all" not in captured.err
    rows = {row["name"]: row for row in json.loads(captured.out) if "reader" in row["name"]}
    assert rows.keys() == {"reader: x", "reader: shouts"}
    assert rows["reader: x"]["ok"] is False
    assert rows["reader: x"]["detail"].startswith("cannot be loaded: ModuleNotFoundError")
    assert rows["reader: shouts"]["ok"] is True
    assert rows["reader: shouts"]["detail"] == "of the package louder"
