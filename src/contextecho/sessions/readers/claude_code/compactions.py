"""Compactions: boundaries, the summaries that follow them, and older files without either.

The one thing to know: newer clients write a boundary and then the summary; older
ones only a user record that begins "This session is being continued ...", in the
middle of a file or as the first thing in a new one.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from contextecho.sessions.building.tally import Tally
from contextecho.sessions.model import Compaction, CompactionKind
from contextecho.sessions.readers.claude_code.branches import Branches
from contextecho.sessions.readers.claude_code.records import CompactMetadata
from contextecho.sessions.readers.claude_code.removal import Removal

KEPT_LOST: Final = "kept messages that are not in the file"


class Compactions:
    """The compactions of a session, and the number of the segment being read."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
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
        kept = _kept(said, branches, turns)
        if kept == () and (said.preserved_messages or said.preserved_segment):
            self._tally.add(KEPT_LOST, here.line)
        self._open = len(self.found)
        self.found.append(
            replace(
                here,
                trigger=said.trigger,
                tokens_before=said.pre_tokens,
                tokens_after=said.post_tokens,
                kept=kept,
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
                cleared=said.compacted_tool_ids,
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

    def remove(self, removal: Removal) -> None:
        """Turns are taken out again: numbers and counts move down."""
        for index, compaction in enumerate(self.found):
            summary = compaction.summary
            self.found[index] = replace(
                compaction,
                step=removal.step(compaction.step),
                prompt=removal.prompt(compaction.prompt),
                summary=None if summary is None else removal.number(summary),
                kept=removal.numbers(compaction.kept),
            )


def _kept(said: CompactMetadata, branches: Branches, turns: int) -> tuple[int, ...]:
    """The turns that stay verbatim after the summary, where the client names them."""
    if said.preserved_messages is not None:
        return tuple(sorted(set(branches.turns_of(said.preserved_messages.uuids, turns))))
    segment = said.preserved_segment
    if segment is not None and segment.head_uuid and segment.tail_uuid:
        return tuple(branches.turns_between(segment.head_uuid, segment.tail_uuid, turns))
    return ()
