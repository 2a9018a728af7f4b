"""SQL that turns a normalized counters file into staged readings, set-wise, with line numbers.

Every function returns SQL text over relations that the caller provides; nothing is executed here.
Literals come from our own constants; file paths and hints are bound as parameters by the caller.
"""

from __future__ import annotations

from fabric_pipeline.sources.normalized.counters import IDENTITY, CounterLayout
from fabric_pipeline.sources.normalized.fields import DOWN_WORDS, UP_WORDS

# A separator that cannot stand in a line we accept (the ingest step replaces it), so that the CSV
# scanner hands out whole lines.
LINE_SEPARATOR = "\x1f"

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


def lines_sql() -> str:
    """Parameter: path. Yields (line, line_text) for every line of a text file, blank ones as NULL."""
    return f"""
    select row_number() over () as line, line_text
    from read_csv(?, header=false, auto_detect=false, columns={{'line_text': 'varchar'}},
                  delim='{LINE_SEPARATOR}', quote='', escape='', strict_mode=false, max_line_size=8000000)
    """


def csv_rows_sql(layout: CounterLayout, lines: str, quoted: str) -> str:
    """Long rows of a CSV file.

    `lines` is a relation (line, line_text); `quoted` one (line, cells) for the lines with quotes that
    the caller has split, cells NULL where the quoting is broken.
    """
    split = f"""
    select l.line, l.line_text, coalesce(q.cells, string_split(l.line_text, ',')) as cells,
           case when position(chr(65533) in l.line_text) > 0 then 'line has bytes that are not UTF-8; save the file as UTF-8'
                when q.line is not null and q.cells is null then 'quotes in this line do not pair up'
                when len(coalesce(q.cells, string_split(l.line_text, ','))) <> {len(layout.columns)}
                then 'row has ' || len(coalesce(q.cells, string_split(l.line_text, ','))) || ' fields, the header has {len(layout.columns)}'
           end as broken
    from {lines} l left join {quoted} q using (line)
    where l.line_text is not null and trim(l.line_text) <> '' and l.line > (select min(line) from {lines} where trim(line_text) <> '')
    """
    position = {name: i for i, name in enumerate(layout.columns, 1)}
    identity = _identity(lambda name: f"cells[{position[name]}]" if name in position else None)
    if layout.is_long:
        counter = f"cells[{position['counter']}]"
        value = f"cells[{position['value']}]"
        return f"select line, line_text, broken, {identity}, {_clean(counter)} as counter_text, {_clean(value)} as value_text from ({split})"
    pairs = ", ".join(
        f"{{'c': '{_quoted(name)}', 'v': cells[{i}]}}"
        for name, i in position.items()
        if name not in IDENTITY
    )
    return _unnested(split, identity, f"[{pairs}]")


def jsonl_rows_sql(lines: str) -> str:
    """Long rows of a JSONL file, whose rows may each be long or wide."""
    parsed = f"""
    select line, line_text, case when json_valid(line_text) and json_type(line_text) = 'OBJECT' then line_text::json end as j,
           case when position(chr(65533) in line_text) > 0 then 'line has bytes that are not UTF-8; save the file as UTF-8'
                when not json_valid(line_text) or json_type(line_text) <> 'OBJECT' then 'line is not one JSON object' end as broken
    from {lines} where line_text is not null and trim(line_text) <> ''
    """
    identity = _identity(lambda name: f"j->>'{name}'")
    known = ", ".join(f"'{name}'" for name in IDENTITY)
    pairs = f"""
    case when j is null then [{{'c': null::varchar, 'v': null::varchar}}]
         when j->>'counter' is not null then [{{'c': j->>'counter', 'v': j->>'value'}}]
         else list_transform(list_filter(json_keys(j), lambda k: k not in ({known})),
                             lambda k: {{'c': k, 'v': json_extract_string(j, '$."' || k || '"')}}) end
    """
    return _unnested(parsed, identity, pairs)


def parquet_rows_sql(columns: tuple[str, ...]) -> str:
    """Parameter: path. Long rows of a Parquet file; `line` is the row number from 1."""
    lower = {name.lower(): name for name in columns}
    identity = _identity(
        lambda name: f'"{_ident(lower[name])}"::varchar' if name in lower else None
    )
    base = "select file_row_number + 1 as line, '' as line_text, null::varchar as broken, * from read_parquet(?, file_row_number=true)"
    if {"counter", "value"} <= lower.keys():
        counter, value = (f'"{_ident(lower[n])}"::varchar' for n in ("counter", "value"))
        return f"select line, line_text, broken, {identity}, {counter} as counter_text, {value} as value_text from ({base})"
    pairs = ", ".join(
        f"{{'c': '{_quoted(name)}', 'v': \"{_ident(original)}\"::varchar}}"
        for name, original in lower.items()
        if name not in IDENTITY
    )
    return _unnested(base, identity, f"[{pairs}]")


