"""SQL that turns a normalized counters file into staged readings, set-wise, with line numbers.

Every function returns SQL text over relations that the caller provides; nothing is executed here.
Literals come from our own constants; file paths and hints are bound as parameters by the caller.
"""

from __future__ import annotations

from fabric_pipeline.model.records import MAX_TEXT
from fabric_pipeline.sources.normalized.counters import IDENTITY, LINK_TYPES, CounterLayout
from fabric_pipeline.sources.normalized.fields import DOWN_WORDS, MAX_NUMBER, UP_WORDS

# A separator that cannot stand in a line we accept (the ingest step replaces it), so that the CSV
# scanner hands out whole lines.
LINE_SEPARATOR = "\x1f"
# Characters that the ingest step puts in place of what no row can hold, and what each says.
BAD_BYTES, OVERLONG, CONTROL = "\ufffd", "\ufffe", "\uffff"
MAX_NAME = 300  # characters of a node or link; a longer text names nothing
_MARKS = {
    OVERLONG: "line is longer than a row can be; it may have lost its line ends",
    CONTROL: "line has control characters (NUL, a lone carriage return or 0x1F)",
    BAD_BYTES: "line has bytes that are not UTF-8; save the file as UTF-8",
}
_MARK_RULES = " ".join(
    f"when position(chr({ord(mark)}) in line_text) > 0 then '{rule}'"
    for mark, rule in _MARKS.items()
)

# Evidence shows the usual replacement character in place of our own marks.
_UNMARKED = f"translate(r.line_text, chr({ord(OVERLONG)}) || chr({ord(CONTROL)}), repeat(chr({ord(BAD_BYTES)}), 2))"
_LINK_TYPES = ", ".join(f"'{name}'" for name in LINK_TYPES)
_HAS_CONTENT = "trim(line_text, chr(32) || chr(9) || chr(11) || chr(12)) <> ''"

_TEXT_COLUMNS = (
    "time_text",
    "node_text",
    "socket_text",
    "gpu_text",
    "gpu_uuid",
    "link_type_text",
    "link_text",
    "lane_text",
)


def lines_sql(before: int = 0) -> str:
    """Parameter: path. Yields (line, line_text) for every line of a text file, blank ones as NULL.

    `before` lines stand in front of it.
    """
    return f"select {before} + row_number() over () as line, line_text from ({line_texts_sql()})"


def line_texts_sql() -> str:
    """Parameter: path. Yields line_text for every line in order; small buffers let all cores read."""
    return f"""
    select line_text
    from read_csv(?, header=false, auto_detect=false, columns={{'line_text': 'varchar'}}, compression='none', hive_partitioning=false,
                  delim='{LINE_SEPARATOR}', quote='', escape='', strict_mode=false,
                  max_line_size=8000000, buffer_size=8388608)
    """


def csv_columns_sql(layout: CounterLayout, before: int, *, has_header: bool) -> str:
    """Parameter: path. Long rows of CSV lines without quotes and blank lines, all of one width.

    Fails on a line of another width. `before` lines stand in front of it.
    """
    types = ", ".join(f"'c{i}': 'varchar'" for i in range(len(layout.columns)))
    numbered = f"""
    select {before} + row_number() over () as line, '' as line_text, null::varchar as broken, *
    from read_csv(?, header=false, auto_detect=false, columns={{{types}}}, compression='none', hive_partitioning=false,
                  delim=',', quote='', escape='', strict_mode=true, null_padding=false, ignore_errors=false,
                  max_line_size=8000000, buffer_size=8388608)
    """
    base = f"select * from ({numbered}) where line > {before}{' + 1' if has_header else ''}"
    cells = {name: f"c{i}" for i, name in enumerate(layout.columns)}
    if layout.is_long:
        return _long(base, _identity(cells), cells["counter"], cells["value"])
    return _unnested(base, _identity(cells), _pairs(cells))


def csv_rows_sql(layout: CounterLayout, lines: str, quoted: str, *, has_header: bool = True) -> str:
    """Long rows of a CSV file.

    `lines` is a relation (line, line_text); `quoted` one (line, cells) for the lines with quotes that
    the caller has split, cells NULL where the quoting is broken.
    """
    width = len(layout.columns)
    header = (
        f"l.line > (select min(line) from {lines} where {_HAS_CONTENT})" if has_header else "true"
    )
    split = f"""
    select line, line_text, cells,
           case {_MARK_RULES}
                when cells is null then 'quotes in this line do not pair up'
                when len(cells) <> {width} then 'row has ' || len(cells) || ' fields, the header has {width}'
           end as broken
    from (select l.line, l.line_text, case when q.line is null then string_split(l.line_text, ',') else q.cells end as cells
          from {lines} l left join {quoted} q using (line)
          where {_HAS_CONTENT} and {header})
    """
    position = {name: i for i, name in enumerate(layout.columns, 1)}
    identity = _identity({name: f"cells[{i}]" for name, i in position.items()})
    if layout.is_long:
        return _long(
            split, identity, *(f"cells[{position[name]}]" for name in ("counter", "value"))
        )
    pairs = _pairs({name: f"cells[{i}]" for name, i in position.items()})
    return _unnested(split, identity, pairs)


