"""The fingerprint map: six features of each reply, in the plane that parts them most.

The one thing to know: the components never see the judge's label, and the arms are
pooled before they are computed; so if the arms part, and part as the judge says, two
measurements agree that did not look at each other (paper, section 2.3). PC1 is turned
so that the session arm lies higher.

Table (n, 6), columns standardised with their population deviation; n counts distinct
replies to probes of one target. Separation is the AUC of PC1, session over control,
with positions as clusters. Of the axis only the sign looks at the arms, and that
alone lifts the AUC above 0.5 where nothing differs: beside it stands by how much.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from contextecho.contexts import Arm
from contextecho.scoring.features import FEATURE_NAMES
from contextecho.scoring.model import FingerprintMap, FingerprintPoint
from contextecho.scoring.scores import ScoredCell
from contextecho.stats import AucEstimate, Components, auc, auc_by_chance, pca
from contextecho.stimuli import StimulusKind

# Fewer replies than this span no plane of six features worth drawing.
MINIMUM_REPLIES = 8
# The judge's scale, cut in two for the comparison with PC1.
_DRIFTED, _ASSISTANT = 1.0, 2.0

_TURNED = (
    "PC1 is turned so that the session lies higher, which lifts the AUC above 0.5 "
    "where nothing differs"
)


def map_fingerprints(
    cells: Sequence[ScoredCell],
) -> tuple[tuple[ScoredCell, ...], FingerprintMap | None]:
    """The map of one target's cells, and the cells with PC1 filled in.

    Without a map (too few replies to probes) the cells come back as they are.
    """
    probes = [c for c in cells if c.kind is StimulusKind.PROBE]
    replies = list({c.key: c for c in probes if c.features}.values())
    if len(replies) < MINIMUM_REPLIES:
        return tuple(cells), None
    components = pca(
        [c.features.vector for c in replies if c.features],
        high=[c.cell.arm is Arm.SESSION for c in replies],
    )
    pc1 = dict(zip((c.key for c in replies), components.scores[:, 0].tolist(), strict=True))
    placed = tuple(
        msgspec.structs.replace(c, pc1=pc1[c.key])
        if c.kind is StimulusKind.PROBE and c.key in pc1
        else c
        for c in cells
    )
    dropped = sum(c.features is None for c in probes)
    return placed, _map(replies, components, dropped)


def _map(replies: Sequence[ScoredCell], components: Components, dropped: int) -> FingerprintMap:
    pc1 = components.scores[:, 0]
    arms, by_chance = _arm_separation(replies, pc1)
    return FingerprintMap(
        target=replies[0].cell.target,
        points=tuple(
            FingerprintPoint(
                target=c.cell.target,
                arm=c.cell.arm,
                position=c.cell.position,
                stimulus=c.cell.stimulus,
                reply_key=c.key,
                pc1=float(x),
                pc2=float(y),
                judge=c.verdict.value if c.verdict else None,
            )
            for c, (x, y) in zip(replies, components.scores, strict=True)
        ),
        explained=(float(components.explained[0]), float(components.explained[1])),
        loadings={
            name: (float(x), float(y))
            for name, (x, y) in zip(FEATURE_NAMES, components.loadings, strict=True)
        },
        auc=arms.auc,
        auc_interval=arms.interval,
        auc_by_chance=by_chance,
        auc_note="; ".join(filter(None, (arms.note, _TURNED if arms.auc is not None else None))),
        auc_judge=_judge_separation(replies, pc1).auc,
        n=len(replies),
        dropped=dropped,
    )


def _arm_separation(
    replies: Sequence[ScoredCell], pc1: np.ndarray
) -> tuple[AucEstimate, float | None]:
    """The AUC of session over control, and what it would be by chance."""
    arms = np.array([c.cell.arm for c in replies])
    positions = np.unique([c.cell.position for c in replies], return_inverse=True)[1]
    session, control = arms == Arm.SESSION, arms == Arm.CONTROL
    groups = pc1[session], pc1[control]
    where = {"clusters_high": positions[session], "clusters_low": positions[control]}
    return auc(*groups, **where), auc_by_chance(*groups, **where)


def _judge_separation(replies: Sequence[ScoredCell], pc1: np.ndarray) -> AucEstimate:
    unjudged = float("nan")
    register = np.array(
        [unjudged if (v := c.verdict) is None or v.value is None else v.value for c in replies]
    )
    return auc(pc1[register <= _DRIFTED], pc1[register >= _ASSISTANT])
