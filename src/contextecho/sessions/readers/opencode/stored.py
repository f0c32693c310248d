"""How a database keeps a message: in rows of two tables, or whole in one.

The one thing to know: a session's messages are in `message`, each with its parts in
`part`; later clients keep them in `session_message`, in other words, which are put here
into those of the other. Where a session is in both, the first are read: they hold more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from contextecho.sessions.building.fields import object_in, objects_in, text_in, under
from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.readers.opencode.pieces import Values

if TYPE_CHECKING:
    import sqlite3

_IN_ORDER: Final = "WHERE session_id = CAST(? AS TEXT) ORDER BY time_created, id"

Stored = tuple[bytes, ...]
"""The contents of a message's rows."""


class Form(Protocol):
    """A way to keep messages. Ids are bytes, compared as what they are in the table."""

    @property
    def TABLES(self) -> frozenset[str]:  # noqa: N802
        """The tables in which they are."""
        ...

    def sessions(self, database: sqlite3.Connection) -> set[str]:
        """The ids of the sessions that have a message."""
        ...

    def ids(self, database: sqlite3.Connection, session: str) -> list[Any]:
        """The ids of a session's messages, in their order."""
        ...

    def stored(self, database: sqlite3.Connection, id: Any) -> Stored | None:
        """What is kept of a message; of one that only an index has, nothing."""
        ...

    def value(self, id: Any, stored: Stored) -> tuple[dict[str, Any], int]:
        """The message with its parts, as an export has it, and how many parts are broken."""
        ...


class InParts:
    """Rows of `message` and `part`."""

    TABLES: Final = frozenset({"message", "part"})

    def sessions(self, database: sqlite3.Connection) -> set[str]:
        """The ids of the sessions that have a message."""
        return _sessions_in(database, "message")

    def ids(self, database: sqlite3.Connection, session: str) -> list[Any]:
        """The ids of a session's messages, in their order."""
        return [id for (id,) in database.execute(f"SELECT id FROM message {_IN_ORDER}", (session,))]

    def stored(self, database: sqlite3.Connection, id: Any) -> Stored | None:
        """The message, then its parts in the order of their ids."""
        row = database.execute("SELECT data FROM message WHERE id = CAST(? AS TEXT)", (id,))
        message = row.fetchone()
        parts = database.execute(
            "SELECT data FROM part WHERE message_id = CAST(? AS TEXT) ORDER BY id", (id,)
        )
        return None if message is None else tuple(as_bytes(data) for (data,) in (message, *parts))

    def value(self, id: Any, stored: Stored) -> tuple[dict[str, Any], int]:
        """The message with its parts, as an export has it, and how many parts are broken."""
        info, *parts = map(decode_json, stored or (b"",))
        whole = [part for part in parts if isinstance(part, dict)]
        info = {"id": as_text(id), **info} if isinstance(info, dict) else {}
        return {"info": info, "parts": whole}, len(parts) - len(whole)


class Whole:
    """Rows of `session_message`."""

    TABLES: Final = frozenset({"session_message"})

    def sessions(self, database: sqlite3.Connection) -> set[str]:
        """The ids of the sessions that have a message."""
        return _sessions_in(database, "session_message")

    def ids(self, database: sqlite3.Connection, session: str) -> list[Any]:
        """The ids of a session's messages, in their order."""
        query = f"SELECT id FROM session_message {_IN_ORDER}"
        return [id for (id,) in database.execute(query, (session,))]

    def stored(self, database: sqlite3.Connection, id: Any) -> Stored | None:
        """What kind of message it is, then the message."""
        query = "SELECT type, data FROM session_message WHERE id = CAST(? AS TEXT)"
        row = database.execute(query, (id,)).fetchone()
        return None if row is None else tuple(map(as_bytes, row))

    def value(self, id: Any, stored: Stored) -> tuple[dict[str, Any], int]:
        """The message with its parts, as an export has it; no part is broken by itself."""
        kind, data = (as_text(stored[0]), decode_json(stored[1])) if stored else ("", None)
        message = object_in(data)
        info = {"id": as_text(id), "time": message.get("time")}
        if kind == "assistant":
            names = object_in(message, "model")
            info |= {key: message.get(key) for key in ("finish", "error", "tokens")}
            info |= {"role": "assistant", "mode": text_in(message, "agent")}
            info |= {"providerID": names.get("providerID"), "modelID": names.get("id")}
            return {"info": info, "parts": [{"type": "step-start"}, *_answer(message)]}, 0
        if kind == "compaction":
            info |= {"role": "assistant", "summary": True, "finish": "stop"}
            info["auto"] = {"auto": True, "manual": False}.get(text_in(message, "reason"))
            return {"info": info, "parts": [_text(message, "summary")]}, 0
        texts = {"user": ["text"], "synthetic": ["text"], "system": ["text"]}
        keys = texts.get(kind, ["command", "output"] if kind == "shell" else [])
        parts = [_text(message, key, synthetic=kind != "user") for key in keys]
        role = "user" if keys else kind
        return {"info": info | {"role": role}, "parts": [*parts, *_files(message, "files")]}, 0


def _answer(message: Values) -> Iterator[dict[str, Any]]:
    """The contents of an answer as parts."""
    for content in objects_in(message, "content"):
        yield _tool(content) if content.get("type") == "tool" else content


def _tool(content: Values) -> dict[str, Any]:
    """A tool call as a part."""
    state = object_in(content, "state")
    blocks = objects_in(state, "content")
    texts = [text_in(block, "text") for block in blocks if block.get("type") == "text"]
    return {
        "type": "tool",
        "tool": text_in(content, "name"),
        "callID": text_in(content, "callID") or text_in(content, "id"),
        "state": {
            "status": state.get("status"),
            "input": state.get("input"),
            "output": "\n".join(texts),
            "attachments": [block for block in blocks if block.get("type") != "text"],
            "error": "\n".join(texts) or text_in(state, "error", "message"),
            "time": {"compacted": under(content, "time", "pruned")},
        },
    }


def _text(message: Values, key: str, *, synthetic: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": text_in(message, key), "synthetic": synthetic}


def _files(message: Values, key: str) -> list[dict[str, Any]]:
    return [{"type": "file", "mime": text_in(file, "mime")} for file in objects_in(message, key)]


def _sessions_in(database: sqlite3.Connection, table: str) -> set[str]:
    query = f"SELECT DISTINCT session_id FROM {table} WHERE typeof(session_id) = 'text'"
    return {as_text(id) for (id,) in database.execute(query)}


def as_bytes(value: Any) -> bytes:
    """The bytes of a text or blob, and none of a number or nothing."""
    return value if isinstance(value, bytes) else b""


def as_text(value: Any) -> str:
    """A text as it was read."""
    return as_bytes(value).decode("utf-8", "replace")
