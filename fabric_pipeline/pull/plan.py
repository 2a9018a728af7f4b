"""Which metrics and which stretches of time to ask for. Pure; asking is done in `pull.server`.

Stretches are half open, from the first time exclusive to the last inclusive, so that no sample is asked
for twice and none is lost between two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from fabric_pipeline.errors import UsageError
from fabric_pipeline.sources.prometheus.wanted import FAMILIES

SAMPLES_AN_ANSWER = 400_000  # some 20 MB of JSON; a server's own limit is 50 million by default
SCRAPE_INTERVAL_S = (
    15.0  # taken for the estimate alone; shorter ones make more samples, which is met by halving
)
SHORTEST = timedelta(seconds=15)
LONGEST_WINDOW = timedelta(days=31)
_DURATION = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_MATCHER = re.compile(r'\s*[A-Za-z_][A-Za-z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\.)*"\s*')


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `after` (exclusive) to `until` (inclusive)."""

    after: datetime
    until: datetime

    @property
    def seconds(self) -> int:
        """Its length; stretches are whole seconds long."""
        return round((self.until - self.after).total_seconds())

    def halves(self) -> tuple[Stretch, Stretch]:
        """Two of half the length, in whole seconds; raises ValueError when it is as short as allowed."""
        if self.until - self.after < 2 * SHORTEST:
            raise ValueError("cannot be shortened")
        middle = self.after + timedelta(seconds=self.seconds // 2)
        return Stretch(self.after, middle), Stretch(middle, self.until)


def duration(text: str) -> timedelta:
    """`90s`, `30m`, `6h`, `2d`; UsageError for anything else."""
    found = _DURATION.fullmatch(text.strip())
    length = timedelta(**{_UNITS[found["unit"]]: int(found["number"])}) if found else timedelta()
    if not SHORTEST <= length <= LONGEST_WINDOW:
        raise UsageError(
            f"{text!r} is no length of time from {SHORTEST.seconds} s to {LONGEST_WINDOW.days} days",
            "say one such as 30m, 6h or 2d",
        )
    return length


def instant(text: str) -> datetime:
    """An ISO time with its offset, or in UTC when it has none; UsageError for anything else."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(f"{text!r} is no time", "say one such as 2026-11-30T08:00:00Z") from error
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).replace(microsecond=0)


def matchers(text: str) -> str:
    """Label matchers as they stand inside braces, checked; UsageError when they are none."""
    text = text.strip().removeprefix("{").removesuffix("}").strip().rstrip(",")
    rest = text
    while rest:
        found = _MATCHER.match(rest)
        rest = rest[found.end() :] if found else "?"
        if rest and not rest.startswith(","):
            raise UsageError(
                f"{text!r} are no label matchers", 'say them as in cluster="a",job=~"dcgm.*"'
            )
        rest = rest.removeprefix(",")
    return text


def family_selector(matched: str) -> str:
    """Selects every metric of the families that are read, narrowed by the label matchers."""
    names = f'__name__=~"(?:{"|".join(FAMILIES)}).*"'
    return "{" + ",".join(part for part in (names, matched) if part) + "}"


def series_query(metric: str, matched: str) -> str:
    """How many series one metric has."""
    return f"count({metric}{{{matched}}})" if matched else f"count({metric})"


def samples_query(metric: str, matched: str, stretch: Stretch) -> str:
    """All stored samples of one metric in the stretch, at the times at which they were scraped."""
    # Versions differ in whether a range includes its first instant; one second more, cut afterwards.
    selector = f"{metric}{{{matched}}}" if matched else metric
    return f"{selector}[{stretch.seconds + 1}s]"


def stretches(whole: Stretch, series: int) -> Iterator[Stretch]:
    """The whole time in equal parts, each short enough for one answer with this many series."""
    longest_s = max(
        SHORTEST.total_seconds(), SAMPLES_AN_ANSWER * SCRAPE_INTERVAL_S / max(series, 1)
    )
    parts = max(1, -(-whole.seconds // int(longest_s)))
    edges = [whole.after + timedelta(seconds=whole.seconds * n // parts) for n in range(parts + 1)]
    yield from (Stretch(a, b) for a, b in pairwise(edges) if a < b)
