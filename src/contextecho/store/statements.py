"""Every statement of the store, as functions of the database's INSERT.

The one thing to know: values are bound by place, in the order in which they stand
in the function, and constants are spelled out, so that each compiles to one
string that is the same for every call.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    Select,
    TableClause,
    and_,
    bindparam,
    case,
    delete,
    distinct,
    func,
    literal_column,
    or_,
    select,
    update,
)

from contextecho.store import rows
from contextecho.store.databases import InsertInto, Statement
from contextecho.store.tables import (
    ATTEMPT,
    BATCH,
    BATCH_ITEM,
    BLOB,
    CELL,
    REPLY,
    REQUEST,
    RUN,
    VERDICT,
)

_ONE: ColumnElement[Any] = literal_column("1")
_ZERO: ColumnElement[Any] = literal_column("0")
_FAILED: ColumnElement[Any] = literal_column("'failed'")


def _columns(table: TableClause, names: tuple[str, ...]) -> list[ColumnElement[Any]]:
    return [table.c[name] for name in names]


def _bound(*names: str) -> dict[str, ColumnElement[Any]]:
    return {name: bindparam(name) for name in names}


# Runs


def touch_run(_: InsertInto) -> ClauseElement:
    """When a known run was begun again: the moment, the run."""
    return update(RUN).values(begun_at=bindparam("moment")).where(RUN.c.id == bindparam("run"))


def keep_run(insert: InsertInto) -> ClauseElement:
    """The columns `RUN`, then when it was begun."""
    new: ClauseElement = insert(RUN).on_conflict_do_nothing()
    return new


def keep_cell(insert: InsertInto) -> ClauseElement:
    """The run, the ordinal, the key, the columns `CELL`."""
    new: ClauseElement = insert(CELL).on_conflict_do_nothing()
    return new


def all_runs(_: InsertInto) -> ClauseElement:
    """Every run, the one begun last first."""
    return select(*_columns(RUN, rows.RUN)).order_by(RUN.c.begun_at.desc(), RUN.c.id)


def one_run(_: InsertInto) -> ClauseElement:
    """A run by its id."""
    return select(*_columns(RUN, rows.RUN)).where(RUN.c.id == bindparam("run"))


# Cells and replies


def cells(_: InsertInto) -> ClauseElement:
    """The cells of a run: key, columns `CELL`."""
    return (
        select(CELL.c.key, *_columns(CELL, rows.CELL))
        .where(CELL.c.run == bindparam("run"))
        .order_by(CELL.c.ordinal)
    )


def count_keys(_: InsertInto) -> ClauseElement:
    """How many distinct requests a run has."""
    return select(func.count(distinct(CELL.c.key))).where(CELL.c.run == bindparam("run"))


def missing_cells(_: InsertInto) -> ClauseElement:
    """The cells of a run without a settled reply: key, columns `CELL`."""
    settled = and_(REPLY.c.key == CELL.c.key, REPLY.c.settled == _ONE)
    return (
        select(CELL.c.key, *_columns(CELL, rows.CELL))
        .select_from(CELL.outerjoin(REPLY, settled))
        .where(CELL.c.run == bindparam("run"), REPLY.c.key.is_(None))
        .order_by(CELL.c.ordinal)
    )


def missing_keys(_: InsertInto) -> ClauseElement:
    """The distinct keys of a run without a settled reply."""
    settled = and_(REPLY.c.key == CELL.c.key, REPLY.c.settled == _ONE)
    return (
        select(CELL.c.key)
        .distinct()
        .select_from(CELL.outerjoin(REPLY, settled))
        .where(CELL.c.run == bindparam("run"), REPLY.c.key.is_(None))
    )


def count_failed(_: InsertInto) -> ClauseElement:
    """How many distinct keys of a run a failure has settled."""
    return (
        select(func.count(distinct(CELL.c.key)))
        .select_from(
            CELL.join(REPLY, REPLY.c.key == CELL.c.key).join(
                ATTEMPT, ATTEMPT.c.id == REPLY.c.attempt
            )
        )
        .where(
            CELL.c.run == bindparam("run"), REPLY.c.settled == _ONE, ATTEMPT.c.outcome == _FAILED
        )
    )


def replies(_: InsertInto) -> ClauseElement:
    """The cells of a run: key, attempts, when it ended, columns `CELL`, columns `REPLY`."""
    others = ATTEMPT.alias("others")
    attempts = select(func.count()).select_from(others).where(others.c.key == CELL.c.key)
    return (
        select(
            CELL.c.key,
            attempts.scalar_subquery(),
            ATTEMPT.c.ended_at,
            *_columns(CELL, rows.CELL),
            *_columns(ATTEMPT, rows.REPLY),
        )
        .select_from(
            CELL.outerjoin(REPLY, REPLY.c.key == CELL.c.key).outerjoin(
                ATTEMPT, ATTEMPT.c.id == REPLY.c.attempt
            )
        )
        .where(CELL.c.run == bindparam("run"))
        .order_by(CELL.c.ordinal)
    )


def reply_times(_: InsertInto) -> ClauseElement:
    """Of the replies to a run's cells, after a moment and the run: the columns `ReplyTimes`."""
    early = case((ATTEMPT.c.begun_at < bindparam("moment"), CELL.c.key))
    return (
        select(
            func.count(distinct(CELL.c.key)),
            func.count(distinct(early)),
            func.min(ATTEMPT.c.begun_at),
            func.max(ATTEMPT.c.ended_at),
        )
        .select_from(
            CELL.join(REPLY, REPLY.c.key == CELL.c.key).join(
                ATTEMPT, ATTEMPT.c.id == REPLY.c.attempt
            )
        )
        .where(CELL.c.run == bindparam("run"))
    )


