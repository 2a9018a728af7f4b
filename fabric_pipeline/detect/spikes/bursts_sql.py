"""SQL of the bursts: samples joined into intervals, a scan over three window lengths, edges of bursts.

Works on the narrow `error_increments` of the few series that can fire a rule at all. Everything is
ordered by series and sample, so the result does not depend on the order of rows.
"""

from __future__ import annotations

from fabric_pipeline.detect.spikes.surprise import surprise_sql
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits

# Window lengths in usual steps: 500 errors an hour are invisible in one sample of 30 seconds.
SCALES = (1, 4, 12)

# Active samples joined into intervals: a pause of more than five usual steps ends an interval. The pause
# is the silent time before a sample's own span (so a long gap is none), with half a step for jitter.
SAMPLES_SQL = """
create or replace temp table error_samples as
with timed as (
    select series, i.sample, epoch_us(i.ts) as end_us, (i.elapsed_s * 1e6)::bigint as span_us, i.delta,
        i.quality = 'reset' as is_reset, i.quality in ('reset', 'saturated') as is_lower_bound,
        ((greatest(5.5 * s.step_s, 60) - s.step_s) * 1e6)::bigint as pause_us
    from error_increments i join error_worthy s using (series)
), split as (
    select *, coalesce(end_us - span_us - lag(end_us) over (partition by series order by sample) > pause_us, true) as is_first from timed
)
select * exclude (pause_us, is_first), sum(is_first::bigint) over (partition by series order by sample)::bigint as spike from split
"""


def windows_sql(limits: SpikeLimits) -> str:
    """error_windows: per sample the windows that end there, with surprise and effect.

    A window holds the samples of one interval that end within its last steps, and at least the whole
    span of the first of them: a sample after a gap brings its long exposure along. What a counter shows
    after a reset is left out: links are trained anew then, and that makes errors. Intervals without a
    single strong window are passed over by sums over blocks of four steps: a short window lies in two of
    them, a long one in four and needs more errors, except at the start, where it is cut short.
    """
    short, long = SCALES[1:]
    floor = f"greatest({limits.min_events}, {limits.min_per_hour} / 3600 * {long} * step_s)"
    sums, marks = [], []
    for m in SCALES:
        window = f"(partition by series, spike order by steps range between {m - 0.5} preceding and current row)"
        if m == 1:
            sums.append("delta as c1, end_us - span_us as start1_us, 1 as n1")
        else:
            sums.append(
                f"sum(delta) over {window} as c{m}, min(end_us - span_us) over {window} as start{m}_us, count(*) over {window} as n{m}"
            )
        seconds = f"greatest(least({m} * step_us, end_us - first_us), end_us - start{m}_us) / 1e6"
        marks.append(f"{seconds} as e{m}")
    judged = ", ".join(
        f"e{m} * normal_per_s as mu{m}, {surprise_sql(f'c{m}', f'(e{m} * normal_per_s)')} as s{m}, "
        f"c{m} >= {limits.min_events} and c{m} >= {limits.min_ratio} * e{m} * normal_per_s and c{m} * 3600 >= {limits.min_per_hour} * e{m} as strong{m}"
        for m in SCALES
    )
    best = ", ".join(
        f"{{'strong': strong{m}, 'surprise': s{m}, 'events': c{m}, 'expected': mu{m}, 'seconds': e{m}}}"
        for m in SCALES
    )
    return f"""
    create or replace temp table error_windows as
    with blocks as (
        select series, spike, (s.end_us - epoch_us(first_ts)) // ({short}e6 * step_s)::bigint as block, sum(delta) as events, any_value(step_s) as step_s
        from error_samples s join error_baselines using (series) join error_intervals i using (series, spike)
        where i.events >= {limits.min_events} and not is_reset group by 1, 2, 3
    ), neighbours as (
        select series, spike, block, step_s, sum(events) over (w range 1 preceding) as two, sum(events) over (w range {long // short} preceding) as four
        from blocks window w as (partition by series, spike order by block)
    ), hopeful as (
        select distinct series, spike from neighbours
        where two >= {limits.min_events} or four >= {floor} or (block <= {long // short} and four >= {limits.min_events})
    ), timed as (
        select s.*, normal_per_s, (step_s * 1e6)::bigint as step_us, epoch_us(first_ts) as first_us, (end_us - epoch_us(first_ts)) / (step_s * 1e6) as steps
        from error_samples s join error_baselines using (series) semi join hopeful using (series, spike) where not is_reset
    ), summed as (select *, {", ".join(sums)} from timed)
    , exposed as (select *, {", ".join(marks)} from summed)
    , judged as (select *, {judged} from exposed)
    select series, sample, spike, end_us, span_us, delta, normal_per_s, {", ".join(f"n{m}" for m in SCALES)},
        {", ".join(f"case when strong{m} then s{m} end as strong{m}" for m in SCALES)}, list_max([{best}]) as best
    from judged
    """


