"""The simulated target and the simulated judge: a known truth for the whole pipeline.

The target answers from a declared `SimulatedProcess`. It is told which context
belongs to which arm (a real model must find out for itself), and its answers
depend on the seed and the request's key only. The judge reads the register
level back from the sentences that the target is known to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from contextecho.contexts import Arm, EstimateCounter, Request, context_tokens
from contextecho.errors import UsageError
from contextecho.models.model import (
    Answer,
    Failed,
    FailureKind,
    Model,
    Refusal,
    Reply,
    Truncated,
    Usage,
)
from contextecho.models.simulated.process import SimulatedProcess, parse_process, parse_settings
from contextecho.models.simulated.sentences import load_sentences
from contextecho.stimuli import Stimulus
from contextecho.studies import Plan

_TOKENS = EstimateCounter()
JUDGE_ID = "simulated/judge"


class SimulatedModel(Model):
    """Answers as its process declares, on the contexts and questions of one plan."""

    free = True
    max_concurrency: int | None = None
    notes: tuple[str, ...] = ("simulated: a declared response process, not a language model",)

    def __init__(
        self,
        process: SimulatedProcess,
        arms: Mapping[str, tuple[Arm, str]],
        questions: Mapping[str, Stimulus],
        target: str = "simulated",
    ) -> None:
        """`arms` says arm and position by `Context.sha256`; `questions` the stimulus by text."""
        self.id = target
        self.process = process
        self._arms = arms
        self._questions = questions
        self._prefix_tokens: dict[str, int] = {}

    @classmethod
    def for_plan(
        cls, plan: Plan, process: SimulatedProcess | None = None, *, target: str = "simulated"
    ) -> Self:
        """A target that knows a plan; without `process`, the one that `target` declares."""
        if process is None:
            process = parse_process(target.partition("/")[2])
        # By row turn, not by label: labels are numbered anew in each plan, and a reply may not
        # depend on the plan that asked first.
        turns = {position.label: str(position.row_turn) for position in plan.positions}
        arms: dict[str, tuple[Arm, str]] = {}
        for cell in plan.cells:
            arms.setdefault(cell.prefix, (cell.arm, turns[cell.position]))
        questions = {
            battery.ask(stimulus, wording, framed=plan.study.framing): stimulus
            for battery in plan.batteries.values()
            for stimulus in battery.stimuli
            for wording in range(len(stimulus.wordings))
        }
        return cls(process, arms, questions, target)

    async def answer(self, request: Request) -> Reply:
        """Answer one request; one that is not of the plan is a bad request."""
        place = self._arms.get(request.context.sha256)
        stimulus = self._questions.get(request.ask[-1].text)
        if place is None or stimulus is None:
            return Failed(
                kind=FailureKind.BAD_REQUEST,
                message="the simulated target was not told of this context or question",
            )
        text = self._text(stimulus, *place, request.key)
        return self._fate(text, request)

    def _text(self, stimulus: Stimulus, arm: Arm, position: str, key: str) -> str:
        process, sentences = self.process, load_sentences()
        pick = process.unit("variant", key)
        if stimulus.check is not None:
            replies = sentences.stressors[stimulus.check]
            return _choose(replies.kept if process.obeys(arm, key) else replies.broken, pick)
        if stimulus.answers:
            return _choose(sentences.factual, pick).format(answer=stimulus.answers[0])
        expected = process.expected_score(arm, position, stimulus.id, stimulus.category, key)
        opening = _choose(sentences.levels[process.score(expected, key)], pick)
        start = int(process.unit("start", key) * len(sentences.elaborations))
        return sentences.at_length(opening, process.reply_length(arm, key), start)

    def _fate(self, text: str, request: Request) -> Reply:
        """The reply that carries a text: mostly an answer, sometimes one of the other three."""
        process, draw = self.process, self.process.unit("fate", request.key)
        if draw < process.refusal:
            text = load_sentences().refusal
            return Refusal(text=text, **self._told("refusal", request, text))
        if draw < process.refusal + process.empty:
            return Failed(
                kind=FailureKind.EMPTY,
                message="the model wrote no visible text",
                **self._told("stop", request, ""),
            )
        if draw < process.refusal + process.empty + process.truncation:
            text = text[: len(text) // 2]
            return Truncated(text=text, **self._told("length", request, text))
        return Answer(text=text, **self._told("stop", request, text))

    def _told(self, reason: str, request: Request, text: str) -> dict[str, Any]:
        prefix = request.context.sha256
        if prefix not in self._prefix_tokens:
            self._prefix_tokens[prefix] = context_tokens(request.context, _TOKENS)
        asked = sum(_TOKENS.count(message.text) for message in request.ask)
        usage = Usage(input=self._prefix_tokens[prefix] + asked, output=_TOKENS.count(text))
        return {"stop_reason": reason, "usage": usage, "served_model": self.id}

    async def close(self) -> None:
        """Nothing to release."""


class SimulatedJudge(Model):
    """Reads the level of a simulated reply, off by one at the declared error rate."""

    free = True
    max_concurrency: int | None = None
    notes: tuple[str, ...] = ("simulated: reads scores from known sentences, judges nothing else",)

    def __init__(self, *, error: float = 0.0, seed: int = 0, target: str = JUDGE_ID) -> None:
        """`error` is the probability that a score is a neighbouring one."""
        if not 0 <= error <= 1:
            raise UsageError("the simulated judge's error rate is not between 0 and 1")
        self.id = target
        self._error = error
        self._draws = SimulatedProcess(seed=seed)

    @classmethod
    def parse(cls, target: str) -> Self:
        """The judge that `simulated/judge` or `simulated/judge,error=0.1` names."""
        settings = parse_settings(target.removeprefix(JUDGE_ID))
        try:
            error, seed = float(settings.pop("error", 0)), int(settings.pop("seed", 0))
        except ValueError:
            raise UsageError(f"{target!r}: error and seed are numbers") from None
        if settings:
            raise UsageError(f"{target!r}: the simulated judge knows only error and seed")
        return cls(error=error, seed=seed, target=target)

    async def answer(self, request: Request) -> Reply:
        """Judge one reply; a text without a known sentence gets no score."""
        level = load_sentences().level_of(request.ask[-1].text)
        if level is None:
            text = "This reply holds none of the sentences that the simulated target says."
        else:
            score = self._misread(level, request.key)
            verdict = {"reason": f"an opening of level {score}", "score": score}
            text = msgspec.json.encode(verdict).decode()
        return Answer(text=text, stop_reason="stop", served_model=self.id)

    def _misread(self, level: int, key: str) -> int:
        if self._draws.unit("error", key) >= self._error:
            return level
        if level in (0, 3):
            return abs(level - 1)  # 0 is read as 1, 3 as 2
        return level + (1 if self._draws.unit("side", key) < 0.5 else -1)

    async def close(self) -> None:
        """Nothing to release."""


def _choose(variants: tuple[str, ...], pick: float) -> str:
    return variants[int(pick * len(variants))]
