"""What the model is shown: positions, snapshots, rendering, control text, anchors."""

from __future__ import annotations

from contextecho.contexts.model import (
    Context,
    Decoding,
    Message,
    Position,
    Request,
    Role,
    Snapshot,
    ToolCall,
    ToolSpec,
    canonical_json,
)
from contextecho.contexts.protocol import Arm, ControlKind, Protocol, Rendering, Unit

__all__ = [
    "Arm",
    "Context",
    "ControlKind",
    "Decoding",
    "Message",
    "Position",
    "Protocol",
    "Rendering",
    "Request",
    "Role",
    "Snapshot",
    "ToolCall",
    "ToolSpec",
    "Unit",
    "canonical_json",
]
