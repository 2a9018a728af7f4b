"""The prefixes that log daemons, shells and gatherers put in front of a kernel message.

Each pattern takes itself off the front of a line and notes what it says: a clock, a host, a program.
They nest in any order, so they are tried again until none fits. Clocks over several lines are the
business of `frames`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from fabric_pipeline.sources.kernel_log.months import month_number

_MAX_PREFIXES = 8

_LEVEL = r"(?:emerg|alert|crit|critical|err|error|warning|warn|notice|info|debug)"
_CLOCK = r"(\d{1,2}:\d\d:\d\d)(?:[.,](\d{1,9}))?"


@dataclass(slots=True)
class Peel:
    """What the prefixes of one line have said so far."""

    zone: tzinfo
    node: str = ""
    program: str = ""
    time: datetime | None = None
    time_text: str = ""
    boot_s: float | None = None
    calendar_s: float | None = None
    delta_s: float | None = None
    is_syslog: bool = False
    is_framed: bool = False

    def set_date(
        self, date: tuple[int | None, int, int], clock: str, fraction: str | None, zone: tzinfo
    ) -> bool:
        """Absolute time when the year is stated, else seconds of the year; False if impossible."""
        year, month, day = date
        hour, minute, second = (int(part) for part in clock.split(":"))
        try:
            # 2000 is a leap year: 29 February stays a day of an unstated year.
            moment = datetime(year or 2000, month, day, hour, minute, min(second, 59), tzinfo=zone)
            moment += timedelta(seconds=float(f"0.{fraction or 0}"))
            if year:
                self.time = moment.astimezone(UTC)
        except (ValueError, OverflowError):
            return False
        start = datetime(2000, 1, 1, tzinfo=zone)
        self.calendar_s = None if year else (moment - start).total_seconds()
        return True


def _boot(peel: Peel, found: re.Match[str]) -> bool:
    peel.boot_s = float(found.group(1))
    peel.time_text = peel.time_text or found.group(1)
    return True


def _kmsg(peel: Peel, found: re.Match[str]) -> bool:
    peel.boot_s = int(found.group(1)) / 1e6
    peel.time_text = found.group(1)
    return True


def _delta(peel: Peel, found: re.Match[str]) -> bool:
    peel.delta_s = float(found.group(1))
    peel.time_text = f"+{found.group(1)}"
    return True


def _zone_of(text: str | None, default: tzinfo) -> tzinfo:
    """Zone of `Z`, `UTC` or `+02:00`; other names are local abbreviations and tell nothing sure."""
    if not text:
        return default
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4] or 0))
    try:
        return timezone(-offset if text[0] == "-" else offset)
    except ValueError:
        return default


def _iso(peel: Peel, found: re.Match[str]) -> bool:
    year, month, day, clock, fraction, zone = found.group(2, 3, 4, 5, 6, 7)
    date = (int(year), int(month), int(day))
    if not peel.set_date(date, clock, fraction, _zone_of(zone, peel.zone)):
        return False
    peel.time_text = found.group(0).strip(" []:")
    peel.is_syslog = found.group(1) != "["
    return True


def _epoch(peel: Peel, found: re.Match[str]) -> bool:
    peel.time = datetime.fromtimestamp(int(found.group(1)), UTC)
    peel.time += timedelta(seconds=float(f"0.{found.group(2)}"))
    peel.time_text = found.group(0).strip()
    peel.is_syslog = True
    return True


def _dmesg_date(peel: Peel, found: re.Match[str]) -> bool:
    word, day, clock, fraction, year = found.group(1, 2, 3, 4, 5)
    month = month_number(word)
    peel.time_text = found.group(0).strip(" []")
    if month is not None:
        peel.set_date((int(year), month, int(day)), clock, fraction, peel.zone)
    return True


def _syslog(peel: Peel, found: re.Match[str]) -> bool:
    word, day, clock, fraction = found.group("month", "day", "clock", "fraction")
    if word.isdigit() or int(day) > 31:
        return False
    year = found.group("year") or found.group("year_after")
    month = month_number(word)
    peel.time_text = found.group(0).strip()
    peel.is_syslog = True
    if month is not None:
        peel.set_date((int(year) if year else None, month, int(day)), clock, fraction, peel.zone)
    return True


def _bracket_date(peel: Peel, found: re.Match[str]) -> bool:
    was_syslog = peel.is_syslog
    taken = _syslog(peel, found)
    peel.is_syslog = was_syslog  # no host follows a stamp in brackets
    peel.time_text = peel.time_text.strip("[] ")
    return taken


def _host(peel: Peel, found: re.Match[str]) -> bool:
    if peel.node and peel.node != found.group(1):
        return False
    peel.node = found.group(1)
    return True


def _host_program(peel: Peel, found: re.Match[str]) -> bool:
    """`host program[pid]:` stands behind a syslog stamp only; elsewhere it may be a message."""
    if not peel.is_syslog or peel.program:
        return False
    peel.node = peel.node or found.group(1)
    peel.program = found.group(2)
    return True


def _program(peel: Peel, found: re.Match[str]) -> bool:
    if peel.program and not found.group(1).startswith("kernel"):
        return False
    peel.program = found.group(1)
    return True


def _host_kernel(peel: Peel, found: re.Match[str]) -> bool:
    peel.node = peel.node or (found.group(1) or "").strip()
    peel.program = "kernel"
    return True


def _nothing(_peel: Peel, _found: re.Match[str]) -> bool:
    return True


_PREFIXES: tuple[tuple[re.Pattern[str], Callable[[Peel, re.Match[str]], bool], bool], ...] = (
    # /dev/kmsg record; then the raw printk level
    (re.compile(r"\d{1,4},\d{1,20},(\d{1,20}),[^;]{1,60};"), _kmsg, True),
    (re.compile(r"<\d{1,3}>\s?(?:\d\s(?=\d{4}-))?"), _nothing, True),
    # dmesg seconds, also with a delta beside them, with the bracket lost, with a caller id
    (re.compile(r"\[\s*(\d{1,10}\.\d{1,9})(?:\s*<\s*[\d.]{1,20}>)?\]\s?"), _boot, True),
    (re.compile(r"\s*(\d{1,10}\.\d{6})\]\s"), _boot, True),
    (re.compile(r"\[\s*[TC]\d{1,9}\]\s?"), _nothing, True),
    (re.compile(r"\[\s*[+<]\s*(\d{1,9}\.\d{1,9})>?\]\s?"), _delta, True),
    (re.compile(r"\[[^\W\d_]{3,5}\d\d\s\d\d:\d\d\]\s?"), _nothing, True),
    # dmesg -T, with or without week day
    (
        re.compile(
            r"\[(?:[^\W_]{2,6}\.?,?\s+)??([^\W_]{2,12}\.?)\s+(\d{1,2})\s+"
            + _CLOCK
            + r"\s+(?:[A-Z]{2,5}\s+)?(\d{4})\]\s?"
        ),
        _dmesg_date,
        True,
    ),
    # Fabric Manager: year before the clock
    (
        re.compile(
            r"\[(?P<month>[^\W_]{2,12}\.?)\s+(?P<day>\d{1,2})\s+(?P<year>\d{4})\s+"
            r"(?P<clock>\d{1,2}:\d\d:\d\d)(?P<fraction>(?!))?(?P<year_after>(?!))?\]\s?"
        ),
        _bracket_date,
        True,
    ),
    # ISO 8601 and its relatives, in brackets or not
    (
        re.compile(
            r"(\[?)(?:[A-Z][a-z]{2}\s+)?(\d{4})[-/](\d\d)[-/](\d\d)[T ]"
            + _CLOCK
            + r"\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)?(?:\s[A-Z]{2,5}(?=\s))?\]?:?(?:\s+|$)"
        ),
        _iso,
        True,
    ),
    (re.compile(r"(\d{10})\.(\d{1,9})\s+"), _epoch, True),
    # syslog: month first or day first, year rarely
    (
        re.compile(
            r"(?P<month>[^\W_]{2,12}\.?)\s+(?P<day>\d{1,2})\s+(?:(?P<year>\d{4})\s+)?"
            r"(?P<clock>\d{1,2}:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
            r"(?:\s+(?P<year_after>(?:19|20)\d\d))?\s+"
        ),
        _syslog,
        True,
    ),
    (
        re.compile(
            r"(?P<day>\d{1,2})\.?\s+(?P<month>[^\W_]{2,12}\.?)\s+(?:(?P<year>\d{4})\s+)?"
            r"(?P<clock>\d{1,2}:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?P<year_after>(?!))?\s+"
        ),
        _syslog,
        True,
    ),
    # dmesg -x, Talos (`address: kern: warning: [...]:`), container runtime
    (re.compile(r"(?:kern|user|daemon|syslog|auth)\s*:\s*" + _LEVEL + r"\s*:\s*"), _nothing, True),
    (
        re.compile(
            r"([\w.-]{1,80}(?::[0-9a-fA-F:]{0,60})?):\s+(?=(?:kern|user|daemon)\s*:\s*"
            + _LEVEL
            + ")"
        ),
        _host,
        True,
    ),
    (re.compile(r"(?:stdout|stderr)\s+[FP]\s"), _nothing, True),
    # pdsh and friends: `host: ` in front of a time stamp; grep: `file:line:`
    (
        re.compile(
            r"(?!kernel:|NVRM:|AER:)([A-Za-z0-9][\w.-]{0,79}):\s+"
            r"(?=\[\s*[\d+<]|\[[A-Z][a-z]{2} |<\d|[A-Z][a-z]{2} +\d{1,2} \d\d:|\d{4}-\d\d-\d\d[T ])"
        ),
        _host,
        True,
    ),
    (
        re.compile(
            r"[\w./-]{0,120}(?:\.log|messages|syslog|dmesg)[\w.-]{0,20}:(?:\d{1,9}:)?(?=\S)"
        ),
        _nothing,
        False,
    ),
    (re.compile(r"\d{1,7}[:-](?=\[|<\d|[A-Z][a-z]{2} +\d{1,2} \d\d:|\d{4}-\d\d)"), _nothing, False),
    # program names
    (re.compile(r"(kernel)(?:\[\d{1,10}\])?:\s?"), _program, True),
    (
        re.compile(
            r"(systemd-networkd|systemd|NetworkManager|nv-fabricmanager|nvidia-fabricmanager)"
            r"(?:\[\d{1,10}\])?:\s"
        ),
        _program,
        True,
    ),
    (
        re.compile(
            r"([^\s:\[\]]{1,255})\s+(?:(?i:" + _LEVEL + r")\s+)?"
            r"([\w./@#()-]{1,60})(?:\[\d{1,10}\])?:\s"
        ),
        _host_program,
        True,
    ),
    (re.compile(r"([^\s:\[\]]{1,255}\s+)?kernel:\s?"), _host_kernel, True),
    (re.compile(r"(?:>\s?){1,5}"), _nothing, False),
)


def peel_prefixes(text: str, peel: Peel) -> str:
    """Take prefixes off until none is left; returns the message."""
    for _ in range(_MAX_PREFIXES):
        for pattern, take, marks in _PREFIXES:
            found = pattern.match(text)
            if found and found.end() and take(peel, found):
                text = text[found.end() :]
                peel.is_framed = peel.is_framed or marks
                break
        else:
            break
    return text
