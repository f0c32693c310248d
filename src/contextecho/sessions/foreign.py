"""Naming the formats that this version does not read, so that the error can say so.

The one thing to know: these are hints for a message, never used to read anything.
"""

from __future__ import annotations

import re
from typing import Final

_SIGNS: Final = (
    ("a Codex CLI rollout", (rb'"type"\s*:\s*"(session_meta|response_item|event_msg)"',)),
    ("a Copilot CLI event log", (rb'"type"\s*:\s*"session\.start"',)),
    ("a pi session", (rb'"type"\s*:\s*"session"', rb'"(modelId|thinkingLevel)"')),
    ("a Gemini CLI session", (rb'"projectHash"', rb'"sessionId"')),
    ("an OpenCode export", (rb'"info"\s*:', rb'"ses_')),
    ("a Gemini API history", (rb'"role"\s*:\s*"(user|model)"', rb'"parts"\s*:\s*\[')),
    ("an OpenCode storage file", (rb'"(sessionID|projectID)"',)),
    (
        "OpenHands events",
        (rb'"source"\s*:\s*"(user|agent|environment)"', rb'"(action|observation)"'),
    ),
    ("a SWE-agent trajectory", (rb'"(trajectory|history)"\s*:\s*\[',)),
)


def looks_like(head: bytes) -> str | None:
    """The format that the first bytes of a file look like, in words."""
    for name, signs in _SIGNS:
        if all(re.search(sign, head) for sign in signs):
            return name
    if b"\x00" in head:
        return "a binary file"
    return None
