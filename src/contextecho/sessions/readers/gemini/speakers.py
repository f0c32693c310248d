"""Who spoke: the human, the client, or the summariser, in what is sent as the user's.

The one thing to know: the client sends its own texts under the role `user` and marks
none of them: the environment, the expansion of a command, files named with `@`,
output of the human's own shell lines, the editor's state, the summary of a compression.
Where it keeps what was shown on the screen (`displayContent`), that is what was typed;
else only the patterns here tell.

Decisions, where one could choose otherwise:

- a command that is expanded and sent ("/init") is the human's act, its expansion the
  client's; a command that is not sent to the model is the client's altogether.
- a shell line typed behind `!` is run by the client and not said to the model: client.
- "Please continue." to the letter is what the client sends when the model is to go on.
"""

from __future__ import annotations

import re
from typing import Final

from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.model import Kind, Speaker

CANNED: Final = frozenset(
    {
        "Got it. Thanks for the additional context!",
        "Got it. Thanks for the context!",
        "Binary content received.",
        "Binary content received. Proceeding with analysis.",
        "[The previous response was interrupted before it completed.]",
    }
)
"""Answers that the client writes in the model's name."""

_SUMMARY = re.compile(
    r"\s*(?:<scratchpad>.*?</scratchpad>\s*)?(?:```\w*\s*)?<state_snapshot>", re.DOTALL
)
_CONTEXT = re.compile(
    r"\s*(?:<session_context>|This is the Gemini CLI\. We are setting up the context"
    r"|Okay, just setting up the context for our chat\.)"
)
_WORKSPACE = re.compile(
    r"(?:Workspace Directories:\*\*[^\S\n]*\n[^\S\n]*- "
    r"|currently working in the directory: )([^\n]+)"
)
_CLIENT_TEXT = re.compile(
    r"""\s*(?:
        (?:System:\ )?Please\ continue\.\s*\Z
      | System:\ Potential\ loop\ detected
      | I\ ran\ the\ following\ shell\ command:
      | Here\ is\ (?:the\ user's|a\ summary\ of\ changes\ in\ the\ user's)\ editor\ context
      | You\ are\ an\ AI\ agent\ that\ brings\ the\ power\ of\ Gemini\ directly
      | \[?Request\ cancelled\.?\]?\s*\Z
      | /(?:about|auth|bug|chat|clear|compress|copy|dir|directory|docs|editor|extensions|help|hooks
          |ide|init|mcp|memory|model|permissions|plan|privacy|quit|restore|resume|rewind|settings
          |setup-github|skills|stats|terminal-setup|theme|tools|vim)(?:\s|\Z)
    )""",
    re.VERBOSE,
)
_SHELL = re.compile(r"\s*I ran the following shell command:")
_INJECTED = re.compile(
    r"<hook_context>.*?(?:</hook_context>|\Z)"
    r"|--- Content from referenced files ---.*?(?:--- End of content ---|\Z)",
    re.DOTALL,
)
_STEERING = re.compile(r"\s*User steering update:\s*<user_input>")
_STEERING_END: Final = "</user_input>"


def is_summary(text: str) -> bool:
    """Whether this is the summary that took the place of the conversation before it."""
    return _SUMMARY.match(text) is not None


def is_context(text: str) -> bool:
    """Whether this is the client's description of the environment, which opens a session."""
    return _CONTEXT.match(text) is not None


def is_own_text(text: str) -> bool:
    """Whether this is a text of the client's that stands alone: no part after it belongs to it."""
    return is_context(text) or is_summary(text) or _SHELL.match(text) is not None


def workspace(text: str) -> str | None:
    """The first workspace folder that the client's description of the environment names."""
    found = _WORKSPACE.search(text) if is_context(text) else None
    return found.group(1).strip() if found else None


def speak(text: str, shown: str | None, *, beside_results: bool, images: int = 0) -> list[Piece]:
    """The pieces of a text sent as the user's: the human's words, then the client's.

    `shown` is what the client showed of it on the screen, None where it kept nothing apart;
    `beside_results` says that tool results are sent with it: then it is the client's, but for
    steering.
    """
    if is_summary(text):
        return [Piece(Kind.SUMMARY, Speaker.SUMMARISER, text)]
    words, injected = _divide(text, shown, beside_results=beside_results)
    pieces = []
    if words or (images and not injected):
        pieces.append(Piece(Kind.USER, Speaker.HUMAN, words, images=images))
    if injected.strip():
        kept = 0 if pieces else images
        pieces.append(Piece(Kind.USER, Speaker.HARNESS, injected, images=kept))
    return pieces


def _divide(text: str, shown: str | None, *, beside_results: bool) -> tuple[str, str]:
    """The human's words, and what the client put in their place or around them."""
    steering = _STEERING.match(text)
    if steering:
        words, _, rest = text[steering.end() :].partition(_STEERING_END)
        return words.strip(), rest
    if shown is not None:
        words = shown.strip()
        return words, text.lstrip().removeprefix(words) if words else text
    if beside_results or is_context(text) or _CLIENT_TEXT.match(text):
        return "", text
    injected = "\n".join(found.group() for found in _INJECTED.finditer(text))
    return _INJECTED.sub("\n", text).strip(), injected
