"""The trajectory: what it alone holds of a run, and the run itself where there is no history.

The one thing to know: an answer that could not be parsed, or whose action was refused, is
sent back with an error and asked for again. Such answers stay in the trajectory only. They
are counted and are no steps, since the model never saw them again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from contextecho.sessions.building.chat_parts import text_of
from contextecho.sessions.building.conversation import Piece
from contextecho.sessions.building.fields import text_in
from contextecho.sessions.building.placed import Placed
from contextecho.sessions.building.tally import Tally
from contextecho.sessions.readers.swe_agent.parts import (
    ANSWER_PARTS,
    FIRST_QUERIED,
    is_step,
    query_of,
    step_pieces,
)
from contextecho.sessions.readers.swe_agent.run import Reasoning, Run

_ASKED_AGAIN: Final = "answer sent back and asked for again"


class Steps:
    """Finds the steps that the answers of a history came from, in their order."""

    def __init__(self, found: Iterable[Placed]) -> None:
        """`found` are the elements of the trajectory."""
        self._lines = array("I")
        self._reasoning: dict[int, Reasoning] = {}
        self._actions: list[str] = []
        self._places: dict[str, list[int]] = {}
        self._next = 0
        for placed in found:
            if is_step(placed.value):
                response = text_in(placed.value, "response")
                self._places.setdefault(response, []).append(len(self._lines))
                reasoning = step_pieces(placed.value)[0]
                if reasoning.text:
                    self._reasoning[len(self._lines)] = Reasoning(placed.span, reasoning)
                self._lines.append(placed.line)
                self._actions.append(placed.value["action"])

    def reasoning(self, answer: str, action: str | None, tally: Tally) -> Reasoning | None:
        """What the step of this answer keeps; steps passed over were asked for again.

        In a file edited by hand the text of an answer may differ from its step's; then
        the next step is its own if the action is the same.
        """
        places = self._places.get(answer, [])
        at = bisect_left(places, self._next)
        if at < len(places):
            self.skip(places[at], tally)
        elif self._actions[self._next : self._next + 1] != [action]:
            return None
        self._next += 1
        return self._reasoning.get(self._next - 1)

    def skip(self, end: int | None, tally: Tally) -> None:
        """Count the steps up to `end` (all that are left: `None`) as asked for again."""
        for line in self._lines[self._next : end]:
            tally.add(_ASKED_AGAIN, line)
        self._next = len(self._lines) if end is None else end


def read_steps(found: Sequence[Placed], run: Run, tally: Tally) -> None:
    """Take in a run of which only the steps are kept; `found` are the elements of its array."""
    steps = [placed for placed in found if is_step(placed.value)]
    for placed in found:
        if not is_step(placed.value):
            tally.add("not a step", placed.line)
    taken = list(_taken(steps, tally))
    for placed in steps[:1]:
        _before(placed, run)
    for placed in taken:
        line, span, pieces = placed.line, placed.span, step_pieces(placed.value)
        said: list[Piece | None] = [
            piece if piece.text else None for piece in pieces[:ANSWER_PARTS]
        ]
        run.answer(line, span, said, last=placed is taken[-1], id=f"answer {line}")
        run.observation(line, span, [*[None] * ANSWER_PARTS, pieces[ANSWER_PARTS]])


def _taken(steps: Sequence[Placed], tally: Tally) -> Iterator[Placed]:
    """The steps whose answer was not asked for again."""
    for number, placed in enumerate(steps):
        following = steps[number + 1].value if number + 1 < len(steps) else {}
        if _asks_again(query_of(following), text_in(placed.value, "response")):
            tally.add(_ASKED_AGAIN, placed.line)
        else:
            yield placed


def _asks_again(query: Sequence[dict[str, Any]], response: str) -> bool:
    """Whether a query ends in this answer and the client's error about it."""
    if len(query) < 2 or query[-1].get("role") != "user" or query[-2].get("role") != "assistant":
        return False
    is_error = query[-1].get("message_type") == "user"
    return is_error and text_of(query[-2].get("content"))[0] == response


def _before(first: Placed, run: Run) -> None:
    """What the model was told before the first step."""
    pieces = step_pieces(first.value)
    for number, message in enumerate(query_of(first.value)):
        part = FIRST_QUERIED + number
        if message.get("role") == "assistant" and not message.get("is_demo"):
            return
        run.told(message, first.line, first.span, [*[None] * part, pieces[part]])