def settled_reply(_: InsertInto) -> ClauseElement:
    """The reply that settled a key: columns `REPLY`."""
    return (
        select(*_columns(ATTEMPT, rows.REPLY))
        .select_from(REPLY.join(ATTEMPT, ATTEMPT.c.id == REPLY.c.attempt))
        .where(REPLY.c.key == bindparam("key"), REPLY.c.settled == _ONE)
    )


def blob(_: InsertInto) -> ClauseElement:
    """What is kept under a hash."""
    return select(BLOB.c.zstd).where(BLOB.c.sha256 == bindparam("sha256"))


def has_blob(_: InsertInto) -> ClauseElement:
    """One row if something is kept under a hash."""
    return select(_ONE).select_from(BLOB).where(BLOB.c.sha256 == bindparam("sha256"))


def keep_blob(insert: InsertInto) -> ClauseElement:
    """The hash, the bytes."""
    new: ClauseElement = insert(BLOB).on_conflict_do_nothing()
    return new


# The ledger


def keep_request(insert: InsertInto) -> ClauseElement:
    """The columns `REQUEST`."""
    new: ClauseElement = insert(REQUEST).on_conflict_do_nothing()
    return new


def begin_attempt(insert: InsertInto) -> ClauseElement:
    """The key, the run, the moment."""
    new: ClauseElement = insert(ATTEMPT).values(_bound("key", "run", "begun_at"))
    return new


def begun_attempt(_: InsertInto) -> ClauseElement:
    """The id of an attempt by key, run and moment."""
    return select(ATTEMPT.c.id).where(
        ATTEMPT.c.key == bindparam("key"),
        ATTEMPT.c.run == bindparam("run"),
        ATTEMPT.c.begun_at == bindparam("moment"),
    )


def end_attempt(_: InsertInto) -> ClauseElement:
    """The moment, the columns `REPLY`, the attempt."""
    return (
        update(ATTEMPT)
        .values(_bound("ended_at", *rows.REPLY))
        .where(ATTEMPT.c.id == bindparam("attempt"))
    )


def keep_reply(insert: InsertInto) -> ClauseElement:
    """Whether it settles the key, the attempt. What is settled stays."""
    found = select(ATTEMPT.c.key, ATTEMPT.c.id, bindparam("settled")).where(
        ATTEMPT.c.id == bindparam("attempt")
    )
    new = insert(REPLY).from_select(["key", "attempt", "settled"], found)
    kept: ClauseElement = new.on_conflict_do_update(
        index_elements=["key"],
        set_={"attempt": new.excluded.attempt, "settled": new.excluded.settled},
        where=REPLY.c.settled == _ZERO,
    )
    return kept


