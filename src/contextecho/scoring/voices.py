"""The model's own messages in a session, each in the voice and the circumstances it was said.

The unit is a joined assistant message of the main thread with visible text of the
model's own (formats, section 9); where a client declares a part of it a commentary and
another final (Codex), each is a unit of its own. Final answers and commentary between
tool calls are two voices and never mixed: early answers against late commentary would
look like drift.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import groupby

import msgspec

from contextecho.scoring.features import Features, measure_features
from contextecho.sessions import Circumstances, Kind, Session, Speaker, Turn, circumstances_of


class Voice(StrEnum):
    """Where in a turn the model speaks."""

    FINAL = "final"  # the message calls no tool: what the user is told at the end
    COMMENTARY = "commentary"  # a remark beside a tool call


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the model with its features."""

    voice: Voice
    turn: Turn  # its first text
    circumstances: Circumstances  # of its first text
    text: str
    features: Features


def utterances_of(session: Session) -> Iterator[Utterance]:
    """The model's own messages, in order. Reads the session's text once."""
    around = zip(session.turns, circumstances_of(session), strict=True)
    spoken = [
        (turn, circumstances)
        for turn, circumstances in around
        if turn.kind is Kind.ASSISTANT and turn.speaker is Speaker.MODEL and not turn.abandoned
    ]
    contents = session.contents([turn for turn, _ in spoken])
    pieces = [(*said, content) for said, content in zip(spoken, contents, strict=True)]
    for (_, final), group in groupby(pieces, key=lambda piece: (piece[0].message, piece[0].final)):
        turns, circumstances, texts = zip(*group, strict=True)
        text = "\n\n".join(content.text for content in texts).strip()
        if text:
            yield Utterance(
                voice=Voice.FINAL if final else Voice.COMMENTARY,
                turn=turns[0],
                circumstances=circumstances[0],
                text=text,
                features=measure_features(text),
            )
