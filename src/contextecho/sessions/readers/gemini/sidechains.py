"""Sub-agents' chats, which lie in a folder of their parent's id; here they are only counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contextecho.own_files import refuse_endless
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.model import Sidechain
from contextecho.sessions.readers.gemini.log import is_message
from contextecho.untrusted import make_visible


def parent_of(path: Path) -> str | None:
    """The id of the session whose sub-agent wrote this file, as its folder says."""
    folder = path.absolute().parent.name
    return None if folder in ("", "chats") else make_visible(folder)


def sidechains_below(path: Path, session_id: str) -> Iterator[Sidechain]:
    """The sub-agents whose chats lie beside this session's in a folder of its id."""
    if Path(session_id).name != session_id:
        return
    for found in sorted((path.parent / session_id).glob("*.jsonl")):
        messages, models = set[str](), dict[str, None]()
        try:
            refuse_endless(found)
            with found.open("rb") as file:
                for line in file:
                    _count(decode_json(line), messages, models)
        except OSError:
            continue
        if messages:
            name = make_visible(found.stem)
            yield Sidechain(agent_id=name, path=found, records=len(messages), models=tuple(models))


def _count(value: Any, messages: set[str], models: dict[str, None]) -> None:
    if is_message(value):
        messages.add(value["id"])
        if isinstance(value.get("model"), str):
            models[value["model"]] = None
