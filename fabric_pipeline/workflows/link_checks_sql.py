"""SQL of the link checks over the lake tables of one drop: which link ends, what they counted, for how long.

The tables `wanted` (incident_id, node, interface) and `link_counters` are made available by the caller.
What is judged clean or dirty is decided in `link_check_verdict`.
"""

from __future__ import annotations

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.store.duck import literal


def _names(role: str, *, but: str = "") -> str:
    return ", ".join(
        literal(spec.name) for spec in COUNTERS.values() if spec.role == role and spec.name != but
    )


_ERRORS = _names("error")
# FEC bin 0 counts code words without an error, sent on an idle link as well: it is no sign of traffic.
_TRAFFIC = _names("traffic", but="fec_bin_0")
_GAUGES = ", ".join(
    literal(spec.name)
    for spec in COUNTERS.values()
    if spec.role == "traffic" and spec.kind == "gauge"
)

# `alias` gives ends that a file names by PCI address the name that the topology gives them.
ENDS_SQL = """
create or replace temp table ends as
with named as (
    select distinct c.node, c.interface as written, coalesce(a.interface, c.interface) as interface, c.link_type
    from (select distinct node, interface, link_type from link_counters where scope in ('link', 'lane')) c
        left join alias a on a.node = c.node and a.written = c.interface
)
select *, split_part(interface, '/', 1) as device from named
"""

# A device, a node or a switch that is accused as a whole has all its link ends.
OWN_SQL = """
create or replace temp table own as
select distinct w.incident_id, e.node, e.written, e.interface, e.link_type, e.device
from wanted w join ends e on e.node = w.node
    and (w.interface = e.interface or w.interface = '' or starts_with(e.interface, w.interface || '/'))
"""

# Errors of every end by counter. Seconds are those between good samples, of the lane that has most;
# what was counted over a reset or at a ceiling is a lower bound and counts as errors all the same.
RATES_SQL = f"""
create or replace temp table rates as
with series as (
    select node, interface as written, lane, counter, any_value(error_class) as error_class,
        sum(delta) as events, coalesce(sum(case when quality = 'ok' then elapsed_s end), 0) as seconds,
        max(case when delta > 0 then ts end) as last_error
    from link_counters
    where scope in ('link', 'lane') and counter in ({_ERRORS}) and delta is not null
    group by node, interface, lane, counter
)
select node, written, counter, any_value(error_class) as error_class, sum(events) as events,
    max(seconds) as seconds, max(last_error) as last_error
from series group by node, written, counter
"""

# Window, traffic and states of the ends that are asked about. `traffic_s` is null where nothing counts it.
OWN_ENDS_SQL = f"""
select o.incident_id, o.node, o.interface, any_value(o.link_type) as link_type, min(c.ts) as first_ts, max(c.ts) as last_ts,
    sum(c.delta) filter (c.counter in ('tx_bytes', 'rx_bytes')) as bytes,
    case when bool_or(c.counter in ({_TRAFFIC}) and c.value is not null) then max(t.seconds) end as traffic_s,
    arg_max(c.value, c.ts) filter (c.counter = 'link_up' and c.value is not null) as last_up,
    arg_max(c.value, c.ts) filter (c.counter = 'width' and c.value is not null) as width,
    max(c.value) filter (c.counter in ('width_max', 'width')) as width_max,
    arg_max(c.value, c.ts) filter (c.counter = 'speed_gbps' and c.value is not null) as speed,
    max(c.value) filter (c.counter in ('speed_max_gbps', 'speed_gbps')) as speed_max,
    max(c.value) filter (c.counter = 'pcie_gen') as pcie_gen, coalesce(max(s.seconds), 0) as state_s
from own o join link_counters c on c.node = o.node and c.interface = o.written
    left join traffic t on t.node = o.node and t.written = o.written
    left join stated s on s.node = o.node and s.written = o.written
group by o.incident_id, o.node, o.interface
order by o.incident_id, o.node, o.interface
"""
TRAFFIC_SQL = f"""
create or replace temp table traffic as
with moving as (
    -- Two questions, not one with an `or`: so the file gives only the rows of either, not every reading.
    from link_counters where counter in ({_TRAFFIC}) and delta > 0 and quality = 'ok'
    union all
    from link_counters where counter in ({_GAUGES}) and value > 0 and not coalesce(delta, 0) > 0 and quality = 'ok'
), busy as (
    select node, interface as written, counter, lane, sum(elapsed_s) as seconds
    from moving semi join own o on o.node = moving.node and o.written = moving.interface
    group by node, interface, counter, lane
)
select node, written, max(seconds) as seconds from busy group by node, written
"""
STATED_SQL = """
create or replace temp table stated as
select node, interface as written, date_diff('second', min(ts), max(ts)) as seconds
from link_counters semi join own o on o.node = link_counters.node and o.written = link_counters.interface
where counter in ('link_up', 'width', 'speed_gbps') and value is not null group by node, interface
"""

