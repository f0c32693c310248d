"""What the tests of agents' trajectories share: documents, damage, and who claims a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, Turn, read_session
from contextecho.sessions.readers import Reader
from contextecho.sessions.reading import members_of
from sessions.building import check_lengths


def document(folder: Path, value: Any, name: str = "run.json") -> Path:
    """The value as a JSON document spread over lines, as the agents write it."""
    path = folder / name
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


def read_all(path: Path, format: str | None = None) -> Iterator[Session]:
    """Every session in a file."""
    for member in members_of(path, format=format):
        yield read_session(path if member is None else f"{path}#{member}", format=format)


def said(session: Session) -> list[tuple[Kind, Speaker, str]]:
    """What was said by whom, in order."""
    texts = [content.text for content in session.contents(session.turns)]
    return [(t.kind, t.speaker, text) for t, text in zip(session.turns, texts, strict=True)]


def of_kind(session: Session, kind: Kind) -> list[Turn]:
    return [turn for turn in session.turns if turn.kind is kind]


def human_hashes(session: Session) -> list[str]:
    """The first 16 hexadecimal digits of the SHA-256 of each text that a human wrote."""
    texts = [text for _, speaker, text in said(session) if speaker is Speaker.HUMAN]
    return [sha256(text.encode()).hexdigest()[:16] for text in texts]


def claimed(reader: Reader, folder: Path) -> set[str]:
    """The files below `folder` that a reader takes for its own by their first 64 kB and a line."""
    found = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(1 << 16) + file.readline()
            if reader.sniff(head):
                found.add(path.relative_to(folder).as_posix())
    return found


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        10**400,
        1.5,
        "",
        "é",
        "1",
        [],
        [None],
        [[]],
        {},
        {"a": 1},
        ["x", {}],
        "x" * 30,
    ]
)


@st.composite
def altered(draw: st.DrawFn, whole: Any) -> bytes:
    """A JSON document in which some values have become others, or are gone."""
    value = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(1, 4))):
        here = value
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(here[key], dict | list) and here[key] and draw(st.integers(0, 4)):
                here = here[key]
                continue
            if draw(st.booleans()):
                here[key] = deepcopy(draw(ODD))
            else:
                del here[key]
            break
    return json.dumps(value).encode()


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """The bytes with pieces cut out, and other bytes put in, at random places."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 5))):
        at, drop = draw(st.integers(0, len(data))), draw(st.integers(0, 80))
        put = draw(
            st.binary(max_size=4)
            | st.sampled_from([b"\x00\x00", b"}{", b"\\ud83d", b'"', b"[" * 2000, b"null", b"\n"])
        )
        data[at : at + drop] = put
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def check_any(path: Path, data: bytes, format: str) -> None:
    """Whatever the bytes are: sessions that can be loaded, or an error in one line."""
    path.write_bytes(data)
    sessions, line = list[Session](), ""
    try:
        sessions += read_all(path, format)
    except SessionError as error:
        line = str(error)
    assert "\n" not in line
    for session in sessions:
        check_lengths(session.turns, list(session.contents(session.turns)))
        list(session.source.records(1, len(data) + 1))
        assert session.steps > 0
        assert all(t.speaker is Speaker.MODEL for t in of_kind(session, Kind.TOOL_CALL))
