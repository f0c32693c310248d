"""In which language a human wrote, where that can be told.

The one thing to know: prompts to agents are short and full of names of files and
commands, so most detectors guess. Only ordinary words are looked at, and an answer that
is not nearly certain is no answer.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

CERTAIN: Final = 0.9  # probability among the languages below
_FEWEST_LETTERS: Final = 10
_MOST_CHARACTERS: Final = 2_000  # more would not change the answer

# Languages that people write to agents in; among all 139 of the model, a short English line is
# often taken for one spoken by few.
_LANGUAGES: Final = (
    *("ar", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi"),
    *("hr", "hu", "id", "it", "ja", "ko", "lt", "lv", "ms", "nl", "no", "pl", "pt", "ro", "ru"),
    *("sk", "sl", "sr", "sv", "ta", "th", "tr", "uk", "ur", "vi", "zh"),
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NO_WORD = re.compile(r"\S*[/\\@_=<>{}()\[\]|#$%&*+\d:]\S*|\S+\.\w\S*|--?\w\S*")


def language_of(text: str) -> str | None:
    """The language of a human's words (ISO 639-1), or `None` where it cannot be told."""
    words = _NO_WORD.sub(" ", _CODE.sub(" ", text[:_MOST_CHARACTERS]))
    letters = sum(map(str.isalpha, words))
    # A word in Chinese or Japanese has one or two letters.
    if letters < (_FEWEST_LETTERS if words.isascii() else _FEWEST_LETTERS // 2):
        return None
    language, probability = _identifier().classify(words)
    return str(language) if probability >= CERTAIN else None


def load_languages() -> None:
    """Load now what is loaded when it is first needed: the model takes about a second."""
    _identifier()


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_modelpath(MODEL_DIR / MODEL_FILE, norm_probs=True)
    identifier.set_languages(_LANGUAGES)
    return identifier
