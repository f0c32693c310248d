"""Small OpenCode sessions, message by message, and the four ways in which they are kept.

Names, order and nesting follow the client's sources (anomalyco/opencode,
`packages/opencode/src/session/message-v2.ts`, `session.sql.ts`, `storage/storage.ts`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

Message = dict[str, Any]

_serial = count(1)
_NOT_IN_THE_FIRST = {"slug", "projectID", "directory"}  # keys of a session's record
SCHEMA = """
    CREATE TABLE `project` (
        `id` text PRIMARY KEY, `worktree` text NOT NULL, `vcs` text, `name` text,
        `time_created` integer NOT NULL, `time_updated` integer NOT NULL,
        `time_initialized` integer, `sandboxes` text NOT NULL, `commands` text
    );
    CREATE TABLE `session` (
        `id` text PRIMARY KEY, `project_id` text NOT NULL, `workspace_id` text, `parent_id` text,
        `slug` text NOT NULL, `directory` text NOT NULL, `path` text, `title` text NOT NULL,
        `version` text NOT NULL, `share_url` text, `summary_additions` integer,
        `summary_deletions` integer, `summary_files` integer, `summary_diffs` text,
        `metadata` text, `cost` real DEFAULT 0 NOT NULL,
        `tokens_input` integer DEFAULT 0 NOT NULL, `tokens_output` integer DEFAULT 0 NOT NULL,
        `revert` text, `permission` text, `agent` text, `model` text,
        `time_created` integer NOT NULL, `time_updated` integer NOT NULL,
        `time_compacting` integer, `time_archived` integer,
        CONSTRAINT `fk_session_project` FOREIGN KEY (`project_id`)
            REFERENCES `project`(`id`) ON DELETE CASCADE
    );
    CREATE TABLE `message` (
        `id` text PRIMARY KEY, `session_id` text NOT NULL,
        `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL,
        CONSTRAINT `fk_message_session` FOREIGN KEY (`session_id`)
            REFERENCES `session`(`id`) ON DELETE CASCADE
    );
    CREATE TABLE `part` (
        `id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL,
        `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL,
        CONSTRAINT `fk_part_message` FOREIGN KEY (`message_id`)
            REFERENCES `message`(`id`) ON DELETE CASCADE
    );
    CREATE TABLE `event` (
        `id` text PRIMARY KEY, `aggregate_id` text NOT NULL, `seq` integer NOT NULL,
        `type` text NOT NULL, `data` text NOT NULL
    );
    CREATE TABLE `todo` (
        `session_id` text NOT NULL, `content` text NOT NULL, `position` integer NOT NULL,
        CONSTRAINT `todo_pk` PRIMARY KEY(`session_id`, `position`)
    );
    CREATE INDEX `message_session_time_created_id_idx`
        ON `message` (`session_id`, `time_created`, `id`);
    CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`, `id`);
    CREATE TABLE "migration" (id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL);
