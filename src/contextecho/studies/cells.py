"""Every cell of a plan, made when it is looked at: a plan of a million is as small as its axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple, overload

from contextecho.contexts import Arm
from contextecho.studies.model import Cell


class Place(NamedTuple):
    """Where a question is asked: an arm at a position, and the prefix that this makes."""

    position: str  # label
    arm: Arm
    prefix: str  # Context.sha256


class Question(NamedTuple):
    """What is asked there: one wording of a stimulus."""

    battery: str
    stimulus: str
    paraphrase: int


class Cells(Sequence[Cell]):
    """All combinations of target, place, question and replicate, the last one fastest."""

    def __init__(
        self,
        study: str,
        session: str,
        *,
        targets: Sequence[str],
        places: Sequence[Place],
        questions: Sequence[Question],
        replicates: int,
    ) -> None:
        """Places that share a prefix stand together, so that their cells do."""
        self._study = study
        self._session = session
        self._targets = targets
        self._places = places
        self._questions = questions
        self._replicates = replicates
        self._ordinals = range(len(targets) * len(places) * len(questions) * replicates)

    def __len__(self) -> int:
        return len(self._ordinals)

    def __iter__(self) -> Iterator[Cell]:
        axes = self._targets, self._places, self._questions, range(self._replicates)
        for target, place, question, replicate in product(*axes):
            yield self._cell(target, place, question, replicate)

    @overload
    def __getitem__(self, index: int) -> Cell: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Cell, ...]: ...
    def __getitem__(self, index: int | slice) -> Cell | tuple[Cell, ...]:
        if isinstance(index, slice):
            return tuple(map(self.__getitem__, self._ordinals[index]))
        rest, replicate = divmod(self._ordinals[index], self._replicates)
        rest, question = divmod(rest, len(self._questions))
        target, place = divmod(rest, len(self._places))
        return self._cell(
            self._targets[target], self._places[place], self._questions[question], replicate
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _cell(self, target: str, place: Place, question: Question, replicate: int) -> Cell:
        return Cell(
            study=self._study,
            target=target,
            session=self._session,
            position=place.position,
            arm=place.arm,
            battery=question.battery,
            stimulus=question.stimulus,
            paraphrase=question.paraphrase,
            replicate=replicate,
            prefix=place.prefix,
        )
