"""The text of a message's content in ChatGPT's export, and what is left out of it.

The one thing to know: every kind of content has its words under a key of its own. Pictures
and recordings lie in other files of the export, and are counted; what was said in a
recording is there as text.
"""

from __future__ import annotations

from typing import Any, Final

from contextecho.sessions.building.fields import filled, list_in, object_in, objects_in, text_in

_WORDS: Final = ("text", "result", "summary", "content")
_TRANSCRIPT: Final = "audio_transcription"


def kind_of(message: dict[str, Any]) -> str:
    """The kind of content: "text", "code", "thoughts" and others."""
    return text_in(message, "content", "content_type")


def words_of(message: dict[str, Any]) -> tuple[str, int]:
    """The text, and how many pictures and recordings it leaves out."""
    content = object_in(message, "content")
    parts = list_in(content, "parts")
    if not parts:
        text = next((text for key in _WORDS if (text := filled(content, key))), "")
        return text, _pictures(message)
    texts, left_out = [], 0
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("content_type") == _TRANSCRIPT:
            texts.append(text_in(part, "text"))
        else:
            left_out += isinstance(part, dict)
    return "\n".join(text for text in texts if text), left_out


def thoughts_of(message: dict[str, Any]) -> str:
    """The thoughts, each with its heading."""
    return "\n\n".join(
        "\n".join(text for key in ("summary", "content") if (text := text_in(thought, key)))
        for thought in objects_in(message, "content", "thoughts")
    ).strip()


def instructions_of(message: dict[str, Any]) -> str:
    """What the client puts before a conversation: the user's instructions, or what it remembers."""
    content = object_in(message, "content")
    told = object_in(message, "metadata", "user_context_message_data")
    texts = [
        *(text_in(content, key) for key in ("user_profile", "user_instructions")),
        text_in(content, "model_set_context"),
        words_of(message)[0],
    ]
    if not any(text.strip() for text in texts):
        texts = [text_in(told, key) for key in ("about_user_message", "about_model_message")]
    return "\n\n".join(text for text in texts if text.strip())


def _pictures(message: dict[str, Any]) -> int:
    """Pictures that a program drew, and the picture of a screen."""
    drawn = objects_in(message, "metadata", "aggregate_result", "messages")
    screen = object_in(message, "content", "screenshot")
    return sum(text_in(one, "message_type") == "image" for one in drawn) + bool(screen)