def target_answered(_: InsertInto) -> ClauseElement:
    """One row if the target of an attempt has ever answered."""
    asked, its = REQUEST.alias("asked"), ATTEMPT.alias("its")
    target = (
        select(asked.c.target)
        .select_from(its.join(asked, asked.c.key == its.c.key))
        .where(its.c.id == bindparam("attempt"))
    )
    answered = (
        select(_ONE)
        .select_from(ATTEMPT.join(REQUEST, REQUEST.c.key == ATTEMPT.c.key))
        .where(ATTEMPT.c.outcome != _FAILED, REQUEST.c.target == target.scalar_subquery())
    )
    return select(_ONE).where(answered.exists())


def spend(_: InsertInto) -> ClauseElement:
    """What the calls of a run used: target, whether in batches, then the fields of `Ledger`."""
    outcome, tokens = ATTEMPT.c.outcome, ("input", "cached", "cache_write", "output", "reasoning")
    in_batch = BATCH_ITEM.c.attempt.is_not(None)
    return (
        select(
            REQUEST.c.target,
            in_batch,
            func.count(),
            func.count().filter(outcome.is_(None)),
            func.count().filter(outcome == _FAILED),
            func.count().filter(outcome != _FAILED, ATTEMPT.c.input.is_(None)),
            *(func.coalesce(func.sum(ATTEMPT.c[name]), _ZERO) for name in tokens),
            func.coalesce(func.max(ATTEMPT.c.input), _ZERO),
        )
        .select_from(
            ATTEMPT.join(REQUEST, REQUEST.c.key == ATTEMPT.c.key).outerjoin(
                BATCH_ITEM, BATCH_ITEM.c.attempt == ATTEMPT.c.id
            )
        )
        .where(ATTEMPT.c.run == bindparam("run"))
        .group_by(REQUEST.c.target, in_batch)
        .order_by(REQUEST.c.target)
    )


# Verdicts


def keep_verdict(insert: InsertInto) -> ClauseElement:
    """The columns `VERDICT`, in place of an earlier one."""
    new = insert(VERDICT)
    read = ("value", "invalid", "detail")
    kept: ClauseElement = new.on_conflict_do_update(
        index_elements=["reply_key", "scorer", "scorer_version"],
        set_={name: new.excluded[name] for name in read},
    )
    return kept


def run_verdicts(_: InsertInto) -> ClauseElement:
    """Every verdict on the replies of a run: columns `VERDICT`."""
    keys = select(CELL.c.key).where(CELL.c.run == bindparam("run"))
    return _verdicts().where(VERDICT.c.reply_key.in_(keys))


def _verdicts() -> Select[Any]:
    order = _columns(VERDICT, ("reply_key", "scorer", "scorer_version"))
    return select(*_columns(VERDICT, rows.VERDICT)).order_by(*order)


# Batches


def keep_batch(insert: InsertInto) -> ClauseElement:
    """The columns `BATCH`."""
    new: ClauseElement = insert(BATCH).values(_bound(*rows.BATCH))
    return new


def opened_batch(_: InsertInto) -> ClauseElement:
    """The id of a batch by run, provider and moment."""
    return select(BATCH.c.id).where(
        BATCH.c.run == bindparam("run"),
        BATCH.c.provider == bindparam("provider"),
        BATCH.c.opened_at == bindparam("moment"),
    )


def keep_item(insert: InsertInto) -> ClauseElement:
    """The batch, the custom id, the attempt."""
    new: ClauseElement = insert(BATCH_ITEM).on_conflict_do_nothing()
    return new


def submit_batch(_: InsertInto) -> ClauseElement:
    """The provider's id, the state, the moment, the batch."""
    return _change_batch("provider_id", "state", "submitted_at")


def end_batch(_: InsertInto) -> ClauseElement:
    """The state, the moment, the batch."""
    return _change_batch("state", "ended_at")


def _change_batch(*names: str) -> ClauseElement:
    return update(BATCH).values(_bound(*names)).where(BATCH.c.id == bindparam("batch"))


