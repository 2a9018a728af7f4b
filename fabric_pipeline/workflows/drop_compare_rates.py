"""Errors per measured hour of the same link ends in two drops, counter by counter, and whether they rose or fell.

A rate rests on time in which the counter grew without a break: an interval with a reset or at a ceiling gives
neither errors nor time, so a counter that was set back never looks repaired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

from fabric_pipeline.incidents.lifecycle import NOISE_SIGMAS, WORSE_FACTOR
from fabric_pipeline.model.components import natural_key
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link
from fabric_pipeline.workflows.link_view import spellings
from fabric_pipeline.workflows.present_tables import present_tables

# With fewer errors to expect than this, none at all says nothing: chance alone gives none in one case of 20.
LEAST_EXPECTED = 3.0
_ERRORS = ", ".join(f"'{spec.name}'" for spec in COUNTERS.values() if spec.role == "error")
_RATES_SQL = f"""
with series as (
    select a.link, a.link_end, c.counter, c.lane, sum(c.delta) filter (c.quality = 'ok') as events,
        sum(c.elapsed_s) filter (c.quality = 'ok' and c.delta is not null) as seconds, count(*) filter (c.quality in ('reset', 'saturated')) as breaks
    from link_counters c join asked a using (node, interface)
    where c.counter in ({_ERRORS}) and c.scope in ('link', 'lane') and c.kind <> 'gauge'
    group by a.link, a.link_end, c.counter, c.lane
), counted as (
    select *, lane is null or count(*) filter (lane is null) over (partition by link, link_end, counter) = 0 as is_counted from series
)
select link, link_end, counter, coalesce(sum(events), 0), coalesce(max(seconds), 0), sum(breaks)
from counted where is_counted group by link, link_end, counter
"""
CounterVerdict = Literal["worse", "better", "same", "not_measured", "too_short"]


@dataclass(frozen=True, slots=True)
class Rate:
    """Errors of one counter at one end, and the seconds in which it was counted; `breaks` are resets and ceilings."""

    events: float
    seconds: float
    breaks: int = 0

    @property
    def per_hour(self) -> float | None:
        """Errors an hour, None where no time was counted."""
        return self.events * 3600 / self.seconds if self.seconds else None


EndCounter = tuple[str, str]
LinkRates = dict[EndCounter, Rate]


@dataclass(frozen=True, slots=True)
class CounterChange:
    """One counter at one end in both drops; None in the drop that does not have it."""

    component: str
    counter: str
    before: Rate | None
    after: Rate | None
    verdict: CounterVerdict

    @property
    def says(self) -> str:
        """Both rates with the time that they rest on."""
        return f"{self.counter} at {self.component}: {rate_words(self.before)} to {rate_words(self.after)}"


def link_rates(
    settings: Settings, view: FabricView, links: Mapping[str, Link]
) -> dict[str, LinkRates]:
    """The rates of these links of a drop, by the keys given; end components and counters inside."""
    if not links:
        return {}
    keys = list(links)
    rows: list[tuple[Any, ...]] = [
        (place, end.component, *name.split("\0", 1))
        for place, key in enumerate(keys)
        for end in links[key].ends
        for name in spellings(view, end)
    ]
    columns = [("link", "BIGINT")] + [(one, "VARCHAR") for one in ("link_end", "node", "interface")]
    found: dict[str, LinkRates] = {}
    with present_tables(settings, view.drop, ["link_counters"]) as connection:
        connection.execute(
            "create temp table asked (link bigint, link_end varchar, node varchar, interface varchar)"
        )
        insert_columns(connection, "asked", columns, rows)
        for place, end, counter, events, seconds, breaks in connection.execute(_RATES_SQL).fetchall():  # fmt: skip
            found.setdefault(keys[place], {})[end, counter] = Rate(events, seconds, breaks)
    return found


def counter_changes(before: LinkRates, after: LinkRates) -> list[CounterChange]:
    """Every counter that either drop has, what erred most first."""
    found = [
        CounterChange(*key, before.get(key), after.get(key), _verdict(before.get(key), after.get(key)))
        for key in before.keys() | after.keys()
    ]  # fmt: skip
    return sorted(found, key=_order)


def judged(changes: Sequence[CounterChange]) -> tuple[CounterVerdict, str] | None:
    """What the counters say together, with the figures; None when none erred or none can be compared.

    One that rose outweighs all. What erred before and was not read since leaves nothing known.
    """
    erred = [one for one in changes if one.before is not None and one.before.events]
    for verdict, among in (("worse", changes), ("better", erred), ("same", erred), ("too_short", erred)):  # fmt: skip
        found = next((one for one in among if one.verdict == verdict), None)
        if found is not None:
            return found.verdict, found.says
    if erred:
        return "not_measured", f"{erred[0].counter} at {erred[0].component}, which erred, was not read"  # fmt: skip
    return None


def rate_words(rate: Rate | None) -> str:
    """A rate with the time that it rests on; that nothing is known is never a zero."""
    if rate is None:
        return "not read"
    per_hour = rate.per_hour
    breaks = f", {rate.breaks} reset{'s' if rate.breaks > 1 else ''} left out" if rate.breaks else ""  # fmt: skip
    if per_hour is None:
        return f"no time counted{breaks}"
    shown = f"{per_hour:,.0f}" if per_hour >= 10 or not per_hour else f"{per_hour:.2g}"
    return f"{shown}/h in {minutes(rate.seconds)}{breaks}"


def minutes(seconds: float) -> str:
    """A measured time for people."""
    return f"{seconds / 60:,.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _verdict(before: Rate | None, after: Rate | None) -> CounterVerdict:
    if before is None or after is None:
        return "not_measured"
    old, new = before.per_hour, after.per_hour
    if old is None or new is None:
        return "not_measured"
    noise = sqrt(old**2 / max(before.events, 1.0) + new**2 / max(after.events, 1.0))
    if abs(new - old) > NOISE_SIGMAS * noise:
        if new >= WORSE_FACTOR * old:
            return "worse"
        if new * WORSE_FACTOR <= old:
            return "better" if old * after.seconds / 3600 >= LEAST_EXPECTED else "too_short"
    expected = old * after.seconds / 3600
    return "too_short" if before.events and not after.events and expected < LEAST_EXPECTED else "same"  # fmt: skip


def _order(one: CounterChange) -> tuple[Any, ...]:
    rates = [rate.per_hour or 0.0 for rate in (one.before, one.after) if rate is not None]
    return -max(rates), natural_key(one.component), one.counter
