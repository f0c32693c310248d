"""What a human typed in a Claude Code file, found a second time and without the reader.

The one thing to know: this is half of `count_claude_code`, by the rules of the format notes: text
in the user's name, words inside tool results, and what passed through the client's queue.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

Record = dict[str, Any]
BY_THE_CLIENT = (
    *("[Request interrupted by user]", "[Request interrupted by user for tool use]"),
    *("<command-name>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>"),
    *("<task-notification>", "<teammate-message", "Caveat: The messages below were generated"),
    *("Base directory for this skill:", "Operation stopped by hook", "Stop hook feedback"),
)
UNREADABLE = "message without readable content"
RESUMED = "This session is being continued from a previous conversation"
REFUSED = "The user doesn't want to proceed with this tool use."
ANSWERED = ("User has answered your questions:", "Your questions have been answered:")


def blocks_of(record: Record) -> list[Record]:
    """The blocks of a message; a bare string is a text."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    items = content if isinstance(content, list) else []
    return [{"type": "text", "text": i} if isinstance(i, str) else i for i in items]


def is_blank(block: Record) -> bool:
    """Whether a block of the model says nothing: it is a text of blanks, or no speech at all."""
    if block.get("type") == "text":
        return not (block.get("text") or "").strip()
    return block.get("type") not in ("tool_use", "thinking", "redacted_thinking")


def why_silent(record: Record) -> str:
    """Why a message of the user or the model is no part of the conversation; "" if it is."""
    message = record.get("message")
    if not isinstance(message, dict) or message.get("content") is None:
        return UNREADABLE
    if record["type"] == "user":
        blocks = [b for b in blocks_of(record) if b["type"] != "text" or b["text"].strip()]
        return "" if blocks else "message with nothing but blanks"
    if record.get("isApiErrorMessage"):
        return "API error shown as assistant text"
    if message.get("model") == "<synthetic>":
        return "synthetic assistant text"
    if not all(map(is_blank, blocks_of(record))):
        return ""
    if any(block.get("type") == "fallback" for block in blocks_of(record)):
        return "notice that another model took over"
    return "message with nothing but blanks"


def typed(record: Record, text: str) -> str:
    """What of a text in the user's name a human typed; "" if nothing."""
    words = text
    while front := re.match(
        r"\s*<(ide_\w+|system-reminder|local-command-caveat)[^>]*>.*?</\1>", words, re.DOTALL
    ):
        words = words[front.end() :]
    words = words.strip()
    if record.get("isCompactSummary") or words.startswith((RESUMED, *BY_THE_CLIENT)):
        return ""
    if words == "Warmup" or (words.startswith('{"task_id"') and '"task_type"' in words):
        return ""
    if words.startswith("<command-message>"):
        name = words.split("<command-name>")[1].split("</command-name>")[0]
        args = words.partition("<command-args>")[2].partition("</command-args>")[0]
        return f"{name} {args.strip()}".strip()
    origin = (record.get("origin") or {}).get("kind")
    if origin or record.get("promptSource"):
        return words if origin in ("human", None) else ""
    return "" if record.get("isMeta") or record.get("planContent") else words


def answered(record: Record, block: Record) -> str:
    """What a human said in a tool result: why it was refused, or what was chosen; else ""."""
    text = block.get("content")
    if not isinstance(text, str):
        return ""
    if text.startswith(REFUSED):
        for mark in ("the user said:", "provided the following reason for the rejection:"):
            reason = text.partition(mark)[2].partition("\n\nNote: The user's next message")[0]
            if reason.strip() and not reason.strip().startswith("The user wants to clarify these"):
                return reason.strip()
    if text.startswith(ANSWERED):
        beside = record.get("toolUseResult")
        chosen = list(beside["answers"].values()) if isinstance(beside, dict) else []
        notes = beside.get("annotations") or {} if isinstance(beside, dict) else {}
        chosen += [note["notes"] for note in notes.values() if note.get("notes")]
        return "\n".join(dict.fromkeys(chosen))
    return ""


