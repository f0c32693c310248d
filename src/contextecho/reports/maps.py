"""Fingerprint maps: replies in the plane of the first two principal components.

A map draws at most `DRAWN` replies an arm, taken in the order of their hashed
reply keys and so without favour; centres and the separation use all of them,
and the caption says how many are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextecho.counting import counted
from contextecho.reports.axes import axis_over
from contextecho.reports.captions import identify, provenance, withheld
from contextecho.reports.figures import Axis, Cloud, Mark, Point, Scatter
from contextecho.reports.headline import parting
from contextecho.reports.palette import ESTIMATE
from contextecho.reports.typeset import Quantity, sentence
from contextecho.reports.view import View
from contextecho.scoring import FingerprintMap, FingerprintPoint

FAMILY = "fingerprint"
DRAWN = 300


def fingerprint_maps(view: View) -> Iterator[Scatter]:
    """One map a target that has replies to place."""
    for found in view.analysis.fingerprints:
        if found.points:
            yield _map(view, found)


def _map(view: View, found: FingerprintMap) -> Scatter:
    clouds = tuple(
        _cloud(arm.value, points)
        for arm in view.arms
        if (points := [p for p in found.points if p.arm is arm])
    )
    return Scatter(
        id=identify(FAMILY, found.target),
        family=FAMILY,
        title=f"Replies by arm: {found.target}",
        finding=withheld(view, found.target) or parting(found),
        caption=_caption(found, clouds),
        provenance=provenance(view, "all probes", found.target),
        x=_component(clouds, found, 0),
        y=_component(clouds, found, 1),
        clouds=clouds,
        separation=_separation(found),
        loadings=found.loadings,
    )


def _cloud(series: str, points: list[FingerprintPoint]) -> Cloud:
    drawn = sorted(points, key=lambda p: p.reply_key)[:DRAWN]
    return Cloud(
        series=series,
        x=sum(p.pc1 for p in points) / len(points),
        y=sum(p.pc2 for p in points) / len(points),
        n=len(points),
        points=tuple(
            Point(
                series=series,
                x=p.pc1,
                y=p.pc2,
                position=p.position,
                stimulus=p.stimulus,
                judge=p.judge,
            )
            for p in drawn
        ),
    )


def _separation(found: FingerprintMap) -> Mark:
    interval = found.auc_interval
    return Mark(
        series=ESTIMATE,
        name="AUC",
        label="AUC, control versus session",
        value=found.auc,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        n=found.n,
        planned=found.n + found.dropped,
        unit="reply",
        quantity=Quantity.CHANCE,
        note=found.auc_note or None,
    )


def _component(clouds: tuple[Cloud, ...], found: FingerprintMap, index: int) -> Axis:
    values = [(p.x, p.y)[index] for cloud in clouds for p in cloud.points]
    label = f"PC{index + 1} ({100 * found.explained[index]:.0f} % of the variance)"
    return axis_over(values, label, Quantity.COORDINATE)


def _caption(found: FingerprintMap, clouds: tuple[Cloud, ...]) -> str:
    drawn = sum(len(cloud.points) for cloud in clouds)
    total = sum(cloud.n for cloud in clouds)
    shown = "All" if drawn == total else f"{drawn:,} of"
    judge = ""
    if found.auc_judge is not None:
        judge = f" PC1 agrees with the judge's label with AUC {found.auc_judge:.2f}."
    beware = ""
    if found.auc is not None and found.auc_note:
        beware = f" {sentence(found.auc_note)}"
    left_out = ""
    if found.dropped:
        left_out = f" {counted(found.dropped, 'reply')} without text left out."
    return (
        f"Six features of the text, without a judge. {shown} {counted(total, 'reply')} "
        f"drawn; large marks are the arms' centres.{judge}{beware}{left_out}"
    )
