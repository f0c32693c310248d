"""Who answers: providers, the embedded model, simulated and recorded ones."""

from __future__ import annotations

from contextecho.models.model import (
    Answer,
    Failed,
    FailureKind,
    Model,
    Refusal,
    Reply,
    Truncated,
    Usage,
)

__all__ = ["Answer", "Failed", "FailureKind", "Model", "Refusal", "Reply", "Truncated", "Usage"]
