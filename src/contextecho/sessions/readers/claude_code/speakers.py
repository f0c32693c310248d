"""Who spoke: the human or the client, in text that the file gives the role `user`.

The one thing to know: about a quarter of the user records in a Claude Code file
were typed by nobody, and most of them carry no flag that says so. Where a newer
client names the origin, that settles it; before, only these patterns do.

Decisions, where one could choose otherwise:

- a custom command or skill ("/review 14") is the human's act and counts as a
  prompt, its text being the command and its arguments; the expanded body that
  follows is the client's. A built-in ("/clear") never reaches the model: client.
- a shell line typed behind `!` is run by the client and not said to the model, even where
  the model then answers to what it printed: client.
- "Implement the following plan" is written by the client after plan mode: client.
- a choice or remark given to a question of the model is the human's, and a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from contextecho.sessions.building.jsontext import decode_json
from contextecho.sessions.model import Speaker
from contextecho.sessions.readers.claude_code.records import Record

ASKING: Final = "AskUserQuestion"
"""The tool that puts the model's questions to the human."""

CONTINUED: Final = "This session is being continued from a previous conversation"

# Blocks that the client puts in front of what the human typed.
_PREAMBLE = re.compile(
    r"\s*<(ide_[a-z_]+|system-reminder|local-command-caveat)\b[^>]*>.*?</\1>\s*", re.DOTALL
)
_CLIENT_TEXT = re.compile(
    r"""(?:
        \[Request\ interrupted(?:\ by\ user (?:\ for\ tool\ use)? \] | :\ the\ session\ ended)
      | \[This\ turn\ ended\ before\ it\ finished\.\]
      | Caveat:\ The\ messages\ below\ were\ generated\ by\ the\ user\ while\ running\ local
      | <(?:local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)
          |task-notification|teammate-message|cross-session-message|user-prompt-submit-hook
          |command-name)\b
      | Operation\ stopped\ by\ hook
      | (?:Stop|SubagentStop|PreToolUse|PostToolUse|UserPromptSubmit)(?::\S+)?\ hook
          \ (?:feedback|blocking)
      | Base\ directory\ for\ this\ skill:
      | Warmup\s*\Z
    )""",
    re.VERBOSE,
)
# What the client makes of a built-in command or a shell line, whoever its origin is.
_RUN_BY_CLIENT = re.compile(
    r"<(command-name|bash-input|bash-stdout|bash-stderr|local-command-[a-z]+)\b[^>]*>.*?</\1>",
    re.DOTALL,
)
_REJECTION = "The user doesn't want to proceed with this tool use."
_REASON = re.compile(
    r"(?:the user said:|provided the following reason for the rejection:)\s*(.*)", re.DOTALL
)
_REJECTION_NOTE: Final = "Note: The user's next message may contain a correction"
_CLARIFY = "The user wants to clarify these questions."  # the client's words, not the human's
_ANSWERED = (
    "User has answered your questions:",
    "Your questions have been answered:",
    "The user answered:",  # where one answer at least was none of those offered
)
_MARKS: Final = tuple(b'"' + mark[:8].encode() for mark in (_REJECTION, *_ANSWERED))
_ANSWER: Final = '"="'
_END_OF_ANSWER = re.compile(r'"(?= user notes:|, "|\. You can now|\. Read the ans)')


def speak(record: Record, text: str) -> tuple[Speaker, str]:
    """Who wrote this text of a user record, and the words that are theirs.

    The client's preamble in front of a human's words is left out of them; text
    that is the client's altogether is given whole.
    """
    by_human = _is_human(record)
    settled = by_human and record.origin is not None and record.origin.kind == "human"
    words = strip_preamble(text)
    if record.is_compact_summary or (words.startswith(CONTINUED) and not settled):
        return Speaker.SUMMARISER, text
    if not words or not by_human:
        return Speaker.HARNESS, text
    if words.startswith("<command-message>"):
        return Speaker.HUMAN, _command_line(words)
    is_clients = _RUN_BY_CLIENT.match(words) if settled else _is_marked(words)
    return (Speaker.HARNESS, text) if is_clients else (Speaker.HUMAN, words)


