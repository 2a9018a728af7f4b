"""SQL of the fabric picture: which link ends were measured, which links exist, what was counted worst.

Limits come from the spike rules, so that a picture and a verdict never disagree on them. The tables are
made available under their own names by the caller.
"""

from __future__ import annotations

from fabric_pipeline.detect.spikes.rules import CRC, REPLAYS, RETRAINS
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.schemas.registry import TABLES

# Counters that say something of the link's health. Traffic, congestion and the GPU's performance state
# do not: an end that gave only those has no data in this sense.
_NO_LINK_STATE = {"performance_state", "fabric_check_errors"}
HEALTH_COUNTERS = tuple(
    spec.name
    for spec in COUNTERS.values()
    if spec.role in ("error", "quality", "state") and spec.name not in _NO_LINK_STATE
)
_HEALTH = ", ".join(f"'{name}'" for name in HEALTH_COUNTERS)
# Repairs by FEC are normal work: they have no limit of their own, and an error outranks them.
_QUALITY = ", ".join(f"'{spec.name}'" for spec in COUNTERS.values() if spec.role == "quality")
_PORTS = "'infiniband', 'roce', 'ethernet'"

# A link that is down shows no health. `pci_alias` (node, alias, device) gives a GPU named by its PCI
# address its index.
ENDS_SQL = f"""
create or replace temp table ends as
select node, interface, any_value(link_type) as link_type, bool_or(scope in ('link', 'lane')) as is_end,
    bool_or(value is not null and counter in ({_HEALTH})) as is_measured, min(ts) as first_ts, max(ts) as last_ts,
    coalesce(arg_max(value, sample) filter (counter = 'link_up' and value is not null) = 0, false) as is_down
from link_counters group by node, interface
"""
HAS_ALIASES_SQL = "select count(*) > 0 from ends where starts_with(interface, 'pci-')"
NAMED_SQL = """
create or replace temp table ends as
with named as (
    select e.* exclude (interface),
        case when p.device is null then e.interface
            else p.device || coalesce(nullif(substr(e.interface, length(p.alias) + 1), ''), '/pcie') end as interface
    from ends e left join pci_alias p on p.node = e.node and p.alias = split_part(e.interface, '/', 1)
)
select node, interface, any_value(link_type) as link_type, bool_or(is_end) as is_end, bool_or(is_measured) as is_measured,
    min(first_ts) as first_ts, max(last_ts) as last_ts, bool_or(is_down) as is_down
from named group by node, interface
"""

# Each stated link once, whichever way round and in however many files it stands; the first statement wins.
# Keys are whole names: DuckDB's hash() gives different names the same value.
STATED_SQL = """
create or replace temp table stated as
with links as (
    select entry, entity_id, link_type, node, interface, far_node, far_interface, lanes, speed_gbps, cable_id, part,
        node || chr(0) || interface as near, far_node || chr(0) || far_interface as far
    from fabric_topology where kind = 'link' and interface <> ''
), once as (
    select * from links semi join (select min(entry) as entry from links group by least(near, far), greatest(near, far)) using (entry)
)
select * exclude (near, far) from once semi join (select min(entry) as entry from once group by near) using (entry)
"""
NO_STATED_SQL = """
create or replace temp table stated as
select 0 as entry, '' as entity_id, '' as link_type, '' as node, '' as interface, '' as far_node, '' as far_interface, null::bigint as lanes,
    null::double as speed_gbps, '' as cable_id, '' as part where false
"""

# Stated links with both ends, then the measured ends that no topology knows. `marked` (node, interface, place)
# are ends with a reading of their own; places 0, 1 and 2 are those of `Builder.readings`.
LINKS_SQL = """
with seen as (
    select e.node, e.interface, e.link_type, e.is_end, coalesce(m.place, case when is_down then 2 when is_measured then 1 else 0 end) as reading
    from ends e left join marked m on m.node = e.node and m.interface = e.interface
), known as (
    select node, interface, reading from seen
    union all select m.node, m.interface, m.place from marked m anti join ends e on e.node = m.node and e.interface = m.interface
)
select s.entity_id as id, s.link_type as type, s.node, s.interface, s.far_node, s.far_interface, coalesce(s.lanes, -1) as lanes,
    coalesce(s.speed_gbps, 'nan'::double) as speed, s.cable_id as cable, s.part, coalesce(a.reading, 0) as reading,
    coalesce(b.reading, 0) as far_reading
from stated s left join known a on a.node = s.node and a.interface = s.interface
    left join known b on b.node = s.far_node and b.interface = s.far_interface
union all
select m.node || ':' || m.interface, m.link_type, m.node, m.interface, '', '', -1, 'nan'::double, '', '', m.reading, 0
from seen m anti join (select node, interface from stated union all select far_node, far_interface from stated) k
    on k.node = m.node and k.interface = m.interface
where m.is_end
"""

