"""SQL of the intervals and totals that may fire a rule: only these become rows in Python.

The conditions here are the rules of `rules` without their wording, never stricter than they: a row too
many is dropped there, a row too few would be lost.
"""

from __future__ import annotations

from collections.abc import Iterable

from fabric_pipeline.detect.spikes.counted import AER, BER_LINKS, CRC, QUALITY, REPLAYS, RETRAINS
from fabric_pipeline.detect.spikes.thresholds import PCIE_REPLAYS_PER_MINUTE_AND_LANE, SpikeLimits


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))


def _rare() -> str:
    """Counters of which a few events already mean something."""
    return f"(counter in ({_listed(RETRAINS)}) or error_class in ('link_down', 'uncorrected'))"


def worthy_sql(limits: SpikeLimits, keep_all: bool) -> str:
    """error_worthy: the few series of which an interval can fire a rule at all."""
    return f"""
    create or replace temp table error_worthy as
    select * from error_series where active_samples > 0 and ({keep_all} or events >= {limits.min_events} or {_rare()})
    """


def rare_sql() -> str:
    """error_rare: the most events of any half day and day that ends in an interval, for rare events."""
    return f"""
    create or replace temp table error_rare as
    with counted as (
        select series, spike, sum(delta) over half_day as in_12h, sum(delta) over whole_day as in_24h
        from error_samples join error_worthy using (series) where counter in ({_listed(RETRAINS)}) or error_class = 'link_down'
        window half_day as (partition by series order by end_us range between {12 * 3600 * 10**6} preceding and current row),
            whole_day as (partition by series order by end_us range between {24 * 3600 * 10**6} preceding and current row)
    )
    select series, spike, max(in_12h) as in_12h, max(in_24h) as in_24h from counted group by series, spike
    """


def persistence_sql(limits: SpikeLimits) -> str:
    """error_persistence: the most windows with an error among any 30 in a row within an interval.

    Windows last a minute, or a step where samples are further apart. They count where there is an error
    a minute on average, for a drizzle fills half of the minutes by chance.
    """
    last = f"range between {limits.persistent_windows - 1} preceding and current row"
    return f"""
    create or replace temp table error_persistence as
    with filled as (
        select series, spike, end_us // (greatest(step_s, 60) * 1e6)::bigint as slot, sum(delta) as events, any_value(step_s) as step_s
        from error_samples join error_worthy using (series)
        where (series, spike) in (select (series, spike) from error_intervals where events >= {limits.persistent_windows} * {limits.persistent_per_minute})
        group by 1, 2, 3
    ), counted as (
        select series, spike, step_s, count(*) over w as filled, sum(events) over w as events
        from filled window w as (partition by series, spike order by slot {last})
    )
    select series, spike, max(filled) as windows from counted
    where events >= {limits.persistent_windows} * greatest(step_s, 60) / 60 * {limits.persistent_per_minute} group by series, spike
    """


GROUPED_SQL = """
create or replace temp table error_intervals as
select series, spike, min(end_us - span_us) as start_us, max(end_us) as end_us, sum(delta) as events, sum(span_us) / 1e6 as exposure_s,
    count(*) as samples, max(delta) as largest, bool_or(is_lower_bound) as is_lower_bound, min(sample) as first_sample, max(sample) as last_sample
from error_samples group by series, spike
"""


def _allowance() -> str:
    cases = " ".join(
        f"when {gen} then ceil({rate} * pcie_lanes) * 60"
        for gen, rate in PCIE_REPLAYS_PER_MINUTE_AND_LANE.items()
    )
    return f"case when counter = 'pcie_replay' then case pcie_generation {cases} end end"


