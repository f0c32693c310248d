"""What the client puts into user messages, and what of them a human typed.

The one thing to know: the client writes blocks of its own with the role `user` (instructions,
the environment, skills, interrupts), each with a mark at its beginning; a few stand in front
of the human's words in the same text. What has no known mark is the human's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

REQUEST: Final = "## My request for Codex:"
"""What an editor's extension writes between its context and the human's words."""

_AHEAD: Final = ("# context from my ide setup", "# files mentioned by the user")
_INSTRUCTIONS: Final = "# agents.md instructions"
_END_OF_INSTRUCTIONS: Final = "</INSTRUCTIONS"
_WARNINGS: Final = (
    "warning: the maximum number of unified exec processes",
    "warning: apply_patch was requested via",
    "warning: your account was flagged",
)
_TAG = re.compile(
    r"""<( user_instructions | environment_context | turn_aborted | skill | user_shell_command
         | user_action | subagent_notification | hook_prompt | goal_context | instructions
         | codex_internal_context | extension_context | additional_context
         | recommended_plugins | agents\.md\ instructions\ for | permissions\ instructions
         | collaboration_mode | multi_agent_mode | model_switch | personality_spec
         | apps_instructions | skills_instructions | plugins_instructions
         | realtime_conversation | token_budget | rollout_budget )\b [^>]{0,256}>""",
    re.VERBOSE | re.IGNORECASE,
)
_INK = re.compile(r"\S")
_PICTURE_LABEL = re.compile(r"\s*(?:<image(?:\s[^>]*)?>|</image>|<local_image\b[^>]*>)\s*")
_LONGEST_MARK: Final = 64
_LONGEST_LABEL: Final = 4096
_CWD = re.compile(r"<cwd>([^<]+)</cwd>|^Current working directory: (.+)$", re.MULTILINE)


def split(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in its order, and whether each is the client's; blank ones left out."""
    start, end = _next(text, 0), len(text)
    while start < end:
        after = _end_of_injected(text, start)
        if not after:
            yield text[start:].rstrip(), False
            return
        yield text[start:after].rstrip(), True
        start = _next(text, after)


def split_typed(text: str) -> Iterator[tuple[str, bool]]:
    """The same for a text that was typed: whatever its marks, only an editor's context is not."""
    start = _next(text, 0)
    has_context = text[start : start + _LONGEST_MARK].lower().startswith(_AHEAD)
    at = text.find(REQUEST, start) if has_context else -1
    if at >= 0:
        yield text[start : at + len(REQUEST)], True
        start = _next(text, at + len(REQUEST))
    if start < len(text):
        yield text[start:].rstrip(), False


def is_open(text: str) -> bool:
    """Whether the client's block that begins a text has no end of its own: it may be no block."""
    head = text[:_LONGEST_MARK].lower()
    if head.startswith(_INSTRUCTIONS):
        return not _closed(text, 0, _END_OF_INSTRUCTIONS)
    tag = _TAG.match(text)
    return not _closed(text, 0, f"</{tag[1]}") if tag else True


def is_picture_label(text: str) -> bool:
    """Whether this block only says that a picture stands beside it."""
    return len(text) <= _LONGEST_LABEL and _PICTURE_LABEL.fullmatch(text) is not None


def cwd_in(text: str) -> str | None:
    """The folder that an environment block names; files of old clients say it nowhere else."""
    found = _CWD.search(text) if text.startswith("<environment_context>") else None
    return (found[1] or found[2]).strip() if found else None


def _next(text: str, start: int) -> int:
    """The next position that is not blank."""
    found = _INK.search(text, start)
    return found.start() if found else len(text)


def _end_of_injected(text: str, start: int) -> int:
    """How far the client's block reaches that begins at `start`; 0 if none does."""
    head = text[start : start + _LONGEST_MARK].lower()
    if head.startswith(_AHEAD):
        at = text.find(REQUEST, start)
        return at + len(REQUEST) if at >= 0 else len(text)
    if head.startswith(_INSTRUCTIONS):
        return _after(text, start, _END_OF_INSTRUCTIONS)
    if head.startswith(_WARNINGS):
        return len(text)
    tag = _TAG.match(text, start)
    return _after(text, start, f"</{tag[1]}") if tag else 0


def _after(text: str, start: int, close: str) -> int:
    """Where the closing tag that begins like this ends; without one, the end of the text."""
    return _closed(text, start, close) or len(text)


def _closed(text: str, start: int, close: str) -> int:
    """Where the closing tag that begins like this ends; 0 without one."""
    found = re.compile(re.escape(close) + "[^>]{0,256}>", re.IGNORECASE).search(text, start)
    return found.end() if found else 0
