"""States and side evidence in time, set-wise: lost width or speed, ports that wait, throttled GPUs.

Only changes leave SQL. A width or speed that is low from the first to the last reading shows no change;
it is judged by `detect.link_state` and `detect.port_state` against what both ends could do.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from fabric_pipeline.diagnose.localise.build import ErringLink, SideEvidence, Span
from fabric_pipeline.diagnose.localise.evidence import merged
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.topology import Topology

# An idle PCIe link goes down to a lower generation by design, so the generation is no lost speed; its
# width, and width and speed of all other links, stay.
_LOST_SQL = """
with known as (
    from link_counters
    where counter in ('width', 'speed_gbps', 'link_up') and value is not null and ts is not null and quality <> 'clock_skew'
        and not (counter = 'speed_gbps' and link_type = 'pcie')
), moved as (
    -- Nearly all states of a fleet stand still: only the others are put in order.
    select node, interface, lane, counter, max(value) as best from known group by node, interface, lane, counter having min(value) < max(value)
), states as (
    select k.node, k.interface, link_type, ts, value, best, lag(ts) over series as before, lead(ts) over series as after
    from known k join moved m on m.node = k.node and m.interface = k.interface and m.lane is not distinct from k.lane and m.counter = k.counter
    window series as (partition by k.node, k.interface, k.lane, k.counter order by ts, sample)
)
-- Between two readings nobody knows when it changed: half way.
select node, interface, any_value(link_type), ts - (ts - coalesce(before, ts)) / 2, ts + (coalesce(after, ts) - ts) / 2
from states where value < best group by node, interface, ts, before, after order by all
"""
# A port waits unusually when it has no credits in five times as much of the time as it usually does, and in
# more than this many ticks a second.
_MOST_TICKS = 20000
_WAITING_SQL = f"""
with waits as (
    select node, interface, ts, elapsed_s, coalesce(delta, 0) / elapsed_s as ticks_per_s
    from link_counters where counter = 'tx_wait' and elapsed_s > 0
), busy as (
    select node, interface from waits group by node, interface having max(ticks_per_s) > {_MOST_TICKS}
), usual as (
    select node, interface, quantile_cont(ticks_per_s, [0.25, 0.5]) as ticks from waits semi join busy using (node, interface) group by node, interface
)
select node, interface, ts - to_microseconds((elapsed_s * 1e6)::bigint), ts, ticks_per_s
from waits join usual using (node, interface) where ticks_per_s > greatest(5 * least(ticks[2], 4 * ticks[1]), {_MOST_TICKS}) order by all
"""
_THROTTLED_SQL = """
select node, ts, ends_with(lower(kind), '_end') from fabric_events
where ts is not null and node <> '' and contains(lower(kind), 'throttle') order by node, ts, 3
"""
_THROTTLE_LASTS = timedelta(seconds=60)  # what an event without an end speaks for


def states_in_time(connection: Any, topology: Topology) -> list[ErringLink]:
    """Links that lost width or speed, or went down, for part of the time."""
    by_link: dict[str, tuple[str, str, list[Span]]] = {}
    for node, interface, link_type, start, end in connection.execute(_LOST_SQL).fetchall():
        component = topology.resolve(component_id(node, interface))
        known = by_link.setdefault(topology.link_key(component), (component, link_type, []))
        known[2].append((start, end, 1.0))
    return [
        ErringLink(component, topology.far_end(component), link_type, merged(spans), has_state=True)
        for component, link_type, spans in by_link.values()
    ]


def side_evidence(connection: Any, topology: Topology) -> SideEvidence:
    """Ports that wait for credits and nodes with a throttled GPU."""
    congested: dict[tuple[str, str], list[Span]] = {}
    for node, interface, start, end, ticks in connection.execute(_WAITING_SQL).fetchall():
        component = topology.resolve(component_id(node, interface))
        congested.setdefault((component, topology.far_end(component)), []).append(
            (start, end, ticks)
        )
    return SideEvidence(congested, _throttled(connection.execute(_THROTTLED_SQL).fetchall()))


def _throttled(rows: Iterable[tuple[str, datetime, bool]]) -> dict[str, list[Span]]:
    """Spans from start to end of throttling, where the source tells the end."""
    found: dict[str, list[Span]] = {}
    open_since: dict[str, datetime] = {}
    for node, ts, is_end in rows:
        since = open_since.pop(node, None)
        if is_end:
            found.setdefault(node, []).append((since or ts - _THROTTLE_LASTS, ts, 1.0))
            continue
        if since is not None:
            found.setdefault(node, []).append((since, max(ts, since + _THROTTLE_LASTS), 1.0))
        open_since[node] = ts
    for node, since in open_since.items():
        found.setdefault(node, []).append((since, since + _THROTTLE_LASTS, 1.0))
    return {node: merged(spans) for node, spans in found.items()}
