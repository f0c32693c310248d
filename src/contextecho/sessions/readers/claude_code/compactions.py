"""Compactions: boundaries, the summaries that follow them, and older files without either.

The one thing to know: newer clients write a boundary and then the summary; older
ones only a user record that begins "This session is being continued ...", in the
middle of a file or as the first thing in a new one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from msgspec.structs import replace

from contextecho.sessions.model import Compaction, CompactionKind, Turn
from contextecho.sessions.readers.claude_code.branches import Branches
from contextecho.sessions.readers.claude_code.records import CompactMetadata


class Compactions:
    """The compactions of a session, and the number of the segment being read."""

    def __init__(self) -> None:
        self.found: list[Compaction] = []
        self.segment = 0
        self._open: int | None = None  # boundary whose summary has not come yet

    def boundary(
        self,
        said: CompactMetadata | None,
        here: Compaction,
        branches: Branches,
        turns: int,
    ) -> None:
        """The client replaced the conversation; a summary follows."""
        said = said or CompactMetadata()
        self.segment += 1
        self._open = len(self.found)
        self.found.append(
            replace(
                here,
                trigger=said.trigger,
                tokens_before=said.pre_tokens,
                tokens_after=said.post_tokens,
                kept=_kept(said, branches, turns),
            )
        )

    def microcompacted(self, said: CompactMetadata | None, here: Compaction) -> None:
        """The client cleared tool results; the conversation goes on unbroken."""
        said = said or CompactMetadata()
        before, saved = said.pre_tokens, said.tokens_saved
        after = before - saved if before is not None and saved is not None else None
        self.found.append(
            replace(
                here,
                trigger=said.trigger,
                tokens_before=before,
                tokens_after=after,
                kind=CompactionKind.MICRO,
            )
        )

    def summarised(self, here: Compaction, turn: int) -> None:
        """A summary, which will be turn number `turn`."""
        if self._open is not None:
            self.found[self._open] = replace(self.found[self._open], summary=turn)
            self._open = None
            return
        if turn == 0:
            kind = CompactionKind.CONTINUATION
            self.found.append(replace(here, row_turn=0, summary=turn, kind=kind))
            return
        self.segment += 1
        # The summary's own row is not part of what it replaced.
        self.found.append(replace(here, row_turn=max(0, here.row_turn - 1), summary=turn))

    def answered(self) -> None:
        """The model went on: a summary that has not come by now will not come."""
        self._open = None

    def retract(self, gone: Sequence[int], turns: Sequence[Turn]) -> None:
        """Turns that are taken out again: later numbers and counts move down."""
        prompts = [turns[number].prompt for number in gone]
        for index, compaction in enumerate(self.found):
            self.found[index] = replace(
                compaction,
                prompt=compaction.prompt - bisect_left(prompts, compaction.prompt + 1),
                summary=_moved(compaction.summary, gone),
                kept=tuple(_moved_down(n, gone) for n in compaction.kept if n not in gone),
            )


def _kept(said: CompactMetadata, branches: Branches, turns: int) -> tuple[int, ...]:
    """The turns that stay verbatim after the summary, where the client names them."""
    if said.preserved_messages is not None:
        return tuple(sorted(set(branches.turns_of(said.preserved_messages.uuids, turns))))
    segment = said.preserved_segment
    if segment is not None and segment.head_uuid and segment.tail_uuid:
        return tuple(branches.turns_between(segment.head_uuid, segment.tail_uuid, turns))
    return ()


def _moved(number: int | None, gone: Sequence[int]) -> int | None:
    return None if number is None else _moved_down(number, gone)


def _moved_down(number: int, gone: Sequence[int]) -> int:
    """The number of a turn after the earlier ones in `gone` are taken out."""
    return number - bisect_left(gone, number)
