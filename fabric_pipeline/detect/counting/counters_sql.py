"""SQL that turns accepted readings into increments: resets, wraps, ceilings, duplicates, order.

Rules (field-guide Appendix B): a value below the one before is a wrap only when the earlier one stood
in the last tenth of a 32-bit range, else a reset, and then the increment is what was counted since
(a lower bound). A value at its ceiling means "at least". Nothing here decides what is an error spike;
`count` runs the statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabric_pipeline.detect.counting.witnesses_sql import (
    OTHER_WITNESS,
    UNNAMED,
    machines_sql,
    witnesses_sql,
)
from fabric_pipeline.model.counters import COUNTERS

_RANGE_32_BIT = 4294967296

# Series = link end, lane, counter, GPU UUID, scope: a swapped GPU starts a new series, so its counts are not
# taken for growth or a reset. What else a row says repeats for whole files: a look of the row.
_KEY = ("node", "interface", "lane", "counter", "gpu_uuid", "scope")
_LOOK = ("link_type", "kind", "quality", "socket", "state", "file")
_OF_SERIES = ("node", "interface", "lane", "gpu_uuid")
_OF_LOOK = (
    "drop", "counter", "scope", *_LOOK, "file_sha256", "error_class", "class_basis", "ceiling",
)  # fmt: skip
_ACCEPTED = "raw_telemetry where refused_by is null and counter is not null"


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


def _columns(names: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(f'{prefix}"{name}"' for name in names)


# Every combination of series and look, with what tells whether its series is plain.
COMBINED_SQL = f"""
create or replace temp table count_combined as
select {_columns(_KEY)}, {_columns(_LOOK)}, any_value("drop") as "drop", any_value(file_sha256) as file_sha256, count(*) as readings, count(value) as values,
    min(format) as first_format, max(format) as last_format, min(counter_text) as first_text, max(counter_text) as last_text
from {_ACCEPTED} group by {_columns(_KEY)}, {_columns(_LOOK)}
"""

# Series numbered in the order of the table. `places` are the readings of all series before it. Of a plain
# one each reading but the first is counted against the one before, if their times and entries rise.
SERIES_SQL = f"""
create or replace temp table count_series as
with grouped as (
    select {_columns(_KEY)}, sum(readings)::bigint as readings, bool_and(quality = 'clock_skew') as has_no_clock,
        min(first_format) <> max(last_format) or min(first_text) <> max(last_text) or (({UNNAMED}) and min(file) <> max(file)) as may_differ,
        not (may_differ or bool_or(quality = 'clock_skew') or min(kind) <> max(kind) or (min(kind) = 'cumulative' and sum(values) < sum(readings))) as is_plain
    from count_combined group by {_columns(_KEY)}
)
select *, coalesce(lane, -1) as lane_key, row_number() over in_order as series, (sum(readings) over in_order - readings)::bigint as places
from grouped window in_order as (order by {_columns(_KEY)} rows unbounded preceding)
"""

_IN_SERIES = " and ".join(f"c.{name} is not distinct from s.{name}" for name in _KEY)

# Looks are numbered by the first series that has them, so that neighbours in the table have near numbers.
LOOKS_SQL = f"""
create or replace temp table count_looks as
with used as (
    select c."drop", c.counter, c.scope, {_columns(_LOOK, "c.")}, any_value(c.file_sha256) as file_sha256, min(s.series) as first_series
    from count_combined c join count_series s on {_IN_SERIES} group by c."drop", c.counter, c.scope, {_columns(_LOOK, "c.")}
)
select u.*, error_class, class_basis, ceiling, row_number() over (order by first_series, {_columns(_LOOK, "u.")}) as look
from used u join counter_catalogue using (counter)
"""

_IN_LOOKS = " and ".join(
    f'c."{name}" is not distinct from l."{name}"' for name in ("drop", "counter", "scope", *_LOOK)
)
PLACES_SQL = f"""
create or replace temp table count_places as
select {_columns(_KEY, "c.")}, {_columns(_LOOK, "c.")}, s.series, l.look
from count_combined c join count_series s on {_IN_SERIES} join count_looks l on {_IN_LOOKS}
"""


def others_sql(machines: Mapping[str, str]) -> str:
    """count_others: readings of instruments that are not counted; see `witnesses_sql`."""
    return f"""
    create or replace temp table count_others as
    with machines as ({machines_sql(machines)}), accepted as (
        select entry, node, interface, coalesce(lane, -1) as lane_key, counter, gpu_uuid, scope, ts, value, kind, quality, format, counter_text, file
        from {_ACCEPTED}
    ), series as (select * from count_series), {witnesses_sql()}
    select * from others
    """


_SAME = " and ".join(f"r.{name} is not distinct from p.{name}" for name in (*_KEY, *_LOOK))

# The narrow rows in the order of the table, each beside the one before it. Wide columns stay out of the sort.
ROWS_SQL = f"""
create or replace temp table count_rows as
select *, row_number() over () as place, lag(series) over () as last_series, lag(ts) over () as last_ts, lag(value) over () as last_value,
    lag(entry) over () as last_entry
from (
    select r.entry, p.series, p.look, r.ts, r.value, r.line, o.entry is not null as is_other, coalesce(o.is_elsewhere, false) as is_elsewhere
    from (from {_ACCEPTED}) r join count_places p on {_SAME} left join count_others o on o.entry = r.entry
    order by p.series, is_other desc, r.ts nulls first, r.entry
)
"""

# Series with a reading out of order, twice, without value or clock, or of another instrument.
UNTIDY_SQL = """
create or replace temp table count_untidy as
select series, has_no_clock from count_series where not is_plain
    or series in (select series from count_rows where last_series = series and (last_ts = ts or last_entry > entry))
