"""Texts that no draft may contain: orders to act on machines, words on approval, markup, disguise.

Pure: text in, reasons out. The list errs on the side of refusing, because a refused wording costs one
more attempt and an accepted one may cost a cluster. The orders themselves stand in `drafting.orders`;
facts and figures are checked in `drafting.verify`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from fabric_pipeline.drafting.disguise import decoded, fold, is_encoded, readings
from fabric_pipeline.drafting.orders import RULES, VOCABULARY

# No field of a ticket or record is longer; what is beyond is not read, and the text is refused.
MAX_CHARACTERS = 20_000
# A counter that went back to zero is a fact about data, not an order.
_COUNTER_RESET = re.compile(
    r"\bcounters?[\W_]{1,3}(?:(?:value|was|were|is|are|has|have|had|been)\W{1,3}){0,3}resets?\b"
    r"|\bresets? of (?:the |a |this )?(?:\w{1,30} )?counters?\b"
)
# In sentences of our own diagnosis a restart may be a cause ("after a restart"), which orders nothing.
_RESTART_AS_CAUSE = re.compile(
    r"(?<!do )(?<!by )(?<!via )(?<!with )(?<!perform )(?<!trigger )(?<!issue )"
    r"\b(?:a|an|the|each|every|any|or|planned) (?:\w{1,12} )?(?:restart|reboot|reset)s?\b"
    r"(?! (?:the|a|it|its|all|this|that|every|node|gpu|port|link|switch)\b)"
)
_READABLE_LETTERS = frozenset("µμΩα")
_MARKUP = re.compile(
    r"```|\]\(|\]\[|!\[|\*\*\S|__\S|~~\S|<[/!]?[a-z]|<!--|\b[a-z][a-z0-9+.-]{1,12}://|\bwww\.|javascript:|mailto:"
    r"|\bdata:[a-z]+/|\$\(|\$\{|\{\{|&#?\w{1,8};|^\s{0,3}#{1,6}\s|^\s{0,3}[=@]|[=@]\s{0,2}[a-z]{3,20}\("
    r"|\b[a-z0-9-]{2,40}\.(?:com|net|org|io|dev|example|info|biz|xyz|ru|cn|site|cloud)\b|\x1b|\[\d{1,2}(?:;\d{1,3})*m",
    re.IGNORECASE | re.MULTILINE,
)
# Function words that English does not have; two different ones in one text are no English.
_FOREIGN_WORDS_TEXT = (
    "der das und ist nicht bitte auf eine einen einem wird werden sofort le les et pour avec "
    "est une du puis veuillez el los las por una il gli che della het een niet uma nao voce "
    "muy para todo todos nie oraz ve bir och att inte"
)
_FOREIGN_WORDS = frozenset(_FOREIGN_WORDS_TEXT.split())


@lru_cache(maxsize=4096)
def forbidden(text: str, *, own_words: bool = False) -> tuple[str, ...]:
    """Reasons why this text may not stand in a draft, without repeating its words; empty if none.

    `own_words` is for sentences of the diagnosis itself: there a restart may be named as a cause.
    """
    head = text[:MAX_CHARACTERS]
    named = (
        f"{'an' if label[0] in 'aeiou' else 'a'} {label}" for label in _orders(head, own_words)
    )
    reasons = {f"it asks for or names {what}" for what in named}
    if len(text) > MAX_CHARACTERS:
        reasons.add("it is longer than any field")
    if _MARKUP.search(head):
        reasons.add("it contains markup, a link or code")
    if is_encoded(head):
        reasons.add("it contains encoded text")
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") for char in head):
        reasons.add("it contains invisible characters")
    if any(_foreign(char) for char in head):
        reasons.add("it contains letters of another script")
    return tuple(sorted(reasons))


def in_other_words(text: str) -> list[str]:
    """A reason when a sentence is not in English, so that no list of words could judge it."""
    words = set(re.findall(r"[^\W\d_]+", text.casefold()))
    return ["it is not in English"] if len(words & _FOREIGN_WORDS) >= 2 else []


def _orders(text: str, own_words: bool) -> set[str]:
    folded = _COUNTER_RESET.sub(" ", fold(text))
    if own_words:
        folded = _RESTART_AS_CAUSE.sub(" ", folded)
    found = readings(folded, VOCABULARY) | decoded(text, folded)
    return {label for reading in found for label, rule in RULES if rule.search(reading)}


def _foreign(char: str) -> bool:
    if char.isascii() or not char.isalpha() or char in _READABLE_LETTERS:
        return False
    return not unicodedata.name(char, "").startswith("LATIN")
