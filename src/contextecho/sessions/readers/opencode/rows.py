"""Content of sessions whose messages are kept apart: one by one in files, or in rows.

The one thing to know: a turn's `Span` names its message by number, from 1; a message is
loaded again only as long as it stays what it was, however the others grow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from contextecho.sessions.building.placed import contents_of
from contextecho.sessions.model import Content, Turn
from contextecho.sessions.readers.opencode.pieces import is_message, pieces_of


class NumberedSource(ABC):
    """A `Source` over numbered messages."""

    def __init__(self, path: Path) -> None:
        """`path` names the session in errors."""
        self._path = path

    @property
    @abstractmethod
    def sha256(self) -> str:
        """SHA-256 of the session's own bytes, in hexadecimal. Raises `SessionError`."""

    @abstractmethod
    def loading(self) -> AbstractContextManager[Callable[[int], dict[str, Any]]]:
        """Gives a message for its number. Raises `SessionError` when it is not the same."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many messages there are."""

    def contents(self, turns: Sequence[Turn]) -> Iterator[Content]:
        """The content of each turn, in the order given."""
        with self.loading() as load:
            yield from contents_of(turns, lambda span: pieces_of(load(span.offset)))

    def records(self, first_line: int, last_line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, message with its parts) for each in the closed range that is one."""
        with self.loading() as load:
            for number in range(max(first_line, 1), min(last_line, self.count) + 1):
                message = load(number)
                if is_message(message):
                    yield number, message
