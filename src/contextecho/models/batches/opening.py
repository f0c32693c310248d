"""From an open model to the batch API that it can be asked through."""

from __future__ import annotations

from contextecho.models.anthropic import AnthropicMessages
from contextecho.models.batches.anthropic import AnthropicBatches
from contextecho.models.batches.mistral import MistralBatches
from contextecho.models.batches.openai import OpenAIBatches
from contextecho.models.batches.port import BatchService
from contextecho.models.model import Model
from contextecho.models.openai_chat import OpenAIChat
from contextecho.models.providers import find_provider


def open_batches(model: Model) -> BatchService | None:
    """The batch API behind a model, over the model's own connections; None: there is none."""
    terms = find_provider(model.id).batch
    if terms is None:
        return None
    if isinstance(model, AnthropicMessages):
        return AnthropicBatches(model, terms)
    if not isinstance(model, OpenAIChat):  # a recording, or a model of the caller's own
        return None
    return MistralBatches(model, terms) if terms.api == "mistral" else OpenAIBatches(model, terms)
