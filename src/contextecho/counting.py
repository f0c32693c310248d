"""Numbers of things in words, for messages and reports."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 prefix`, `1,200 prefixes`, `2 replies`; `plural` where English is not regular."""
    return f"{count:,} {noun if count == 1 else plural or _plural_of(noun)}"


def _plural_of(noun: str) -> str:
    """The regular plural of a noun, or of a phrase that ends in one."""
    if noun.endswith(("x", "s", "ch")):
        return f"{noun}es"
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
