"""What a study's prompts cost with each provider's cache, against the least they can cost.

Run `python benchmarks/prefix_economy.py`. The study has 12 positions x 3 arms x 25 probes x 10
wordings, 30,000 characters a prefix. The whole engine collects it from a simulated provider
(tests/servers/caching.py: least length, steps, marks, lifetime, there only once the first answer
begins) that takes three seconds an answer, on a clock that jumps; no time is measured.

    floor      each prefix as often as the cache must see it, and what no cache could have:
               the questions, and what lies beyond a prefix's last whole step
    ours       tokens that the provider prefilled or wrote to its cache
    reference  the same requests in the reference's way: one after the other with a judge's
               call between, position by position, arm by arm, without marks

Prices are those of the simulator, in fresh input tokens; "cost" is that of the prompts, as a share
of what they cost where nothing is cached. "Bill" has the replies in it, at 50 tokens each.

Exit code 1 when ours is more than 1.03 times the floor, or when the cost is more than 0.15 where
a provider reads its cache for a tenth (Google's dearer reads are shown, and bound by 1.03 times
the cost of the floor).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from contextecho.engine import collect
from contextecho.store import open_store
from contextecho.studies import Plan
from servers.caching import POLICIES, Policy, Simulator
from servers.economy import ARMS, TARGETS, bodies, floor_of, study
from servers.virtual import loop_time, run_virtually, simulated_model

MOST_RATIO = 1.03
MOST_COST = 0.15
CHEAP_READ = 0.1
LATENCY = 3.0
REPLY = "As an assistant I do not like things in the way you do. " * 4  # some 50 tokens
CHARS = 30_000


def main() -> int:
    options = _arguments()
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "DEEPSEEK"):
        os.environ.setdefault(f"{name}_API_KEY", "none-is-sent")
    calls = options.positions * len(ARMS) * options.probes * options.wordings
    print(
        f"{options.positions} positions x {len(ARMS)} arms x {options.probes} probes x"
        f" {options.wordings} wordings: {calls:,} calls on {CHARS:,}-character prefixes"
    )
    print(f"{'':12}{'ours/floor':>11}{'cost':>8}{'bill':>8}   reference: {'/floor':>7}{'cost':>8}")
    missed = [name for name in options.providers if not _row(name, options)]
    print(
        f"targets: ours/floor at most {MOST_RATIO}; cost at most {MOST_COST}"
        f" where a cache reads for {CHEAP_READ}"
    )
    if missed:
        print(f"missed at {', '.join(missed)}", file=sys.stderr)
    return int(bool(missed))


def _row(name: str, options: argparse.Namespace) -> bool:
    """Print a provider's ratios; whether they meet the targets."""
    policy, target = POLICIES[name], TARGETS[name]
    plan = study(
        target,
        positions=options.positions,
        probes=options.probes,
        wordings=options.wordings,
        chars=CHARS,
    )
    ours, floor = _ours(plan, policy), floor_of(plan, policy)
    theirs = _reference(plan, policy)
    ratio, cost = ours.processed / floor, ours.cost / ours.tokens
    bill = (ours.cost + ours.cost_of_replies) / (ours.tokens + ours.cost_of_replies)
    least = (floor * policy.write + (ours.tokens - floor) * policy.read) / ours.tokens
    most = MOST_COST if policy.read <= CHEAP_READ else MOST_RATIO * least
    print(
        f"{name:12}{ratio:>11.3f}{cost:>8.3f}{bill:>8.3f}              "
        f"{theirs.processed / floor:>7.2f}{theirs.cost / theirs.tokens:>8.3f}",
        flush=True,
    )
    return ratio <= MOST_RATIO and cost <= most


def _ours(plan: Plan, policy: Policy) -> Simulator:
    simulator = Simulator(policy, clock=loop_time, latency=LATENCY, text=REPLY)
    model = simulated_model(plan.targets[0], simulator)
    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        run = store.begin_run(plan, "s", {})
        done = run_virtually(collect(plan, store, run, {model.id: model}))
    assert done.complete, done
    return simulator


def _reference(plan: Plan, policy: Policy) -> Simulator:
    simulator = Simulator(policy, clock=loop_time, latency=LATENCY, text=REPLY)
    anthropic = plan.targets[0].startswith("anthropic/")

    async def one_by_one() -> None:
        for _, body in bodies(plan):
            await simulator.reply(_unmarked(json.loads(body)), anthropic=anthropic)
            await asyncio.sleep(LATENCY)  # the judge's call

    run_virtually(one_by_one())
    return simulator


def _unmarked(body: Any) -> Any:
    if isinstance(body, list):
        return [_unmarked(part) for part in body]
    if not isinstance(body, dict):
        return body
    ours = ("cache_control", "prompt_cache_breakpoint", "prompt_cache_options", "prompt_cache_key")
    return {name: _unmarked(part) for name, part in body.items() if name not in ours}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--positions", type=int, default=12)
    parser.add_argument("--probes", type=int, default=25)
    parser.add_argument("--wordings", type=int, default=10)
    parser.add_argument("--providers", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
