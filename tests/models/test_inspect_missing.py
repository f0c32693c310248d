from __future__ import annotations

import sys

import pytest

from contextecho.errors import ProviderError
from contextecho.models import open_model


def test_without_the_extra_a_target_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "contextecho.models.inspecting", raising=False)
    for name in ("inspect_ai", "inspect_ai.model"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ProviderError, match=r"contextecho\[inspect\]"):
        open_model("inspect/openai/gpt-4.1")
