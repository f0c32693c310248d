"""What OpenAI's and Mistral's batches share: requests and results are files of lines.

The one thing to know: a request that met an error is in a second file, in one of two forms:
the error of a call as its response had it, or why there was no call.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from tempfile import TemporaryFile
from typing import Any, Generic, TypeVar

import msgspec

from contextecho.contexts import Request
from contextecho.models.batches.desk import Desk, as_failure
from contextecho.models.batches.port import Oddity, Result, Standing, unanswered
from contextecho.models.complaints import complaint_of
from contextecho.models.endpoint import Exchange
from contextecho.models.failures import error_in_body, read_failure
from contextecho.models.model import Failed, FailureKind, Refusal, Reply
from contextecho.models.openai_chat import OpenAIChat
from contextecho.models.providers import BatchTerms

PATH = "chat/completions"
MARK = "contextecho"  # the key of the metadata under which a batch bears its marker

# The codes that an OpenAI error line has where there was no whole call (BatchRequestOutput).
_NEVER = {"batch_expired": "expired", "batch_cancelled": "was cancelled"}
_TIMED_OUT = "request_timeout"


Told = TypeVar("Told")


class _File(msgspec.Struct):
    id: str


class _Response(msgspec.Struct):
    status_code: int | None = None
    body: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Line).decode


class BatchFiles:
    """The files in which batches of one model go and come."""

    def __init__(self, model: OpenAIChat, desk: Desk, item: bytes) -> None:
        """`item` is a line of a request, with places for custom id and body."""
        self._model = model
        self._desk = desk
        self._item = item + b"\n"

    def size(self, request: Request) -> int:
        """Bytes that a request takes in a file."""
        return len(self._item) + len(request.key) + len(self._model.body(request))

    async def upload(self, marker: str, requests: Sequence[Request]) -> str | Failed:
        """Upload requests; gives the provider's name of the file."""
        with TemporaryFile() as file:
            for request in requests:
                file.write(self._item % (request.key.encode(), self._model.body(request)))
            told = await self._desk.upload(_File, file, f"{marker}.jsonl", "files")
        return told if isinstance(told, Failed) else told.id

    async def results(self, files: Sequence[str]) -> AsyncGenerator[Result | Oddity | Failed, None]:
        """What files of results say."""
        for file in files:
            async for line in self._desk.lines("files", file, "content"):
                if isinstance(line, Failed | Refusal):
                    yield as_failure(line) if isinstance(line, Refusal) else line
                    return
                if line.strip():
                    yield self._read(line)

    def _read(self, line: bytes) -> Result | Oddity:
        try:
            told = _decode(line)
        except (msgspec.MsgspecError, ValueError):
            return Oddity(f"a line of the results cannot be read: {self._desk.say(line[:80])}")
        if told.error is None and told.response is not None:
            return Result(told.custom_id, self._reply(told.response))
        if told.error is None:
            silent = Failed(kind=FailureKind.NOT_JSON, message="neither an answer nor an error")
            return Result(told.custom_id, silent)
        complaint = complaint_of(told.error)
        for code in complaint.codes:
            if code in _NEVER:
                return unanswered(told.custom_id, _NEVER[code])
        if _TIMED_OUT in complaint.codes:
            message = self._desk.say(complaint.message)
            failed = Failed(kind=FailureKind.SERVER, message=message, status=408)
            return Result(told.custom_id, failed)
        return Result(told.custom_id, error_in_body(told.error, self._desk.secrets))

    def _reply(self, response: _Response) -> Reply:
        body = bytes(response.body)
        if response.status_code is None or 200 <= response.status_code < 300:
            return self._model.read(Exchange(body, 0.0))
        return read_failure(response.status_code, {}, body, self._desk.secrets)


class FileBatches(Generic[Told]):
    """The batches of one model at a provider that takes files; a provider's own say the rest."""

    marks = True
    _form: type[Told]  # what the provider tells of a batch
    _at: tuple[str, ...]  # where its batches are
    _item: bytes  # as for `BatchFiles`

    def __init__(self, model: OpenAIChat, terms: BatchTerms) -> None:
        """`model` renders the requests and reads the answers."""
        self.terms = terms
        self._model = model.model
        self._desk = Desk(model.endpoint, PATH)
        self._files = BatchFiles(model, self._desk, self._item)

    def size(self, request: Request) -> int:
        """Bytes that a request takes in a batch."""
        return self._files.size(request)

    async def submit(self, marker: str, requests: Sequence[Request]) -> Standing | Failed:
        """Upload the requests and make a batch of them."""
        file = await self._files.upload(marker, requests)
        if isinstance(file, Failed):
            return file
        wanted = msgspec.json.encode(self._wanted(file, marker))
        told = await self._desk.post(self._form, wanted, *self._at)
        return told if isinstance(told, Failed) else self._standing(told)

    async def look(self, batch: str) -> Standing | Failed:
        """How a batch stands."""
        found = await self._desk.get(self._form, *self._at, batch)
        return found if isinstance(found, Failed) else self._standing(found)

    def results(self, standing: Standing) -> AsyncGenerator[Result | Oddity | Failed, None]:
        """What came back."""
        return self._files.results(standing.results)

    def _wanted(self, file: str, marker: str) -> dict[str, object]:
        """What asks for a batch of an uploaded file."""
        raise NotImplementedError

    def _standing(self, told: Told) -> Standing:
        raise NotImplementedError