def open_batches(_: InsertInto) -> ClauseElement:
    """The batches of a run that have not ended: id, columns `BATCH`."""
    return (
        select(BATCH.c.id, *_columns(BATCH, rows.BATCH))
        .where(BATCH.c.run == bindparam("run"), BATCH.c.ended_at.is_(None))
        .order_by(BATCH.c.id)
    )


def one_batch(_: InsertInto) -> ClauseElement:
    """A batch by its id: id, columns `BATCH`."""
    return select(BATCH.c.id, *_columns(BATCH, rows.BATCH)).where(BATCH.c.id == bindparam("batch"))


def named_batch(_: InsertInto) -> ClauseElement:
    """One row if a batch of a provider, by the provider's name of it, is known."""
    return select(_ONE).where(
        BATCH.c.provider == bindparam("provider"), BATCH.c.provider_id == bindparam("named")
    )


def batch_items(_: InsertInto) -> ClauseElement:
    """The items of a batch: custom id, attempt, key, whether it is settled."""
    return _items().order_by(BATCH_ITEM.c.attempt)


def batch_item(_: InsertInto) -> ClauseElement:
    """An item by its batch and its custom id, as in `batch_items`."""
    return _items().where(BATCH_ITEM.c.custom_id == bindparam("custom_id"))


def _items() -> Select[Any]:
    return (
        select(
            BATCH_ITEM.c.custom_id,
            BATCH_ITEM.c.attempt,
            ATTEMPT.c.key,
            ATTEMPT.c.ended_at.is_not(None),
        )
        .select_from(BATCH_ITEM.join(ATTEMPT, ATTEMPT.c.id == BATCH_ITEM.c.attempt))
        .where(BATCH_ITEM.c.batch == bindparam("batch"))
    )


def batch_target(_: InsertInto) -> ClauseElement:
    """The targets of the requests of a batch, that of the first one first."""
    joined = BATCH_ITEM.join(ATTEMPT, ATTEMPT.c.id == BATCH_ITEM.c.attempt)
    return (
        select(REQUEST.c.target)
        .select_from(joined.join(REQUEST, REQUEST.c.key == ATTEMPT.c.key))
        .where(BATCH_ITEM.c.batch == bindparam("batch"))
        .order_by(BATCH_ITEM.c.attempt)
    )


def run_attempts(_: InsertInto) -> ClauseElement:
    """The ledger of a run: id, run, key, target, when begun and ended, columns `REPLY`."""
    told = _columns(ATTEMPT, ("begun_at", "ended_at", *rows.REPLY))
    return (
        select(ATTEMPT.c.id, ATTEMPT.c.run, ATTEMPT.c.key, REQUEST.c.target, *told)
        .select_from(ATTEMPT.join(REQUEST, REQUEST.c.key == ATTEMPT.c.key))
        .where(ATTEMPT.c.run == bindparam("run"))
        .order_by(ATTEMPT.c.id)
    )


# Merging


def end_open_attempt(_: InsertInto) -> ClauseElement:
    """As `end_attempt`, for an attempt that is still out."""
    return (
        update(ATTEMPT)
        .values(_bound("ended_at", *rows.REPLY))
        .where(ATTEMPT.c.id == bindparam("attempt"), ATTEMPT.c.ended_at.is_(None))
    )


def standing(_: InsertInto) -> ClauseElement:
    """What answers a key: attempt, whether it settles it, when it ended."""
    return (
        select(REPLY.c.attempt, REPLY.c.settled, ATTEMPT.c.ended_at)
        .select_from(REPLY.join(ATTEMPT, ATTEMPT.c.id == REPLY.c.attempt))
        .where(REPLY.c.key == bindparam("key"))
    )


def ended(_: InsertInto) -> ClauseElement:
    """When an attempt ended."""
    return select(ATTEMPT.c.ended_at).where(ATTEMPT.c.id == bindparam("attempt"))


def replace_reply(_: InsertInto) -> ClauseElement:
    """The attempt, whether it settles the key, the key."""
    return (
        update(REPLY)
        .values(_bound("attempt", "settled"))
        .where(REPLY.c.key == bindparam("its_key"))
    )


def add_verdict(insert: InsertInto) -> ClauseElement:
    """The columns `VERDICT`, where there is none."""
    new: ClauseElement = insert(VERDICT).on_conflict_do_nothing()
    return new


