"""Lines that would not fit into memory are refused, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import read_session
from contextecho.sessions.building import bounds
from sessions.claude_code_lines import assistant, line, user


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LONGEST_VALUE", 8)
    monkeypatch.setattr(bounds, "_CHUNK", 4)


def refused(path: Path) -> bool:
    try:
        bounds.refuse_long_lines(path)
    except SessionError:
        return True
    return False


@pytest.mark.usefixtures("small")
@given(st.lists(st.integers(0, 30), max_size=8), st.booleans())
def test_a_line_longer_than_the_longest_is_refused_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], ends: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "some"
    data = b"\n".join(b"x" * length for length in lengths) + (b"\n" if ends else b"")
    path.write_bytes(data)
    longest = max((len(each) for each in data.split(b"\n")), default=0)
    assert refused(path) == (longest > 8)


def test_a_session_with_a_long_run_of_nul_bytes_is_refused_without_reading_it(
    tmp_path: Path,
) -> None:
    """As a crash leaves it; 2 GB that take no space on the disk, and 4 GB of memory before."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(line(user("go")) + line(assistant("ok")))
    with path.open("r+b") as file:
        file.truncate(2 << 30)
    for format in (None, "claude-code"):
        with pytest.raises(SessionError, match="stand on one line") as raised:
            read_session(path, format=format)
        assert "tr -d" in raised.value.todo


def test_less_memory_than_a_session_needs_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(line(user("go")) + line(assistant("ok")))

    def none_left(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("contextecho.sessions.readers.claude_code.read_in_pieces", none_left)
    with pytest.raises(SessionError, match="more memory than there is"):
        read_session(path)


@pytest.mark.parametrize("before", [b"\n" * 70_000, b"\0" * 70_000 + b"\n", b" \r\n" * 50_000])
def test_what_begins_with_much_nothing_is_told_all_the_same(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(before + line(user("go")) + line(assistant("ok")))
    assert (read_session(path).format, read_session(path).prompts) == ("claude-code", 1)


def test_a_first_record_longer_than_a_head_does_not_hide_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("reading", "building.jsontext"):
        monkeypatch.setattr(f"contextecho.sessions.{module}.LONGEST_HEAD", 100_000)
    path = tmp_path / "session.jsonl"
    path.write_bytes(line(user("x" * 500_000)) + line(assistant("ok")))
    session = read_session(path)
    assert (session.format, session.prompts, session.turns[0].chars) == ("claude-code", 1, 500_000)
