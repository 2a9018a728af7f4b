"""SQL behind the questions of a drafter: errors of every link end, counters of one, slow intervals.

Names of components are parameters, never text of a query. The tables are made available under their own
names by the caller.
"""

from __future__ import annotations

from fabric_pipeline.model.counters import COUNTERS

# Repairs by FEC are normal work and waiting is no error, so only counters that accuse the link count.
_ERRORS = ", ".join(f"'{spec.name}'" for spec in COUNTERS.values() if spec.role == "error")

# One row per link end. `errors`: growth over the drop, or totals where no counter of its name was read
# twice; null when nothing was readable. Lanes count only where the link itself has no such counter.
ENDS_SQL = f"""
with series as (
    select node, interface, counter, lane, gpu_uuid, any_value(link_type) as link_type, count(delta) as steps, sum(delta) as grown,
        arg_max(value, sample) filter (value is not null) as last_value
    from link_counters where scope in ('link', 'lane') group by node, interface, counter, lane, gpu_uuid
), valued as (
    select *, case when counter not in ({_ERRORS}) then null
            when steps > 0 then grown when max(steps) over (partition by counter) = 0 then last_value end as events,
        lane is null or count(*) filter (lane is null) over (partition by node, interface, counter) = 0 as is_counted
    from series
)
select node, interface, any_value(link_type), sum(events) filter (is_counted) from valued group by node, interface
"""

# The series of one link end, each with the median over the same counter of the siblings in `$near`.
COUNTERS_SQL = """
with series as (
    select interface, counter, lane, gpu_uuid, scope, any_value(kind) as kind, count(delta) as steps, sum(delta) as grown,
        arg_max(value, sample) filter (value is not null) as last_value, min(ts) filter (delta > 0) as first_seen,
        max(ts) filter (delta > 0) as last_seen, sum(elapsed_s) filter (delta is not null) / 3600 as measured_hours,
        list_sort(list_distinct(list(quality))) as qualities
    from link_counters where node = $node and interface in (select unnest($near)) group by interface, counter, lane, gpu_uuid, scope
), valued as (
    select *, case when kind = 'gauge' then null when steps > 0 then grown when max(steps) over (partition by counter) = 0 then last_value end as events
    from series
), own as (
    select * from valued where interface in (select unnest($own)) and ($lane is null or lane is null or lane = $lane)
)
select s.counter, s.lane, s.kind, s.events, s.first_seen, s.last_seen, s.measured_hours, s.steps, s.last_value, s.qualities,
    (select median(o.events) from valued o where o.counter = s.counter and o.scope = s.scope
        and (o.interface <> s.interface or coalesce(o.lane, -1) <> coalesce(s.lane, -1))) as siblings_median
from own s order by s.kind = 'gauge', coalesce(s.events, 0) desc, s.counter, s.lane
"""

# Slow intervals, and what is known of their run's way over one link: `yes`, `no` or null.
SLOW_SQL = """
with placed as (
    select run, case when bool_or(in_path = 'yes') then 'yes' when bool_or(in_path = 'no') then 'no' end as in_path
    from straggler_correlations where list_contains($ends, node || chr(0) || interface) group by run
)
select s.run, s.start_ts as start, s.end_ts as "end", s.latency_us, s.baseline_us, s.nodes, p.in_path
from stragglers s left join placed p using (run) where s.start_ts is not null order by s.start_ts, s.run, s.op, s.communicator
"""

# A reading counts for the time since the one before it, so it belongs to each interval that it touches.
ERRORS_IN_SQL = f"""
with counted as (
    select ts, ts - to_microseconds((elapsed_s * 1e6)::bigint) as since, delta from link_counters
    where node in (select unnest($nodes)) and list_contains($ends, node || chr(0) || interface) and counter in ({_ERRORS})
        and scope in ('link', 'lane') and delta is not null and elapsed_s is not null
), places as (
    select unnest($places) as place, unnest($starts)::timestamptz as start, unnest($until)::timestamptz as until
)
select place, sum(delta) from places left join counted on since < until and ts > start group by place
"""

ACCUSED_SQL = """
select distinct isolated_component from incident_records
where role = 'cause' and severity in ('WARNING', 'CRITICAL') and fault_type not in ('nominal', 'no_data', 'not_a_link', 'congestion')
"""
