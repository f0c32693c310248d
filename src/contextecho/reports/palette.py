"""How an arm looks: one colour and one shape, the same in every renderer.

Colours are Okabe and Ito's (told apart by colour-blind readers); the shape says
the same again for grey print. The darker blue and the vermilion would sink on a
dark page, so each series has a second colour for it.
"""

from __future__ import annotations

import msgspec

from contextecho.contexts import Arm

ESTIMATE = "estimate"  # the series of a contrast, which belongs to no arm


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """Colour on a light and on a dark page, and a shape that each renderer knows."""

    light: str
    dark: str
    shape: str  # "circle", "triangle", "square", "diamond", "cross" or "wedge"


LOOKS = {
    Arm.SCRATCH.value: Look(light="#6b6f76", dark="#a9aeb6", shape="cross"),
    Arm.CONTROL.value: Look(light="#0072b2", dark="#56b4e9", shape="circle"),
    Arm.SESSION.value: Look(light="#d55e00", dark="#e69f00", shape="triangle"),
    Arm.SESSION_ANCHOR.value: Look(light="#009e73", dark="#2cc99b", shape="square"),
    Arm.CONTROL_ANCHOR.value: Look(light="#b0568a", dark="#cc79a7", shape="diamond"),
    Arm.FOREIGN.value: Look(light="#8a6d00", dark="#f0e442", shape="wedge"),
    ESTIMATE: Look(light="#24292f", dark="#e6e8eb", shape="circle"),
}


def series_class(series: str) -> str:
    """The CSS class of a series: "session+anchor" is `s-session-anchor`."""
    return "s-" + series.replace("+", "-")


def series_name(series: str) -> str:
    """The name of a series in a legend."""
    return series.replace("+", " + ")
