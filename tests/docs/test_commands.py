"""The page of commands is the program's own help; every command shown anywhere exists."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Iterator
from types import ModuleType

import click
import pytest

from contextecho.cli.main import COMMANDS, app
from contextecho.errors import ContextEchoError
from docs.pages import DOCS, PAGES, Page, every_page, page


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "reference" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_commands_is_what_the_commands_say():
    assert page("reference/commands.md").path.read_text("utf-8") == _generator().page(), (
        "python docs/reference/generate.py renews it"
    )


def test_the_page_of_commands_has_every_command_and_subcommand():
    headings = set(page("reference/commands.md").headings)
    assert {f"contextecho {name}" for name in COMMANDS} <= headings
    assert {"contextecho sessions show", "contextecho local serve"} <= headings


def groups(group: click.Group) -> Iterator[click.Group]:
    """A group and those below it."""
    yield group
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from groups(command)


def test_no_list_of_commands_cuts_off_what_one_does():
    helps = [
        group.get_help(click.Context(group, info_name="contextecho", terminal_width=80))
        for group in groups(app)
    ]
    assert len(helps) == 8
    listed = [line for text in helps for line in text.partition("Commands:")[2].splitlines()]
    assert len(listed) > 20
    assert [line for line in listed if line.endswith("...")] == []


def test_every_error_has_its_exit_code_in_the_table():
    def tree(error: type[ContextEchoError]) -> Iterator[type[ContextEchoError]]:
        yield error
        for child in error.__subclasses__():
            yield from tree(child)

    ((_, rows),) = page("reference/commands.md").tables
    codes = {int(code): says for code, says in rows}
    assert {error.exit_code for error in tree(ContextEchoError)} <= set(codes)
    assert set(codes) == {0, 1, 2, 3, 4, 5, 6, 130, 141}
    assert codes[5].startswith("the budget is used up")


def shown(page: Page) -> Iterator[str]:
    """Every line of a shell block that calls the program, continuation lines joined."""
    for block in page.blocks:
        if block.language in ("", "sh", "console"):
            for line in block.text.replace("\\\n", " ").splitlines():
                line = line.removeprefix("$ ").removeprefix("Next: ")
                if line.startswith("contextecho "):
                    yield line


def words_of(line: str) -> list[str]:
    """The words of the program's call: up to a pipe, a redirection or a comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>;&")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set("|<>;&"):
            break
        words.append(word)
    return words[1:]


def parse(words: list[str]) -> None:
    """Parse as the program would, without running it. Raises `click.UsageError`."""
    command: click.Command = app
    context = click.Context(app, info_name="contextecho")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            raise click.UsageError(f"no command {words[0]}")
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    if not isinstance(command, click.Group):
        command.make_context(command.name, words, parent=context.parent)


@every_page
def test_every_command_in_a_block_is_one_that_the_program_takes(page: Page):
    for line in shown(page):
        try:
            parse(words_of(line))
        except click.UsageError as error:
            pytest.fail(f"{line}: {error.format_message()}")


@every_page
def test_every_command_in_a_sentence_exists_with_its_options(page: Page):
    for span in page.code_spans:
        span = " ".join(span.split())
        if span.startswith("contextecho ") and not span.split()[1].isupper():
            try:
                parse(words_of(span))
            except click.MissingParameter:
                pass  # a sentence may name a command without what it is applied to
            except click.UsageError as error:
                pytest.fail(f"{span}: {error.format_message()}")


@pytest.mark.parametrize(
    "wrong",
    ["contextecho prob SESSION", "contextecho scan", "contextecho plan S --target M --bugdet 5"],
)
def test_a_wrong_example_would_be_noticed(wrong: str):
    with pytest.raises(click.UsageError):
        parse(words_of(wrong))


def test_the_guide_shows_every_command():
    used = {words_of(line)[0] for page in PAGES for line in shown(page) if words_of(line)}
    assert set(COMMANDS) <= used
