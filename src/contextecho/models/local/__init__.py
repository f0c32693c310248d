"""The embedded model: its weights, its server, and the target `local`."""

from __future__ import annotations

from contextecho.models.local.model import (
    LocalModel,
    LocalTokenCounter,
    notes_of_local,
    open_local,
    open_local_counter,
    serving_of_local,
    weights_of,
)
from contextecho.models.local.server import CONTEXT_LIMIT, LocalServer
from contextecho.models.local.weights import LocalStatus, install_local, local_status

__all__ = [
    "CONTEXT_LIMIT",
    "LocalModel",
    "LocalServer",
    "LocalStatus",
    "LocalTokenCounter",
    "install_local",
    "local_status",
    "notes_of_local",
    "open_local",
    "open_local_counter",
    "serving_of_local",
    "weights_of",
]
