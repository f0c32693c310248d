"""What the model is shown: positions, snapshots, rendering, control text, anchors."""

from __future__ import annotations

from contextecho.contexts.anchors import (
    Anchor,
    anchor_ids,
    load_anchor,
    written_anchor,
)
from contextecho.contexts.arms import apply_arm
from contextecho.contexts.idle import Idle, idle_kinds, load_idle
from contextecho.contexts.model import (
    Context,
    Decoding,
    Message,
    Position,
    Request,
    Snapshot,
    ToolCall,
    ToolSpec,
    canonical_json,
)
from contextecho.contexts.positions import (
    Choice,
    choose_positions,
    find_positions,
)
from contextecho.contexts.prose import load_control
from contextecho.contexts.protocol import (
    CONTROL_TOLERANCE,
    Arm,
    ControlKind,
    History,
    Placement,
    Protocol,
    Rendering,
    Unit,
    parse_arm,
    parse_placement,
    parse_rendering,
)
from contextecho.contexts.published import published_text
from contextecho.contexts.rendering import readable
from contextecho.contexts.snapshot import system_prompt, take_snapshot
from contextecho.contexts.tokens import (
    EstimateCounter,
    TokenCounter,
    context_tokens,
)
from contextecho.contexts.wording import (
    load_protocol,
    protocol_ids,
)
from contextecho.defaults import FEWEST_POSITIONS

__all__ = [
    "CONTROL_TOLERANCE",
    "FEWEST_POSITIONS",
    "Anchor",
    "Arm",
    "Choice",
    "Context",
    "ControlKind",
    "Decoding",
    "EstimateCounter",
    "History",
    "Idle",
    "Message",
    "Placement",
    "Position",
    "Protocol",
    "Rendering",
    "Request",
    "Snapshot",
    "TokenCounter",
    "ToolCall",
    "ToolSpec",
    "Unit",
    "anchor_ids",
    "apply_arm",
    "canonical_json",
    "choose_positions",
    "context_tokens",
    "find_positions",
    "idle_kinds",
    "load_anchor",
    "load_control",
    "load_idle",
    "load_protocol",
    "parse_arm",
    "parse_placement",
    "parse_rendering",
    "protocol_ids",
    "published_text",
    "readable",
    "system_prompt",
    "take_snapshot",
    "written_anchor",
]
