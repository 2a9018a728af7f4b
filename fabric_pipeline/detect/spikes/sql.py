"""SQL of the spike stage: from increments to series totals, peers and error intervals.

Only rows with an increment are ordered; silent series contribute their exposure through sums. Limits
are applied later in `rules`.
"""

from __future__ import annotations

SERIES = "node, interface, lane, counter, gpu_uuid, scope"

# One row per error series, silent ones included: they are the peers and the exposure.
SERIES_SQL = f"""
create or replace temp table error_series as
select {SERIES}, any_value(link_type) as link_type, any_value(error_class) as error_class, any_value(class_basis) as class_basis,
    count(*) as samples, count(elapsed_s) as timed_samples, coalesce(sum(elapsed_s), 0) as exposure_s,
    coalesce(sum(delta), 0) as events, count(*) filter (delta > 0) as active_samples, median(elapsed_s) filter (elapsed_s > 0) as step_s,
    arg_max(value, sample) filter (value is not null) as last_value, arg_min(value, sample) filter (value is not null) as first_value,
    count(*) filter (value is not null) as measured, bool_or(quality = 'saturated') as is_saturated, bool_or(quality = 'reset') as had_reset,
    arg_max(file, sample) as last_file, arg_max(line, sample) as last_line, min(ts) as first_ts, max(ts) as last_ts
from link_counters where error_class <> '' group by {SERIES}
"""

# Medians of the peers: same counter, link type and scope in this drop; silence counts as zero.
PEERS_SQL = """
create or replace temp table error_peers as
select link_type, counter, scope, count(*) - 1 as peers, median(events) as median_events, quantile_cont(events, 0.95) as high_events,
    median(case when exposure_s > 0 then events / exposure_s end) as median_per_s, sum(last_value) as total_value, count(*) as ends
from error_series where measured > 0 group by link_type, counter, scope
"""

_SAME_SERIES = " and ".join(
    f"c.{name} is not distinct from s.{name}" for name in SERIES.split(", ")
)

# Active samples joined into intervals: a pause of more than five usual steps ends an interval. Rare
# events (retrains, link downs) are also counted over a sliding half day and day, across intervals.
INTERVALS_SQL = f"""
with active as (
    select c.*, s.step_s, lag(c.ts) over w as previous_ts
    from link_counters c join error_series s on {_SAME_SERIES}
    where c.delta > 0 and c.elapsed_s > 0 and c.error_class <> '' and c.quality <> 'clock_skew'
    window w as (partition by {", ".join(f"c.{name}" for name in SERIES.split(", "))} order by c.sample)
), numbered as (
    select *, sum(delta) over half_day as in_12h, sum(delta) over whole_day as in_24h,
        sum(case when previous_ts is null or date_diff('second', previous_ts, ts) > greatest(5 * step_s, 60) then 1 else 0 end)
        over (partition by {SERIES} order by sample) as spike
    from active
    window half_day as (partition by {SERIES} order by ts range between interval 12 hours preceding and current row),
        whole_day as (partition by {SERIES} order by ts range between interval 24 hours preceding and current row)
)
select {SERIES}, spike::bigint as spike, min(ts - to_microseconds((elapsed_s * 1e6)::bigint)) as start_ts, max(ts) as end_ts, sum(delta) as events,
    sum(elapsed_s) as exposure_s, count(*) as samples, max(delta) as largest, max(in_12h) as in_12h, max(in_24h) as in_24h,
    bool_or(quality in ('reset', 'saturated')) as is_lower_bound,
    arg_min(file, sample) as file, arg_min(line, sample) as line, arg_max(line, sample) as last_line
from numbered group by {SERIES}, spike order by {SERIES}, spike
"""

SERIES_ROWS_SQL = f"""
select s.*, p.peers, p.median_events, p.high_events, p.median_per_s, p.total_value, p.ends
from error_series s join error_peers p using (link_type, counter, scope)
where s.events > 0 or s.last_value > 0 order by {SERIES}
"""

# Bytes that a link end received per observed second, for bit error rates.
BYTES_SQL = """
select node, interface, sum(delta) / sum(elapsed_s) as bytes_per_s from link_counters
where counter = 'rx_bytes' and delta > 0 and elapsed_s > 0 group by node, interface
"""

# Latest PCIe generation and width of each link end, for the physics-normalised replay limit.
PCIE_SQL = """
select node, interface, arg_max(value, sample) filter (counter = 'pcie_gen_max') as generation_max,
    arg_max(value, sample) filter (counter = 'pcie_gen') as generation,
    arg_max(value, sample) filter (counter = 'width') as width, arg_max(value, sample) filter (counter = 'width_max') as width_max
from link_counters where counter in ('pcie_gen', 'pcie_gen_max', 'width', 'width_max') and value is not null group by node, interface
"""
