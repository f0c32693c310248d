"""The study whose cost is counted, and the least that its prompts can take at a provider."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import msgspec

from contextecho.contexts import Arm, Request
from contextecho.models import wire_body
from contextecho.stimuli import Battery, Stimulus, StimulusKind
from contextecho.studies import Plan
from servers.caching import Policy, tokens_of
from store.plans import make_plan

ARMS = (Arm.CONTROL, Arm.SESSION, Arm.SESSION_ANCHOR)
TARGETS = {
    "anthropic": "anthropic/claude-sonnet-4-6",
    "openai": "openai/gpt-4.1",
    "openai-5.6": "openai/gpt-5.6",
    "google": "google/gemini-2.5-pro",
    "deepseek": "deepseek/deepseek-flash",
}


def study(
    target: str, *, positions: int, probes: int, wordings: int, chars: int, arms: int = len(ARMS)
) -> Plan:
    """Every probe in every wording, in each arm at each position."""
    battery = Battery(
        id="probes",
        version="1",
        licence="CC0-1.0",
        source="made up",
        sha256="b" * 64,
        stimuli=tuple(
            Stimulus(
                id=f"C{probe:02}",
                category="coding-self",
                kind=StimulusKind.PROBE,
                wordings=tuple(
                    f"{probe}.{wording}: would you say that you like what you do here?"
                    for wording in range(wordings)
                ),
            )
            for probe in range(probes)
        ),
    )
    return make_plan(
        targets=(target,),
        positions=positions,
        arms=ARMS[:arms],
        batteries=(battery,),
        paraphrases=wordings,
        prefix_chars=chars,
    )


def bodies(plan: Plan) -> Iterator[tuple[Request, bytes]]:
    """Every request and its bytes, position by position and arm by arm."""
    for cell in plan.cells:
        request = plan.request(cell)
        yield request, wire_body(request)


def floor_of(plan: Plan, policy: Policy) -> float:
    """Tokens that must be prefilled or written: each prefix as often as its cache needs it.

    In closed form from the sizes of the requests, without a cache: the first request of a
    prefix whole (with DeepSeek the first two), of each other what is beyond the prefix, or
    beyond its last whole step.
    """
    total = 0.0
    whole = 2 if policy.how == "units" else 1
    for _, group in groupby(bodies(plan), key=lambda pair: pair[0].context.sha256):
        for number, (_, body) in enumerate(group):
            before, all_of_it = tokens_of(msgspec.json.decode(body), policy)
            kept = before // policy.step * policy.step if before >= policy.least else 0
            total += all_of_it if number < whole else all_of_it - kept
    return total
