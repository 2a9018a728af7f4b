"""Readings of a text with its disguises taken off: letters of other scripts, spacing, digits as letters, codes.

Pure: one text in, every way to read it out. What may stand in a reading is decided in
`drafting.forbidden`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from urllib.parse import unquote

# Letters of other scripts, small capitals and styled letters that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "аеорсухіѕԁոкмтвнɡıοѵԛԝјɑεικνρτυχβαՕոսցһɪʀʟᴇᴏᴜᴛᴅᴀʙᴄɢʜᴊᴋᴍɴᴘꜱᴠᴡʏᴢł‐‑‒–—―−⁄∕",
    "aeopcyxisdnkmtbhgiovqwjaeiknptuxbaonsghirleoutdabcghjkmnpsvwyzl-------//",
)
_DIGITS_AS_LETTERS = str.maketrans("013457@$!|", "oieastasil")
_DIGITS_WITH_L = str.maketrans("013457@$!|", "oleastasil")
_SPACED_LETTERS = re.compile(r"(?<![^\W_])(?:[^\W_][\W_]{1,4}){3,24}[^\W_](?![^\W_])")
_ESCAPED = re.compile(r"(?:\\x|\\u00|%|&#x)(?P<hex>[0-9a-f]{2});?|&#(?P<decimal>\d{2,3});?")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{12,400}={0,2}(?![A-Za-z0-9+/=])")
_HEX = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{2}[ :]?){5,200}(?![0-9a-f])")
_LETTER_LIKE = (0x1F100, 0x1F1FF)


def fold(text: str) -> str:
    """Lower case, accents and invisible characters gone, lookalike letters turned into Latin ones."""
    parts = unicodedata.normalize("NFKD", "".join(_plain_letter(char) for char in text))
    kept = "".join(
        char for char in parts if unicodedata.category(char) not in ("Mn", "Me", "Cf", "Co")
    )
    return kept.casefold().translate(_LOOKALIKES)


def readings(folded: str, vocabulary: re.Pattern[str]) -> set[str]:
    """Ways to read a folded text; `vocabulary` finds words whose letters were pulled apart."""
    written = {folded, folded.translate(_DIGITS_AS_LETTERS), folded.translate(_DIGITS_WITH_L)}
    joined = {vocabulary.sub(_without_gaps, reading).replace("_", " ") for reading in written}
    spelled = {_SPACED_LETTERS.sub(_without_gaps, reading) for reading in written | joined}
    return written | joined | spelled


def decoded(text: str, folded: str) -> set[str]:
    """Readable texts behind URL, hex, base64 and rot13 codes, in lower case."""
    found = {unquote(text), _ESCAPED.sub(_unescape, folded), codecs.encode(folded, "rot13")}
    found |= {plain for code in _BASE64.findall(text) if (plain := _from_base64(code))}
    found |= {plain for code in _HEX.findall(folded) if (plain := _from_hex(code))}
    return {reading.casefold() for reading in found} - {folded, text.casefold()}


def is_encoded(text: str) -> bool:
    """True when the text holds a base64 block that decodes to readable text of ten or more characters."""
    return any(len(_from_base64(code)) >= 10 for code in _BASE64.findall(text))


def _without_gaps(hit: re.Match[str]) -> str:
    return re.sub(r"[\W_]", "", hit.group())


def _plain_letter(char: str) -> str:
    """The letter in a squared, circled or flag letter, which no normal form takes apart."""
    if not _LETTER_LIKE[0] <= ord(char) <= _LETTER_LIKE[1]:
        return char
    found = re.search(r"(?:LETTER|SYMBOL LETTER) ([A-Z])$", unicodedata.name(char, ""))
    return found.group(1) if found else char


def _unescape(hit: re.Match[str]) -> str:
    if hit["decimal"]:
        return chr(int(hit["decimal"]))
    return chr(int(hit["hex"], 16))


def _from_base64(code: str) -> str:
    body = code.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    return _readable(raw)


def _from_hex(code: str) -> str:
    return _readable(bytes.fromhex(re.sub(r"[ :]", "", code)))


def _readable(raw: bytes) -> str:
    is_plain = all(32 <= byte < 127 or byte in (9, 10, 13) for byte in raw)
    return raw.decode("ascii") if is_plain else ""
