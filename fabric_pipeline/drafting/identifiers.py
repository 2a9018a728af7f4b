"""Names and figures in a text, and whether an incident knows them.

Pure text work: which tokens look like names of hardware, which are figures, which numbers belong to a
word such as GPU or port. What a draft may say beyond that is decided in `drafting.verify`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

_KIND = r"gpu|nvlink|nvswitch|link|port|lane|rail|rack|row|unit|slot|socket|leaf|spine|switch|node|rank|hca"
# A number that a letter, a further digit or the rest of a PCI address follows belongs to no such word.
_PAIR = re.compile(
    rf"(?<![a-z])({_KIND})s?[ \t]{{0,2}}(?:index |number |no\.? ?|id |# ?|: ?|- ?|_|/)?(\d{{1,6}})"
    r"(?!\w|\.\d|:[0-9a-f]{2}\b)",
    re.IGNORECASE,
)
_GPU_THEN_LINK = re.compile(
    r"\bgpu[\s-]{0,2}(\d{1,4})[\s,/'s-]{1,4}(?:nv)?link[\s-]{0,2}(\d{1,4})", re.IGNORECASE
)
_LINK_THEN_GPU = re.compile(
    r"\b(?:nv)?link[\s-]{0,2}(\d{1,4})\s(?:of|on|at|from)\s(?:the\s)?gpu[\s-]{0,2}(\d{1,4})",
    re.IGNORECASE,
)
_STEP = re.compile(r"\bsteps?\s{0,2}(\d{1,2})\b", re.IGNORECASE)
_SPLIT = re.compile(r"[\s;()\[\]{}\"'“”‘’«»=…]+|,(?!\d)|(?<!\d),|→|->")
_EDGES = ".:!?*`|/\\"
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_NUMBER = re.compile(
    r"^[~≈<>≤≥=+\-−x×±$€]{0,3}(?P<value>\d[\d,]{0,20}(?:\.\d{1,20})?(?:e[+\-−]?\d{1,4})?)"
    r"(?P<unit>-?[a-zµμω%°/²×]{0,16})$",
    re.IGNORECASE,
)
_FALSE_PRECISION = re.compile(r"^[\d,]+\.0+$")
_THOUSANDS = re.compile(r"^\d{1,3}(?:,\d{3})+(?:\.\d+)?$")
_CAPITAL_NAME = re.compile(
    r"\b(?:[Rr]ack|[Rr]ow|[Ss]ite|[Ss]erial|[Cc]age|[Hh]all|[Uu]nit|[Ss]lot|[Aa]sset tag|[Pp]ort|[Nn]ode)\b"
    r"(?: (?:number|id|label|no\.?))?\s{0,3}[:#]?\s(?P<name>[A-Z][A-Z0-9._-]{0,12})(?![\w-])"
)
# "One" and "two" are too common to be figures, and "both" needs no proof.
_UNITS = (
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
)
_WORD_VALUES = {word: Decimal(value) for value, word in enumerate(_UNITS, start=3)} | {
    "fifteen": Decimal(15),
    "eighteen": Decimal(18),
    "twenty": Decimal(20),
    "thirty": Decimal(30),
    "forty": Decimal(40),
    "fifty": Decimal(50),
    "sixty": Decimal(60),
    "hundred": Decimal(100),
    "hundreds": Decimal(100),
    "thousand": Decimal(1000),
    "thousands": Decimal(1000),
    "million": Decimal(1_000_000),
    "dozen": Decimal(12),
    "dozens": Decimal(12),
    "half": Decimal("0.5"),
    "twice": Decimal(2),
    "doubled": Decimal(2),
    "tripled": Decimal(3),
}


@dataclass(frozen=True, slots=True)
class Known:
    """What a set of texts names: tokens in lower case, figures, and (word, number) pairs."""

    tokens: frozenset[str]
    figures: frozenset[Decimal]
    pairs: frozenset[tuple[str, int]]


def collect(texts: Iterable[str], names: Iterable[str] = ()) -> Known:
    """Everything that these texts name; the measure for other texts. `names` count word by word."""
    tokens = {word.lower() for name in names for word in name.split()}
    figures: set[Decimal] = set()
    pairs: set[tuple[str, int]] = set()
    for text in texts:
        named = _named(text)
        tokens |= named.tokens
        figures |= named.figures
        pairs |= named.pairs
    return Known(frozenset(tokens), frozenset(figures), frozenset(pairs))


@lru_cache(maxsize=4096)
def _named(text: str) -> Known:
    """What one text names; the sentences of the catalogue come again with every draft and every check."""
    tokens: set[str] = set()
    figures: set[Decimal] = set()
    for token in _tokens(text):
        tokens |= _parts(token)
        figures |= set(_figures(token) or ())
    figures |= {_WORD_VALUES[word] for word in _words(text) if word in _WORD_VALUES}
    return Known(frozenset(tokens), frozenset(figures), frozenset(pairs_in(text)))


def spellings(value: float) -> set[str]:
    """The number as text, and its roundings (to 0 to 4 decimals, to 3 digits) within 0.5 % of it."""
    if isinstance(value, int) or not math.isfinite(value):
        return {str(value)}
    rounded = {f"{value:.{decimals}f}" for decimals in range(5)} | {f"{value:.3g}"}
    return {repr(value)} | {
        text for text in rounded if abs(float(text) - value) <= 0.005 * abs(value)
    }


def pairs_in(text: str) -> set[tuple[str, int]]:
    """`GPU 5`, `port-34` and the like as (word, number).

    A link number of NVLink counts as `link` too, and `gpu5/nvlink-11` also as (`gpu 5 link`, 11), so
    that the number of one link and the GPU of another do not pass as one known thing.
    """
    found = {(kind.lower(), int(number)) for kind, number in _PAIR.findall(text)}
    found |= {("link", number) for kind, number in found if kind == "nvlink"}
    together = _GPU_THEN_LINK.findall(text) + [hit[::-1] for hit in _LINK_THEN_GPU.findall(text)]
    return found | {(f"gpu {int(gpu)} link", int(link)) for gpu, link in together}


def strangers(text: str, known: Known, steps: int = 0) -> list[str]:
    """Names and figures of `text` that `known` does not hold, as they stand there, at most eight.

    `steps` is the number of repair steps, so that "step 3" is no figure.
    """
    unknown = [f"{kind} {number}" for kind, number in sorted(pairs_in(text) - known.pairs)]
    unknown += [token for token in _tokens(text) if _is_path(token) and not _is_known(token, known)]
    rest = _STEP.sub(lambda hit: "" if int(hit[1]) <= steps else hit[0], text)
    rest = _PAIR.sub(
        " ", " ".join(token for token in _SPLIT.split(rest) if not _is_path(token.strip(_EDGES)))
    )
    unknown += [token for token in _tokens(rest) if not _is_known(token, known)]
    unknown += [word for word in _words(text) if not _word_known(word, known)]
    capitals = [hit["name"].strip(_EDGES) for hit in _CAPITAL_NAME.finditer(text)]
    unknown += [found for found in capitals if found.lower() not in known.tokens]
    return list(dict.fromkeys(unknown))[:8]


def _is_path(token: str) -> bool:
    """True for names made of parts, such as `n1:gpu5/nvlink-11`: they are known as a whole or not at all."""
    mixed = any(char.isalpha() for char in token) and any(char.isdigit() for char in token)
    return mixed and any(sign in token[1:-1] for sign in ":/") and _figures(token) is None


def _tokens(text: str) -> list[str]:
    """Tokens that could be names or figures: with a digit, or with an inner colon or underscore."""
    stripped = (token.strip(_EDGES) for token in _SPLIT.split(text))
    return [token for token in stripped if token and _matters(token)]


def _matters(token: str) -> bool:
    inner = any(sign in token[1:-1] for sign in ":_")
    upper = token.isupper() and "-" in token and len(token) >= 5
    return inner or upper or any(char.isdigit() for char in token)


def _parts(token: str) -> set[str]:
    """The token, its pieces between colons and slashes, and every run of neighbouring pieces."""
    low = token.lower()
    pieces = re.split(r"([:/])", low)[:25]
    runs = {
        "".join(pieces[start:end])
        for start in range(0, len(pieces), 2)
        for end in range(start + 1, len(pieces) + 1, 2)
    }
    return {low, *runs} - {""}


def _is_known(token: str, known: Known) -> bool:
    figures = _figures(token)
    if figures is None:
        return token.lower() in known.tokens
    if _FALSE_PRECISION.search(token) and token.replace(",", "") not in known.tokens:
        return False  # `1,342.0` is no rounding of 1342.5, although `1,342` is
    return all(figure in known.figures for figure in figures)


def _figures(token: str) -> list[Decimal] | None:
    """The figures of `48,201`, `89.2%`, `30-minute`, `5/18`, `1e-15`; None when it is no plain figure."""
    whole = _figure(token)
    if whole is not None or _DATE.match(token):
        return None if whole is None else [whole]
    parts = [_figure(part) for part in re.split(r"[/–-]", token)] if len(token) <= 40 else [None]
    kept = [part for part in parts if part is not None]
    return kept if len(kept) == len(parts) else None


def _figure(token: str) -> Decimal | None:
    found = _NUMBER.match(token)
    if not found:
        return None
    text = found["value"].replace("−", "-")
    if len(text) > 1 and text[0] == "0" and text[1].isdigit():
        return None  # `007` is a label, no count
    if "," in text and not _THOUSANDS.match(text):
        return None
    return Decimal(text.replace(",", ""))


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z]+", text.lower()) if word in _WORD_VALUES]


def _word_known(word: str, known: Known) -> bool:
    return _WORD_VALUES[word] in known.figures
