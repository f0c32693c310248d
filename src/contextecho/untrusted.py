"""Text from sessions, models, files and servers, made safe to look at.

The one thing to know: strangers write it, and every room shows it by this one
rule. Escaping HTML is the template's work; here is the part that escaping cannot
do: characters that a reader does not see but a terminal or a browser obeys (escape
sequences, direction overrides, invisible tags) become marks that show them.
"""

from __future__ import annotations

import re
import shlex

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


def shell_word(text: str) -> str:
    """`text` as one word of a command that can be pasted: quoted where need be.

    With a character that would not be seen, or would break the line, it is written in the form
    of bash, `$'...'`, those characters as their bytes.
    """
    if not any(map(_is_unseen, text)):
        return shlex.quote(text)
    return f"$'{''.join(map(_in_bash, text))}'"


def _is_unseen(character: str) -> bool:
    return character in "\t\n" or _UNSEEN.match(character) is not None


def _in_bash(character: str) -> str:
    if not _is_unseen(character):
        return f"\\{character}" if character in "\\'" else character
    is_byte = "\udc80" <= character <= "\udcff"  # of a file's name that is not UTF-8
    data = character.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in data)
