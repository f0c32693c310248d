"""Under which conditions each position lies: what else differs there than how far in it is.

The one thing to know: a model that was switched or a client that was updated between two
positions is no drift, so every contrast is also given for the positions of equal
conditions (`scoring.contrasts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from contextecho.contexts import Position
from contextecho.sessions import Session, conditions_at, tell_apart


def under_conditions(session: Session, positions: Sequence[Position]) -> tuple[Position, ...]:
    """The positions, each with the conditions under which the model last spoke there."""
    conditions = conditions_at(session, [position.line for position in positions])
    return tuple(
        replace(position, conditions=here)
        for position, here in zip(positions, conditions, strict=True)
    )


def condition_notes(positions: Sequence[Position]) -> Iterator[str]:
    """What a plan says where the conditions differ between positions."""
    known = [(p.label, p.conditions) for p in positions if p.conditions is not None]
    words = tell_apart(conditions for _, conditions in known)
    if len(words) > 1:
        places = (
            f"{said} at {', '.join(label for label, its in known if its == conditions)}"
            for conditions, said in words.items()
        )
        yield (
            "not only the distance differs between positions, so contrasts are also given under "
            f"equal conditions: {'; '.join(places)}"
        )
