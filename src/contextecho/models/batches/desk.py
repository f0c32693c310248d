"""The URLs below a provider's base at which batches are handed in and fetched.

The one thing to know: they are reached through the endpoint of the model itself, with its
key, its headers and its rules; only the time-out is another, since a batch may be hundreds
of megabytes: it bounds every wait for the server, not the whole call.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import BinaryIO, TypeVar
from urllib.parse import quote, urlencode

import aiohttp
import msgspec

from contextecho.models.endpoint import Endpoint, Exchange, Sent
from contextecho.models.failures import clean, foreign_answer
from contextecho.models.model import Failed, FailureKind, Refusal
from contextecho.models.wire import json_reader

T = TypeVar("T")


class Desk:
    """A provider's files and batches."""

    def __init__(self, endpoint: Endpoint, path: str) -> None:
        """`path` is the last part of the endpoint's URL, in whose place others stand here."""
        self.secrets = endpoint.secrets
        self._endpoint = endpoint
        self._base = endpoint.url.removesuffix(path)
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=endpoint.timeout, sock_read=endpoint.timeout
        )

    def say(self, text: object) -> str:
        """What a provider says, as one clean line."""
        return clean(str(text), self.secrets)

    async def get(
        self, form: type[T], *parts: str, query: Mapping[str, object] | None = None
    ) -> T | Failed:
        """A document of the provider."""
        asked = f"?{urlencode(query)}" if query else ""
        return await self._call(form, "GET", self._url(*parts) + asked)

    async def post(self, form: type[T], data: bytes | BinaryIO, *parts: str) -> T | Failed:
        """Post JSON; gives the answer."""
        sent = data if isinstance(data, bytes) else _lent(data)
        return await self._call(form, "POST", self._url(*parts), sent)

    async def upload(self, form: type[T], file: BinaryIO, name: str, *parts: str) -> T | Failed:
        """Upload a file for a batch; gives the answer."""
        with aiohttp.MultipartWriter("form-data") as parcel:
            parcel.append("batch").set_content_disposition("form-data", name="purpose")
            lines = parcel.append(_lent(file), {"content-type": "application/jsonl"})
            lines.set_content_disposition("form-data", name="file", filename=name)
            kind = {"content-type": parcel.content_type}
            return await self._call(form, "POST", self._url(*parts), parcel, kind)

    def lines(self, *parts: str) -> AsyncIterator[bytes | Failed | Refusal]:
        """The lines of a document as they come; a failure is the last."""
        return self._endpoint.lines(self._url(*parts), self._timeout)

    def _url(self, *parts: str) -> str:
        """What comes from a provider (its names) must not lead elsewhere."""
        return self._base + "/".join(quote(part, safe="") for part in parts)

    async def _call(
        self,
        form: type[T],
        method: str,
        url: str,
        data: Sent = None,
        headers: Mapping[str, str] | None = None,
    ) -> T | Failed:
        said = await self._endpoint.exchange(method, url, data, headers, self._timeout)
        if isinstance(said, Refusal):
            return as_failure(said)
        if not isinstance(said, Exchange):
            return said
        try:
            return json_reader(form)(said.body)
        except (msgspec.MsgspecError, ValueError):
            return foreign_answer(said.body, "what its batch API documents", said.seconds)


def _lent(file: BinaryIO) -> BinaryIO:
    """A file from its beginning, for the HTTP client, which closes it when it likes to."""
    file.flush()
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    return os.fdopen(os.dup(file.fileno()), "rb")


def as_failure(refusal: Refusal) -> Failed:
    """A content filter that turns a whole batch away."""
    return Failed(kind=FailureKind.BAD_REQUEST, message=refusal.text, status=400)
