"""How patiently a batch is waited for."""

from __future__ import annotations

import msgspec


class BatchPace(msgspec.Struct, frozen=True, kw_only=True):
    """Pauses between two looks at a batch, in seconds, and how requests are sent and kept."""

    first: float = 10.0  # before the second look; the next ones grow
    growth: float = 1.5
    longest: float = 300.0
    grace: float = 30.0  # after which a batch that the provider does not list was not handed in
    together: int = 500  # results that are written down in one transaction
    tries: int = 2  # batches in which one invocation sends a request

    def longer(self, pause: float) -> float:
        """The pause after one of this length."""
        return min(pause * self.growth, self.longest)


DEFAULT_PACE = BatchPace()