# Own counters beside those of the sibling ends: same device where it has three others, else same node, else
# same kind of link anywhere in the drop. Ends that this drop accuses are no siblings. The own end is one of
# those the median is taken over, which is why there have to be three others.
COMPARED_SQL = """
with mine as (
    select o.incident_id, o.node, o.interface, o.link_type, o.device, r.counter, r.error_class, r.events, r.seconds, r.last_error
    from own o join rates r on r.node = o.node and r.written = o.written
), peers as (
    select e.node, e.link_type, e.device, r.counter, r.events * 3600 / r.seconds as per_hour
    from ends e join rates r on r.node = e.node and r.written = e.written
    where r.seconds > 0 and not exists (select 1 from accused_ends a where a.node = e.node and a.interface = e.interface)
), by_device as (
    select node, link_type, device, counter, count(*) as n, median(per_hour) as middle, mad(per_hour) as spread
    from peers group by node, link_type, device, counter
), by_node as (
    select node, link_type, counter, count(*) as n, median(per_hour) as middle, mad(per_hour) as spread
    from peers group by node, link_type, counter
), by_kind as (
    select link_type, counter, count(*) as n, median(per_hour) as middle, mad(per_hour) as spread
    from peers group by link_type, counter
)
select m.incident_id, coalesce(nullif(m.node, ''), 'unknown') || ':' || m.interface as component, m.counter, m.error_class, m.events, m.seconds, m.last_error,
    coalesce(case when d.n > $least then d.n when n.n > $least then n.n when k.n > $least then k.n end - 1, 0) as siblings,
    case when d.n > $least then 'device' when n.n > $least then 'node' when k.n > $least then 'drop' else '' end as siblings_of,
    case when d.n > $least then d.middle when n.n > $least then n.middle when k.n > $least then k.middle end as siblings_median,
    case when d.n > $least then d.spread when n.n > $least then n.spread when k.n > $least then k.spread end as siblings_mad
from mine m
    left join by_device d on d.node = m.node and d.link_type = m.link_type and d.device = m.device and d.counter = m.counter
    left join by_node n on n.node = m.node and n.link_type = m.link_type and n.counter = m.counter
    left join by_kind k on k.link_type = m.link_type and k.counter = m.counter
order by m.incident_id, component, m.counter
"""

# The link's own past: the same ends in the drops of its past, before the fault was first seen.
PAST_SQL = """
with series as (
    select w.incident_id, c.node, c.interface, c.lane, c.counter, sum(c.delta) as events,
        coalesce(sum(c.elapsed_s) filter (c.quality = 'ok'), 0) as seconds
    from past c join with_errors w on w.node = c.node and w.written = c.interface and w.counter = c.counter
    where c.scope in ('link', 'lane') and c.delta is not null and c.ts >= w.since and c.ts < w.before
    group by w.incident_id, c.node, c.interface, c.lane, c.counter
), lanes as (
    select incident_id, node, interface, counter, sum(events) as events, max(seconds) as seconds
    from series group by all
)
select incident_id, coalesce(nullif(node, ''), 'unknown') || ':' || interface as component, counter, events, seconds from lanes where seconds > 0
"""
