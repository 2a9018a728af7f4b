"""SQL that turns accepted readings into increments: resets, wraps, ceilings, duplicates, order.

Rules (field-guide Appendix B): a value below the one before is a wrap only when the earlier one stood
in the last tenth of a 32-bit range, else a reset, and then the increment is what was counted since
(a lower bound). A value at its ceiling means "at least". Nothing here decides what is an error spike;
`count` runs the statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabric_pipeline.detect.counting.witnesses_sql import (
    OTHER_WITNESS,
    UNNAMED,
    machines_sql,
    witnesses_sql,
)
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.sql import sql_text

_RANGE_32_BIT = 4294967296

# Series = link end, lane, counter, GPU UUID, scope: a swapped GPU starts a new series, so its counts are not
# taken for growth or a reset. What else a row says repeats for whole files: a look of the row.
_KEY = ("node", "interface", "lane", "counter", "gpu_uuid", "scope")
_LOOK = ("link_type", "kind", "quality", "socket", "state", "file")
_READ = "raw_telemetry where refused_by is null and counter is not null"


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


# Columns of a reading that often say the same throughout.
_MAY_REPEAT = ("drop", *_KEY, *_LOOK, "file_sha256", "format")
FIRST_SQL = (
    "select " + ", ".join(f'"{name}"' for name in _MAY_REPEAT) + " from raw_telemetry limit 1"
)
# Whether all readings say what the first one says; comparing looks at each different text once.
SAID_SQL = (
    "select count(*), "
    + ", ".join(f'count("{name}"), bool_or("{name}" <> ?)' for name in _MAY_REPEAT)
    + " from raw_telemetry"
)


def repeated(first: Sequence[Any], said: Sequence[Any]) -> dict[str, str]:
    """Columns that hold one value in every reading, with it as SQL, from the rows of the two statements.

    They need not be grouped by, joined or carried: a fleet's readings differ in little but place and time.
    """
    readings, found = said[0], {}
    for number, (name, value) in enumerate(zip(_MAY_REPEAT, first, strict=True)):
        present, differs = said[1 + 2 * number : 3 + 2 * number]
        type_ = "bigint" if name in ("lane", "socket") else "varchar"
        if present == 0:
            found[name] = f"null::{type_}"
        elif present == readings and differs is False:
            found[name] = str(value) if type_ == "bigint" else sql_text(value)
    return found


def accepted_sql(same: Mapping[str, str]) -> str:
    """The readings that are counted, columns that repeat as constants."""
    others = ("entry", "ts", "value", "line", "counter_text")
    columns = [f'{same[name]} as "{name}"' if name in same else f'"{name}"' for name in _MAY_REPEAT]
    return f"create or replace temp view count_accepted as select {', '.join([*columns, *others])} from {_READ}"


def _columns(names: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(f'{prefix}"{name}"' for name in names)


def combined_sql(same: Mapping[str, str]) -> str:
    """count_combined: every combination of series and look, with what tells whether its series is plain.

    Spellings of a counter are grouped by first, because there are few and comparing them row by row is dear.
    """
    names = tuple(name for name in (*_KEY, *_LOOK) if name not in same)
    varying = _columns(names) or "true"
    columns = [
        f'{same[name]} as "{name}"' if name in same else f'"{name}"' for name in (*_KEY, *_LOOK)
    ]
    formats = "min(format) as first_format, max(format) as last_format"
    if "format" in same:
        formats = f"{same['format']} as first_format, {same['format']} as last_format"
    told_formats = (
        formats
        if "format" in same
        else "min(first_format) as first_format, max(last_format) as last_format"
    )
    return f"""
    create or replace temp table count_combined as
    select {", ".join(columns)}, any_value("drop") as "drop", any_value(file_sha256) as file_sha256, sum(readings) as readings, sum(values) as values,
        {told_formats}, min(counter_text) as first_text, max(counter_text) as last_text
    from (
        select {_columns((*names, "counter_text"))}, any_value("drop") as "drop", any_value(file_sha256) as file_sha256, count(*) as readings,
            count(value) as values, {formats}
        from count_accepted group by {_columns((*names, "counter_text"))}
    ) group by {varying}
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

# Texts of a row that repeat are written as codes: DuckDB puts codes into Parquet for a tenth of what looking
# up the text of every row costs, and whoever reads the file gets texts. Each has the texts that occur.
_CODED_SERIES = ("node", "interface", "gpu_uuid")
_CODED_LOOK = (
    "drop", "counter", "scope", "link_type", "kind", "state", "file", "file_sha256", "error_class", "class_basis",
)  # fmt: skip
_COUNTED_AS = ("ok", "wrap", "reset", "duplicate", "out_of_order", OTHER_WITNESS)
_CODED = (*_CODED_SERIES, *_CODED_LOOK, "quality")


