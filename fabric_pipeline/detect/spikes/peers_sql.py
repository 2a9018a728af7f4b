"""SQL of what is normal: the peers of a series, its own past, and its siblings.

Peers are all series of the same counter, link type and scope in the drop; siblings are the few links
that share a device or a rail. Which count is too high is decided in `bursts_sql` and `rules`.
"""

from __future__ import annotations

from fabric_pipeline.detect.spikes.surprise import surprise_sql
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits

# Steps in one block of the own past: fine blocks make sparse counts look like silence.
_BLOCK_STEPS = 12
# Least rate per second a peer group is given, so that silent peers are no proof of impossibility.
_LEAST_PER_S = 1e-6
# The prior weighs as much as one observed hour; fewer peers than this bound nobody's past.
_PRIOR_S = 3600
_CAP_PEERS = 3

_GROUP = "link_type, counter, scope"


def peers_sql(limits: SpikeLimits) -> str:
    """error_peers: totals and rates of each peer group, from measured series only.

    Of the sorted rates two neighbours are kept per quantile, so that a series can be left out of the
    quantiles of its own group: a bad link among ten would otherwise stand in the 95th percentile that is
    to judge it. `noise` adds up rates in whole millionths of an event per hour, none above what would be
    an effect: a few bad links are no background.
    """
    # Place in the sorted rates of the others, one fewer than all; rounding keeps 0.95 * 20 at 19.
    high, middle = "floor(round(0.95 * (timed - 2), 6))::bigint", "(timed - 2) // 2"
    return f"""
    create or replace temp table error_peers as
    with rated as (
        select *, case when exposure_s > 0 then events / exposure_s end as per_s from error_series where measured > 0
    ), grouped as (
        select {_GROUP}, count(*) - 1 as peers, median(events) as median_events, sum(last_value) as total_value, sum(events) as total_events, count(*) as ends,
            count(per_s) as timed, list_sort(list(per_s) filter (per_s is not null)) as rates,
            sum((least(per_s * 3600, {limits.min_per_hour}) * 1e6)::bigint) as noise
        from rated group by {_GROUP}
    )
    select * exclude (rates), case when timed > 1 then [rates[{middle} + 1], rates[{middle} + 2]] end as middle,
        case when timed > 1 then [rates[{high} + 1], rates[{high} + 2]] end as high
    from grouped
    """


def baselines_sql(limits: SpikeLimits) -> str:
    """error_baselines: the normal rate of every series with enough errors for a burst.

    Median of the block rates weighted with exposure, shrunk to the peers, capped at three times what
    noisy peers do, so that a link that was bad from the start still stands out. Some sources name lanes
    only where a lane errs, so a lane may have no peers but the other end of its own link: it is then
    compared with whole links, which count at least as much as one of their lanes.
    """
    return f"""
    create or replace temp table error_baselines as
    with placed as (
        select s.series, s.exposure_s, s.step_s, s.first_ts, s.step_s * greatest(1, least({_BLOCK_STEPS}, s.timed_samples // 4)) as block_s,
            s.events / s.exposure_s as own, coalesce(w.timed, p.timed - 1) as others, coalesce(w.middle, p.middle) as middle, coalesce(w.high, p.high) as high,
            coalesce(w.noise, p.noise - least(own * 3600, {limits.min_per_hour}) * 1e6) as noise
        from error_series s join error_peers p using ({_GROUP}) left join error_peers w
            on s.scope = 'lane' and w.scope = 'link' and w.link_type = s.link_type and w.counter = s.counter and p.timed <= {_CAP_PEERS} and w.timed > p.timed
        where s.events >= {limits.min_events} and s.active_samples > 0 and s.exposure_s > 0 and s.step_s > 0
    ), peered as (
        select * exclude (middle, high, noise), case when own > middle[1] then middle[1] else middle[2] end as middle_per_s,
            case when own > high[1] then high[1] else high[2] end as high_per_s,
            case when others > 0 then noise / 3600e6 / others end as noise_per_s
        from placed
    ), blocks as (
        select series, (epoch_us(ts) - epoch_us(first_ts) - 1) // (block_s * 1e6)::bigint as block, sum(delta) as events,
            greatest(least(any_value(block_s), any_value(exposure_s)), sum((elapsed_s * 1e6)::bigint) / 1e6) as block_exposure_s
        from error_increments join placed using (series) group by 1, 2
    ), ranked as (
        select series, events / block_exposure_s as per_s,
            sum(block_exposure_s) over (partition by series order by events / block_exposure_s desc, block) as from_top_s
        from blocks
    ), medians as (
        select series, coalesce(max(per_s) filter (from_top_s >= exposure_s / 2), 0) as past_per_s
        from ranked join placed using (series) group by series
    ), priors as (
        select *, greatest(coalesce(middle_per_s, 0), {_LEAST_PER_S}) as prior_per_s from peered
    )
    select series, exposure_s, step_s, first_ts, least(
            (past_per_s * exposure_s + prior_per_s * {_PRIOR_S}) / (exposure_s + {_PRIOR_S}),
            case when others >= {_CAP_PEERS} then 3 * greatest(high_per_s, noise_per_s, prior_per_s) end
        ) as normal_per_s, greatest(coalesce(noise_per_s, 0), {_LEAST_PER_S}) as noise_per_s
    from priors join medians using (series)
    """


# Links of one GPU or switch stand side by side, the PCIe links of one node too; a network card's
# siblings are the cards of the same name in other nodes (its rail).
SIBLING_GROUP = r"""
    case when interface similar to '.*(nvlink|port)-[0-9]+' then node || ':' || regexp_replace(interface, '[0-9]+$', '')
         when interface similar to 'gpu[0-9]+/.*' then node || ':gpu*' || regexp_replace(interface, '^gpu[0-9]+', '')
         else interface end
"""


def siblings_sql(limits: SpikeLimits) -> str:
    """error_siblings: series whose rate lies beyond the siblings and beyond the noise of all peers.

    The second condition keeps the noisy few per cent of a large fleet from being named one by one.
    """
    return f"""
    create or replace temp table error_siblings as
    with rated as (
        select series, events - reset_events as events, exposure_s, {_GROUP}, {SIBLING_GROUP} as family, (events - reset_events) / exposure_s as per_s
        from error_series where measured > 0 and timed_samples > 0 and exposure_s > 0
    ), middles as (
        select family, {_GROUP}, count(*) - 1 as siblings, quantile_disc(per_s, 0.5) as median_per_s from rated
        group by family, {_GROUP} having count(*) > {limits.sibling_least} and max(events) >= {limits.min_events}
    ), spreads as (
        select family, {_GROUP}, quantile_disc(abs(per_s - median_per_s), 0.5) * 1.4826 as mad_per_s
        from rated join middles using (family, {_GROUP}) group by family, {_GROUP}
    ), limited as (
        select series, events, exposure_s, per_s, siblings, median_per_s,
            greatest(median_per_s + {limits.sibling_mads} * mad_per_s, {limits.sibling_events} / exposure_s, 3 * median_per_s) as limit_per_s
        from rated join middles using (family, {_GROUP}) join spreads using (family, {_GROUP}) where events >= {limits.min_events}
    )
    select series, siblings, per_s * 3600 as per_hour, limit_per_s * 3600 as limit_per_hour, median_per_s * 3600 as median_per_hour
    from limited join error_baselines b using (series)
    where per_s > limit_per_s
        and {surprise_sql("events", "(b.noise_per_s * limited.exposure_s)")} >= log10((select count(*) from error_series) / {limits.q_value})
    """
