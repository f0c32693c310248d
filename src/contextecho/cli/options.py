"""Options that several commands have, each said once."""

from __future__ import annotations

from pathlib import Path

import click

from contextecho.defaults import STORE, store_place

# The names that the rooms know, here so that help needs no room.
ARM = click.Choice(["scratch", "control", "session", "session+anchor", "control+anchor"])
PLACEMENT = click.Choice(["user", "system"])
PROTOCOL = click.Choice(["strict", "published"])
RENDERING = click.Choice(["native", "native-text", "quoted"])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


class StorePlace(click.ParamType):  # type: ignore[type-arg]
    """A folder, a file or the URL of a database, which must not become a path."""

    name = "path|url"

    def convert(
        self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | Path:
        """A URL stays as it was written."""
        return store_place(value)


store_option = click.option(
    "--store",
    type=StorePlace(),
    default=STORE,
    show_default=True,
    show_envvar=True,
    envvar="CONTEXTECHO_STORE",
    help="Where replies are kept: a folder, a file, or postgresql://USER@HOST/DATABASE.",
)

run_argument = click.argument("run", metavar="[RUN|latest]", default="latest")

verdicts_option = click.option(
    "--judge", metavar="MODEL", help="Whose verdicts to use, if there are several."
)


def store_words(store: Path | str) -> tuple[str, ...]:
    """The option as words for another command; none for the default."""
    return () if str(store) == STORE else ("--store", str(store))