# Sums over a whole GPU or switch: measured devices that are no link end.
DEVICES_SQL = "select node, interface from ends where not is_end and (is_measured or is_down)"
WINDOW_SQL = "select min(first_ts), max(last_ts) from ends"


def no_counters_sql() -> str:
    """An empty `link_counters` for a drop without any."""
    return f"create temp table link_counters as {TABLES['link_counters'].empty_sql()}"


def worst_counters_sql(limits: SpikeLimits) -> str:
    """One row per link end that counted errors: its worst counter with value, limit and rule hits.

    The value is the rate of the worst interval with enough events to mean anything, else the rate over
    all observed time; a total where no time span is known.
    """
    return f"""
with limit_of(counter, per_hour, in_total) as (values {_limit_rows(limits)}),
moved as (
    select node, interface, 8 * sum(delta) as bits from link_counters where counter = 'rx_bytes' and delta > 0 group by node, interface
), series as (
    select node, interface, lane, counter, any_value(error_class) as error_class, any_value(link_type) as link_type,
        bool_and(start_ts is null) as is_snapshot, max(events) as largest,
        case when bool_and(start_ts is null) then max(events) else sum(events) end as events, any_value(series_exposure_s) as exposure_s,
        max(rate_per_hour) filter (events >= {limits.min_events}) as burst_per_hour, bool_or(is_lower_bound = 'yes') as is_lower_bound,
        max(place) as severity_rank, arg_max(rules, (place, coalesce(rate_per_hour, events))) as rules
    from (select *, list_position(['info', 'watch', 'warning', 'critical'], severity) as place from spike_detections)
    group by node, interface, lane, counter, gpu_uuid, scope
), valued as (
    select s.*, s.is_snapshot or l.in_total is not null or coalesce(s.exposure_s, 0) <= 0 as is_total,
        s.error_class = 'uncorrected' and s.link_type in ({_PORTS}) and m.bits > 0 and not s.is_snapshot and l.in_total is null as is_ber,
        coalesce(s.burst_per_hour, s.events * 3600 / nullif(s.exposure_s, 0)) as rate, m.bits, l.per_hour,
        s.counter in ({_QUALITY}) as is_quality,
        case when s.is_snapshot then case when s.error_class <> 'link_down' and not is_quality then {limits.snapshot_severe} end else l.in_total end as in_total
    from series s left join limit_of l using (counter) left join moved m on m.node = s.node and m.interface = s.interface
), shared as (
    select *, case when is_ber then events / bits when is_total then largest else rate end as value,
        case when is_ber then {limits.ber_failed} when is_total then in_total else per_hour end as "limit",
        case when is_ber then 'per bit' when is_total then 'in total' else 'per hour' end as unit
    from valued
)
select node, interface, counter, lane, events, value, "limit", unit, is_lower_bound, severity_rank, rules from shared
qualify row_number() over (partition by node, interface order by severity_rank desc, is_quality,
    value / "limit" desc nulls last, events desc, counter, lane) = 1
order by node, interface
"""


def _limit_rows(limits: SpikeLimits) -> str:
    per_hour = dict.fromkeys(REPLAYS, limits.replay_per_hour)
    per_hour |= dict.fromkeys(CRC, limits.crc_per_second * 3600)
    in_total = dict.fromkeys(RETRAINS, limits.recoveries_per_day)
    in_total |= {
        s.name: limits.link_downs for s in COUNTERS.values() if s.error_class == "link_down"
    }
    rows = [f"('{name}', {amount}, null)" for name, amount in sorted(per_hour.items())]
    rows += [f"('{name}', null, {amount})" for name, amount in sorted(in_total.items())]
    return ", ".join(rows)
