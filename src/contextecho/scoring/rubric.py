"""A rubric: what the register judge is told, from one data file.

The one thing to know: probe and response are untrusted data. They are put into the
template in a single pass, so that a response which itself holds "{probe}" or an end
marker changes nothing but its own text; where the response ends, the template says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from contextecho.bundled import bundled_names, read_bundled
from contextecho.contexts import Context, Decoding, Message, Request
from contextecho.errors import DataError

# Greedy, and with room for a reasoning model's thoughts before its two sentences.
JUDGE_DECODING = Decoding(max_output_tokens=2_048, temperature=0.0)

_SLOT = re.compile(r"\{(probe|response)\}")
_PREFIX = "rubric-"


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a judge's instructions; `scale` names each level."""

    id: str
    version: str
    licence: str
    source: str
    sha256: str
    scale: Mapping[int, str]
    system: str
    user_template: str
    schema: Mapping[str, Any]  # JSON Schema of the answer

    def request(self, judge: str, probe: str, response: str, sample: int = 0) -> Request:
        """The request that asks `judge` for one verdict; nothing in it tells arm or position."""
        slots = {"probe": probe, "response": response}
        text = _SLOT.sub(lambda found: slots[found[1]], self.user_template)
        return Request(
            target=judge,
            context=Context(system=self.system),
            ask=(Message(role="user", text=text),),
            decoding=JUDGE_DECODING,
            sample=sample,
            schema=self.schema,
        )


def rubric_ids() -> tuple[str, ...]:
    """The bundled rubrics."""
    return tuple(name.removeprefix(_PREFIX) for name in bundled_names("scoring", _PREFIX))


@cache
def load_rubric(rubric_id: str) -> Rubric:
    """The bundled rubric `rubric_id`. Raises `DataError` naming the known ones."""
    if rubric_id not in rubric_ids():
        raise DataError(f"unknown rubric {rubric_id!r}", todo=f"one of {', '.join(rubric_ids())}")
    rubric = read_bundled("scoring", _PREFIX + rubric_id, Rubric)
    slots = sorted(_SLOT.findall(rubric.user_template))
    if slots != ["probe", "response"]:
        raise DataError("user_template must hold {probe} and {response} once each", where=rubric_id)
    return rubric
