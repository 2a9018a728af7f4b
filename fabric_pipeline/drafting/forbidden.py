"""Texts that no draft may contain: orders to act on machines, words on approval, markup, disguise.

Pure: text in, reasons out. The list errs on the side of refusing, because a refused wording costs one
more attempt and an accepted one may cost a cluster. Facts and figures are checked in `drafting.verify`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Letters of other scripts that look like Latin ones, and digits read as letters.
_LOOKALIKES = str.maketrans("аеорсухіѕԁոкмтвнɡıο", "aeopcyxisdnkmtbhgio")
_DIGITS_AS_LETTERS = str.maketrans("013457@$!", "oieastasi")
_SPACED_LETTERS = re.compile(r"(?<!\w)(?:\w[\W_]){3,24}\w(?!\w)")
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


def _loose(word: str) -> str:
    """Pattern for a word whose letters may be pulled apart by up to two other characters."""
    return r"\b" + r"[\W_]{0,2}".join(word)


_SOME = r"(?:\w{1,30}\W{1,3}){0,6}"
_FEW = r"(?:\w{1,30}\W{1,3}){0,3}"
_PART = r"(?:port|link|interface|node|host|nic|adapter|gpu|card|switch|lane)"
_IMAGE = r"(?:firmware|fw|vbios|bios|eeprom|nvram|microcode)"

_POWER_VERB = (
    r"\b(?:cycl|cut|kill|remov|drop|toggl|switch|turn|pull)\w{0,4}[\s-]{1,3}(?:off\W{1,3})?"
)
_WRITE_VERB = r"\b(?:re)?(?:flash|burn|upgrad|updat|downgrad|install(?!ed)|writ|program)\w{0,5}(?!\W{1,3}down)\W{1,3}"
_TOOLS = (
    r"\b(?:ipmi|mlxfw\w{0,20}|mlxreg|mst[\W_]?(?:flint|config|fw\w{0,20})|flint|racadm|redfish|nvflash"
    r"|nvfwupd\w{0,8}|systemctl|init[\W_]{1,2}[06o]|telinit|sudo|rmmod|modprobe|insmod|devmem2?"
    r"|ip\W{1,3}link\W{1,3}set|ifconfig|ifdown|nmcli|ssh|bash|curl|wget)\b|/sys/|/proc/"
)
_SMI = r"\bnvidia[\W_]{0,2}smi\b"
_SMI_SWITCHES = r"(?:r|re|gpu-?reset|pm|pl|ac|rac|lgc|rgc|mig|gom|sc)"

_ORDERS: dict[str, tuple[str, ...]] = {
    "reboot": (_loose("reboot"), _loose("restart"), r"\bneustart|\breinici|\bredemarr|\briavvi"),
    "reset": (_loose("reset") + r"(?:s|ted|ting)?\b",),
    "power action": (
        r"\bpower(?:ed|ing|s)?[\W_]{0,3}off\b|" + _loose("powercycl"),
        r"(?<!optical )(?<!receive )(?<!rx )(?<!tx )\bpower(?:ed|ing)?[\W_]{0,3}down\b",
        _POWER_VERB + r"(?:(?:the|ac|dc|node|its|host)\W{1,3}){0,2}power\b",
    ),
    "switching off": (
        _loose("shutdown"),
        r"\b(?:shut|turn)\w{0,4}\W{1,3}" + _FEW + r"(?:off|down)\b",
        r"\bswitch\w{0,3}\W{1,3}off\b",
        r"\b(?:shut\w{0,4}|bounc\w{1,3}|toggl\w{1,3})\W{1,3}" + _FEW + _PART + r"\b",
        r"\badmin(?:istrative(?:ly)?)?[\W_]{1,3}(?:down|shut)",
    ),
    "disabling": (_loose("disabl"), r"\bde[\W_]?activat|\bblack[\W_]?list|\bblock[\W_]?list"),
    "scheduler or cluster command": (r"\b(?:un)?cordon|\bkubectl|\bscontrol|\bevict",),
    "register write": (
        r"\b(?:writ|pok|set|modif|chang|program)\w{0,4}\W{1,3}" + _SOME + r"registers?\b",
    ),
    "firmware write": (
        _WRITE_VERB + _SOME + _IMAGE + r"\b",
        _IMAGE + r"\W{1,3}" + _SOME + r"(?:re)?(?:flash|burn|upgrad|updat|downgrad|install(?!ed))",
    ),
    "driver command": (r"\b(?:un|re)load\w{0,3}\W{1,3}" + _SOME + r"(?:driver|kernel module)",),
    "command of a tool": (
        _loose("ipmitool") + "|" + _loose("mlxconfig"),
        r"\bib[-_]?port[-_]?state\b|\bset[-_]?pci\b",
        _TOOLS,
        r"\bethtool\W{1,3}(?:r\b|reset|negotiate|change|set)",
        r"\bperfquery\W{1,3}r\b|\bmlxlink\b.{0,60}?\s-{1,2}(?:a|port_state)\b",
        _SMI + r".{0,40}?\s-{1,2}" + _SMI_SWITCHES + r"\b",
        _SMI + r"\s{1,3}-{1,2}[ecp]\b",
    ),
    "word on approval or review": (
        r"(?<!vendor.)(?<!manufacturer.)\bapprov|\bpre[\W_]?authori[sz]|\bsign(?:ed)?[\W_]{1,2}off\b",
        r"\b(?:skip|bypass|without|no)\W{1,3}(?:\w{1,20}\W{1,3}){0,2}review\b",
    ),
    "word meant for a language model": (
        r"\bignor(?:e|ing)\W{1,3}"
        + _SOME
        + r"(?:above|previous|prior|instruction|rule)|\bsystem prompt",
    ),
}
_RULES = tuple(
    (label, re.compile(pattern)) for label, group in _ORDERS.items() for pattern in group
)

_MARKUP = re.compile(
    r"```|\]\(|<[/!]?[a-z]|<!--|https?:|javascript:|\$\(|&#?\w{1,8};", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def forbidden(text: str, *, own_words: bool = False) -> tuple[str, ...]:
    """Reasons why this text may not stand in a draft, without repeating its words; empty if none.

    `own_words` is for sentences of the diagnosis itself: there a restart may be named as a cause.
    """
    reasons = {f"it asks for or names a {label}" for label in _orders(text, own_words)}
    if _MARKUP.search(text):
        reasons.add("it contains markup, a link or code")
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") for char in text):
        reasons.add("it contains invisible characters")
    if any(_foreign(char) for char in text):
        reasons.add("it contains letters of another script")
    return tuple(sorted(reasons))


def _orders(text: str, own_words: bool) -> set[str]:
    plain = _COUNTER_RESET.sub(" ", _fold(text))
    plain = _RESTART_AS_CAUSE.sub(" ", plain) if own_words else plain
    spelled = _SPACED_LETTERS.sub(lambda hit: re.sub(r"[\W_]", "", hit.group()), plain)
    readings = {plain, spelled, plain.translate(_DIGITS_AS_LETTERS)}
    return {label for reading in readings for label, rule in _RULES if rule.search(reading)}


def _fold(text: str) -> str:
    """Lower case, accents and invisible characters gone, lookalike letters turned into Latin ones."""
    parts = unicodedata.normalize("NFKD", text)
    kept = "".join(char for char in parts if unicodedata.category(char) not in ("Mn", "Cf"))
    return kept.casefold().translate(_LOOKALIKES)


def _foreign(char: str) -> bool:
    if char.isascii() or not char.isalpha() or char in _READABLE_LETTERS:
        return False
    return not unicodedata.name(char, "").startswith("LATIN")
