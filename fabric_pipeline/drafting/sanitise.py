"""Strings from telemetry made safe to show: visible characters only, one line, of limited length.

What such a string says is never changed here. Whether a text asks for something forbidden is the
business of `drafting.forbidden`.
"""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_SPACES = re.compile(r"\s+")
# Blank-looking characters that Unicode counts as letters or symbols, so that no category finds them.
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f")
_AS_SPACE = frozenset({"Cc", "Zl", "Zp", "Zs"})
# Format characters (zero-width, bidi, tags), surrogates, private use and unassigned code points.
_INVISIBLE = frozenset({"Cf", "Cs", "Co", "Cn"})


def clean(text: str, limit: int = 400) -> str:
    """One line of visible characters, at most `limit` long, with an ellipsis where it was cut.

    Terminal colour codes, control characters, bidi and zero-width characters and variation selectors
    are removed; runs of blanks become one space.
    """
    head = text[: max(4 * limit, 4000)]
    normal = unicodedata.normalize("NFC", _ANSI.sub(" ", head))
    is_plain = normal.isascii() and normal.isprintable()
    shown = normal if is_plain else "".join(_visible(char) for char in normal)
    line = _SPACES.sub(" ", shown).strip()
    cut = len(line) > limit or len(text) > len(head)
    return clip(line + ELLIPSIS, limit) if cut else line


def clip(text: str, limit: int) -> str:
    """The text, cut at a word where possible so that it fits `limit` characters."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    at_word = len(head) if text[limit - 1] == " " else head.rfind(" ")
    return (head[:at_word] if at_word > limit // 2 else head).rstrip(" ,;:") + ELLIPSIS


def figure(value: float) -> str:
    """A number for a sentence: one decimal, three digits below 1, no trailing zeros."""
    text = f"{value:.3g}" if abs(value) < 1 else f"{value:.1f}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if category in _AS_SPACE:
        return " "
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return "" if category in _INVISIBLE or char in _BLANKS or selector else char
