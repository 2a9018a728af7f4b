"""Numbers and non-numbers as NVIDIA host tools write them.

Turns the text of a value into a number with a quality; which counter it is stands elsewhere.
"""

from __future__ import annotations

import re

from fabric_pipeline.model.counters import COUNTERS, is_blank

NVLINK_CEILING = 65535  # 16-bit error counters of NVLink up to Volta stop here (samples trap 2)
_CEILED = frozenset({"crc", "replay", "recovery", "crc_flit", "crc_data"})
_BER_ZERO = 1e-200  # `15e-255` is how a bit error rate of zero is written (samples trap 3)
_NUMBER = re.compile(
    r"^\+?(?:[0-9]{1,3}(?:,[0-9]{3}){1,8}|[0-9]{1,40})(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,4})?$"
)
_UNITS = {"kib": 1024, "mib": 1024**2, "gib": 1024**3, "kbytes": 1000}
_NOT_MEASURED = re.compile(
    r"^[\[<(]?\s*(?:n/?a|none|not (?:supported|available|applicable|found|permitted)|no permission"
    r"|unsupported|unknown(?: error)?|err!?|error|gpu is lost|gpu requires reset"
    r"|insufficient permissions"
    r"|blank|-{1,3}|skip(?:ped)?)\s*[\])>]?\.?$",
    re.I,
)


def is_not_measured(text: str) -> bool:
    """True for words by which the tools say that there is no value (N/A, Not Supported, ERR!)."""
    return bool(_NOT_MEASURED.match(text.strip()[:80]))


def parse_count(text: str) -> float | None:
    """The number in `text` (thousands commas allowed), or None when it is none."""
    text = text.strip()[:80]
    return float(text.replace(",", "")) if _NUMBER.match(text) else None


def in_units(text: str) -> float | None:
    """The number that `text` begins with, in single units: `2 KiB` is 2048; None without a number."""
    words = text.split(maxsplit=2)
    number = parse_count(words[0]) if words else None
    if number is None or len(words) < 2:
        return number
    return number * _UNITS.get(words[1].lower(), 1)


def judge_number(counter: str, number: float) -> tuple[float | None, str]:
    """Value and quality of a number: blanks are no value, a full counter is `saturated`.

    Ceilings hold for the classic NVLink counters only: the same canonical names count in 64 bits
    on Blackwell, where 65535 of them is an ordinary number.
    """
    if is_blank(number):
        return None, "not_supported"
    if counter.endswith("_ber") and number < _BER_ZERO:
        return 0.0, "ok"
    if counter in _CEILED and number == NVLINK_CEILING:
        return number, "saturated"
    return number, "ok"


def kind_of(counter: str) -> str:
    """`cumulative` or `gauge` of a canonical counter; unknown ones count as cumulative."""
    spec = COUNTERS.get(counter)
    return spec.kind if spec else "cumulative"


def state_words(words: str, product: str) -> str:
    """Words of a state with the product behind them: `<inactive> [NVIDIA H100 PCIe]`.

    Whether an inactive link is a fault depends on the product (some need a bridge), and only the
    state text travels with a state to where that is judged.
    """
    words = words.strip()[:200]
    return f"{words} [{product[:80]}]".strip() if product else words
