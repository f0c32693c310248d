"""S2: whether a reply is exactly one shell command and nothing else.

The one thing to know: the text goes through a real shell grammar (tree-sitter's
Bash), and then each command word must be one that somebody would type. A
blacklist of first words, as the first paper used, passes "I need more
information" and fails `hereis --x` and heredocs (reference, flaw 28).

A reply may hold one statement: a command, pipeline or list, joined by `;`, `&&`,
`||`, `|` or `&`. A heredoc's body, a quoted line break and a line that ends in a
backslash belong to it; a second command line does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

import msgspec
import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from contextecho.bundled import read_bundled
from contextecho.scoring.contract import KEPT, Compliance, broken


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """The bundled command words, by where they come from."""

    id: str
    version: str
    licence: str
    source: str
    sha256: str
    text_takers: frozenset[str]  # commands whose free words are text
    words: Mapping[str, str]  # group -> words, separated by white space


_FENCES = ("```", "~~~")
_MARKDOWN = (
    (re.compile(r"(\*{1,3}|__)\S.*\1\.?", re.DOTALL), "markdown emphasis"),
    (re.compile(r"[-*+•]\s.*|\d{1,2}[.)]\s.*", re.DOTALL), "a list"),
    (re.compile(r"#.*", re.DOTALL), "a heading or comment"),
    (re.compile(r"[$%>❯]\s.*", re.DOTALL), "a prompt sign"),
    (re.compile(r"</?[A-Za-z_|][^\s<>]*>.*", re.DOTALL), "markup"),
)
# Blocks in which a line break separates commands.
_BLOCKS = frozenset(
    ("do_group", "compound_statement", "if_statement", "case_statement", "subshell", "elif_clause")
)
_WORD = re.compile(r"[a-z0-9][a-z0-9._+-]*")
_COMPOUND_WORD = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)+")
_PATH = re.compile(r"(?:~|\.{1,2}|\$\w+|\$\{\w+\})?(?:/[\w.@+~$={}-]+)+/?|[\w.@+-]+(?:/[\w.@+-]+)+")
_TECHNICAL = re.compile(r"-{1,2}\w|.*[/=$*~:@\d\"'{\\]|\.|\w[\w-]*\.\w")
_PLAIN_WORD = re.compile(r"[A-Za-z’']+[.,;:!]?")
_FINISHED_WORD = re.compile(r"[A-Za-z’']+[.!]+")
_REDIRECTION = re.compile(r">\s*\w[\w/-]*\.\w+")  # `> file.txt`; `> ls` is a quoted prompt
_SUBSTITUTED_WORD = re.compile(r"`[^`]+`\s+--?\w.*", re.DOTALL)  # `which python` -V
_DASHES = ("—", "–", "->", "→")
# Words that a sentence needs and an argument list does not.
_FUNCTION_WORDS = frozenset((
    "the", "to", "and", "then", "which", "is", "are", "was", "see",
    "that", "this", "your", "you", "it", "because", "so", "will", "would",
))  # fmt: skip
_JOINING_WORDS = frozenset(("and", "or", "then"))


def check_shell(text: str) -> Compliance:
    """S2 on stripped text: one shell statement, bare, with a plausible command word."""
    if text.startswith(_FENCES) or text.endswith(_FENCES):
        return broken("fenced code")
    if text.startswith("`") and not _SUBSTITUTED_WORD.fullmatch(text):
        return broken("wrapped in backticks")
    for pattern, reason in _MARKDOWN:
        if pattern.fullmatch(text) and not _REDIRECTION.fullmatch(text):
            return broken(reason)
    root = _parser().parse(text.encode(errors="replace")).root_node
    if root.has_error:
        return broken("does not parse as shell")
    return _check_statement(root)


@cache
def known_commands() -> Commands:
    """The command words of `data/commands-1.yaml`."""
    return read_bundled("scoring", "commands-1", Commands)


@cache
def _words() -> frozenset[str]:
    commands = known_commands()
    return commands.text_takers.union(*(group.split() for group in commands.words.values()))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _check_statement(root: Node) -> Compliance:
    statements = [node for node in root.children if node.is_named]
    if any(node.type == "comment" for node in _walk(root)):
        return broken("a comment")
    rows = [(a.end_point.row, b.start_point.row) for a, b in pairwise(statements)]
    if any(start > end for end, start in rows):
        return broken("more than one command line")
    for node in _walk(root):
        if node.type in _BLOCKS and node.start_point.row != node.end_point.row:
            return broken("a block over several lines")
    commands = [c for s in statements for c in _commands(s)]
    if not commands and not any(_acts_without_command(s) for s in statements):
        return broken("no command")
    defined = _defined(root)
    return next((v for c in commands if not (v := _check_command(c, defined)).ok), KEPT)


def _defined(root: Node) -> frozenset[str]:
    """The names of the functions that the statement itself defines."""
    names = (
        node.child_by_field_name("name")
        for node in _walk(root)
        if node.type == "function_definition"
    )
    return frozenset(name.text.decode() for name in names if name and name.text)


def _walk(node: Node) -> Iterator[Node]:
    for child in node.named_children:
        yield child
        yield from _walk(child)


def _commands(node: Node) -> Iterator[Node]:
    """The simple commands of a statement; those inside substitutions are its arguments."""
    if node.type == "command":
        yield node
    elif not node.type.endswith(("substitution", "string", "heredoc_body")):
        for child in node.named_children:
            yield from _commands(child)


def _acts_without_command(node: Node) -> bool:
    return node.type in (
        "variable_assignment", "variable_assignments", "declaration_command", "unset_command",
        "test_command", "list", "for_statement", "c_style_for_statement", "while_statement",
        "if_statement", "case_statement", "function_definition", "redirected_statement",
    ) or any(child.type == "((" for child in node.children)  # fmt: skip


def _check_command(node: Node, defined: frozenset[str]) -> Compliance:
    name = node.child_by_field_name("name")
    if name is None or name.text is None:
        return broken("no command")
    if any(child.type == "subshell" for child in node.children):
        return broken("does not parse as shell")  # `ls (x)`: the grammar is laxer than Bash
    word = name.text.decode()
    arguments = [a.text.decode() for a in node.children_by_field_name("argument") if a.text]
    fed = word == "yes" and node.parent is not None and node.parent.type == "pipeline"
    if not (fed or word in defined or _is_plausible(word, arguments)):
        return broken(f"no command: {word[:30]!r}")
    if word not in known_commands().text_takers and _has_prose(arguments):
        return broken("prose after the command")
    return KEPT


def _is_plausible(word: str, arguments: list[str]) -> bool:
    """Whether somebody would type `word` as a command before these arguments."""
    if word in _words() or word.startswith(("$", "`", '"$', '"/', '"./', "'/", "'./", "\\")):
        return True
    if _PATH.fullmatch(word):
        return word[0] in "./~$" or word[0].islower()
    if not _WORD.fullmatch(word) or word.endswith("."):
        return False
    if _COMPOUND_WORD.fullmatch(word):
        return True
    return bool(arguments) and bool(_TECHNICAL.match(arguments[0]))


def _has_prose(arguments: Sequence[str]) -> bool:
    """Whether the arguments go on as a sentence.

    Signs of one: a dash, an emoji, a word joined to the next by "and", a last word with
    its full stop, 3 words with a function word. What follows an option is its value.
    """
    free = [a for before, a in pairwise(["", *arguments]) if not re.match(r"-{1,2}\w", before)]
    if any(a in _DASHES or _holds_emoji(a) for a in free):
        return True
    if arguments and arguments[-1] in free and _FINISHED_WORD.fullmatch(arguments[-1]):
        return True
    return _is_joined(arguments) or _is_worded(arguments)


def _holds_emoji(argument: str) -> bool:
    return argument[0] not in "\"'" and any(unicodedata.category(c) == "So" for c in argument)


def _is_joined(arguments: Sequence[str]) -> bool:
    """Whether words stand on both sides of an "and", or two or more after a hyphen."""
    plain = [bool(_PLAIN_WORD.fullmatch(a)) for a in arguments]
    return any(
        (argument in _JOINING_WORDS and k > 0 and arguments[k - 1][0] != "-" and any(after[:1]))
        or (argument == "-" and len(after) >= 2 and all(after[:2]))
        for k, argument in enumerate(arguments)
        if (after := plain[k + 1 :])
    )


def _is_worded(arguments: Sequence[str]) -> bool:
    """Whether 3 plain words stand together and a function word is among them."""
    run: list[str] = []
    for argument in [*arguments, "|"]:
        if _PLAIN_WORD.fullmatch(argument):
            run.append(argument.strip(".,;:!").lower())
            continue
        if len(run) >= 3 and not _FUNCTION_WORDS.isdisjoint(run):
            return True
        run = []
    return False
