"""Which pieces of text a present-day tokenizer holds as one token.

The one thing to know: `data/vocabulary.bin` is a Bloom filter of 2^21 bits over
the pieces that are single tokens of the o200k vocabulary (MIT licence, OpenAI),
so that 256 kB tell a common word from a rare one. It says yes wrongly to about
one unknown piece in four hundred, and never says no wrongly.
`benchmarks/token_estimate.py --build` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

_BITS = 1 << 21
_HASHES = 6


def is_one_token(piece: str) -> bool:
    """Whether `piece`, a leading space included, is a single token."""
    held = _held()
    return all(held[bit >> 3] >> (bit & 7) & 1 for bit in _places(piece))


def build_filter(pieces: Iterable[str]) -> bytes:
    """The filter over `pieces`, as bytes for the data file."""
    held = bytearray(_BITS // 8)
    for piece in pieces:
        for bit in _places(piece):
            held[bit >> 3] |= 1 << (bit & 7)
    return bytes(held)


def _places(piece: str) -> Iterator[int]:
    """The bits of a piece: h1 + i h2 modulo the size (Kirsch and Mitzenmacher, 2006)."""
    digest = int.from_bytes(blake2b(piece.encode(), digest_size=8).digest(), "big")
    first, step = digest & (_BITS - 1), digest >> 32 | 1
    return ((first + i * step) & (_BITS - 1) for i in range(_HASHES))


@cache
def _held() -> bytes:
    return (Path(__file__).with_name("data") / "vocabulary.bin").read_bytes()
