"""What the tests of several readers look at, and the damage that any of them must bear."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from contextecho.errors import SessionError
from contextecho.sessions import Kind, Session, Speaker, read_session
from contextecho.sessions.reading import members_of
from sessions.building import check_lengths

QUIET: Final = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ODD_BYTES: Final = [b"\x00\x00", b"}{", b"\\ud83d", b'"', b"[" * 2000, b"1e999", b"\n"]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)


def said(session: Session) -> list[tuple[Kind, Speaker, str]]:
    """Kind, speaker and text of each turn."""
    texts = (content.text for content in session.contents(session.turns))
    return [
        (turn.kind, turn.speaker, text) for turn, text in zip(session.turns, texts, strict=True)
    ]


def reasons(session: Session) -> dict[str, tuple[int, ...]]:
    """What was left out or mended, with its lines."""
    return {skipped.reason: skipped.lines for skipped in session.skipped}


def damage(data: Any, whole: bytes, *odd: bytes) -> bytes:
    """`whole` with a few bytes drawn from `data` put in, over others or in their place."""
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(damaged)))
        put = data.draw(st.binary(max_size=6) | st.sampled_from([*ODD_BYTES, *odd]))
        stays_in_place = data.draw(st.booleans())  # what follows, as a database's pages must
        dropped = len(put) if stays_in_place else data.draw(st.integers(0, 60))
        damaged[at : at + dropped] = put
    return bytes(damaged[: data.draw(st.sampled_from([len(damaged), len(damaged) // 2]))])


def check_file(path: Path, format: str) -> None:
    """All sessions of a file load, or a `SessionError` of one line says why not."""
    one_line, found = True, []
    try:
        for member in members_of(path, format=format):
            name = path if member is None else f"{path}#{member}"
            found.append(read_session(name, format=format))
    except SessionError as error:
        one_line = "\n" not in str(error)
    assert one_line
    for session in found:
        check_session(session)


def check_session(session: Session) -> None:
    """Every turn's content is loaded again, of the length that the index says."""
    contents = list(session.contents(session.turns))
    check_lengths(session.turns, contents)
    for content in contents:
        content.text.encode()
    assert session.steps > 0
