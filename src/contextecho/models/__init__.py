"""Who answers: providers, the embedded model, simulated and recorded ones.

The door imports no HTTP client and no runtime; `open_model` does, when called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from contextecho.models.batches.port import BatchService, Oddity, Result, Standing
from contextecho.models.keys import place_of_key
from contextecho.models.model import (
    Allowance,
    Answer,
    Caching,
    Failed,
    FailureKind,
    Model,
    Refusal,
    Reply,
    Truncated,
    Usage,
)
from contextecho.models.opening import (
    asking_notes,
    check_target,
    context_limit,
    notes_of,
    open_model,
    serving_of,
    wire_body,
)
from contextecho.models.prices import Price, find_price
from contextecho.models.providers import (
    BatchTerms,
    Provider,
    Quirks,
    Target,
    answers_here,
    batch_providers,
    find_provider,
    provider_ids,
    same_model,
    targets,
)
from contextecho.models.recorded import RecordedModel

if TYPE_CHECKING:
    from contextecho.models.batches.opening import open_batches
    from contextecho.models.local import (
        LocalModel,
        LocalServer,
        LocalStatus,
        LocalTokenCounter,
        install_local,
        local_status,
        open_local_counter,
        weights_of,
    )
    from contextecho.models.simulated import SimulatedJudge, SimulatedModel, SimulatedProcess

__all__ = [
    "Allowance",
    "Answer",
    "BatchService",
    "BatchTerms",
    "Caching",
    "Failed",
    "FailureKind",
    "LocalModel",
    "LocalServer",
    "LocalStatus",
    "LocalTokenCounter",
    "Model",
    "Oddity",
    "Price",
    "Provider",
    "Quirks",
    "RecordedModel",
    "Refusal",
    "Reply",
    "Result",
    "SimulatedJudge",
    "SimulatedModel",
    "SimulatedProcess",
    "Standing",
    "Target",
    "Truncated",
    "Usage",
    "answers_here",
    "asking_notes",
    "batch_providers",
    "check_target",
    "context_limit",
    "find_price",
    "find_provider",
    "install_local",
    "local_status",
    "notes_of",
    "open_batches",
    "open_local_counter",
    "open_model",
    "place_of_key",
    "provider_ids",
    "same_model",
    "serving_of",
    "targets",
    "weights_of",
    "wire_body",
]

_LOCAL = "contextecho.models.local"
_SIMULATED = "contextecho.models.simulated"
_HOMES = {
    "LocalModel": _LOCAL,
    "LocalServer": _LOCAL,
    "LocalStatus": _LOCAL,
    "LocalTokenCounter": _LOCAL,
    "SimulatedJudge": _SIMULATED,
    "SimulatedModel": _SIMULATED,
    "SimulatedProcess": _SIMULATED,
    "install_local": _LOCAL,
    "local_status": _LOCAL,
    "open_batches": "contextecho.models.batches.opening",
    "open_local_counter": _LOCAL,
    "weights_of": _LOCAL,
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
