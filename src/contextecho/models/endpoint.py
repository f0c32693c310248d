"""One URL that takes JSON by POST: the only place where a request leaves the program.

`post` never raises for a failed call, follows no redirect (a key stays with the
host that the user named) and makes no second attempt: retrying is the engine's.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import aiohttp
import msgspec

from contextecho import __version__
from contextecho.errors import UsageError
from contextecho.models.allowance import NO_LIMITS, LimitHeaders, read_allowance
from contextecho.models.failures import clean, read_failure
from contextecho.models.model import Allowance, Failed, FailureKind, Refusal

# What OpenSSL calls an answer that is not TLS at all.
_PLAIN = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_NO_TLS = "the port does not answer in TLS; if it is a plain one, write http:// for https://"


_LONGEST = 32 << 20  # bytes of an answer: the longest replies of today are under 1 MB
_TOO_LONG = f"the server answered with more than {_LONGEST >> 20} MB"


class Exchange(msgspec.Struct, frozen=True):
    """A successful answer: its bytes, the seconds from sending to the last byte, what is left."""

    body: bytes
    seconds: float
    allowance: Allowance | None = None


class Endpoint:
    """A URL with its headers, its secrets and one connection pool."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        secrets: Sequence[str],
        timeout: float,
        limits: LimitHeaders = NO_LIMITS,
    ) -> None:
        """`secrets` are blotted out of every message; `timeout` is for a whole call, in seconds.

        `limits` are the headers in which the server tells what it still allows.
        """
        self.host = _host_of(url)
        if "@" in urlsplit(url).netloc and "authorization" in map(str.lower, headers):
            raise UsageError(
                "the base URL holds a user name or password, and a key is sent as well",
                where=self.host,
                todo="give one of them: take what stands before @ out of the URL",
            )
        self.secrets = tuple(secrets)
        self._url = url
        self._tls = urlsplit(url).scheme == "https"
        self._headers = {
            "content-type": "application/json",
            "user-agent": f"contextecho/{__version__}",
            **headers,
        }
        self._timeout = timeout
        self._limits = limits
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self, body: bytes, headers: Mapping[str, str] | None = None
    ) -> Exchange | Failed | Refusal:
        """Send one body, once, with `headers` besides those of every call."""
        started = time.perf_counter()
        try:
            async with self._open().post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as response:
                data = await _read(response)
                if data is None:
                    return Failed(kind=FailureKind.NOT_JSON, message=_TOO_LONG)
                if response.ok and response.status < 300:
                    allowance = read_allowance(response.headers, self._limits)
                    return Exchange(data, time.perf_counter() - started, allowance)
                return read_failure(
                    response.status, response.headers, data, self.secrets, self._limits
                )
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            kind, what = _what_broke(error, self._timeout, self._tls)
            return Failed(kind=kind, message=clean(f"{self.host}: {what}", self.secrets))

    def _open(self) -> aiohttp.ClientSession:
        """The session, made at the first call because it belongs to the running loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                connector=aiohttp.TCPConnector(limit=0),  # the engine bounds concurrency
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, unpacked; `None` when it is longer than any answer can be."""
    pieces: list[bytes] = []
    room = _LONGEST
    while piece := await response.content.readany():
        room -= len(piece)
        if room < 0:
            response.close()
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _host_of(url: str) -> str:
    """Host and port of an http(s) address, the only part of it that messages show."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError(
            "the base URL is not an http(s) address", todo="write it like http://127.0.0.1:8000/v1"
        )
    return host if port is None else f"{host}:{port}"


def _what_broke(error: Exception, timeout: float, tls: bool) -> tuple[FailureKind, str]:
    if isinstance(error, TimeoutError):
        return FailureKind.SERVER, f"no complete answer within {timeout:g} seconds"
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorSSLError) else error
        plain = getattr(cause, "reason", None) in _PLAIN
        return FailureKind.UNREACHABLE, _NO_TLS if plain else "no trusted TLS connection"
    if isinstance(error, (aiohttp.ClientConnectorDNSError, aiohttp.InvalidURL, UnicodeError)):
        return FailureKind.UNREACHABLE, "no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        if not number and tls:
            return FailureKind.UNREACHABLE, _NO_TLS  # it hung up at our first bytes
        reason = os.strerror(number) if number else "no reason given"
        return FailureKind.UNREACHABLE, f"cannot connect ({reason})"
    return FailureKind.SERVER, "the connection broke before the answer was complete"
