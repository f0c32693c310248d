"""Anchors of one's own: read from a file like the bundled ones, or refused in one line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from contextecho.cli.main import app
from contextecho.contexts import Message, anchor_ids, load_anchor
from contextecho.errors import DataError, UsageError

MINE = {
    "id": "mine",
    "title": "who you are, twice",
    "messages": [{"user": "Who are you?"}, {"assistant": "An assistant."}],
    "system": "Remember who you are.",
}


def write(folder: Path, content: object) -> str:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return str(path)


def test_a_file_is_an_anchor(tmp_path: Path) -> None:
    path = write(tmp_path, MINE)
    anchor = load_anchor(path)
    assert (anchor.id, anchor.system) == ("mine", "Remember who you are.")
    assert anchor.messages == (
        Message(role="user", text="Who are you?"),
        Message(role="assistant", text="An assistant."),
    )
    assert anchor.sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.mark.parametrize("anchor_id", anchor_ids())
def test_what_show_prints_is_a_file_that_gives_the_same_anchor(
    tmp_path: Path, anchor_id: str
) -> None:
    done = CliRunner().invoke(app, ["anchors", "show", anchor_id])
    (tmp_path / "copy.yaml").write_text(done.stdout, encoding="utf-8")
    copy, original = load_anchor(str(tmp_path / "copy.yaml")), load_anchor(anchor_id)
    assert (copy.messages, copy.system) == (original.messages, original.system)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"messages": [{"user": "Who?"}]}, "end with the assistant"),
        ({"messages": [{"assistant": "I."}, {"user": "Who?"}]}, "alternate"),
        ({"messages": [{"user": "Who?", "assistant": "I."}]}, "one a message"),
        ({"messages": []}, r"\$\.messages"),
        ({"messages": [{"user": " "}, {"assistant": "I."}]}, r"\$\.messages"),
        ({"system": 7}, r"\$\.system"),
        ({"sytem": "x"}, "sytem"),
    ],
)
def test_a_file_that_is_no_anchor_is_one_line_with_file_and_key(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    path = write(tmp_path, MINE | change)
    with pytest.raises(DataError, match=said) as refused:
        load_anchor(path)
    assert str(refused.value).startswith(path)
    assert "\n" not in str(refused.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load_anchor(str(tmp_path / "missing.yaml"))
    (tmp_path / "binary.yaml").write_bytes(b"\xff\x00")
    with pytest.raises(DataError, match="is not an anchor"):
        load_anchor(str(tmp_path / "binary.yaml"))


def test_a_name_that_is_neither_lists_the_bundled_ones() -> None:
    with pytest.raises(UsageError, match=r"use one of V0, V2, A, .*or the path of a \.yaml file"):
        load_anchor("anchor.txt")