def significance_sql() -> str:
    """error_significance: q-values of the strong windows, Benjamini-Hochberg over all samples and scales.

    Windows of silent samples and series were tests too; they count as chance 1. In logarithms, because
    hopeless chances are beyond floating point.
    """
    return f"""
    create or replace temp table error_significance as
    with chances as (
        select surprise, sum(count(*)) over (order by surprise desc) as place
        from (select unnest([{", ".join(f"strong{m}" for m in SCALES)}]) as surprise from error_windows) where surprise is not null group by surprise
    ), tests as (select {len(SCALES)} * sum(greatest(timed_samples, 1)) as tests from error_series)
    select surprise, pow(10, greatest(least(min(log10(tests / place) - surprise) over (order by surprise), 0), -300)) as q_value
    from chances, tests
    """


def bursts_sql(limits: SpikeLimits) -> str:
    """error_bursts: significant windows merged per interval and trimmed to where the errors really are.

    A long window may begin with a stray error long before the burst. Each sample scores for errors and
    loses for observed time (Poisson log likelihood ratio of the burst's usual rate against the normal
    rate), and the burst is the run of samples with the highest score.
    """
    reach = ", ".join(f"case when strong{m} >= cut then place - n{m} + 1 end" for m in SCALES)
    return f"""
    create or replace temp table error_bursts as
    with cut as (select min(surprise) as cut from error_significance where q_value <= {limits.q_value})
    , hot as (
        select * from (select *, row_number() over (partition by series, spike order by sample) as place from error_windows), cut
        where (series, spike) in (select (series, spike) from error_windows, cut where greatest({", ".join(f"coalesce(strong{m}, 0)" for m in SCALES)}) >= cut)
    ), reached as (
        select *, min(least({reach})) over (partition by series, spike order by place desc) <= place as is_in from hot
    ), islands as (
        select *, place - row_number() over (partition by series, spike order by place) as island from reached where is_in
    ), rated as (
        select *, greatest({limits.min_per_hour} / 3600, {limits.min_ratio} * normal_per_s,
            median(delta * 1e6 / span_us) over (partition by series, spike, island)) as burst_per_s from islands
    ), scored as (
        select *, delta * ln(burst_per_s / normal_per_s) - (burst_per_s - normal_per_s) * span_us / 1e6 as gain,
            (burst_per_s - normal_per_s) * greatest(end_us - span_us - lag(end_us, 1, end_us - span_us) over w, 0) / 1e6 as loss
        from rated window w as (partition by series, spike, island order by place)
    ), summed as (
        select *, sum(gain - loss) over (partition by series, spike, island order by place) as score from scored
    ), lowest as (
        select *, min(score - gain) over (partition by series, spike, island order by place) as low from summed
    ), ends as (
        select series, spike, island, first(place order by score - low desc, place) as last_place, first(low order by score - low desc, place) as low
        from lowest group by series, spike, island
    ), starts as (
        select series, spike, island, last_place, min(place) as first_place
        from ends e join lowest l using (series, spike, island) where l.place <= e.last_place and l.score - l.gain = e.low
        group by series, spike, island, last_place
    )
    select series, spike, min(end_us - span_us) as start_us, max(end_us) as end_us, sum(delta) as events
    from starts join islands using (series, spike, island) where place between first_place and last_place
    group by series, spike, island
    """
