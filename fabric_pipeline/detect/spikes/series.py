"""The two tables the spike stage works from: every error series, and its samples with an increment.

`summarise` makes them from link_counters in one pass each, `combine` from those of shards; whoever has
sparse data creates them empty and fills them. Nothing here judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

KEY = "node, interface, lane, counter, gpu_uuid, scope"

# One row per error series, silent ones included: they are the exposure and the peers of the others.
# Only the columns without a default must be filled in by hand.
ERROR_SERIES = """
    series bigint not null,             -- id, unique; any order
    node varchar default '', interface varchar not null, lane bigint, counter varchar not null, gpu_uuid varchar default '',
    scope varchar default 'link',       -- link, lane, gpu_sum, switch_sum
    link_type varchar not null,         -- nvlink, pcie, infiniband, roce, ethernet
    error_class varchar not null, class_basis varchar default '',
    samples bigint not null,            -- readings
    timed_samples bigint not null,      -- readings with a time span (0: a snapshot, judged by its total)
    exposure_s double not null,         -- observed seconds, the sum of elapsed_s
    step_s double,                      -- usual seconds between readings; null in a snapshot
    events double not null,             -- sum of all increments
    reset_events double default 0,      -- those of them counted since a reset: a new start, compared with nobody
    active_samples bigint not null,     -- rows of this series in error_increments
    measured bigint not null,           -- readings with a value (0: not measured, neither peer nor healthy)
    last_value double, is_saturated boolean default false, had_reset boolean default false,
    first_ts timestamptz, last_ts timestamptz, last_file varchar default '', last_line bigint,
    bytes_per_s double,                 -- bytes the link end received per second, for bit error rates; null when unknown
    pcie_generation bigint, pcie_lanes bigint  -- what sets the replay allowance of a PCIe link; null when unknown
"""

# One row per sample that counted something over a known time span. ts is the end of the span.
ERROR_INCREMENTS = """
    series bigint not null,             -- id in error_series
    node varchar default '', interface varchar default '', lane bigint, counter varchar default '', gpu_uuid varchar default '',
    scope varchar default 'link', link_type varchar default '', error_class varchar default '',
    sample bigint not null,             -- position in its series, rising with ts
    ts timestamptz not null, elapsed_s double not null, delta double not null, quality varchar default 'ok',
    file varchar default '', line bigint
"""

# Sums of times are taken in whole microseconds, so that they do not depend on the order of adding.
_SECONDS = "sum((elapsed_s * 1e6)::bigint)"

_SERIES_SQL = f"""
create or replace temp table error_series as
with totals as (
    select {KEY}, min(link_type) as link_type, min(error_class) as error_class, min(class_basis) as class_basis,
        count(*) as samples, count(elapsed_s) as timed_samples, coalesce({_SECONDS}, 0) / 1e6 as exposure_s,
        -- The first samples tell the usual step; a median over all of them would have to keep them all.
        median(elapsed_s) filter (elapsed_s > 0 and sample <= 100) as step_s,
        coalesce(sum(delta), 0) as events, coalesce(sum(delta) filter (quality = 'reset'), 0) as reset_events,
        count(*) filter (delta > 0 and elapsed_s > 0) as active_samples,
        count(value) as measured, arg_max(value, sample) as last_value,
        bool_or(quality = 'saturated') as is_saturated, bool_or(quality = 'reset') as had_reset, min(ts) as first_ts, max(ts) as last_ts,
        arg_max(file, sample) as last_file, arg_max(line, sample) as last_line
    from link_counters where error_class <> '' and quality <> 'other_witness' group by {KEY}
), moved as (
    select node, interface, sum(delta) * 1e6 / {_SECONDS} as bytes_per_s
    from link_counters where counter = 'rx_bytes' and delta > 0 and elapsed_s > 0 group by node, interface
), shape as (
    -- What the link can do sets the allowance, else what it does: an idle link runs slower and narrower.
    select node, interface,
        coalesce(arg_max(value, sample) filter (counter = 'pcie_gen_max'), arg_max(value, sample) filter (counter = 'pcie_gen')) as generation,
        coalesce(arg_max(value, sample) filter (counter = 'width_max'), arg_max(value, sample) filter (counter = 'width')) as lanes
    from link_counters where counter in ('pcie_gen', 'pcie_gen_max', 'width', 'width_max') and value > 0 group by node, interface
)
select row_number() over (order by {KEY}) as series, totals.*, bytes_per_s,
    generation::bigint as pcie_generation, lanes::bigint as pcie_lanes
from totals left join moved using (node, interface) left join shape using (node, interface)
"""
_SAME_SERIES = " and ".join(f"c.{name} is not distinct from s.{name}" for name in KEY.split(", "))
_INCREMENTS_SQL = f"""
create or replace temp table error_increments as
select s.series, {", ".join(f"c.{name}" for name in KEY.split(", "))}, s.link_type, s.error_class,
    c.sample, c.ts, c.elapsed_s, c.delta, c.quality, c.file, c.line
from link_counters c join error_series s on {_SAME_SERIES}
where c.delta > 0 and c.elapsed_s > 0 and c.error_class <> '' and c.quality <> 'clock_skew'
"""


def create_empty(connection: Any) -> None:
    """Make both tables without rows, for a caller that fills them itself."""
    connection.execute(f"create or replace temp table error_series ({ERROR_SERIES})")
    connection.execute(f"create or replace temp table error_increments ({ERROR_INCREMENTS})")


def summarise(connection: Any) -> None:
    """Make `error_series` and `error_increments` from `link_counters` of the connection."""
    connection.execute(_SERIES_SQL)
    connection.execute(_INCREMENTS_SQL)


def combine(connection: Any, shards: Sequence[tuple[str, str, int]]) -> None:
    """Make both tables, as views, from those of shards: their two relations and the number of their series.

    Shards are in the order of their nodes, so that series are numbered as `summarise` numbers them.
    """
    series, increments, before = [], [], 0
    for of_series, of_increments, number in shards:
        again = f"select * replace (series + {before} as series) from"
        series.append(f"{again} {of_series}")
        increments.append(f"{again} {of_increments}")
        before += number
    for name, parts in (("error_series", series), ("error_increments", increments)):
        connection.execute(f"create or replace temp view {name} as {' union all '.join(parts)}")
