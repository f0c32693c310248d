"""Values into rows and back: the only file that knows in which order columns stand."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, TypeVar

import msgspec

from contextecho.contexts import Context, Decoding, Message, Request, canonical_json
from contextecho.errors import DataError
from contextecho.models import Answer, Failed, Refusal, Reply, Truncated, Usage
from contextecho.store.model import Batch, BatchItem, RunInfo, Verdict
from contextecho.studies import Cell, Plan

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Row = Sequence[Any]
R = TypeVar("R")
T = TypeVar("T")
_Targets = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]

CELL = Cell.__struct_fields__
RUN = (
    "id",
    "created_at",
    "study",
    "session",
    "session_path",
    "targets",
    "plan",
    "versions",
)
REQUEST = ("key", "target", "context", "ask", "decoding", "sample", "serving", "schema")
REPLY = (
    "outcome",
    "text",
    "stop_reason",
    "failure",
    "message",
    "status",
    "served_model",
    "seconds",
    *Usage.__struct_fields__,
)
VERDICT = Verdict.__struct_fields__
BATCH = ("run", "provider", "provider_id", "state", "opened_at", "submitted_at", "ended_at")


def _reads(what: str) -> Callable[[Callable[[R], T]], Callable[[R], T]]:
    """Let a row that somebody else has changed be a `DataError` that names what it was."""

    def wrap(read: Callable[[R], T]) -> Callable[[R], T]:
        @wraps(read)
        def read_checked(row: R) -> T:
            try:
                return read(row)
            except (msgspec.MsgspecError, ValueError, TypeError, KeyError) as error:
                raise DataError(
                    f"a {what} in the store cannot be read: {error}",
                    todo="the store was changed by hand; take the copy from before",
                ) from error

        return read_checked

    return wrap


def plan_id(plan: Plan) -> str:
    """Twelve hex digits that name what a plan collects: the id of its run.

    What is merely said about the plan or its study (token estimates, notes, what is
    estimated) does not enter, so that better words do not begin another run.
    """
    identity = {
        "study": msgspec.structs.replace(plan.study, estimand="", sessions=1, judges=1),
        "protocol": plan.protocol,
        "session": plan.session_sha256,
        "batteries": {name: battery.sha256 for name, battery in plan.batteries.items()},
        "decoding": plan.decoding,
        "serving": plan.serving,
        "cells": (),
    }
    before, after = canonical_json(identity).split(b'"cells":[]', 1)
    hashed = hashlib.sha256(before + b'"cells":[')
    for ordinal, cell in enumerate(plan.cells):  # one by one: a million are 300 MB of JSON
        hashed.update(b"," * (ordinal > 0) + canonical_json(cell))
    hashed.update(b"]" + after)
    return hashed.hexdigest()[:12]


def pack_plan(plan: Plan) -> str:
    """A plan as JSON: contexts by their hash (they are blobs), cells left out (they are rows)."""
    bare = msgspec.structs.replace(
        plan,
        contexts={},
        cells=(),
        snapshots=tuple(msgspec.structs.replace(s, context=Context()) for s in plan.snapshots),
    )
    values = msgspec.to_builtins(bare)
    del values["cells"]
    values["contexts"] = sorted(plan.contexts)
    for packed, snapshot in zip(values["snapshots"], plan.snapshots, strict=True):
        packed["context"] = snapshot.context.sha256
    return canonical_json(values).decode()


def unpack_plan(
    values: Mapping[str, Any], contexts: Mapping[str, Context], cells: tuple[Cell, ...]
) -> Plan:
    """The plan again, given what `pack_plan` left out."""
    bare = {
        **values,
        "contexts": {},
        "cells": [],
        "snapshots": [
            {**snapshot, "context": msgspec.to_builtins(contexts[snapshot["context"]])}
            for snapshot in values["snapshots"]
        ],
    }
    plan = msgspec.convert(bare, Plan)
    kept = {sha256: contexts[sha256] for sha256 in values["contexts"]}
    return msgspec.structs.replace(plan, contexts=kept, cells=cells)


def pack_context(context: Context) -> bytes:
    """A context as compressed canonical JSON."""
    return zstd.compress(canonical_json(context))


@_reads("context")
def unpack_context(packed: bytes) -> Context:
    """The context that `pack_context` packed."""
    return msgspec.json.decode(unpack_bytes(packed), type=Context)


def unpack_bytes(packed: bytes) -> bytes:
    """The canonical JSON of a packed context. Raises `DataError` when it was damaged."""
    try:
        return zstd.decompress(packed)
    except (zstd.ZstdError, TypeError) as error:
        raise DataError(f"a context in the store cannot be read: {error}") from error


def cell_row(cell: Cell) -> Row:
    """The columns `CELL`."""
    return msgspec.structs.astuple(cell)


@_reads("cell")
def read_cell(row: Row) -> Cell:
    """A cell from the columns `CELL`."""
    return msgspec.convert(dict(zip(Cell.__struct_fields__, row, strict=True)), Cell)


def request_row(request: Request) -> Row:
    """The columns `REQUEST`."""
    return (
        request.key,
        request.target,
        request.context.sha256,
        canonical_json(request.ask).decode(),
        canonical_json(request.decoding).decode(),
        request.sample,
        request.serving,
        None if request.schema is None else msgspec.json.encode(request.schema).decode(),
    )


@_reads("request")
def read_request(row: Row) -> Request:
    """A request from the columns `REQUEST` after its key, with the context itself for its hash."""
    target, context, ask, decoding, sample, serving, schema = row
    return Request(
        target=target,
        context=context,
        ask=msgspec.json.decode(ask, type=tuple[Message, ...]),
        decoding=msgspec.json.decode(decoding, type=Decoding),
        sample=sample,
        serving=serving or "",
        schema=None if schema is None else msgspec.json.decode(schema),
    )


def reply_row(reply: Reply) -> Row:
    """The columns `REPLY`."""
    usage = reply.usage or _NO_USAGE
    failed = reply if isinstance(reply, Failed) else None
    return (
        _OUTCOMES[type(reply)],
        reply.text,
        reply.stop_reason,
        failed and failed.kind.value,
        failed and failed.message,
        failed and failed.status,
        reply.served_model,
        reply.seconds,
        usage.input,
        usage.cached,
        usage.cache_write,
        usage.output,
        usage.reasoning,
    )


@_reads("reply")
def read_reply(row: Row) -> Reply:
    """A reply from the columns `REPLY`."""
    outcome, text, stop_reason, failure, message, status, served_model, seconds, *tokens = row
    said = any(count is not None for count in tokens)
    usage = dict(zip(Usage.__struct_fields__, tokens, strict=True)) if said else None
    common: dict[str, Any] = {
        "text": text,
        "stop_reason": stop_reason,
        "usage": usage,
        "served_model": served_model,
        "seconds": seconds,
    }
    if outcome == "failed":
        failed = {**common, "kind": failure, "message": message, "status": status}
        return msgspec.convert(failed, Failed)
    return msgspec.convert(common, _ANSWERS[outcome])


@_reads("run")
def read_run(row: Row) -> RunInfo:
    """A run from the columns `RUN`."""
    run_id, created_at, study, session, session_path, targets, plan, versions = row
    values = {
        "id": run_id,
        "created_at": created_at,
        "study": study,
        "session": session,
        "session_path": session_path,
        "targets": msgspec.json.decode(targets, type=_Targets),
        "plan": msgspec.json.decode(plan),
        "versions": msgspec.json.decode(versions),
    }
    return msgspec.convert(values, RunInfo)


def verdict_row(verdict: Verdict) -> Row:
    """The columns `VERDICT`."""
    *columns_before, detail = msgspec.structs.astuple(verdict)
    return (*columns_before, canonical_json(detail).decode())


@_reads("verdict")
def read_verdict(row: Row) -> Verdict:
    """A verdict from the columns `VERDICT`."""
    *columns_before, detail = row
    values = (*columns_before, msgspec.json.decode(detail))
    return msgspec.convert(dict(zip(Verdict.__struct_fields__, values, strict=True)), Verdict)


@_reads("batch")
def read_batch(row: Row) -> Batch:
    """A batch from its id, the columns `BATCH`, and the rows of its items."""
    *columns, items = row
    values = dict(zip(("id", *BATCH), columns, strict=True))
    return msgspec.convert({**values, "items": list(map(read_item, items))}, Batch)


@_reads("item of a batch")
def read_item(row: Row) -> BatchItem:
    """An item of a batch: custom id, attempt, key, whether it is settled."""
    custom_id, attempt, key, settled = row
    return BatchItem(custom_id=custom_id, attempt=attempt, key=key, settled=bool(settled))


_NO_USAGE = Usage()
_ANSWERS: dict[str, type[Answer | Refusal | Truncated]] = {
    "answer": Answer,
    "refusal": Refusal,
    "truncated": Truncated,
}
_OUTCOMES: dict[type, str] = {
    **{kind: outcome for outcome, kind in _ANSWERS.items()},
    Failed: "failed",
}
