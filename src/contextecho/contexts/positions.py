"""Where a session is forked: position policies, turned into positions with all three indices.

The one thing to know: a policy is written in row turns (the first paper's
count) unless it says otherwise (`step:`, `prompt:`, `line:`), and whatever it
had to change to fit the session (a position past the end, two that fall
together, a padding that a short segment cannot hold) comes back as a note.

    compactions      start, before and after each compaction, late
    crossings        before and after each compaction alone
    even:12          twelve evenly spaced, the last one at the end
    onset            1, 5, 25, 100, 250, 500, 1000, 1500
    100,1300         these row turns; also step:40, prompt:7, line:120
    last             the end
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from contextecho.contexts.model import Position
from contextecho.counting import counted
from contextecho.defaults import FEWEST_POSITIONS
from contextecho.errors import SessionError, UsageError
from contextecho.sessions import Kind, Session

PADDING = 100
"""Row turns between a compaction and the positions around it (paper, App. S)."""

ONSET = (1, 5, 25, 100, 250, 500, 1000, 1500)
"""Row turns of the onset sweep (paper, App. K)."""

_FORMS = (
    "use compactions, crossings, even:N, onset, last, or row turns like 100,1300 "
    "(step:N, prompt:N, line:N)"
)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The positions that a policy gave, and what had to be changed to give them."""

    positions: tuple[Position, ...]
    notes: tuple[str, ...]


class _Wish(msgspec.Struct, frozen=True, kw_only=True):
    """A place asked for: its name, its row turn, and its line where the row turn's is not meant."""

    name: str
    row_turn: int
    line: int | None = None


def find_positions(
    session: Session, policy: str, *, padding: int | None = None
) -> tuple[Position, ...]:
    """The positions of `policy` in `session`, in order; see `choose_positions`."""
    return choose_positions(session, policy, padding=padding).positions


def choose_positions(session: Session, policy: str, *, padding: int | None = None) -> Choice:
    """The positions of `policy` in `session`, in order, and what had to be changed.

    `padding` (row turns, 100 unless given) applies to `compactions` and `crossings` only.
    Raises UsageError for a policy that is none, SessionError for a session that
    has no such position; those of `onset` that lie past its end are moved to it.
    """
    if session.row_turns == 0:
        raise SessionError("has no turns to fork at", where=str(session.path))
    notes: list[str] = []
    wishes = sorted(
        _wishes(session, policy, padding, notes), key=lambda w: (w.row_turn, w.line or 0)
    )
    beyond = [wish for wish in wishes if wish.row_turn > session.row_turns]
    if beyond and (policy != "onset" or beyond == wishes):
        raise SessionError(
            f"ends at row turn {session.row_turns}: there is no {_spoken(beyond[0])}",
            where=str(session.path),
            todo=f"it has {_extent(session)}",
        )
    kept = _merge([_clamp(session, wish, notes) for wish in wishes], notes)
    if policy == "compactions" and len(kept) < FEWEST_POSITIONS:
        notes.append(
            f"{counted(len(session.full_compactions), 'compaction')} in this session, and so "
            f"{counted(len(kept), 'position')}: too few to say much; even:N gives N"
        )
    lines = [turn.line for turn in session.turns]
    positions = tuple(_position(session, lines, wish, order) for order, wish in enumerate(kept))
    return Choice(positions=positions, notes=tuple(notes))


def even_indices(count: int, wanted: int) -> tuple[int, ...]:
    """`wanted` of the indices 0..count-1, evenly spaced from the first to the last.

    The reference's rule, round(i (n - 1) / (k - 1)), with halves to even.
    """
    if wanted == 1:
        return (count - 1,)
    return tuple(round(i * (count - 1) / (wanted - 1)) for i in range(wanted))


def _wishes(
    session: Session, policy: str, padding: int | None, notes: list[str]
) -> Iterable[_Wish]:
    name, _, argument = policy.partition(":")
    if policy == "compactions":
        return _around_compactions(session, PADDING if padding is None else padding, notes)
    if policy == "crossings":
        return _crossings(session, PADDING if padding is None else padding, notes)
    if policy == "onset":
        return [_Wish(name=f"t{turn:04d}", row_turn=turn) for turn in ONSET]
    if policy == "last":
        return [_Wish(name="last", row_turn=session.row_turns)]
    if name == "even":
        return _evenly(session, _number(argument, policy))
    return [_explicit(session, item.strip(), policy) for item in policy.split(",")]


