"""Words that are one character away from a known name, such as `leaf-x` for `leaf-6`.

Names with a digit in them are compared exactly elsewhere (`drafting.identifiers`); here is what that cannot
see: a name that lost its digit, and names without any.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

# Shorter names have too many ordinary words beside them.
MIN_LETTERS = 4
_WORD = re.compile(r"[^\W_](?:[\w.-]{0,80}[^\W_])?")
# Ordinary words that are one character away from a short name such as `gpu5`, `leaf6` or `port1`.
_ORDINARY_TEXT = (
    "gpus link links lane lanes port ports rack racks rail rails node nodes leaf leafs slot "
    "slots unit units rank ranks card cards cable cables spine spines switch nvlink nvlinks "
    "socket sockets row rows"
)
_ORDINARY = frozenset(_ORDINARY_TEXT.split())


def misspelt(text: str, names: Collection[str], known: Collection[str]) -> list[str]:
    """Words of `text`, as they stand there, that are no known word and almost one of `names`.

    `names` and `known` are in lower case. A name without digit, hyphen or underscore counts from six
    letters on, because short ones are often words of the language.
    """
    patterns = {hole for name in names if _is_telling(name) for hole in _holes(name)}
    found = []
    for word in dict.fromkeys(_WORD.findall(text)):
        low = word.casefold()
        if any(char.isdigit() for char in low) or low in _ORDINARY or _is_word_of(low, known):
            continue
        if any(hole in patterns for hole in _holes(low)):
            found.append(word)
    return found


def _is_telling(name: str) -> bool:
    marked = any(char.isdigit() or char in "-_." for char in name)
    return len(name) >= (MIN_LETTERS if marked else 6) and any(char.isalpha() for char in name)


def _is_word_of(word: str, known: Collection[str]) -> bool:
    """Known itself, or in the plural, or with a possessive ending."""
    stem = word.removesuffix("s").removesuffix("'").removesuffix("’")
    return word in known or stem in known or f"{word}s" in known


def _holes(word: str) -> Iterator[str]:
    """The word with each of its characters replaced by a hole: equal for words one exchange apart."""
    return (f"{word[:place]}\0{word[place + 1 :]}" for place in range(len(word)))
