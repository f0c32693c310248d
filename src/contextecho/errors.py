"""Every error a user can meet, in one tree.

    ContextEchoError
    ├── UsageError          the command or its arguments are wrong              exit 2
    │   ├── SessionError    a session file cannot be read as a conversation     exit 2
    │   │   ├── PassingError    not at this moment; it may be readable the next
    │   │   └── PackedError     it is packed, and cannot be unpacked
    │   └── DataError       a battery, protocol, recipe or store is not valid   exit 2
    ├── IncompleteError     cells are missing that the command needs            exit 4
    ├── BudgetError         budget or time is used up, or too small to begin    exit 5
    └── ProviderError       a model cannot be reached or refuses the caller     exit 6

A message says what is wrong, where, and what to do next, in one line. The
command line prints it without a traceback and leaves with `exit_code`; any
other exception is a defect of ours.
"""

from __future__ import annotations

from typing import ClassVar


class ContextEchoError(Exception):
    """The root: something the user can understand and mend."""

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        """`what` is wrong, `where` (file, line, cell), and what `todo` next."""
        self.what = what
        self.where = where
        self.todo = todo
        super().__init__(what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.todo})" if self.todo else ""
        return f"{place}{self.what}{advice}"


class UsageError(ContextEchoError):
    """The command or its arguments are wrong."""


class SessionError(UsageError):
    """A session file cannot be read as a conversation."""


class PassingError(SessionError):
    """A session file cannot be read at this moment, whatever is in it."""


class PackedError(SessionError):
    """A session file is packed and cannot be unpacked: it is damaged, or too large."""


class DataError(UsageError):
    """A data file (battery, protocol, recipe, rubric) or a store is not valid."""


class IncompleteError(ContextEchoError):
    """Cells are missing that the command needs; what was collected stays."""

    exit_code: ClassVar[int] = 4


class BudgetError(ContextEchoError):
    """The budget is used up, or too small for the first call; or the time is up."""

    exit_code: ClassVar[int] = 5


class ProviderError(ContextEchoError):
    """A model cannot be reached, or it refuses the caller."""

    exit_code: ClassVar[int] = 6


class ReaderWarning(UserWarning):
    """A reader that another package brings cannot be used; the others are."""