def intervals_sql(limits: SpikeLimits, keep_all: bool) -> str:
    """One row per interval that may fire a rule, with all that the rules and the table need."""
    return f"""
    with best as (
        select series, spike, max(best) as best from error_windows group by series, spike
    ), held as (
        select series, spike, list([start_us, end_us] order by start_us) as bursts, list(events order by start_us) as burst_events
        from error_bursts group by series, spike
    ), largest as (
        -- What concerns the whole series is said once, at its largest interval.
        select series, arg_min(spike, (-events, spike)) as spike from error_intervals group by series
    ), judged as (
        select s.* exclude (events, exposure_s, is_saturated, had_reset), s.events as series_events, s.exposure_s as series_exposure_s,
            i.* exclude (series), best, q_value, coalesce(bursts, []) as bursts, coalesce(burst_events, []) as burst_events,
            coalesce(in_12h, 0) as in_12h, coalesce(in_24h, 0) as in_24h, coalesce(windows, 0) as persistent_windows,
            o.siblings, o.per_hour as sibling_per_hour, o.limit_per_hour as sibling_limit, o.median_per_hour as sibling_median,
            i.events * 3600 / i.exposure_s as per_hour, l.series is not null as is_largest,
            {_allowance()} as allowance, greatest(i.exposure_s, 60) / 60 as minutes
        from error_intervals i join error_worthy s using (series) left join best using (series, spike) left join held using (series, spike)
            left join error_rare using (series, spike) left join error_persistence using (series, spike)
            left join error_significance g on best.strong and best.surprise = g.surprise
            left join largest l using (series, spike) left join error_siblings o on o.series = l.series
    ), kept as (
        select * from judged where {keep_all} or len(bursts) > 0 or siblings is not null or error_class = 'link_down'
            or (counter in ({_listed(REPLAYS)}) and events >= {limits.min_events} and per_hour > least({limits.replay_per_hour}, allowance))
            or (counter in ({_listed(CRC)}) and events >= {limits.crc_per_second} * exposure_s)
            or (counter in ({_listed(AER)}) and events > {limits.aer_per_minute} * minutes)
            or (counter in ({_listed(RETRAINS)}) and in_24h >= {limits.recoveries_per_day})
            or (persistent_windows > {limits.persistent_least} and counter not in ({_listed(QUALITY)}))
            or (error_class = 'uncorrected' and is_largest and (link_type not in ({_listed(BER_LINKS)}) or bytes_per_s is null))
            or (error_class = 'uncorrected' and link_type in ({_listed(BER_LINKS)}) and events > {limits.ber_watch} * bytes_per_s * exposure_s * 8)
    )
    select k.*, p.peers, p.median_events, a.file, a.line, z.line as end_line
    from kept k left join error_peers p using (link_type, counter, scope)
        left join error_increments a on a.series = k.series and a.sample = k.first_sample
        left join error_increments z on z.series = k.series and z.sample = k.last_sample
    order by node, interface, lane, counter, gpu_uuid, k.scope, spike
    """


def totals_sql(limits: SpikeLimits, keep_all: bool) -> str:
    """One row per total without a time span that may fire a rule.

    Of several captures the growth between them is judged, and what was there before the first is told
    apart: a total that stayed silent is no new error. A counter at its ceiling shows no growth, so its
    total is judged.
    """
    return f"""
    with totals as (
        select s.*, s.measured > 1 and not s.is_saturated as is_growth,
            case when is_growth then s.events else greatest(s.events, coalesce(s.last_value, 0)) end as total,
            p.peers, p.median_events, case when is_growth then p.total_events else p.total_value end as all_ends_total, p.ends
        from error_series s join error_peers p using (link_type, counter, scope)
        where s.timed_samples = 0 and (s.measured <= 1 or s.events > 0 or s.is_saturated)
    )
    select * from totals where total > 0 and ({keep_all} or total > {limits.snapshot_transient} or total >= {limits.snapshot_severe}
        or (is_growth and last_value > {limits.snapshot_transient})
        or error_class = 'link_down' or (counter in ({_listed(RETRAINS)}) and total >= {limits.recoveries_per_day})
        or (counter in ({_listed(QUALITY)}) and ends >= 3))
    order by node, interface, lane, counter, gpu_uuid, scope
    """
