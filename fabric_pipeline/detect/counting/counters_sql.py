"""SQL that turns accepted readings into increments: resets, wraps, ceilings, duplicates, order.

Rules (field-guide Appendix B): a value below the one before is a wrap only when the earlier one stood
in the last tenth of a 32-bit range, else a reset, and then the increment is what was counted since
(a lower bound). A value at its ceiling means "at least". Nothing here decides what is an error spike.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabric_pipeline.detect.counting.witnesses_sql import (
    OTHER_WITNESS,
    UNNAMED,
    machines_sql,
    witnesses_sql,
)
from fabric_pipeline.model.counters import COUNTERS

_RANGE_32_BIT = 4294967296


def catalogue_sql() -> str:
    """A relation of the canonical counters: counter, kind, error_class, class_basis, role, ceiling."""
    rows = ", ".join(
        f"('{s.name}', '{s.kind}', '{s.error_class}', '{s.class_basis}', '{s.role}', {s.ceiling or 'null'})"
        for s in COUNTERS.values()
    )
    return f"""
    select counter, kind, error_class, class_basis, role, ceiling::double as ceiling
    from (values {rows}) c(counter, kind, error_class, class_basis, role, ceiling)
    """


# (file, format, GPU UUID, does no reading name a device) of the files that do not state all.
UNNAMED_SQL = f"""
select file, format, gpu_uuid, bool_and(interface = '') from raw_telemetry
where refused_by is null and counter is not null and ({UNNAMED}) group by file, format, gpu_uuid order by all
"""


def link_counters_sql(machines: Mapping[str, str] | None = None) -> str:
    """Needs raw_telemetry, numbered in the order of reading, and counter_catalogue. No parameters.

    `machines` tells files without a host apart (`model.captures.machines`); none for one machine.

    One row per accepted reading. Series = node, interface, lane, counter, GPU UUID, scope: a swapped
    GPU starts a new series, so its counts are not taken for growth or a reset. A reading from the
    future cannot be put in order beside others, so it counts nothing; where all readings of a series are
    such, they are counted in their order, without a time span. Of several instruments that read one counter
    one is counted (see `witnesses_sql`); readings of the others have no increment and stand first.
    """
    # Only the few columns that decide are sorted; `entry` is the order of reading, so it stands for file
    # and line. The wide columns are joined back at the end.
    return f"""
    with machines as ({machines_sql(machines or {})}), accepted as (
        select entry, node, interface, coalesce(lane, -1) as lane_key, counter, gpu_uuid, scope, ts, value, kind, quality, format, counter_text, file
        from raw_telemetry where refused_by is null and counter is not null
    ), series as (
        select node, interface, lane_key, counter, gpu_uuid, scope, row_number() over () as series, bool_and(quality = 'clock_skew') as has_no_clock,
            min(format) <> max(format) or min(counter_text) <> max(counter_text) or (({UNNAMED}) and min(file) <> max(file)) as may_differ
        from accepted group by node, interface, lane_key, counter, gpu_uuid, scope
    ), {witnesses_sql()}, marked as (
        select a.entry, s.series, a.ts, a.value, a.kind, s.has_no_clock, a.quality = 'clock_skew' as is_skewed,
            o.entry is not null as is_other, coalesce(o.is_elsewhere, false) as is_elsewhere,
            a.ts is not null and row_number() over (partition by s.series, o.entry is null, a.ts order by a.value desc nulls last, a.entry) > 1 as is_duplicate,
            a.ts < max(a.ts) over (partition by s.series, o.entry is null order by a.entry rows between unbounded preceding and 1 preceding) as is_out_of_order
        from accepted a join series s using (node, interface, lane_key, counter, gpu_uuid, scope) left join others o using (entry)
    ), placed as (
        select *, is_other or is_duplicate or (is_skewed and not has_no_clock) as is_aside from marked
    ), ordered as (
        select entry, is_skewed, is_other, is_elsewhere, is_duplicate, is_out_of_order, is_aside, row_number() over w as sample,
            lag(case when not is_aside and kind = 'cumulative' then value end ignore nulls) over w as previous,
            lag(case when not is_aside and kind = 'cumulative' and value is not null then ts end ignore nulls) over w as previous_ts
        from placed
        window w as (partition by series order by is_other desc, ts nulls first, entry)
    ), {_increments_sql()}
    """


def _increments_sql() -> str:
    """The CTE `counted` over `ordered`, and the columns of link_counters from it."""
    return f"""
    counted as (
        select * exclude (kind), raw_telemetry.kind as kind,
            raw_telemetry.kind = 'cumulative' and not is_aside and value is not null and previous is not null as has_step,
            value < previous as is_drop,
            value < previous and ceiling is null and previous >= 0.9 * {_RANGE_32_BIT} and previous < {_RANGE_32_BIT}
                and value < 0.1 * {_RANGE_32_BIT} as is_wrap
        from ordered join raw_telemetry using (entry) join counter_catalogue using (counter)
    )
    select "drop", node, interface, lane, link_type, counter, kind, scope, sample, ts, value,
        case when kind = 'delta' then case when not is_duplicate then value end
             when not has_step then null
             when is_wrap then value + {_RANGE_32_BIT} - previous
             when is_drop then value
             when quality = 'saturated' and value = previous then null
             else value - previous end as delta,
        case when has_step and not is_skewed then date_diff('microsecond', previous_ts, ts) / 1e6 end as elapsed_s,
        case when is_other and not is_elsewhere then '{OTHER_WITNESS}'
             when quality <> 'ok' then quality
             when is_duplicate then 'duplicate'
             when has_step and is_wrap then 'wrap'
             when has_step and is_drop then 'reset'
             when coalesce(is_out_of_order, false) then 'out_of_order'
             else 'ok' end as quality,
        case when kind = 'gauge' then '' else error_class end as error_class,
        case when kind = 'gauge' then '' else class_basis end as class_basis,
        gpu_uuid, socket, state, file, file_sha256, line
    from counted
    """
