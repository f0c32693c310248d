"""What may be wrong with a file of the release, and what is to be known about it.

The one thing to know: a flag that voids takes the score out of every mean; the others
leave it where it is, and an analysis may leave out what it likes by them.
"""

from __future__ import annotations

from enum import StrEnum


class Flag(StrEnum):
    """One kind of finding; its value is what tables and the store call it."""

    # Files that gave no cell.
    UNREADABLE = "unreadable"
    UNKNOWN_FILE = "unknown-file"
    UNKNOWN_FOLDER = "unknown-folder"
    LEGACY = "legacy"
    MISSING_FILE = "missing-file"
    # Scores that may not be used.
    INVALID_SCORE = "invalid-score"
    LABEL_MISMATCH = "label-mismatch"
    JUDGE_FAILED = "judge-failed"
    EMPTY_REPLY = "empty-reply"
    PATH_MISMATCH = "path-mismatch"
    TWO_VERSIONS = "two-versions"
    TWO_VOCABULARIES = "two-vocabularies"
    COMPLIANCE_MISMATCH = "compliance-mismatch"
    # What a reader should know.
    MISSING_KEY = "missing-key"
    UNKNOWN_KEY = "unknown-key"
    LENGTH_MISMATCH = "length-mismatch"
    SAME_PREFIX = "same-prefix"
    BEYOND_END = "beyond-end"
    UNKNOWN_POSITION = "unknown-position"
    ARM_ALIAS = "arm-alias"
    DUAL_MEANING = "dual-meaning"
    SELF_JUDGED = "self-judged"

    @property
    def meaning(self) -> str:
        """One line for a table."""
        return _MEANINGS[self]

    @property
    def voids(self) -> bool:
        """Whether a score of a cell that has it has no value."""
        return self in _VOID


_MEANINGS = {
    Flag.UNREADABLE: "truncated, not JSON, or not the types of a cell: no cell",
    Flag.UNKNOWN_FILE: "not of the release as it is known: not read",
    Flag.UNKNOWN_FOLDER: "an experiment that is not known: not read",
    Flag.LEGACY: "of the five-condition panel that the paper left out: not read",
    Flag.MISSING_FILE: "named by the manifest and not there",
    Flag.INVALID_SCORE: "-1, out of 0..3, or no whole number: no score",
    Flag.LABEL_MISMATCH: "label and score say different things: no score",
    Flag.JUDGE_FAILED: "the judge's answer could not be read: no score",
    Flag.EMPTY_REPLY: "the reply has no text: no score",
    Flag.PATH_MISMATCH: "the file says another cell than its path: no score",
    Flag.TWO_VERSIONS: "both roots hold the file, differently: no score",
    Flag.TWO_VOCABULARIES: "the two names of a field have different values: no score",
    Flag.COMPLIANCE_MISMATCH: "the rule gives another compliance to the text: no compliance",
    Flag.MISSING_KEY: "a key that such a cell has is missing",
    Flag.UNKNOWN_KEY: "a key that is not known is left out",
    Flag.LENGTH_MISMATCH: "the text does not have the length that the file says",
    Flag.SAME_PREFIX: "as many input tokens as at another position: the same prefix",
    Flag.BEYOND_END: "the position is beyond the end of the session",
    Flag.UNKNOWN_POSITION: "a position of this session that is not known: no turn",
    Flag.ARM_ALIAS: "the arm has the other of its two names",
    Flag.DUAL_MEANING: "the folder holds two kinds of cell",
    Flag.SELF_JUDGED: "the target was, or may have been, its own judge",
}
_VOID = frozenset(
    (
        Flag.INVALID_SCORE,
        Flag.LABEL_MISMATCH,
        Flag.JUDGE_FAILED,
        Flag.EMPTY_REPLY,
        Flag.PATH_MISMATCH,
        Flag.TWO_VERSIONS,
        Flag.TWO_VOCABULARIES,
    )
)
