"""Text from sessions, models, files and servers, made safe to look at.

The one thing to know: strangers write it, and every room shows it by this one
rule. Escaping HTML is the template's work; here is the part that escaping cannot
do: characters that a reader does not see but a terminal or a browser obeys (escape
sequences, direction overrides, invisible tags) become marks that show them.
"""

from __future__ import annotations

import re

# C0 and C1 controls except tab and newline, DEL; Arabic letter mark; zero-width space and the
# direction marks; line and paragraph separators with the embeddings and overrides; invisible
# operators and isolates; byte order mark; interlinear annotation; surrogates; tag characters.
# The zero-width joiners stay: Persian and emoji need them, and they reorder nothing.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)

_SURROGATE = re.compile("[\ud800-\udfff]")


def make_visible(text: str) -> str:
    """`text` with every unseen character replaced by its name, as in ⟨U+202E⟩.

    Tabs and line ends stay; CR LF becomes LF.
    """
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def mend_halves(text: str) -> str:
    """`text` with U+FFFD for every lone surrogate: JSON can escape one, UTF-8 cannot hold it."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """`text` made visible, and on one line with single spaces."""
    return " ".join(make_visible(text).split())