def _code(name: str) -> str:
    return f"count_code_{name}"


def codes_sql() -> list[str]:
    """Statements that make the type of every text column from the texts that occur in it."""
    told = ", ".join(f"('{word}')" for word in _COUNTED_AS)
    texts = {name: f'select distinct "{name}" from count_series' for name in _CODED_SERIES}
    texts |= {name: f'select distinct "{name}" from count_looks' for name in _CODED_LOOK}
    for name in ("error_class", "class_basis"):
        texts[name] += " union select ''"
    texts["quality"] = f"select quality from count_looks union select * from (values {told})"
    return [
        *forget_codes_sql(),
        *(
            f"create temp type {_code(name)} as enum ({sql} order by 1)"
            for name, sql in texts.items()
        ),
    ]


def forget_codes_sql() -> list[str]:
    """Statements that take the types away again."""
    return [f"drop type if exists {_code(name)}" for name in _CODED]


_IN_LOOKS = " and ".join(
    f'c."{name}" is not distinct from l."{name}"' for name in ("drop", "counter", "scope", *_LOOK)
)
_AS_CODES = ", ".join(
    f'{at}."{name}"::{_code(name)} as "c_{name}"'
    for at, names in (("s", _CODED_SERIES), ("l", (*_CODED_LOOK, "quality")))
    for name in names
)
# What is carried through the sort besides codes: the few bytes that tell a series and its rules.
PLACES_SQL = f"""
create or replace temp table count_places as
select {_columns(_KEY, "c.")}, {_columns(_LOOK, "c.")}, s.series::integer as series, s.places, l.ceiling is not null as has_ceiling, {_AS_CODES}
from count_combined c join count_series s on {_IN_SERIES} join count_looks l on {_IN_LOOKS}
"""


def others_sql(machines: Mapping[str, str]) -> str:
    """count_others: readings of instruments that are not counted; see `witnesses_sql`."""
    return f"""
    create or replace temp table count_others as
    with machines as ({machines_sql(machines)}), accepted as (
        select entry, node, interface, coalesce(lane, -1) as lane_key, counter, gpu_uuid, scope, ts, value, kind, quality, format, counter_text, file
        from count_accepted
    ), series as (select * from count_series), {witnesses_sql()}
    select * from others
    """


# Whether the readings follow each other in time as they were read: then no series has one out of order.
IN_TIME_SQL = """
select count(*) = count(ts) and not coalesce(bool_or(ts < before_ts or entry <= before), false)
from (select ts, entry, lag(ts) over () as before_ts, lag(entry) over () as before from count_accepted)
"""


def rows_sql(same: Mapping[str, str], *, has_others: bool) -> str:
    """The rows in the order of the table. No text goes through the sort."""
    varying = [name for name in (*_KEY, *_LOOK) if name not in same]
    at_place = " and ".join(f"r.{name} is not distinct from p.{name}" for name in varying) or "true"
    other = "o.entry is not null as is_other, coalesce(o.is_elsewhere, false) as is_elsewhere"
    others = "left join count_others o on o.entry = r.entry"
    if not has_others:
        other, others = "false as is_other, false as is_elsewhere", ""
    carried = [f'p."c_{name}" as "{name}"' for name in _CODED if name not in same]
    carried += [f"p.{name}" for name in ("lane", "socket") if name not in same]
    return f"""
        select p.series, p.places, p.has_ceiling, r.entry, r.ts, r.value, r.line, {", ".join([other, *carried])}
        from count_accepted r join count_places p on {at_place} {others}
        order by p.series, is_other desc, r.ts nulls first, r.entry
    """


def kept_rows_sql(rows: str) -> str:
    """count_rows: the rows, each beside the one before it, kept because they are looked at several times."""
    return f"""
    create or replace temp table count_rows as
    select *, row_number() over () as place, lag(series) over () as last_series, lag(ts) over () as last_ts, lag(value) over () as last_value,
        lag(entry) over () as last_entry
    from ({rows})
    """


# Series with a reading out of order, twice, without value or clock, or of another instrument.
UNTIDY_SQL = """
create or replace temp table count_untidy as
select series, has_no_clock from count_series where not is_plain
    or series in (select series from count_rows where last_series = series and (last_ts = ts or last_entry > entry))
"""