def staged_sql(rows: str) -> str:
    """Interpret long text rows as staged readings.

    `rows` is SQL of one of the functions above. Parameters, in order: hint node, format, parser
    version, file, latest acceptable time. Needs the relation `counter_catalogue`.
    """
    up, down = (
        ", ".join(f"'{word}'" for word in sorted(words)) for words in (UP_WORDS, DOWN_WORDS)
    )
    read = f"""
    select *, case when r.counter_text = 'state' then 'link_up' else lower(r.counter_text) end as counter_key,
        case when regexp_full_match(time_text, '\\d{{4}}-\\d\\d-\\d\\d[T ].*') then try_cast(time_text as timestamptz) end as ts,
        case when lower(value_text) in ('n/a', '[n/a]', 'na', 'skip', 'not supported', '[not supported]', 'nan') then null
             when r.counter_text in ('state', 'link_up') and lower(value_text) in ({up}) then 1.0
             when r.counter_text in ('state', 'link_up') and lower(value_text) in ({down}) then 0.0
             else try_cast(value_text as double) end as number,
        coalesce(lower(value_text) in ('n/a', '[n/a]', 'na', 'skip', 'not supported', '[not supported]', 'nan'), false) as is_blank_word,
        try_cast(regexp_extract(coalesce(lane_text, ''), '(\\d+)$', 1) as integer) as lane_number
    from ({rows}) r
    """
    return f"""
    with read as ({read}), params as (select ? as hint_node, ? as format, ? as parser_version, ? as file, ?::timestamptz as latest)
    select p.file, r.line, p.format, p.parser_version, coalesce(r.time_text, '') as time_text,
        case when r.broken is not null then left(r.line_text, 2000) else concat_ws(' ', r.node_text, r.gpu_text, r.link_text, r.lane_text) end as entity_text,
        coalesce(r.counter_text, '') as counter_text, coalesce(r.value_text, '') as value_text,
        coalesce(r.node_text, p.hint_node) as node,
        case when r.gpu_text is not null and not starts_with(r.link_text, 'gpu') and (starts_with(r.link_text, 'nvlink-') or r.link_text = 'pcie')
             then 'gpu' || r.gpu_text || '/' || r.link_text else coalesce(r.link_text, '') end as interface,
        coalesce(lower(r.link_type_text), '') as link_type, r.lane_number as lane,
        c.counter, coalesce(c.kind, '') as kind, case when r.lane_number is null then 'link' else 'lane' end as scope, r.ts,
        case when c.is_blank_value(r.number) then null else r.number end as value,
        case when r.is_blank_word or c.is_blank_value(r.number) then 'not_supported'
             when r.ts > p.latest then 'clock_skew'
             when r.number = c.ceiling then 'saturated' else 'ok' end as quality,
        coalesce(r.gpu_uuid, '') as gpu_uuid, try_cast(r.socket_text as integer) as socket,
        case when c.kind = 'gauge' and c.counter = 'link_up' then r.value_text else '' end as state,
        case when r.broken is not null then r.broken
             when r.counter_text is null then 'row names no counter'
             when c.counter is null then 'counter ' || left(r.counter_text, 80) || ' is not in the catalogue: kept here, not judged'
             when r.link_text is null then 'row names no link'
             when r.time_text is not null and r.ts is null then 'time ' || left(r.time_text, 40) || ' is not ISO 8601 (such as 2026-11-20T08:00:00Z)'
             when r.value_text is null then 'row has no value'
             when r.number is null and not r.is_blank_word then 'value ' || left(r.value_text, 40) || ' is not a number'
             when not isfinite(r.number) then 'value ' || left(r.value_text, 40) || ' is not a finite number'
             when r.number < 0 then 'a counter or state cannot be negative: ' || left(r.value_text, 40)
        end as rule
    from read r cross join params p left join counter_catalogue c on c.counter = r.counter_key
    """.replace(
        "c.is_blank_value(r.number)",
        "coalesce(r.number in (select value from blank_values), false)",
    )


def _identity(expression) -> str:  # type: ignore[no-untyped-def]
    parts = []
    for name, alias in zip(IDENTITY, _TEXT_COLUMNS, strict=True):
        text = expression(name)
        parts.append(f"{_clean(text) if text else 'null::varchar'} as {alias}")
    return ", ".join(parts)


def _unnested(source: str, identity: str, pairs: str) -> str:
    """One row per counter of a wide row; empty cells are not measured, so they make no reading."""
    return f"""
    select line, line_text, broken, {", ".join(_TEXT_COLUMNS)}, {_clean("pair.c")} as counter_text, {_clean("pair.v")} as value_text
    from (select line, line_text, broken, {identity},
                 unnest(case when broken is not null then [{{'c': null::varchar, 'v': null::varchar}}] else {pairs} end) as pair
          from ({source}))
    where broken is not null or {_clean("pair.v")} is not null
    """


def _clean(expression: str) -> str:
    return f"nullif(trim({expression}), '')"


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _ident(text: str) -> str:
    return text.replace('"', '""')
