"""The Python face: what it refuses before anything is asked, and what it fits to the targets."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from contextecho.api import check, shown_to
from contextecho.errors import UsageError
from contextecho.studies import Plan
from store.plans import make_plan


def local_plan(tokens: int) -> Plan:
    """A plan for the embedded model, which reads 8,192 tokens; 50 are for a reply."""
    plan = make_plan(targets=("local",))
    return msgspec.structs.replace(plan, prefix_tokens=dict.fromkeys(plan.contexts, tokens))


def test_prefixes_that_leave_the_local_model_no_room_for_a_reply_are_refused():
    with pytest.raises(UsageError, match=r"at most 8,192 tokens .* the longest has 8,143"):
        check(local_plan(8_192 - 50 + 1))


@pytest.mark.local
def test_prefixes_that_just_fit_are_not_refused():
    check(local_plan(8_192 - 50))


def test_a_default_prefix_fits_the_shortest_context_and_is_the_protocols_elsewhere():
    fitting = shown_to(["openai/gpt-4.1", "local"], "strict")
    # 600 for the reply and 300 for the question
    assert fitting == {"rendering": "native-text", "budget_tokens": 8_192 - 600 - 300}
    assert shown_to(["openai/gpt-4.1"], "strict") == {"rendering": None, "budget_tokens": None}
    assert shown_to(["local"], "published") == {"rendering": None, "budget_tokens": None}


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (lambda plan: check(plan, budget="banana"), "not a budget"),
        (lambda plan: check(plan, judge="nobody/x"), "unknown provider"),
        (lambda plan: check(plan, judge="openai/one"), "would judge itself"),
    ],
)
def test_what_collect_would_refuse_is_refused(refused: Callable[[Plan], None], said: str):
    with pytest.raises(UsageError, match=said):
        refused(make_plan(targets=("openai/one",)) if "itself" in said else simulated())


def simulated() -> Plan:
    return make_plan(targets=("simulated",))
