"""What else changed in a session, besides whatever a screen is looking for.

The one thing to know: each line is a fact from the file, counted; none is an
explanation. The task itself changes in every long session and cannot be counted,
so it is named wherever there is more than one prompt.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from contextecho.counting import counted
from contextecho.scoring.voices import Utterance
from contextecho.sessions import CompactionKind, Kind, Session, Speaker, Turn

LONG_PAUSE = 6 * 3600.0  # seconds; after it somebody probably resumed the session
MUCH = 0.10  # share of letters that are not Latin, or change of it
_LATIN_END = "\u0250"  # code points below are Latin letters, with their accents

_NAMES = {
    "version": "client version",
    "mode": "mode",
    "personality": "declared personality",
    "language": "language of the prompts",
}


def confounders_of(session: Session, spoken: Sequence[Utterance]) -> Iterator[str]:
    """One line each; `spoken` are the model's own messages, in order."""
    if session.prompts > 1:
        yield "the tasks change within any long session"
    yield from _models(session, spoken)
    turns = [utterance.turn for utterance in spoken]
    for field, name in _NAMES.items():
        values = [getattr(u.circumstances.conditions, field) for u in spoken]
        yield from _changes(name, values, turns)
    yield from _compactions(session)
    pauses = _pauses(turns)
    if pauses:
        yield f"{counted(pauses, 'pause')} of more than six hours"
    yield from _letters([utterance.text for utterance in spoken])
    if session.parent is not None:
        yield "it is the session of a sub-agent, whose prompts another model wrote"
    if session.sidechains:
        yield f"{counted(len(session.sidechains), 'sub-agent')}, whose words are left out"
    if any(turn.abandoned for turn in session.turns):
        yield "a rewind left a branch behind, which is left out"


def _models(session: Session, spoken: Sequence[Utterance]) -> Iterator[str]:
    """Where the model changes: between the texts, or else between any of its messages."""
    values = [u.circumstances.conditions.model for u in spoken]
    found = tuple(_changes("model", values, [u.turn for u in spoken]))
    if not found:
        turns = [turn for turn in session.turns if _is_models(turn)]
        found = tuple(_changes("model", [turn.model for turn in turns], turns))
    if not found and len(session.models) > 1:
        found = (f"several models took part: {', '.join(session.models)}",)
    yield from found


def _is_models(turn: Turn) -> bool:
    by_model = turn.kind in (Kind.ASSISTANT, Kind.TOOL_CALL) and turn.speaker is Speaker.MODEL
    return by_model and not turn.abandoned


def _compactions(session: Session) -> Iterator[str]:
    """What the client did to the context, each kind by its name."""
    kinds = [compaction.kind for compaction in session.compactions]
    if CompactionKind.CONTINUATION in kinds:
        yield "it begins with the summary of a conversation that it does not hold"
    for kind in (CompactionKind.FULL, CompactionKind.MICRO):
        if kind in kinds:
            yield f"{counted(kinds.count(kind), kind.value)} of the context"


def _changes(what: str, values: Sequence[str | None], turns: Sequence[Turn]) -> Iterator[str]:
    """How often a value changes, and where first."""
    known = [(v, t) for v, t in zip(values, turns, strict=True) if v is not None]
    switches = [(a, b, turn) for (a, _), (b, turn) in itertools.pairwise(known) if a != b]
    if switches:
        a, b, turn = switches[0]
        yield f"the {what} changes {_times(len(switches))}, first at step {turn.step}: {a} to {b}"


def _pauses(turns: Sequence[Turn]) -> int:
    times = [turn.time for turn in turns if turn.time is not None]
    return sum(b - a > LONG_PAUSE for a, b in itertools.pairwise(times))


def _letters(texts: Sequence[str]) -> Iterator[str]:
    """Whether the wording patterns, which are English, can be trusted at both ends."""
    third = max(1, len(texts) // 3)
    early, late = _foreign(texts[:third]), _foreign(texts[-third:])
    if abs(early - late) >= MUCH:
        yield "the language changes: the share of letters that are not Latin differs at the ends"
    elif max(early, late) >= MUCH:
        yield "much of it is not in Latin letters, and the wording patterns are English"


def _foreign(texts: Sequence[str]) -> float:
    letters = [c for text in texts for c in text if c.isalpha()]
    return sum(c >= _LATIN_END for c in letters) / len(letters) if letters else 0.0


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"