def said_in_records(records: list[tuple[int, Record]]) -> list[tuple[int, list[str]]]:
    """(line, texts) of each user record with words of a human."""
    said = []
    for line, record in records:
        if record.get("type") != "user" or why_silent(record):
            continue
        texts = []
        pictures = 0
        for block in blocks_of(record):
            if block.get("type") == "text":
                texts.append(typed(record, block["text"]))
            elif block.get("type") == "tool_result":
                texts.append(answered(record, block))
            elif block.get("type") in ("image", "document"):
                pictures += 1
        texts = [text for text in texts if text]
        if texts or (pictures and not record.get("isMeta")):
            said.append((line, texts or [""]))
    return said


def said_in_queue(
    records: list[tuple[int, Record]], elsewhere: Counter[str]
) -> list[tuple[int, list[str]]]:
    """(line of the removal, or of the attachment, text) of what was typed meanwhile.

    `elsewhere` counts the texts of user records: a removed message that was sent after all is
    counted there and not here.
    """
    waiting: list[str] = []
    removed: list[tuple[int, str]] = []
    attached: list[tuple[int, str]] = []
    for line, record in records:
        if record.get("type") == "queue-operation":
            match record.get("operation"):
                case "enqueue":
                    waiting.append(text_of(record.get("content")))
                case "dequeue":
                    if waiting and elsewhere[typed({}, waiting[0])]:
                        elsewhere[typed({}, waiting[0])] -= 1
                    waiting = waiting[1:]
                case "remove" if waiting:
                    removed.append((line, typed({}, waiting.pop(0))))
                case "popAll":
                    waiting = []
        elif record.get("type") == "user":
            for text in (block.get("text") for block in blocks_of(record)):
                if text in waiting:  # sent without a word of its leaving the queue
                    waiting.remove(text)
                    elsewhere[typed({}, text)] -= 1
        elif record.get("type") == "attachment":
            attachment = record["attachment"]
            mode = attachment.get("commandMode", "prompt")
            if attachment["type"] == "queued_command" and mode == "prompt":
                text = typed(attachment, text_of(attachment["prompt"]))
                if text:
                    attached.append((line, text))
    shown = Counter(text for _, text in attached)
    said = [(line, [text]) for line, text in attached]
    for line, text in removed:
        if not text:
            continue
        if shown[text]:
            shown[text] -= 1
        elif elsewhere[text]:
            elsewhere[text] -= 1
        else:
            said.append((line, [text]))
    return said


def occasions(records: list[tuple[int, Record]]) -> dict[str, int]:
    """How many messages were typed, given to the model at work, or said in a tool's result."""
    said = said_in_records(records)
    elsewhere = Counter(text for _, texts in said for text in texts)
    by_line = dict(records)
    kinds = Counter(occasion(by_line[line]) for line, _ in said)
    kinds["steering"] += len(said_in_queue(records, elsewhere))
    return {kind: count for kind, count in kinds.items() if count}


def occasion(record: Record) -> str:
    """On what occasion a human said something in a user record."""
    results = [block for block in blocks_of(record) if block.get("type") == "tool_result"]
    words = [block for block in results if answered(record, block)]
    texts = [block["text"] for block in blocks_of(record) if block.get("type") == "text"]
    if any(typed(record, text) for text in texts) or not words:
        return "steering" if results else "typed"
    return "answer" if text_of(words[0]["content"]).startswith(ANSWERED) else "feedback"


def text_of(content: Any) -> str:
    """A string, or the texts of a list of blocks."""
    if isinstance(content, list):
        return "\n".join(block["text"] for block in content if block.get("text"))
    return content or ""


def human_messages(records: list[tuple[int, Record]]) -> list[tuple[int, list[str]]]:
    """(line, texts) of each message that a human typed, in the order of the file."""
    said = said_in_records(records)
    elsewhere = Counter(text for _, texts in said for text in texts)
    return sorted([*said, *said_in_queue(records, elsewhere)])
