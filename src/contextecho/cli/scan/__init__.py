"""`contextecho scan`: the passive screen. No model is asked, nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from contextecho.cli.finding import (
    end_with,
    find_path_to_scan,
    others_said,
    say_continued,
    say_copies,
    say_earlier,
    say_links,
    say_sub_agents,
    say_unread,
)
from contextecho.cli.options import json_option
from contextecho.cli.printing import print_json, say, say_next, show
from contextecho.counting import counted
from contextecho.errors import SessionError
from contextecho.untrusted import one_line

if TYPE_CHECKING:
    from contextecho.scoring import Screened

_MOST_NAMED = 5  # of the files that are no sessions, where none is


@click.command()
@click.argument("sessions", metavar="SESSION|DIR...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Also write the report here; `-` is standard output, and stands for the table.",
)
@click.option("--format", "name", metavar="html|md", help="Of the report. Default: by FILE.")
@json_option
def command(sessions: tuple[str, ...], output: str | None, name: str | None, as_json: bool) -> None:
    """Screen sessions for changes of register: a screen, never a diagnosis.

    Shows how the model's own voice changes within a session: hedges, first-person
    experience, commitments, dashes, paragraph breaks and length, with final answers and
    commentary between tool calls kept apart. Reads files only; asks no model. `latest` is
    the newest session on this machine that is long enough. Several sessions, or folders
    of any clients, give one table, those worth probing first.

    The report, HTML or Markdown, says the same with figures, one file for all sessions. It
    holds the names of sessions, folders and models and no text of a session.
    """
    from contextecho.cli.scan.reporting import chosen_output, write
    from contextecho.scoring import screen_all

    chosen = chosen_output(output, name, as_json=as_json)
    paths, unknown = _found(sessions)
    screened = screen_all(paths)
    screened.unread[:0] = unknown
    for error in screened.refused:
        say_unread(error)
    say_links(screened.links)
    screens, unread = screened.screens, screened.unread
    named = {str(path) for path in paths if not path.is_dir()} | {e.where for e in unknown}
    wrong = [error for error in unread if error.where in named]
    if not screens:
        others = [error for error in unread if error.where not in named]
        _end_without(screened, wrong, [*others, *screened.passed_over])
    written = None if chosen is None else write(screened, chosen, name)
    if chosen != "-":
        _print(screened, as_json=as_json)
    _end(screened, written)
    end_with(wrong)


def _found(sessions: Sequence[str]) -> tuple[list[Path], list[SessionError]]:
    """The paths that the words name, and why the others name none."""
    paths: list[Path] = []
    unknown: list[SessionError] = []
    for text in sessions:
        try:
            paths.append(find_path_to_scan(text))
        except SessionError as error:
            unknown.append(error)
    return paths, unknown


def _print(screened: Screened, *, as_json: bool) -> None:
    """One document, one session in full, or the table."""
    from contextecho.cli.scan.many import print_screens
    from contextecho.cli.scan.one import lines_of

    if as_json:
        print_json(_document(screened))
    elif len(screened.screens) == 1 and not screened.unread:
        _print_lines(lines_of(screened.screens[0]))
    else:
        print_screens(screened.screens, screened.unread)


def _end(screened: Screened, written: Path | None) -> None:
    """What was left out, the report if a file holds it, and the next command."""
    from contextecho.scoring import next_command

    say_sub_agents(screened.sub_agents)
    say_copies(screened.copies)
    say_earlier(screened.earlier)
    say_continued(screened.continued)
    if written is not None:
        say(f"Wrote {written}")
    say_next(*next_command(screened.screens))


def _end_without(
    screened: Screened, wrong: Sequence[SessionError], others: Sequence[SessionError]
) -> NoReturn:
    """End where nothing was screened: why not, of the `wrong` that were named and of `others`."""
    if len(others) == 1 and not wrong:
        raise others[0]
    for error in others[:_MOST_NAMED]:
        say(one_line(f"{error.where}: {error.what}"))
    if len(others) > _MOST_NAMED:
        say(f"and {counted(len(others) - _MOST_NAMED, 'more file')}")
    say_sub_agents(screened.sub_agents)
    end_with(wrong)
    tried = f" that can be read ({counted(len(others), 'file')} tried)" if others else ""
    raise SessionError(
        f"holds no session{tried}{others_said(screened.others)}",
        where=", ".join(screened.places),
        todo="try contextecho demo",
    )


def _document(screened: Screened) -> dict[str, Any]:
    import msgspec

    from contextecho.scoring import worth_first

    return {
        "label": screened.screens[0].label,
        "sessions": msgspec.to_builtins(worth_first(screened.screens)),
        "unread": [{"path": error.where, "reason": error.what} for error in screened.unread],
    }


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        show(line)
