"""Dates as `date`, `nvidia-smi` and shell loops print them, read without the machine's locale.

Only whole texts that are a date are read, never a date inside a sentence.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_DATE = re.compile(
    r"^[A-Za-z]{3},?\s+(?P<month>[A-Za-z]{3})\s+(?P<day>\d{1,2})\s+(?P<clock>\d{1,2}:\d\d:\d\d)"
    r"(?:\s+(?P<half>[AP]M))?(?:\s+(?P<zone>UTC|GMT|[A-Z]{2,5}))?\s+(?P<year>\d{4})$"
)
_ISO = re.compile(
    r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?$"
)


def parse_clock(text: str, zone: tzinfo) -> datetime | None:
    """The moment as UTC, or None; a time without a zone of its own is in `zone`.

    Zone names other than UTC and GMT are ambiguous (CST is three of them): `zone` holds for them.
    """
    text = text.strip()
    if _ISO.match(text):
        return _from_iso(text, zone)
    found = _DATE.match(text)
    month = _MONTHS.get(found["month"].lower()) if found else None
    if not found or month is None:
        return None
    hour, minute, second = (int(part) for part in found["clock"].split(":"))
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] == "PM" else 0)
    own = UTC if found["zone"] in ("UTC", "GMT") else zone
    try:
        moment = datetime(
            int(found["year"]), month, int(found["day"]), hour, minute, second, tzinfo=own
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _from_iso(text: str, zone: tzinfo) -> datetime | None:
    try:
        moment = datetime.fromisoformat(
            text.replace("UTC", "+00:00").replace(",", ".").replace(" +", "+")
        )
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
