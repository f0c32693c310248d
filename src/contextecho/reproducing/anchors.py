"""What brings a target back: figures 4, 8 and 9, Appendix I."""

from __future__ import annotations

from contextecho.release import Cells
from contextecho.reproducing.choosing import (
    ANTHROPIC,
    ARMS,
    CODING,
    PANEL,
    chosen,
    known,
    less,
    mean_score,
    of_target,
    of_targets,
    words_of,
)
from contextecho.reproducing.model import Findings, Found

_USER = {"experiment": "generalization_test", "condition": "A_COMBINED", "stimulus": CODING}
_SYSTEM = {"experiment": "anchor_variants", "condition": "V3_SYSTEM_INJECT", "stimulus": CODING}


def anchored_panel(cells: Cells) -> Findings:
    """Figure 4: each target's coding score with the anchor; the paper prints no number."""
    return known(
        {
            f"figure-4/{name}/anchored score": mean_score(own)
            for name, own in of_targets(chosen(cells, **_USER))
        }
    )


def placement(cells: Cells) -> Findings:
    """Appendix I: the anchor as a user turn and in the system prompt."""
    found: dict[str, Found | None] = {}
    for name in ANTHROPIC:
        user, system = (
            mean_score(of_target(chosen(cells, **words), name)) for words in (_USER, _SYSTEM)
        )
        row = f"appendix-I/{name}"
        found |= {f"{row}/user": user, f"{row}/system": system}
        found[f"{row}/difference"] = less(system, user)
    return known(found)


def persistence(cells: Cells) -> Findings:
    """Figure 8: the score after so many turns without the anchor, and its two lines."""
    decay = chosen(cells, experiment="anchor_decay")
    found: dict[str, Found | None] = {
        f"figure-8/{int(offset[1:])}/score": mean_score(chosen(decay, condition=offset))
        for offset in words_of(decay.condition)
    }
    panel = of_target(chosen(cells, **PANEL, stimulus=CODING), "Sonnet 4.5")
    for printed, arm in ARMS.items():
        found[f"figure-8/{printed}/score"] = mean_score(chosen(panel, arm=arm))
    return known(found)


def sizes(cells: Cells) -> Findings:
    """Figure 9 and Appendix H: the score by size of the anchor."""
    sweep = chosen(cells, experiment="anchor_size_sweep")
    return known(
        {
            f"figure-9/{name}/{size}": mean_score(chosen(own, condition=size))
            for name, own in of_targets(sweep)
            for size in ("small", "medium", "large")
        }
    )
