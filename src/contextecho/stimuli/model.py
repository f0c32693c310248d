"""What a model is asked: stimuli in batteries, each a versioned, hashed data file."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class StimulusKind(StrEnum):
    """What an answer is for, and so who scores it."""

    PROBE = "probe"  # register judge, fingerprint
    STRESSOR = "stressor"  # deterministic compliance, length
    NEGATIVE_CONTROL = "negative_control"  # must not move


class Stimulus(msgspec.Struct, frozen=True, kw_only=True):
    """One question in all its wordings; `wordings[0]` is the verbatim one."""

    id: str
    category: str
    kind: StimulusKind
    wordings: tuple[str, ...]
    check: str | None = None  # compliance check of a stressor: "S1".."S4"
    answers: tuple[str, ...] = ()  # of a negative control: one of them stands in a right reply


class Battery(msgspec.Struct, frozen=True, kw_only=True):
    """A named, ordered set of stimuli from one data file.

    `framing` is put before each wording, with a blank line between (paper,
    section 2.2); stressors and bare batteries have none. Every stimulus of a
    battery has the same number of wordings.
    """

    id: str
    version: str
    licence: str
    source: str
    sha256: str  # of the data file's bytes, followed by those of each file it takes from
    stimuli: tuple[Stimulus, ...]
    framing: str | None = None

    def ask(self, stimulus: Stimulus, wording: int, *, framed: bool = True) -> str:
        """The text sent: framing, unless it is not wanted, and wording."""
        text = stimulus.wordings[wording]
        return f"{self.framing}\n\n{text}" if framed and self.framing else text
