"""S2 in three sessions, pair by pair: tables 1 and 2, Appendix E; and figure 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from contextecho.release import Cells
from contextecho.reproducing.choosing import (
    ANTHROPIC,
    CODING,
    chosen,
    counted_as,
    gap,
    known,
    of_target,
    sure,
)
from contextecho.reproducing.model import Findings, Found
from contextecho.reproducing.names import paper_names

_MEAN_RATIO = "geometric mean; which mean the paper has is not said"
_DUST = 1e-12  # of logarithms that are equal but for their last digits
_MOMENTS = "by the moments of a one-way layout; how the paper estimates is not said"


class _Paired(msgspec.Struct, frozen=True, eq=False):
    """The pairs of one target in one session."""

    log_ratio: Any  # (n,) session to control
    left_out: int  # cells without a reply, or of which it is not sure what they are
    kept: Any  # (n, 2) compliance of control and session


def heterogeneity(cells: Cells) -> Findings:
    """Tables 1 and 2, Appendix E, from the pairs of position and wording."""
    pairs = {
        (name, session): paired
        for name in ANTHROPIC
        for session, folder in paper_names().sessions.items()
        if len((paired := _pairs(of_target(cells, name), folder)).log_ratio)
    }
    if not pairs:
        return {}
    return {**_medians(pairs), **_components(pairs), **_conditional(pairs)}


def _pairs(cells: Cells, session: str) -> _Paired:
    of_s2 = chosen(cells, session=session, stimulus="S2",
                   experiment=("cross_compaction", "cross_session"))  # fmt: skip
    certain = sure(of_s2)
    arms = [_by_key(chosen(certain, arm=arm)) for arm in ("control", "session")]
    shared = sorted(arms[0].keys() & arms[1].keys())
    lengths, kept = (
        np.array([[arm[key][at] for arm in arms] for key in shared]).reshape(-1, 2) for at in (0, 1)
    )
    return _Paired(np.log(lengths[:, 1] / lengths[:, 0]), len(of_s2) - len(certain), kept)


def _by_key(cells: Cells) -> dict[tuple[str | None, float], tuple[float, float]]:
    kept = cells.compliance
    return {
        (cells.position[row], cells.paraphrase[row]): (cells.length[row], kept[row])
        for row in range(len(cells))
    }


_All = Mapping[tuple[str, str], _Paired]


def _medians(pairs: _All) -> Findings:
    return {
        f"table-1/{name}/{session}": Found(
            number=float(np.exp(np.median(own.log_ratio))),
            n=len(own.log_ratio),
            left_out=own.left_out,
        )
        for (name, session), own in pairs.items()
    }


def _components(pairs: _All) -> Findings:
    found: dict[str, Found] = {}
    for name in (*ANTHROPIC, "Pooled"):
        groups = _groups(pairs, name)
        if len(groups) < 2:
            continue
        between, within = _moments(groups)
        every = np.concatenate(groups)
        values = {"between": between, "within": within, "share": _share(between, within)}
        if name != "Pooled":
            values["total"] = float(every.var(ddof=1))
        for column, value in values.items():
            found[f"table-2/{name}/{column}"] = Found(number=value, n=len(every), note=_MOMENTS)
    return found


def _groups(pairs: _All, name: str) -> list[Any]:
    """The log ratios by session, of one target or of all."""
    by_session: dict[str, list[Any]] = {}
    for (target, session), own in pairs.items():
        if name in (target, "Pooled"):
            by_session.setdefault(session, []).append(own.log_ratio)
    return [np.concatenate(each) for each in by_session.values()]


def _moments(groups: list[Any]) -> tuple[float, float]:
    """Variance between and within groups; a negative one is 0."""
    sizes = np.array([len(group) for group in groups])
    means = np.array([group.mean() for group in groups])
    n, k = sizes.sum(), len(groups)
    if n == k:
        return 0.0, 0.0
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (n - k)
    grand = (sizes * means).sum() / n
    mean_square = (sizes * (means - grand) ** 2).sum() / (k - 1)
    size = (n - (sizes**2).sum() / n) / (k - 1)
    return max(0.0, float((mean_square - within) / size)), float(within)


def _share(between: float, within: float) -> float:
    """Of the variance between; none where nothing varies."""
    return between / (between + within) if between + within > _DUST else 0.0


def _conditional(pairs: _All) -> Findings:
    found: dict[str, Found] = {}
    every = {session: _of_session(pairs, session) for session in paper_names().sessions}
    both = {session: (own.kept == 1).all(axis=1) for session, own in every.items()}
    total = sum(len(own.log_ratio) for own in every.values())
    found["pairs"] = counted_as(total, total)
    found["compliant pairs"] = counted_as(sum(kept.sum() for kept in both.values()), total)
    for session, own in every.items():
        kept = both[session]
        if not len(kept):
            continue
        found[f"compliant pairs of {session}"] = counted_as(kept.sum(), len(kept))
        found[f"ratio of {session}"] = _ratio(own.log_ratio)
        if kept.any():
            found[f"compliant ratio of {session}"] = _ratio(own.log_ratio[kept])
    for name in ANTHROPIC:
        kept = [own.kept for (target, _), own in pairs.items() if target == name]
        if kept:
            found[f"compliance lost by {name}"] = _lost(np.concatenate(kept))
    return {f"appendix-E/{row}/value": each for row, each in found.items()}


def _of_session(pairs: _All, session: str) -> _Paired:
    own = [each for (_, of), each in pairs.items() if of == session]
    ratios = [each.log_ratio for each in own] or [np.empty(0)]
    kept = [each.kept for each in own] or [np.empty((0, 2))]
    left_out = sum(each.left_out for each in own)
    return _Paired(np.concatenate(ratios), left_out, np.concatenate(kept))


def _ratio(logs: Any) -> Found:
    return Found(number=float(np.exp(logs.mean())), n=len(logs), note=_MEAN_RATIO)


def _lost(kept: Any) -> Found:
    known_both = kept[np.isfinite(kept).all(axis=1)]
    return Found(
        number=float((known_both[:, 0] - known_both[:, 1]).mean()),
        n=len(known_both),
        left_out=len(kept) - len(known_both),
    )


def trajectories(cells: Cells) -> Findings:
    """Figure 7: gap of Sonnet 4.5 in each session; the text prints none."""
    coding = of_target(
        chosen(cells, experiment="probes_at_crosscompaction", stimulus=CODING), "Sonnet 4.5"
    )
    return known(
        {
            f"figure-7/{session}/gap": gap(chosen(coding, session=folder))
            for session, folder in paper_names().sessions.items()
        }
    )