def forget_verdicts(_: InsertInto) -> ClauseElement:
    """Every verdict on the reply to a key."""
    return delete(VERDICT).where(VERDICT.c.reply_key == bindparam("key"))


# Looking at everything


def everything(table: TableClause) -> Statement:
    """All columns of all rows of a table, in the order of the first column."""

    def rows_of(_: InsertInto) -> ClauseElement:
        return select(*table.c).order_by(*list(table.c)[:1])

    return rows_of


def all_requests(_: InsertInto) -> ClauseElement:
    """Every request, context by context: columns `REQUEST`."""
    return select(*_columns(REQUEST, rows.REQUEST)).order_by(REQUEST.c.context, REQUEST.c.key)


def half_ended(_: InsertInto) -> ClauseElement:
    """Attempts that ended without an outcome, or have one without an end."""
    ended, came = ATTEMPT.c.ended_at.is_(None), ATTEMPT.c.outcome.is_(None)
    return select(ATTEMPT.c.id).where(ended != came)


def unexplained(_: InsertInto) -> ClauseElement:
    """Attempts that failed without a reason, or have one without having failed."""
    failed, said = ATTEMPT.c.outcome == _FAILED, ATTEMPT.c.failure.is_not(None)
    return select(ATTEMPT.c.id).where(failed != said)


def impossible_usage(_: InsertInto) -> ClauseElement:
    """Attempts with negative tokens, or with parts that are more than the whole."""
    a = ATTEMPT.c
    cached = func.coalesce(a.cached, _ZERO) + func.coalesce(a.cache_write, _ZERO)
    counts = (a.input, a.cached, a.cache_write, a.output, a.reasoning)
    negative = (count < _ZERO for count in counts)
    return select(a.id).where(or_(*negative, cached > a.input, a.reasoning > a.output))


def stray_replies(_: InsertInto) -> ClauseElement:
    """Replies whose attempt belongs to another key, or has brought nothing."""
    strays = or_(ATTEMPT.c.key != REPLY.c.key, ATTEMPT.c.ended_at.is_(None))
    joined = REPLY.join(ATTEMPT, ATTEMPT.c.id == REPLY.c.attempt)
    return select(REPLY.c.key).select_from(joined).where(strays)


def unsettled_answers(_: InsertInto) -> ClauseElement:
    """Keys that were answered, and yet are not settled."""
    settled = select(REPLY.c.key).where(REPLY.c.settled == _ONE)
    answered = ATTEMPT.c.outcome != _FAILED
    return select(ATTEMPT.c.key).distinct().where(answered, ATTEMPT.c.key.not_in(settled))


def outcomes(_: InsertInto) -> ClauseElement:
    """How many keys have a reply, by outcome and whether it settles them."""
    return (
        select(ATTEMPT.c.outcome, REPLY.c.settled, func.count())
        .select_from(REPLY.join(ATTEMPT, ATTEMPT.c.id == REPLY.c.attempt))
        .group_by(ATTEMPT.c.outcome, REPLY.c.settled)
        .order_by(ATTEMPT.c.outcome, REPLY.c.settled.desc())
    )


def run_sizes(_: InsertInto) -> ClauseElement:
    """Every run with its cells and how many of them are settled."""
    settled = and_(REPLY.c.key == CELL.c.key, REPLY.c.settled == _ONE)
    return (
        select(CELL.c.run, func.count(), func.count(REPLY.c.key))
        .select_from(CELL.outerjoin(REPLY, settled))
        .group_by(CELL.c.run)
    )


# What nothing refers to


def loose_blobs(_: InsertInto) -> ClauseElement:
    """Blobs that neither a cell nor a request refers to: hash, bytes."""
    return (
        select(BLOB.c.sha256, func.length(BLOB.c.zstd))
        .where(
            BLOB.c.sha256.not_in(select(CELL.c.prefix)),
            BLOB.c.sha256.not_in(select(REQUEST.c.context)),
        )
        .order_by(BLOB.c.sha256)
    )


def drop_blob(_: InsertInto) -> ClauseElement:
    """Forget a blob by its hash."""
    return delete(BLOB).where(BLOB.c.sha256 == bindparam("sha256"))
