"""Taking turns out again: messages that turned up twice, answers that were withdrawn.

The one thing to know: only the end of a file can tell which turns these are, so all
that was counted by then (turns, steps, prompts) is counted anew here, once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set

from msgspec.structs import replace

from contextecho.sessions.model import Speaker, Turn


class Removal:
    """Turns to be taken out, and what the numbers and counts of the others become."""

    def __init__(self, turns: Sequence[Turn], gone: Set[int]) -> None:
        """`gone` are numbers of `turns`, of prompts or of words of the model."""
        self._turns = turns
        self._gone = gone
        self._numbers = sorted(gone)
        leaving = [turns[number] for number in self._numbers]
        self._prompts = [turn.prompt for turn in leaving if turn.speaker is Speaker.HUMAN]
        staying = {
            turn.step
            for number, turn in enumerate(turns)
            if turn.speaker is Speaker.MODEL and number not in gone
        }
        spoken = {turn.step for turn in leaving if turn.speaker is Speaker.MODEL}
        self._steps = sorted(spoken - staying)

    def rest(self) -> Iterator[Turn]:
        """The turns that stay, counted anew."""
        for number, turn in enumerate(self._turns):
            if number not in self._gone:
                step, prompt = self.step(turn.step), self.prompt(turn.prompt)
                if (step, prompt) != (turn.step, turn.prompt):
                    turn = replace(turn, step=step, prompt=prompt)
                yield turn

    def step(self, count: int) -> int:
        """A count of steps, without those of which nothing stays."""
        return count - bisect_right(self._steps, count)

    def prompt(self, count: int) -> int:
        """A count of prompts, without those taken out."""
        return count - bisect_right(self._prompts, count)

    def number(self, turn: int) -> int:
        """The number of a turn that stays."""
        return turn - bisect_left(self._numbers, turn)

    def numbers(self, turns: Sequence[int]) -> tuple[int, ...]:
        """The numbers of those of these turns that stay."""
        return tuple(self.number(turn) for turn in turns if turn not in self._gone)
