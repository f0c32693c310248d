"""The keys of one file of the release, in both vocabularies.

The one thing to know: the runners and the release's Croissant metadata name the same
things differently, and a file may use either. A key that is missing is UNSET, a null is
None; nothing stands for either. What a key may hold is checked, a score excepted: every
value that was ever written for one is read here and judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

T = TypeVar("T")
Score = int | float | str | bool | None | UnsetType
Text = str | None | UnsetType
Count = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None | UnsetType
Number = float | None | UnsetType

TWINS = {
    "target_model_id": "model_id",
    "judge_score": "score",
    "compliance_pass": "compliance",
    "len_chars": "response_len",
}
"""Names of the Croissant metadata, and what the runners call the same."""


class CellFile(msgspec.Struct, gc=False):
    """One file. The keys of both vocabularies, as they stand in it."""

    # What cell it is; most of it stands in the path as well.
    target: Text = UNSET
    position: str | int | UnsetType | None = UNSET  # of some it is a number of rows
    arm: Text = UNSET
    session: Text = UNSET
    probe_id: Text = UNSET
    stressor: Text = UNSET
    turn: Count = UNSET
    replicate: Count = UNSET
    rep: Count = UNSET
    paraphrase: Count = UNSET
    # The reply.
    response_text: Text = UNSET
    response_len: Count = UNSET
    wall_clock_sec: Number = UNSET
    input_tokens: Count = UNSET
    output_tokens: Count = UNSET
    provider: Text = UNSET
    model_id: Text = UNSET
    collected_at: Text = UNSET
    error: Text = UNSET
    # What was made of it.
    score: Score = UNSET
    label: Text = UNSET
    reason: Text = UNSET
    judge: Text = UNSET
    judge_parse_error: str | bool | UnsetType | None = UNSET
    sonnet_score: Score = UNSET
    sonnet_label: Text = UNSET
    gpt5_score: Score = UNSET
    gpt5_label: Text = UNSET
    gpt5_reason: Text = UNSET
    compliance: Score = UNSET
    # The other vocabulary.
    target_model_id: Text = UNSET
    judge_score: Score = UNSET
    compliance_pass: Score = UNSET
    len_chars: Count = UNSET
    # Known, and not kept: they stand in the path, or are texts of the protocol.
    probe_category: Any = UNSET
    probe_text: Any = UNSET
    prompt_text: Any = UNSET
    paraphrase_idx: Any = UNSET
    cell_id: Any = UNSET
    battery: Any = UNSET
    via: Any = UNSET
    anchor: Any = UNSET
    variant: Any = UNSET
    candidate: Any = UNSET
    placement: Any = UNSET
    n_offset: Any = UNSET
    size: Any = UNSET
    framing: Any = UNSET
    framing_text: Any = UNSET
    cut_index: Any = UNSET

    def merge(self) -> Iterator[str]:
        """Take over what only the other vocabulary says; gives the names that disagree."""
        for twin, name in TWINS.items():
            theirs, ours = getattr(self, twin), getattr(self, name)
            if theirs is UNSET:
                continue
            if ours is UNSET:
                setattr(self, name, theirs)
            elif ours != theirs:
                yield f"{name} is {ours!r}, {twin} is {theirs!r}"


KEYS = frozenset(CellFile.__struct_fields__)
NOT_A_CELL = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What the decoders raise for bytes that are none."""
CELL_DECODER = msgspec.json.Decoder(CellFile)
KEY_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])


def said(value: T | UnsetType | None) -> T | None:
    """A value, None where there is none."""
    return None if isinstance(value, UnsetType) else value
