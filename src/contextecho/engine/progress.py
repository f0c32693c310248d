"""Showing how a collection goes, on stderr: a bar on a terminal, a line now and then elsewhere.

The one thing to know: nothing here is called once a reply. The engine keeps a
`Tally` and shows it every `Progress.every` seconds, so that showing costs the same for
ten calls a minute and for a thousand a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from contextecho.models import Usage
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as RichBar


_BAR = 24  # characters


class Elsewhere(NamedTuple):
    """Requests that a provider has in batches, and as many of them as it says it has done."""

    requests: int
    done: int


@dataclass(slots=True)
class Tally:
    """The running count of a collection, in distinct requests."""

    total: int
    doing: str = "asking"  # what is counted: asking, judging, ...
    done: int = 0  # answered, refused or truncated now
    reused: int = 0  # in the store already
    failed: int = 0  # given up
    calls: int = 0  # attempts that came back, retries included
    input: int = 0
    cached: int = 0
    output: int = 0
    dollars: float | None = 0.0  # None once a call's price was not known
    began: float = field(default_factory=time.monotonic)
    elsewhere: dict[str, Elsewhere] = field(default_factory=dict)  # in batches, by target
    ended: bool = False  # nothing more will be asked, whatever is open

    def add(self, usage: Usage | None, dollars: float | None) -> None:
        """Count a call that came back."""
        self.calls += 1
        if usage is not None:
            self.input += usage.input or 0
            self.cached += usage.cached or 0
            self.output += usage.output or 0
        if dollars is None:
            self.dollars = None
        elif self.dollars is not None:
            self.dollars += dollars

    def include(self, part: Tally) -> None:
        """Count what a part has come to whose requests were all open: it may have been done twice.

        What a worker found in the store another one had done before it was lost.
        """
        self.done += part.done + part.reused
        self.failed += part.failed
        self.calls += part.calls
        self.input += part.input
        self.cached += part.cached
        self.output += part.output
        if self.dollars is not None:
            self.dollars = None if part.dollars is None else self.dollars + part.dollars

    @property
    def closed(self) -> int:
        """Requests that need no more work."""
        return self.done + self.reused + self.failed

    @property
    def seconds_left(self) -> float | None:
        """Time left at the pace so far; None where there is none: before a reply, in batches."""
        worked = self.done + self.failed
        if not worked or self.ended or self.elsewhere:
            return None
        return (time.monotonic() - self.began) / worked * (self.total - self.closed)


class Progress(Protocol):
    """What the engine reports to."""

    every: float  # seconds between two calls of `show`

    def show(self, tally: Tally) -> None:
        """Show the state of things."""
        ...

    def say(self, text: str) -> None:
        """Say something once, e.g. why a target was stopped."""
        ...

    def close(self, tally: Tally) -> None:
        """Show the end state and leave the terminal as it was."""
        ...


class Quiet:
    """Says nothing: why a target was stopped is in the result too."""

    every = 3600.0

    def show(self, tally: Tally) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def close(self, tally: Tally) -> None:
        """Nothing."""


class Lines:
    """A plain line every ten seconds, for logs and pipes."""

    every = 10.0

    def __init__(self, stream: TextIO | None = None) -> None:
        """`stream` is where to write, by default stderr."""
        self._stream = stream or sys.stderr

    def say(self, text: str) -> None:
        """One line."""
        print(one_line(text), file=self._stream, flush=True)

    def show(self, tally: Tally) -> None:
        """One line."""
        self.say(summary(tally))

    def close(self, tally: Tally) -> None:
        """One last line."""
        self.say(summary(tally))


class Bar:
    """A bar on a terminal; each collection draws its own below the one before."""

    every = 0.2

    def __init__(self) -> None:
        """Draw on stderr."""
        from rich.console import Console

        self._console = Console(stderr=True, markup=False, highlight=False)
        self._bar: RichBar | None = None

    def _begin(self, tally: Tally) -> RichBar:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        bar = Progress(
            TextColumn(tally.doing),
            BarColumn(bar_width=_BAR),
            MofNCompleteColumn(),
            TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True)),
            expand=True,
            console=self._console,
            auto_refresh=False,
        )
        bar.add_task("", total=tally.total)
        bar.start()
        return bar

    def show(self, tally: Tally) -> None:
        """Redraw."""
        self._bar = self._bar or self._begin(tally)
        beside = len(tally.doing) + _BAR + 2 * len(str(tally.total)) + len("/") + 3  # spaces
        details = _fitting(_details(tally), self._console.width - beside)
        self._bar.update(self._bar.task_ids[0], completed=tally.closed, description=details)
        self._bar.refresh()

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._console.print(one_line(text))

    def close(self, tally: Tally) -> None:
        """Draw the end state and stop."""
        self.show(tally)
        if self._bar is not None:
            self._bar.stop()
        self._bar = None


def open_progress(*, quiet: bool = False) -> Progress:
    """What suits stderr: a bar on a terminal, lines elsewhere, or nothing when quiet."""
    if quiet:
        return Quiet()
    return Bar() if sys.stderr.isatty() else Lines()


def summary(tally: Tally) -> str:
    """The tally in one line: "asking 120/600, 3 min 45 s left, 2 failed, 91k tokens in (…)"."""
    return ", ".join((f"{tally.doing} {tally.closed}/{tally.total}", *_details(tally)))


def _details(tally: Tally) -> Iterator[str]:
    """What stands beside the count, the most important first."""
    left = tally.seconds_left
    if left is not None and tally.closed < tally.total:
        yield f"{_duration(left)} left"
    if tally.failed:
        yield f"{tally.failed} failed"
    if tally.dollars:
        yield f"${tally.dollars:.2f}"
    if tally.elsewhere:
        requests, done = map(sum, zip(*tally.elsewhere.values(), strict=True))
        yield f"{requests} in batches" + f" ({done} done there)" * bool(done)
    elif not tally.calls and tally.closed < tally.total and not tally.ended:
        yield "the first prefix is being read"
    if tally.reused:
        yield f"{tally.reused} from the store"
    if tally.calls:
        cached = f" ({tally.cached / tally.input:.0%} cached)" if tally.cached else ""
        yield f"{_short(tally.input)} tokens in{cached}"
        yield f"{_short(tally.output)} out"


def _fitting(parts: Iterable[str], width: int) -> str:
    """As many of the first `parts` as `width` characters hold, joined."""
    joined = tuple(accumulate(parts, "{}, {}".format))
    return max((line for line in joined if len(line) <= width), key=len, default="")


def _short(count: int) -> str:
    for limit, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= limit:
            return f"{count / limit:.1f}{unit}"
    return str(count)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