"""
"""As 1.18.33 makes them, without the tables and columns that hold no session."""


def session(id: str = "ses_1", **fields: Any) -> dict[str, Any]:
    record = {
        "id": id,
        "slug": "quiet-fox",
        "projectID": "p1",
        "directory": "/work",
        "title": "A title",
        "version": "1.4.3",
        "time": {"created": 1_700_000_000_000, "updated": 1_700_000_900_000},
    }
    return record | fields


def user(*parts: Any, **fields: Any) -> Message:
    info = {"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}}
    return _message(info | fields, parts)


def assistant(*parts: Any, **fields: Any) -> Message:
    """A message of the model; give `step=False` for one that the client made."""
    marked = parts if fields.pop("step", True) is False else ({"type": "step-start"}, *parts)
    info = {
        "role": "assistant",
        "mode": "build",
        "agent": "build",
        "providerID": "p",
        "modelID": "m",
        "tokens": {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 30, "write": 4}},
        "finish": "stop",
        "path": {"cwd": "/work", "root": "/work"},
    }
    return _message(info | fields, marked)


def _message(info: dict[str, Any], parts: Sequence[Any]) -> Message:
    number = next(_serial)
    now = 1_700_000_000_000 + number * 1000
    time = {"created": now} | ({"completed": now + 500} if info["role"] == "assistant" else {})
    info = {"id": f"msg_{number:05}", "time": time} | info
    texts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    named = [
        {"id": f"prt_{next(_serial):05}", "messageID": info["id"]} | part
        if isinstance(part, dict)
        else part
        for part in texts
    ]
    return {"info": info, "parts": named}


def tool(name: str = "bash", call_id: str = "c1", **state: Any) -> dict[str, Any]:
    full = {"status": "completed", "input": {"command": "ls"}, "output": "a.py", "time": {}}
    return {"type": "tool", "tool": name, "callID": call_id, "state": full | state}


def as_export(folder: Path, messages: Sequence[Message], **fields: Any) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps({"info": session(**fields), "messages": messages}, indent=2))
    return path


def as_tree(folder: Path, messages: Sequence[Message], **fields: Any) -> Path:
    record = session(**fields)
    storage = folder / "storage"
    path = storage / "session" / "p1" / f"{record['id']}.json"
    _put(path, record)
    for message in messages:
        info = message["info"] | {"sessionID": record["id"]}
        _put(storage / "message" / record["id"] / f"{info['id']}.json", info)
        for part in message["parts"]:
            _put(storage / "part" / info["id"] / f"{part['id']}.json", part)
    return path


def as_first_tree(folder: Path, messages: Sequence[Message], **fields: Any) -> Path:
    record = {k: v for k, v in session(**fields).items() if k not in _NOT_IN_THE_FIRST}
    below = folder / "project" / "work" / "storage" / "session"
    path = below / "info" / f"{record['id']}.json"
    _put(path, record)
    for message in messages:
        info = message["info"]
        _put(below / "message" / record["id"] / f"{info['id']}.json", info)
        for part in message["parts"]:
            _put(below / "part" / record["id"] / info["id"] / f"{part['id']}.json", part)
    return path


def as_database(folder: Path, messages: Sequence[Message], **fields: Any) -> Path:
    path = folder / "opencode.db"
    fresh = not path.exists()
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    if fresh:
        database.executescript(SCHEMA)
    add_session(database, messages, **fields)
    database.close()
    return path


def add_session(database: sqlite3.Connection, messages: Sequence[Message], **fields: Any) -> None:
    record = session(**fields)
    times = (record["time"]["created"], record["time"]["updated"])
    revert = json.dumps(record["revert"]) if "revert" in record else None
    project = ("p1", "/work", *times, "[]")
    database.execute(
        "INSERT OR IGNORE INTO project (id, worktree, time_created, time_updated, sandboxes)"
        " VALUES (?, ?, ?, ?, ?)",
        project,
    )
    database.execute(
        "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, revert,"
        " time_created, time_updated) VALUES (?, 'p1', ?, 's', ?, 't', ?, ?, ?, ?)",
        (record["id"], record.get("parentID"), "/work", record["version"], revert, *times),
    )
    add_messages(database, record["id"], messages)


def add_messages(database: sqlite3.Connection, session: str, messages: Sequence[Message]) -> None:
    for message in messages:
        info = {k: v for k, v in message["info"].items() if k != "id"}
        id, now = message["info"]["id"], message["info"]["time"]["created"]
        row = (id, session, now, now, json.dumps(info))
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
        for part in message["parts"]:
            data = {k: v for k, v in part.items() if k not in ("id", "messageID")}
            part_row = (part["id"], id, session, now, now, json.dumps(data))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", part_row)
    database.commit()


SHAPES: list[Callable[..., Path]] = [as_export, as_tree, as_first_tree, as_database]


def _put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2))
