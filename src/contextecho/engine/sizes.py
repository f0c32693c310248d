"""How long requests are, in bytes; a prefix that many of them share is measured once."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from contextecho.contexts import Request, canonical_json

_KEPT = 64  # prefixes come in order: an old one is done with


class Weight(NamedTuple):
    """What a request takes of a minute, as far as can be said before it is sent."""

    size: int  # bytes of the request
    output: int  # tokens that it may give at most


class Sizes:
    """The lengths of requests as canonical JSON, which is never shorter than what is read."""

    def __init__(self) -> None:
        self._prefixes: dict[str, int] = {}  # by hash of the context

    def prefix(self, request: Request) -> int:
        """Bytes of the context."""
        sha256 = request.context.sha256
        if sha256 not in self._prefixes:
            if len(self._prefixes) >= _KEPT:
                self._prefixes.pop(next(iter(self._prefixes)))
            self._prefixes[sha256] = len(canonical_json(request.context))
        return self._prefixes[sha256]

    def question(self, request: Request) -> int:
        """Bytes of everything after the context: the question, and the form of its answer."""
        schema = 0 if request.schema is None else len(msgspec.json.encode(request.schema))
        return len(canonical_json(request.ask)) + schema

    def weigh(self, request: Request) -> Weight:
        """The whole request."""
        size = self.prefix(request) + self.question(request)
        return Weight(size, request.decoding.max_output_tokens)
