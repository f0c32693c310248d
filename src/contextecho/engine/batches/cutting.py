"""Cutting requests into batches that a provider takes, the requests of a prefix together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from contextecho.contexts import Request
from contextecho.models import BatchTerms

_FRAME = 4_096  # bytes set aside for what stands around the requests of a batch


def cut(
    groups: Iterable[list[Request]], terms: BatchTerms, size: Callable[[Request], int]
) -> Iterator[list[Request]]:
    """Batches within the terms; `size` gives the bytes of a request.

    A group that does not fit beside what stands in a batch begins the next one, so that the
    provider meets a prefix in one batch. One that fits in no batch goes on in the next.
    """
    room = terms.bytes - _FRAME
    batch: list[Request] = []
    left = room
    for group in groups:
        sizes = [size(request) for request in group]
        if batch and (len(batch) + len(group) > terms.requests or sum(sizes) > left):
            yield batch
            batch, left = [], room
        for request, its_size in zip(group, sizes, strict=True):
            if batch and (len(batch) == terms.requests or its_size > left):
                yield batch
                batch, left = [], room
            batch.append(request)
            left -= its_size
    if batch:
        yield batch