def jsonl_rows_sql(lines: str) -> str:
    """Long rows of a JSONL file, whose rows may each be long or wide.

    A value that is null is not measured; a long row that states nothing else is refused as such.
    """
    names = [*IDENTITY, "counter", "value"]
    told = ", ".join(
        f"'{name}'" for name in names
    )  # looked up in one go: each goes through the line
    parsed = f"""
    select line, line_text, j, json_keys(j) as keys, json_extract_string(j, [{told}]) as told,
           case {_MARK_RULES}
                when j is null then 'line is not one JSON object'
                when len(json_keys(j)) <> len(list_distinct(json_keys(j))) then 'a key stands twice' end as broken
    from (select line, line_text, case when json_valid(line_text) and json_type(line_text) = 'OBJECT' then line_text::json end as j
          from {lines} where {_HAS_CONTENT})
    """
    told_of = {name: f"told[{i}]" for i, name in enumerate(names, 1)}
    identity = _identity({name: told_of[name] for name in IDENTITY})
    known = ", ".join(f"'{name}'" for name in IDENTITY)
    # A key may hold any character, so it is looked up as a JSON pointer.
    pairs = f"""
    case when {told_of["counter"]} is not null then [{{'c': {told_of["counter"]}, 'v': {told_of["value"]}, 'stated': true}}]
         else list_transform(list_filter(keys, lambda k: k not in ({known})),
                             lambda k: {{'c': k, 'v': json_extract_string(j, '/' || replace(replace(k, '~', '~0'), '/', '~1')), 'stated': false}}) end
    """
    return _unnested(parsed, identity, pairs)


def parquet_rows_sql(columns: tuple[str, ...]) -> str:
    """Parameter: path. Long rows of a Parquet file; `line` is the row number from 1."""
    cells = {name.strip().lower(): f"c{i}" for i, name in enumerate(columns)}
    renamed = "".join(f', "{_ident(name)}"::varchar as c{i}' for i, name in enumerate(columns))
    base = f"""
    select file_row_number + 1 as line, '' as line_text, null::varchar as broken{renamed}
    from read_parquet(?, file_row_number=true, hive_partitioning=false)
    """
    identity = _identity(cells)
    if {"counter", "value"} <= cells.keys():
        return _long(base, identity, cells["counter"], cells["value"])
    return _unnested(base, identity, _pairs(cells))


def staged_sql(rows: str) -> str:
    """Interpret long text rows as staged readings.

    `rows` is SQL of one of the functions above. Parameters, in order: hint node, format, parser
    version, file, latest acceptable time. Needs the relation `counter_catalogue`.
    """
    return f"""
    with read as ({_read_sql(rows)}), params as (select ? as hint_node, ? as format, ? as parser_version, ? as file, ?::timestamptz as latest)
    select p.file, r.line, p.format, p.parser_version, coalesce(left(r.time_text, {MAX_TEXT}), '') as time_text,
        left(case when r.broken is not null then {_UNMARKED}
                  else concat_ws(' ', r.node_text, r.gpu_text, r.link_text, r.lane_text) end, {MAX_TEXT}) as entity_text,
        coalesce(left(r.counter_text, {MAX_TEXT}), '') as counter_text, coalesce(left(r.value_text, {MAX_TEXT}), '') as value_text,
        left(coalesce(r.node_text, p.hint_node), {MAX_NAME}) as node,
        left(case when r.needs_gpu and r.gpu_number <> '' then 'gpu' || r.gpu_number || '/' || r.link_text
             else coalesce(r.link_text, '') end, {MAX_NAME}) as interface,
        case when lower(r.link_type_text) in ({_LINK_TYPES}) then lower(r.link_type_text) else '' end as link_type, r.lane_number as lane,
        c.counter, coalesce(c.kind, '') as kind, case when r.lane_number is null then 'link' else 'lane' end as scope, r.ts,
        case when not c.is_blank_value(r.number) and isfinite(r.number) then r.number end as value,
        case when r.is_blank_word or c.is_blank_value(r.number) then 'not_supported'
             when r.ts > p.latest then 'clock_skew'
             when r.number = c.ceiling then 'saturated' else 'ok' end as quality,
        left(coalesce(r.gpu_uuid, ''), {MAX_NAME}) as gpu_uuid, try_cast(r.socket_text as integer) as socket,
        case when c.kind = 'gauge' and c.counter = 'link_up' then left(r.value_text, {MAX_TEXT}) else '' end as state,
        {_rule_sql()} as rule
    from read r cross join params p left join counter_catalogue c on c.counter = r.counter_key
    """.replace(
        "c.is_blank_value(r.number)",
        "coalesce(r.number in (select value from blank_values), false)",
    )