"""

# All the rules for the rows of those series; `place` is their place in the whole table.
MENDED_SQL = """
create or replace temp table count_mended as
with told as (
    select r.*, u.has_no_clock, l.kind, l.quality = 'clock_skew' as is_skewed
    from count_rows r join count_untidy u using (series) join count_looks l using (look)
), marked as (
    select *, ts is not null and row_number() over (partition by series, is_other, ts order by value desc nulls last, entry) > 1 as is_duplicate,
        coalesce(ts < max(ts) over (partition by series, is_other order by entry rows between unbounded preceding and 1 preceding), false) as is_out_of_order
    from told
), placed as (
    select *, is_other or is_duplicate or (is_skewed and not has_no_clock) as is_aside from marked
)
select place, is_duplicate, is_out_of_order, is_aside,
    lag(case when not is_aside and kind = 'cumulative' then value end ignore nulls) over w as previous,
    lag(case when not is_aside and kind = 'cumulative' and value is not null then ts end ignore nulls) over w as previous_ts
from placed window w as (partition by series order by place)
"""
# A join does not keep the order of rows, so those few columns are sorted once more.
_MENDED_ROWS = """
select r.* exclude (last_series, last_ts, last_value, last_entry), coalesce(m.is_duplicate, false) as is_duplicate,
    coalesce(m.is_out_of_order, false) as is_out_of_order, coalesce(m.is_aside, false) as is_aside,
    case when m.place is not null then m.previous when last_series = series then last_value end as previous,
    case when m.place is not null then m.previous_ts when last_series = series then last_ts end as previous_ts
from count_rows r left join count_mended m using (place) order by r.place
"""
_TIDY_ROWS = """
select * exclude (last_series, last_ts, last_value, last_entry), false as is_duplicate, false as is_out_of_order, false as is_aside,
    case when last_series = series then last_value end as previous, case when last_series = series then last_ts end as previous_ts
from count_rows
"""
MENDED_ROWS_SQL = f"create or replace temp table count_mended_rows as {_MENDED_ROWS}"
TABLES_MADE = (
    "count_combined", "count_series", "count_looks", "count_places", "count_others", "count_rows",
    "count_untidy", "count_mended", "count_mended_rows",
)  # fmt: skip


# Stretches of the table, each with its first and last place, series and look.
_STRETCH = 8 * 122_880
STRETCHES_SQL = f"""
with held as (
    select series, look, unnest(range(places // {_STRETCH}, (places + readings - 1) // {_STRETCH} + 1)) as stretch
    from count_places join count_series using (series)
)
select stretch * {_STRETCH} + 1, (stretch + 1) * {_STRETCH}, min(series), max(series), min(look), max(look) from held group by stretch order by stretch
"""


def link_counters_sql(is_tidy: bool, stretches: Sequence[tuple[int, ...]]) -> str:
    """The rows of link_counters in their order, from the tables of the statements above.

    A reading from the future cannot be put in order beside others, so it counts nothing; where all
    readings of a series are such, they are counted in their order, without a time span. Names are
    looked up in lists, because that keeps the order of rows and a join does not; a stretch at a time,
    because a list is copied for every two thousand rows.
    """
    rows = _TIDY_ROWS if is_tidy else "select * from count_mended_rows"
    return "\nunion all\n".join(
        _stretch_sql(rows, *one) for one in stretches or [(1, 0, 1, 0, 1, 0)]
    )


def _stretch_sql(
    rows: str, first: int, last: int, series: int, last_series: int, look: int, last_look: int
) -> str:
    of_series, of_look = (*_OF_SERIES, "places"), _OF_LOOK
    lists = ", ".join(f'list("{name}" order by series) as s_{name}' for name in of_series)
    looks = ", ".join(f'list("{name}" order by look) as l_{name}' for name in of_look)
    found = [f's_{name}[series - {series - 1}] as "{name}"' for name in of_series]
    found += [f'l_{name}[look - {look - 1}] as "{name}"' for name in of_look]
    return f"""(
    with named as (
        select {", ".join(found)}, entry, ts, value, line, place, is_other, is_elsewhere, is_duplicate, is_out_of_order, is_aside, previous, previous_ts
        from (select * from ({rows}) where place between {first} and {last}),
            (select {lists} from count_series where series between {series} and {last_series}),
            (select {looks} from count_looks where look between {look} and {last_look})
    ), {_increments_sql()}
    )"""


def _increments_sql() -> str:
    """The CTE `counted` over `named`, and the columns of link_counters from it."""
    return f"""
    counted as (
        select *, place - places as sample, quality = 'clock_skew' as is_skewed,
            kind = 'cumulative' and not is_aside and value is not null and previous is not null as has_step,
            value < previous as is_drop,
            value < previous and ceiling is null and previous >= 0.9 * {_RANGE_32_BIT} and previous < {_RANGE_32_BIT}
                and value < 0.1 * {_RANGE_32_BIT} as is_wrap
        from named
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
             when is_out_of_order then 'out_of_order'
             else 'ok' end as quality,
        case when kind = 'gauge' then '' else error_class end as error_class,
        case when kind = 'gauge' then '' else class_basis end as class_basis,
        gpu_uuid, socket, state, file, file_sha256, line
    from counted
    """
