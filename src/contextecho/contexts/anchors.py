"""Anchors: what is put between the prefix and the question to bring a model back.

The one thing to know: the recipes of the first paper are in `data/anchors.yaml`; one of
your own is a file with the same keys, named by its path.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

from contextecho.bundled import read_bundled
from contextecho.contexts.model import Message
from contextecho.errors import DataError, UsageError
from contextecho.own_files import names_data_file, read_data_file
from contextecho.untrusted import one_line

_FORM = "`contextecho anchors show A` prints one in this form"

Words = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A recipe that is put between the prefix and the question."""

    id: str
    title: str
    messages: tuple[Message, ...]  # user, assistant, ...: placement "user"
    system: str  # what is appended to the system prompt: placement "system"
    sha256: str  # of the data file


class _Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    title: str
    messages: Annotated[
        tuple[dict[Literal["user", "assistant"], Words], ...], msgspec.Meta(min_length=1)
    ]
    system: Words


class _Anchors(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    version: str
    licence: str
    source: str
    sha256: str
    recipes: tuple[_Recipe, ...]


def load_anchor(id_or_path: str) -> Anchor:
    """A bundled anchor by its id, or one of your own by the path of its YAML file.

    Raises `UsageError` naming the bundled ones, `DataError` for a file that is no anchor.
    """
    if id_or_path in _bundled():
        return _bundled()[id_or_path]
    if names_data_file(id_or_path):
        return _read(Path(id_or_path))
    raise UsageError(
        f'there is no anchor "{id_or_path}"',
        todo=f"use one of {', '.join(anchor_ids())}, or the path of a .yaml file",
    )


def anchor_ids() -> tuple[str, ...]:
    """Ids of the bundled anchors, in the data file's order."""
    return tuple(_bundled())


def written_anchor(anchor: Anchor) -> str:
    """The anchor as the YAML file that `load_anchor` reads."""
    recipe = {
        "id": anchor.id,
        "title": anchor.title,
        "messages": [{message.role: message.text} for message in anchor.messages],
        "system": anchor.system,
    }
    return yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True, width=100)


@cache
def _bundled() -> dict[str, Anchor]:
    content = read_bundled("contexts", "anchors", _Anchors)
    return {recipe.id: _anchor(recipe, content.sha256) for recipe in content.recipes}


def _read(path: Path) -> Anchor:
    data = read_data_file(path)
    try:
        recipe = msgspec.convert(yaml.load(data.decode(), Loader=yaml.CSafeLoader), _Recipe)
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise DataError(
            f"is not an anchor: {one_line(str(error))}", where=str(path), todo=_FORM
        ) from error
    _check_roles(recipe, path)
    return _anchor(recipe, hashlib.sha256(data).hexdigest())


def _check_roles(recipe: _Recipe, path: Path) -> None:
    """The question follows: roles alternate, and the last word is the assistant's."""
    roles = [role for message in recipe.messages for role in message]
    if roles != ["user", "assistant"] * (len(roles) // 2) or any(
        len(message) != 1 for message in recipe.messages
    ):
        raise DataError(
            "is not an anchor: `messages` must alternate user and assistant, one a message, and "
            "end with the assistant",
            where=str(path),
            todo=_FORM,
        )


def _anchor(recipe: _Recipe, sha256: str) -> Anchor:
    return Anchor(
        id=recipe.id,
        title=recipe.title,
        messages=tuple(
            Message(role=role, text=text)
            for message in recipe.messages
            for role, text in message.items()
        ),
        system=recipe.system,
        sha256=sha256,
    )