def _around_compactions(session: Session, padding: int, notes: list[str]) -> list[_Wish]:
    """start, pre_C1, post_C1, ..., late; each inside its own segment, unless that is empty."""
    if padding < 1:
        raise UsageError(f"padding {padding} is not a number of row turns", todo="use 1 or more")
    borders = [0, *(c.row_turn for c in session.full_compactions), session.row_turns]
    last = len(borders) - 2
    wishes = []
    for segment, (begin, end) in enumerate(pairwise(borders)):
        first = f"post_C{segment}" if segment else "start"
        final = f"pre_C{segment + 1}" if segment < last else "late"
        if begin == end:
            notes.append(
                f"{first} and {final} are left out: the session has no row turn between them"
            )
            continue
        pad = min(padding, max(1, (end - begin) // 3))
        before_end = max(begin + 1, end - pad)
        wishes.append(_Wish(name=first, row_turn=begin + pad))
        wishes.append(_Wish(name=final, row_turn=before_end if segment < last else end))
        if pad < padding:
            moved = f"{first} stands" if segment == last else f"{first} and {final} stand"
            notes.append(
                f"{moved} {counted(pad, 'row turn')} from the nearest compaction or session end, "
                f"not {padding}, because only {end - begin} lie between"
            )
    return wishes


def _crossings(session: Session, padding: int, notes: list[str]) -> list[_Wish]:
    """pre_C1, post_C1, pre_C2, ...: where both sides of a compaction can be had."""
    wishes = _around_compactions(session, padding, notes)
    names = {wish.name for wish in wishes}
    both = {
        n
        for n in range(1, len(session.full_compactions) + 1)
        if {f"pre_C{n}", f"post_C{n}"} <= names
    }
    if not both:
        raise SessionError(
            "has no compaction with turns on both sides",
            where=str(session.path),
            todo=f"it has {_extent(session)}",
        )
    kept = {f"{side}_C{n}" for n in both for side in ("pre", "post")}
    return [wish for wish in wishes if wish.name in kept]


def _evenly(session: Session, wanted: int) -> list[_Wish]:
    """From one share of the session to its end, so that none is a single row."""
    share = max(1, round(session.row_turns / wanted))
    if wanted > session.row_turns:
        raise SessionError(
            f"has {session.row_turns} row turns, too few for {wanted} positions",
            where=str(session.path),
            todo=f"it has {_extent(session)}",
        )
    offsets = even_indices(session.row_turns - share + 1, wanted)
    return [_Wish(name=f"t{share + i:04d}", row_turn=share + i) for i in offsets]


def _explicit(session: Session, item: str, policy: str) -> _Wish:
    """A row turn, or the row turn at which a step, a prompt's exchange or a line ends."""
    unit, _, argument = item.rpartition(":")
    number = _number(argument, policy)
    if not unit:
        return _Wish(name=f"t{number:04d}", row_turn=number)
    beyond = _Wish(name=item, row_turn=session.row_turns + 1)
    name = f"{unit}{number}"
    if unit == "step":
        spoken = (Kind.ASSISTANT, Kind.THINKING, Kind.TOOL_CALL)
        ends = [t.row_turn for t in session.turns if t.step == number and t.kind in spoken]
        return _Wish(name=name, row_turn=ends[-1]) if ends else beyond
    if unit == "prompt":
        ends = [t.row_turn for t in session.turns if t.prompt <= number]
        return _Wish(name=name, row_turn=max(1, *ends)) if number <= session.prompts else beyond
    if unit == "line":
        turn = bisect_right(session.row_turn_lines, number)
        if turn == 0 or number > max(session.row_turn_lines[-1], session.turns[-1].line):
            return beyond
        return _Wish(name=name, row_turn=turn, line=number)
    raise UsageError(f'"{policy}" is not a position policy', todo=_FORMS)


def _spoken(wish: _Wish) -> str:
    """A place past the end as it was asked for: `row turn 8800`, `step:900`."""
    return f"row turn {wish.row_turn}" if wish.name == f"t{wish.row_turn:04d}" else wish.name


def _number(text: str, policy: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(f'"{policy}" is not a position policy', todo=_FORMS)
    return int(text)


def _clamp(session: Session, wish: _Wish, notes: list[str]) -> _Wish:
    if wish.row_turn <= session.row_turns:
        return wish
    notes.append(
        f"{wish.name} lies past the end of the session and is moved to its last row turn, "
        f"{session.row_turns}"
    )
    return _Wish(name=f"t{session.row_turns:04d}", row_turn=session.row_turns)


def _merge(wishes: Sequence[_Wish], notes: list[str]) -> list[_Wish]:
    """Drop places that fall together, and say so."""
    kept: list[_Wish] = []
    for wish in wishes:
        if kept and (kept[-1].row_turn, kept[-1].line) == (wish.row_turn, wish.line):
            names = " and ".join(dict.fromkeys((kept[-1].name, wish.name)))
            notes.append(f"{names} fall on row turn {wish.row_turn}: one position is kept")
        else:
            kept.append(wish)
    return kept


def _position(session: Session, lines: Sequence[int], wish: _Wish, order: int) -> Position:
    assert 1 <= wish.row_turn <= session.row_turns, wish
    line = wish.line or _line_of(session, wish.row_turn)
    before = session.turns[: bisect_right(lines, line)]
    return Position(
        label=f"P{order:02d}_{wish.name}",
        row_turn=wish.row_turn,
        step=before[-1].step if before else 0,
        prompt=before[-1].prompt if before else 0,
        line=line,
        segment=sum(c.line <= line for c in session.full_compactions),
        order=order,
    )


def _line_of(session: Session, row_turn: int) -> int:
    """The line of a row turn; the last one takes with it what follows, results of tools above all.

    They are no row turns, and "the end" means the end.
    """
    line = session.row_turn_lines[row_turn - 1]
    return max(line, session.turns[-1].line) if row_turn == session.row_turns else line


def _extent(session: Session) -> str:
    counts = {
        "row turn": session.row_turns,
        "agent step": session.steps,
        "prompt": session.prompts,
        "compaction": len(session.full_compactions),
    }
    return ", ".join(counted(count, noun) for noun, count in counts.items())
