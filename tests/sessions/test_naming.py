"""Names that the system does not take, or does not let us look up."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextecho.errors import SessionError
from contextecho.sessions import example_session, read_session
from contextecho.sessions.naming import split_name
from contextecho.sessions.reading import members_of


def test_a_name_that_is_too_long_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(example_session().read_bytes())
    for name, says in (
        (f"{path}#{'a' * 3000}", "holds one session only"),
        (f"{tmp_path}/none#{'a' * 3000}", "cannot be read: file name too long"),
    ):
        with pytest.raises(SessionError, match=says) as refused:
            read_session(name)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["a\0b", "a\0b#c", "a\ud800"])
def test_a_name_that_no_file_has_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(SessionError, match="is no name that a file can have"):
        read_session(tmp_path / name)
    with pytest.raises(SessionError):
        members_of(tmp_path / name)


def test_a_name_that_may_not_be_looked_up_is_a_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refused)
    name = f"{tmp_path}/closed/s.jsonl#x"
    assert split_name(name) == (Path(name), None)
    with pytest.raises(SessionError) as error:
        read_session(name)
    assert str(error.value).startswith(f"{name}: cannot be read: ")


def test_the_name_of_a_session_is_no_path_to_be_tidied(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.touch()
    for member in ("a//b", "x/", "./y", ""):
        assert split_name(f"{path}#{member}") == (path, member)