def _read_sql(rows: str) -> str:
    """The long text rows with times, numbers and indices read from their texts."""
    up, down = (
        ", ".join(f"'{word}'" for word in sorted(words)) for words in (UP_WORDS, DOWN_WORDS)
    )
    word = "r.counter_key = 'link_up' and lower(value_text)"
    return f"""
    select *,
        case when regexp_full_match(time_text, '[12]\\d{{3}}-\\d\\d-\\d\\d[T ].*') then try_cast(time_text as timestamptz) end as ts,
        case when is_blank_word then null
             when {word} in ({up}) then 1.0
             when {word} in ({down}) then 0.0
             when not contains(value_text, '_') then try_cast(value_text as double) end as number,
        try_cast(regexp_extract(lane_text, '^(?:lane-)?(\\d{{1,6}})(?:\\.0+)?$', 1) as integer) as lane_number,
        coalesce(starts_with(link_text, 'nvlink-') or link_text = 'pcie', false) as needs_gpu,
        regexp_extract(lower(gpu_text), '^(?:gpu)?(\\d{{1,6}})(?:\\.0+)?$', 1) as gpu_number
    from (select *, case when lower(counter_text) = 'state' then 'link_up' else lower(counter_text) end as counter_key,
              coalesce(lower(value_text) in ('n/a', '[n/a]', 'na', 'skip', 'not supported', '[not supported]', 'nan'), false) as is_blank_word
          from ({rows})) r
    """


def _rule_sql() -> str:
    """Why a reading is refused, in words; NULL when it is accepted."""
    return f"""
        case when r.broken is not null then r.broken
             when r.counter_text is null then 'row names no counter'
             when c.counter is null then 'counter ' || left(r.counter_text, 80) || ' is not in the catalogue: kept here, not judged'
             when r.link_text is null then 'row names no link'
             when greatest(length(r.link_text), length(r.node_text)) > {MAX_NAME} then 'node or link has more than {MAX_NAME} characters'
             when lower(r.link_type_text) not in ({_LINK_TYPES}) then 'link_type ' || left(r.link_type_text, 40) || ' is not one of {", ".join(LINK_TYPES)}'
             when r.needs_gpu and r.gpu_number = '' then 'gpu ' || left(r.gpu_text, 40) || ' is no GPU index'
             when r.lane_text is not null and r.lane_number is null then 'lane ' || left(r.lane_text, 40) || ' is no lane number'
             when r.time_text is not null and r.ts is null then 'time ' || left(r.time_text, 40) || ' is not ISO 8601 (such as 2026-11-20T08:00:00Z)'
             when r.value_text is null then 'row has no value'
             when r.number is null and not r.is_blank_word then 'value ' || left(r.value_text, 40) || ' is not a number'
             when not isfinite(r.number) then 'value ' || left(r.value_text, 40) || ' is not a finite number'
             when r.number > {MAX_NUMBER:.0f} then 'value ' || left(r.value_text, 40) || ' is larger than a 64-bit counter can be'
             when r.number < 0 then 'a counter or state cannot be negative: ' || left(r.value_text, 40)
        end
    """


def _identity(cells: dict[str, str]) -> str:
    """The columns that say where and when; `cells` maps a column to its expression."""
    return ", ".join(
        f"{_clean(cells[name]) if name in cells else 'null::varchar'} as {alias}"
        for name, alias in zip(IDENTITY, _TEXT_COLUMNS, strict=True)
    )


def _long(source: str, identity: str, counter: str, value: str) -> str:
    return f"select line, line_text, broken, {identity}, {_clean(counter)} as counter_text, {_clean(value)} as value_text from ({source})"


def _pairs(cells: dict[str, str]) -> str:
    """Counter and value of each column of a wide row."""
    parts = ", ".join(
        f"{{'c': '{_quoted(name)}', 'v': {cell}, 'stated': false}}"
        for name, cell in cells.items()
        if name not in IDENTITY
    )
    return f"[{parts}]"


def _unnested(source: str, identity: str, pairs: str) -> str:
    """One row per counter of a wide row; empty cells are not measured, so they make no reading.

    A pair that is `stated` names its counter itself, as a long row does, and is kept without a value.
    """
    nothing = "[{'c': null::varchar, 'v': null::varchar, 'stated': true}]"
    return f"""
    select line, line_text, broken, {", ".join(_TEXT_COLUMNS)}, {_clean("pair.c")} as counter_text, {_clean("pair.v")} as value_text
    from (select line, line_text, broken, {identity},
                 unnest(case when broken is not null then {nothing} else {pairs} end) as pair
          from ({source}))
    where pair.stated or {_clean("pair.v")} is not null
    """


def _clean(expression: str) -> str:
    return f"nullif(trim({expression}), '')"


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _ident(text: str) -> str:
    return text.replace('"', '""')
