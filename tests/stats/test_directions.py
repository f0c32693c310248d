from __future__ import annotations

import pytest

from contextecho.stats import Direction, direction_agreement, direction_of

# Table 5 of the first paper: drift gaps by Sonnet 4.6 and by GPT-5 as judges, 19 targets.
SONNET = [
    1.20, 1.00, 0.80, 0.80, 0.80, 0.60, 0.60, 0.60, 0.40, 0.40,
    0.20, 0.20, 0.00, 0.00, 0.00, 0.00, -0.20, -0.40, -1.00,
]  # fmt: skip
GPT5 = [
    1.40, 0.20, 1.00, -0.20, 0.20, 1.00, 1.20, 0.80, 0.40, 0.80,
    0.40, 0.20, -0.40, -0.40, 0.20, 0.40, 0.00, -0.20, -1.00,
]  # fmt: skip


def test_thirteen_of_the_papers_nineteen_targets_agree_and_one_flips() -> None:
    # The paper says 15 agree and 4 flip; reference.md, item 27, counts 13 of the same sign.
    found = direction_agreement(SONNET, GPT5)
    assert (found.n, found.agree, found.flip, found.tie_in_one) == (19, 13, 1, 5)
    assert found.both_tied == 0


def test_the_papers_mean_gap_by_gpt5_is_not_the_one_its_text_gives() -> None:
    assert sum(SONNET) / 19 == pytest.approx(0.316, abs=5e-4)  # "+0.32"
    assert sum(GPT5) / 19 == pytest.approx(0.316, abs=5e-4)  # "+0.27"


def test_small_gaps_can_be_ties() -> None:
    assert direction_of(0.2, tie=0.2) is Direction.TIE
    assert direction_of(-0.3, tie=0.2) is Direction.DOWN
    found = direction_agreement([0.1, 0.5, None], [-0.1, -0.5, 0.3], tie=0.2)
    assert (found.agree, found.both_tied, found.flip, found.dropped) == (1, 1, 1, 1)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="tie"):
        direction_agreement([0.1], [0.1], tie=-0.1)
    with pytest.raises(ValueError, match="argument"):
        direction_agreement([0.1], [])
