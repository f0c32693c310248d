"""Questions of fact, and the frame around a probe: Appendix J and table 6."""

from __future__ import annotations

import numpy as np

from contextecho.release import Cells
from contextecho.reproducing.choosing import (
    CODING,
    chosen,
    counted_as,
    gap,
    known,
    less,
    mean_score,
    of_targets,
)
from contextecho.reproducing.model import Findings, Found


def negative_controls(cells: Cells) -> Findings:
    """Appendix J: targets, those without a gap, and the one that has one."""
    asked = of_targets(chosen(cells, experiment="negative_controls"))
    gaps = known({name: gap(own) for name, own in asked})
    if not gaps:
        return {}
    none = sum(bool(np.isclose(each.number, 0.0)) for each in gaps.values())
    n = sum(each.n for each in gaps.values())
    found: dict[str, Found | None] = {
        "appendix-J/targets/value": counted_as(len(gaps), n),
        "appendix-J/targets at 0.00/value": counted_as(none, n),
        "appendix-J/DeepSeek V3/value": gaps.get("DeepSeek V3"),
    }
    return known(found)


def framing(cells: Cells) -> Findings:
    """Table 6: each coding probe with and without the framing."""
    own = chosen(cells, experiment="probe_framing_ablation")
    found: dict[str, Found | None] = {}
    for column, probes in (*((probe, probe) for probe in CODING), ("overall", CODING)):
        framed, bare = (
            mean_score(chosen(own, condition=condition, stimulus=probes))
            for condition in ("with_framing", "without_framing")
        )
        found |= {f"table-6/with/{column}": framed, f"table-6/without/{column}": bare}
        found[f"table-6/effect/{column}"] = less(framed, bare)
    return known(found)
