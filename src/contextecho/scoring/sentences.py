"""S3: whether a reply is exactly one sentence of prose.

The one thing to know: this counts sentences, it does not judge grammar. A full
stop ends a sentence only where a reader would hear it: not in `e.g.`, `vs.`,
`file.py`, `3.11`, "step 1. of the plan", nor inside a code span. A line break
ends one unless the line is plainly wrapped.
"""

from __future__ import annotations

import json
import re

from contextecho.scoring.contract import KEPT, Compliance, broken

_FENCE = re.compile(r"```|^~~~", re.MULTILINE)
_MARKUP = re.compile(
    r"</?(?:\w+:)?(?:tool|tool_calls?|tool_use|function|function_calls?|invoke|parameter|bash|command)\b[^>]*>|<function=|<\|[a-z_▁]+\|>|\[tool_(?:use|call|result)|^\s*\[?\{",
    re.IGNORECASE | re.MULTILINE,
)
_LIST_MARKER = re.compile(r"^\s*(?:[-*+•‣–]\s+|\(?\d{1,2}[.)]\s+|[a-z]\)\s+)", re.MULTILINE)
_HEADING = re.compile(r"^\s*#{1,6}\s", re.MULTILINE)
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_CLOSERS = r"[\"'”’»)\]*_`]*"
_BOUNDARY = re.compile(rf"([.!?…]+{_CLOSERS})\s+(?=\S)|([。！？]{_CLOSERS})\s*(?=\S)")
_LAST_WORD = re.compile(r"(\S+)$")

# Written with a full stop in the middle of a sentence, whatever follows.
_ABBREVIATED = frozenset(
    ("vs", "viz", "cf", "dr", "mr", "mrs", "ms", "prof", "st", "approx", "incl", "esp", "resp")
).union(("e.g", "i.e", "a.k.a", "z.b", "d.h"))
_DOTTED = re.compile(r"(?:\w\.)+\w")  # U.S., J.R.R., and names like a.b.c
_INITIAL = re.compile(r"[A-HJ-Z]")  # J. Smith; "I" is a word
# Abbreviations only before a number ("no. 7", "fig. 2", "v. 3").
_BEFORE_NUMBER = frozenset(
    ("no", "nos", "fig", "figs", "eq", "sec", "ch", "p", "pp", "v", "ver", "vol", "art")
)
# End a sentence only if a capital follows ("etc. Then ..." but "etc. in the file").
_EITHER = frozenset(("etc", "al", "inc", "ltd", "co", "jr", "sr", "a.m", "p.m"))


def check_sentence(text: str) -> Compliance:
    """S3 on stripped text: exactly one sentence, with no list, fence or tool call."""
    if _FENCE.search(text):
        return broken("fenced code")
    if _MARKUP.search(text):
        return broken("JSON" if _is_json(text) else "tool-call markup")
    if _LIST_MARKER.search(text):
        return broken("a list")
    if _HEADING.search(text):
        return broken("a heading")
    if _CODE_SPAN.fullmatch(text):
        return broken("only code")
    count = count_sentences(text)
    if count == 1:
        return KEPT
    return broken("no words" if count == 0 else f"{count} sentences")


def count_sentences(text: str) -> int:
    """How many sentences a reader would count in `text`."""
    prose = _CODE_SPAN.sub("code", text)
    return sum(_count_in_line(line) for line in _unwrap(prose))


def _unwrap(text: str) -> list[str]:
    """Lines of text, with a line that plainly goes on in the next one joined to it."""
    lines: list[str] = []
    for line in filter(None, (raw.strip() for raw in text.splitlines())):
        wrapped = lines and line[0].islower() and lines[-1][-1] not in ".!?…:。！？"
        if wrapped:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def _count_in_line(line: str) -> int:
    starts = [0] + [m.end() for m in _BOUNDARY.finditer(line) if _ends_sentence(line, m)]
    ends = [*starts[1:], len(line)]
    return sum(any(c.isalnum() for c in line[a:b]) for a, b in zip(starts, ends, strict=True))


def _ends_sentence(line: str, match: re.Match[str]) -> bool:
    """Whether the punctuation found really ends a sentence."""
    if match[2]:
        return True
    mark, following = match[1], line[match.end()]
    if following.islower() and mark[-1] in "\"'”’»)":  # "Why?" he asked
        return False
    if mark[0] in "!?":
        return True
    if mark.startswith(("..", "…")):
        return not following.islower()
    before = _LAST_WORD.search(line[: match.start()])
    return not _is_abbreviation(before[1].lstrip("(\"'“‘[*_") if before else "", following)


def _is_abbreviation(written: str, following: str) -> bool:
    """Whether the full stop after `written` belongs to it, given the character that follows."""
    word = written.casefold()
    if word in _EITHER or word.isdigit():
        return not following.isupper()
    if word in _BEFORE_NUMBER:
        return following.isdigit()
    if word in _ABBREVIATED:
        return True
    if _DOTTED.fullmatch(word):
        return written.isupper() or not following.isupper()
    return bool(_INITIAL.fullmatch(written))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
