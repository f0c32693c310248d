"""llama.cpp's own OpenAI-compatible server, in this process, on loopback.

One server a weights file, shared by everyone who holds it (the model, a token
counter) and stopped when nobody does. One slot: with several, llama.cpp would
compute a shared prefix once a slot instead of once (measured, ADR 0004).
"""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from contextecho.errors import ProviderError, UsageError

CONTEXT_LIMIT = 8192  # tokens, question and answer included: what SmolLM2 was trained on

_running: WeakValueDictionary[Path, LocalServer] = WeakValueDictionary()


class LocalServer:
    """A running server; it stops when the last reference to it goes."""

    def __init__(self, weights: Path, port: int = 0) -> None:
        """Load `weights` and listen on `port` of loopback (0: a free one)."""
        try:
            import xllamacpp
        except ImportError:
            raise ProviderError(
                "the embedded model's runtime is not installed",
                todo="pip install 'contextecho[local]'",
            ) from None
        self._server = _start(xllamacpp, weights, port)
        self.address: str = self._server.listening_address
        self.base_url = f"{self.address}/v1"
        # A server that is stopped before its loop runs never ends (xllamacpp 2026.10): one
        # answer proves that it runs.
        self._post("/completion", {"prompt": "a", "n_predict": 1, "cache_prompt": False})

    def count_tokens(self, text: str) -> int:
        """Tokens of a text under the model's own tokenizer, without special ones."""
        return len(self._post("/tokenize", {"content": text})["tokens"])

    def _post(self, path: str, document: dict[str, Any]) -> Any:
        connection = http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=60)
        try:
            connection.request("POST", path, json.dumps(document))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def shared_server(weights: Path) -> LocalServer:
    """The running server of a weights file, started if there is none."""
    server = _running.get(weights)
    if server is None:
        server = _running[weights] = LocalServer(weights)
    return server


def _start(xllamacpp: Any, weights: Path, port: int) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {weights.stem}  # else replies would carry a path of this machine
    params.port = port
    params.n_ctx = CONTEXT_LIMIT
    params.n_parallel = 1
    params.verbosity = -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    # Faster to read with, slower to write with on a CPU, and writing dominates on forks.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    try:
        return xllamacpp.Server(params)
    except RuntimeError:
        raise UsageError(
            "llama.cpp cannot start with this file",
            where=str(weights),
            todo="check that it is a GGUF chat model and that the port is free",
        ) from None


def threads() -> int:
    """1 on a busy machine or in CI, where two threads wait for each other; else up to 2."""
    busy = hasattr(os, "getloadavg") and os.getloadavg()[0] > 1
    return 1 if busy or os.environ.get("CI") else min(2, os.cpu_count() or 1)
