"""One reader a format. A new one is a new module and its line in `READERS`.

The one thing to know: `sniff` looks at the first lines of a file and must not
answer yes to another format; the readers are tried in this order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from contextecho.sessions.model import Session
from contextecho.sessions.readers import chat, claude_code


class Reader(Protocol):
    """What a reader's module offers."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """The format's name, as in `Session.format`."""
        ...

    def sniff(self, head: bytes) -> bool:
        """Whether a file that begins like this is in the reader's format."""
        ...

    def read(self, path: Path) -> Session:
        """Index the file. Raises `SessionError`, or `OSError` from opening it."""
        ...


READERS: tuple[Reader, ...] = (claude_code, chat)