def _is_marked(words: str) -> bool:
    """Whether the words are in a form that the client writes."""
    return _CLIENT_TEXT.match(words) is not None or _is_task_json(words)


def _is_human(record: Record) -> bool:
    """Whether the flags of a record leave its words to the human, as the client itself judges."""
    if record.is_meta or record.is_visible_in_transcript_only or record.turn_companion:
        return False
    if record.plan_content is not None:
        return False
    if record.origin is not None and record.origin.kind is not None:
        return record.origin.kind == "human"
    return record.prompt_source != "system"


def strip_preamble(text: str) -> str:
    """`text` without the blocks that the client put in front, and without outer blanks."""
    end = 0
    while found := _PREAMBLE.match(text, end):
        end = found.end()
    return text[end:].strip()


def may_hold_words(head: bytes) -> bool:
    """Whether a result that is written like this, from its quote on, can hold words of the human.

    Spares nearly all results the decoding. An escape may stand for any letter.
    """
    return head.startswith(_MARKS) or b"\\u" in head


def was_refused(record: Record, result: str) -> bool:
    """Whether the human refused this call, by the string beside it, where only failures have one.

    The result itself mostly says that it failed; one that does not may be what a tool printed.
    """
    return result.startswith(_REJECTION) and bytes(record.tool_use_result).startswith(b'"')


def words_in_result(record: Record, result: str, *, is_error: bool) -> tuple[str, bool]:
    """What the human said inside a tool result: a reason for refusing, or answers. Else "".

    And whether the record by itself shows that it is so. It does not where answers stand in
    the text alone, which any tool may print: then the call tells (`ASKING`).
    """
    if is_error and result.startswith(_REJECTION):
        return _reason(result), True
    if result.startswith(_ANSWERED):
        given = _given(record)
        said = given or dict.fromkeys(_answers(result))
        return "\n".join(answer.strip() for answer in said if answer.strip()), bool(given)
    return "", False


def _command_line(markup: str) -> str:
    """A custom command as the human typed it: "/name arguments"."""
    name, args = _inside(markup, "command-name"), _inside(markup, "command-args")
    parts = (markup if name is None else name, args or "")
    return " ".join(part.strip() for part in parts if part.strip())


def _inside(markup: str, tag: str) -> str | None:
    """What stands inside the first element of this name; None where none ends."""
    _, _, rest = markup.partition(f"<{tag}>")
    inside, end, _ = rest.partition(f"</{tag}>")
    return inside if end else None


def _reason(result: str) -> str:
    found = _REASON.search(result)
    if found is None or found.group(1).startswith(_CLARIFY):
        return ""
    return found.group(1).partition(_REJECTION_NOTE)[0].strip()


def _answers(result: str) -> Iterator[str]:
    """The answers in the text of a result; one look for an end that is not there is the last."""
    begin = result.find(_ANSWER)
    while begin >= 0 and (end := _END_OF_ANSWER.search(result, begin + len(_ANSWER))):
        yield result[begin + len(_ANSWER) : end.start()]
        begin = result.find(_ANSWER, end.end())


def _given(record: Record) -> dict[str, None]:
    """Choices, then remarks beside them, each once, from the structured side of a result."""
    beside = _fields(decode_json(record.tool_use_result))
    notes = (_fields(about).get("notes") for about in _fields(beside.get("annotations")).values())
    said = (*_fields(beside.get("answers")).values(), *notes)
    return dict.fromkeys(each for each in said if isinstance(each, str))


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_task_json(words: str) -> bool:
    """Whether this is the older notice of a finished task, a JSON object in the queue."""
    if not words.startswith('{"task_id"'):
        return False
    value = decode_json(words.encode("utf-8", "replace"))
    return isinstance(value, dict) and "task_type" in value