# A view of the rows with the columns that repeat, so that the rules need not know which those are.


def told_sql(same: Mapping[str, str], rows: str = "count_rows") -> str:
    """count_told: the rows with every column."""
    fixed = [
        f'{value}{f"::{_code(name)}" if name in _CODED else ""} as "{name}"'
        for name, value in same.items()
        if name != "format"
    ]
    return (
        f"create or replace temp view count_told as select {', '.join(['*', *fixed])} from {rows}"
    )


# All the rules for the rows of those series; `place` is their place in the whole table.
MENDED_SQL = """
create or replace temp table count_mended as
with told as (
    select r.series, r.place, r.entry, r.ts, r.value, r.is_other, kind, u.has_no_clock, quality = 'clock_skew' as is_skewed
    from count_told r join count_untidy u using (series)
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
from count_told r left join count_mended m using (place) order by r.place
"""
_NOTHING_ASIDE = "false as is_duplicate, false as is_out_of_order, false as is_aside"
_TIDY_ROWS = f"""
select * exclude (last_series, last_ts, last_value, last_entry), {_NOTHING_ASIDE},
    case when last_series = series then last_value end as previous, case when last_series = series then last_ts end as previous_ts
from count_told
"""
# Rows that are in time are counted as they come out of the sort, unless two of a series are of one moment.
TWICE = "two readings of one series at one moment"
_STREAMED_ROWS = f"""
select * exclude (last_ts, last_value) replace (case when place > places + 1 and last_ts = ts then error('{TWICE}') else place end as place),
    {_NOTHING_ASIDE}, case when place > places + 1 then last_value end as previous, case when place > places + 1 then last_ts end as previous_ts
from count_told
"""
MENDED_ROWS_SQL = f"create or replace temp table count_mended_rows as {_MENDED_ROWS}"
TABLES_MADE = (
    "count_combined", "count_series", "count_looks", "count_places", "count_others", "count_rows",
    "count_untidy", "count_mended", "count_mended_rows",
)  # fmt: skip


def streamed_rows_sql(rows: str) -> str:
    """The rows, each beside the one before it, for `told_sql`; not kept."""
    return f"(select *, row_number() over () as place, lag(ts) over () as last_ts, lag(value) over () as last_value from ({rows}))"


ROWS = {"streamed": _STREAMED_ROWS, "tidy": _TIDY_ROWS, "mended": "select * from count_mended_rows"}


def link_counters_sql(way: str) -> str:
    """The rows of link_counters in their order, from the tables of the statements above.

    `way` is a key of `ROWS`. `streamed` fails with `TWICE` where it must not be gone.

    A reading from the future cannot be put in order beside others, so it counts nothing; where all
    readings of a series are such, they are counted in their order, without a time span. Texts come as
    codes (ENUM), which casts and Parquet turn into texts.
    """
    return f"""
    with counted as (
        select *, place - places as sample, quality = 'clock_skew' as is_skewed,
            kind = 'cumulative' and not is_aside and value is not null and previous is not null as has_step,
            value < previous as is_drop,
            value < previous and not has_ceiling and previous >= 0.9 * {_RANGE_32_BIT} and previous < {_RANGE_32_BIT}
                and value < 0.1 * {_RANGE_32_BIT} as is_wrap
        from ({ROWS[way]})
    )
    select "drop", node, interface, lane, link_type, counter, kind, scope, sample, ts, value,
        case when kind = 'delta' then case when not is_duplicate then value end
             when not has_step then null
             when is_wrap then value + {_RANGE_32_BIT} - previous
             when is_drop then value
             when quality = 'saturated' and value = previous then null
             else value - previous end as delta,
        case when has_step and not is_skewed then (epoch_us(ts) - epoch_us(previous_ts)) / 1e6 end as elapsed_s,
        case when is_other and not is_elsewhere then '{OTHER_WITNESS}'::{_code("quality")}
             when quality <> 'ok' then quality
             when is_duplicate then 'duplicate'::{_code("quality")}
             when has_step and is_wrap then 'wrap'::{_code("quality")}
             when has_step and is_drop then 'reset'::{_code("quality")}
             when is_out_of_order then 'out_of_order'::{_code("quality")}
             else 'ok'::{_code("quality")} end as quality,
        case when kind = 'gauge' then ''::{_code("error_class")} else error_class end as error_class,
        case when kind = 'gauge' then ''::{_code("class_basis")} else class_basis end as class_basis,
        gpu_uuid, socket, state, file, file_sha256, line
    from counted
    """
