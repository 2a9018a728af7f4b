"""SQL of the charts on one clock: latency of runs in time bins, slow intervals, errors of link ends.

Bins are of equal length and aligned to the epoch, so that a reading every half minute falls into one bin.
The caller binds `$start` (epoch seconds), `$step` (seconds) and `$bins`.
"""

from __future__ import annotations

from fabric_pipeline.detect.stragglers.thresholds import StragglerLimits
from fabric_pipeline.model.counters import COUNTERS

_ERRORS = ", ".join(f"'{spec.name}'" for spec in COUNTERS.values() if spec.role == "error")
_WARM = StragglerLimits()

# First and last time of the drop, and the usual seconds between two values of one series.
SPAN_SQL = f"""
with timed as (
    select ts, date_diff('millisecond', lag(ts) over (partition by run, communicator, op, bytes, "rank" order by ts), ts) / 1000.0 as gap_s
    from collective_timings where ts is not null and duration_us is not null
)
select least((select min(ts) from timed), (select min(ts - to_microseconds((coalesce(elapsed_s, 0) * 1e6)::bigint)) from link_counters)),
    greatest((select max(ts) from timed), (select max(ts) from link_counters)),
    (select median(gap_s) from timed where gap_s > 0),
    (select quantile_cont(elapsed_s, 0.05) from link_counters where counter in ({_ERRORS}) and elapsed_s > 0)
"""

# One duration per collective, as the straggler detection takes it: the whole where a source gives it, else the
# minimum over ranks. Start-up is left out by the same limits.
LATENCY_SQL = f"""
with one as (
    select run, op, bytes, variant, unit_kind, communicator, seq, min(ts) as ts, median(baseline_us) as baseline_us,
        coalesce(median(duration_us) filter ("rank" is null), min(duration_us) filter ("rank" is not null)) as us
    from collective_timings where unit_kind in ('collective', 'step') and ts is not null and duration_us is not null
    group by run, op, bytes, variant, unit_kind, communicator, seq
), placed as (
    select *, row_number() over same as place,
        us > {_WARM.warm_up_ratio} * median(us) over (partition by run, op, bytes, variant, unit_kind, communicator) as is_long
    from one window same as (partition by run, op, bytes, variant, unit_kind, communicator order by ts, seq)
), started as (
    select *, bool_and(is_long) over (partition by run, op, bytes, variant, unit_kind, communicator order by ts, seq) as is_start
    from placed
), settled as (
    select *, is_start and place <= {_WARM.warm_up_rows} and not coalesce(bool_or(is_start and place = {_WARM.warm_up_rows + 1})
            over (partition by run, op, bytes, variant, unit_kind, communicator), false) as is_warm_up
    from started
), binned as (
    select run, op, bytes, unit_kind, floor((epoch(ts) - $start) / $step)::bigint - (epoch(ts) = $start + $bins * $step)::bigint as bin,
        count(*) as collectives, quantile_disc(us, 0.5) filter (not is_warm_up) as p50,
        quantile_disc(us, 0.99) filter (not is_warm_up) as p99, median(baseline_us) as baseline_us
    from settled group by run, op, bytes, unit_kind, bin
), slow as (
    select run, op, bytes, max(deviation_pct) as worst_pct from stragglers where start_ts is not null group by run, op, bytes
), ranked as (
    select b.run, b.op, b.bytes, b.unit_kind, any_value(s.worst_pct) as worst_pct, sum(b.collectives) as collectives
    from binned b left join slow s on s.run = b.run and s.op = b.op and s.bytes is not distinct from b.bytes
    group by b.run, b.op, b.bytes, b.unit_kind
), chosen as (
    select *, row_number() over (order by unit_kind, worst_pct desc nulls last, collectives desc, run, op, bytes) as rank,
        count(*) over () as series from ranked
)
select c.rank, c.series, c.run, c.op, c.bytes, c.unit_kind, c.worst_pct, median(b.baseline_us) as baseline_us,
    list(b.bin order by b.bin) as bins, list(b.p50 order by b.bin) as p50, list(b.p99 order by b.bin) as p99
from chosen c join binned b on b.run = c.run and b.op = c.op and b.bytes is not distinct from c.bytes and b.unit_kind = c.unit_kind
where c.rank <= $most and b.bin between 0 and $bins - 1
group by c.rank, c.series, c.run, c.op, c.bytes, c.unit_kind, c.worst_pct order by c.rank
"""

SLOW_SQL = """
select run, op, bytes, start_ts, end_ts, deviation_pct, communicator, late_ranks from stragglers
where start_ts is not null and run in (select unnest($runs)) order by deviation_pct desc, start_ts limit 20000
"""

# `asked` (link, node, interface) holds every spelling of the ends that are drawn. A reading counts evenly over the time since
# the one before it. After a gap of more than three usual intervals nobody knows when it was: such errors have no place.
ERRORS_SQL = f"""
with counted as (
    select a.link, c.node, c.interface, c.counter, c.lane, c.delta, c.elapsed_s, c.error_class, epoch(c.ts) as until,
        median(c.elapsed_s) over (partition by c.node, c.interface, c.counter, c.lane) as usual_s,
        c.lane is null or count(*) filter (c.lane is null) over (partition by c.node, c.interface, c.counter) = 0 as is_counted
    from link_counters c join asked a using (node, interface)
    where c.counter in ({_ERRORS}) and c.scope in ('link', 'lane') and c.delta is not null and c.elapsed_s > 0 and c.ts is not null
), once as (
    select *, elapsed_s > 3 * usual_s as is_gap from counted where is_counted
), spread as (
    select link, error_class, delta, elapsed_s, until, unnest(range(greatest(floor((until - elapsed_s - $start) / $step), 0)::bigint,
        least(ceil((until - $start) / $step), $bins)::bigint)) as bin from once where not is_gap
), placed as (
    select link, bin, error_class, delta / elapsed_s
            * greatest(least(until, $start + (bin + 1) * $step) - greatest(until - elapsed_s, $start + bin * $step), 0) as part
    from spread
), binned as (
    select link, bin, sum(part) as errors, sum(part) filter (error_class = 'corrected_multi') as multi from placed group by link, bin
), lost as (
    select link, sum(delta) filter (is_gap) as unplaced, sum(delta) as total from once group by link
)
select l.link, any_value(l.total) as total, any_value(l.unplaced) as unplaced, list(b.bin order by b.bin) filter (b.bin is not null) as bins,
    list(b.errors order by b.bin) filter (b.bin is not null) as errors, list(b.multi order by b.bin) filter (b.bin is not null) as multi
from lost l left join binned b using (link) group by l.link
"""

# The best coincidence of each link that is drawn.
FIT_SQL = """
select a.link, arg_max(c.overlap_bins, c.score), arg_max(c.error_bins, c.score), arg_max(c.verdict, c.score),
    list_distinct(list(c.run) filter (c.verdict = 'responsible')) as slowed
from straggler_correlations c join asked a using (node, interface) group by a.link
"""
