"""What the numbers of a report cannot say. Printed in every report, in full.

The uses that are ruled out are those of the first paper (appendix T); the rest
follows from what is measured.
"""

from __future__ import annotations

_RULED_OUT = (
    "They measure the register of a model's output: how it words its answers. They do not "
    "measure a persona, a state or an intention behind the words.",
    "They certify nothing about alignment, and passing them is not a pass of anything.",
    "They do not rank one model above another in safety or in trust. They bear on how "
    "predictable wording, format and length are, and on what that costs in use.",
)

CANNOT_SAY = (
    *_RULED_OUT,
    "They hold for this session, these positions, these questions and these settings. One session "
    "is one case, however many replies were collected on it.",
    "An interval that covers “no difference” shows neither a difference nor its absence.",
    "A difference between the session and the control is not by itself a fault: some of it may be "
    "what the session rightly taught the model.",
)

SCREEN_CANNOT_SAY = (
    *_RULED_OUT,
    "They find no drift. Within a session the task changes too, and what a compaction or a pause "
    "does runs along with the session itself; only a probe with a matched control can tell.",
    "That nothing stands out does not show that nothing changes: a small change, or one in the "
    "middle of a session, is not seen.",
    "The patterns for hedges, experience and commitments are English. Length, dashes and breaks "
    "are counted in any language.",
)
