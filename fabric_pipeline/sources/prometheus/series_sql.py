"""SQL that turns the samples of a bulk file into staged readings, set-wise; nothing is executed here.

A series is worked out once, in Python (`families`); its values only meet the outcome here, by joins on
small numbers. Relations named `bulk_*` belong to the caller's connection. All that is not of the
plainest grammar is handed back as text, for `exposition` to read line by line.
"""

from __future__ import annotations

from fabric_pipeline.model.counters import BLANK_VALUES
from fabric_pipeline.model.records import MAX_TEXT
from fabric_pipeline.sources.prometheus.exposition import MAX_LINE
from fabric_pipeline.sources.prometheus.measure import LINK_MARK

# Of short texts: RE2 is slow with counted repetitions.
_NAME = "[A-Za-z_:][A-Za-z0-9_:]*"
_NUMBER = "[-+]?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?"
_STAMP = "[12][0-9]{9}|[12][0-9]{12}"  # seconds or milliseconds from 2001 on
_LONGEST_NAME, _LONGEST_NUMBER = 300, 60
_LARGEST = 2.0**64  # no counter is larger
_MARK = f"chr({ord(LINK_MARK)})"
_BLANK = ", ".join(f"{value!r}" for value in sorted(BLANK_VALUES))

# `rule`: why a series or value is refused; `label_node`: the host as the labels name it, `node` as
# the whole file does; `thing_id`, `interface` and `lane`: of what one value
# of a counter is expected at one time.
TABLES = {
    "bulk_samples": "ord bigint, line bigint, name_id integer, label_id integer, value_text varchar, time_text varchar, number double, ts timestamptz",
    "bulk_names": "name_id integer, name varchar",
    "bulk_labels": "label_id integer, label_text varchar, entity_text varchar, stem varchar, link integer",
    "bulk_metrics": "name_id integer, name varchar, shape_id integer, family varchar, link_type varchar, counter varchar, kind varchar, what varchar, "
    "lane integer, decode varchar, divisor double, ceiling double, is_known boolean",
    "bulk_places": "place_id integer, shape_id integer, stem_id integer, rule varchar, thing_id integer, node varchar, interface varchar, scope varchar, "
    "label_node varchar, device varchar, gpu_uuid varchar, state varchar, socket integer",
    "bulk_outcomes": "name_id integer, place_id integer, value_text varchar, value double, counter varchar, state varchar, quality varchar, rule varchar, "
    "refused_by varchar",
    "bulk_fates": "ord bigint, is_dropped boolean",
    "bulk_scrapes": "ord bigint, scrape integer",
}
PER_LINE = 1 << 32  # more values than the series of one line has
SCRATCH = (
    "bulk_lines",
    "bulk_answers",
    "bulk_piece",
    "bulk_stems",
    "bulk_series",
    "bulk_contested",
)


def split_sql(before: int) -> str:
    """Makes `bulk_piece` of `bulk_lines`, whose rows are lines in order; `before` stand before them.

    A line becomes name, labels, value and time; `odd_text` is set for one of another grammar.
    """
    grammar = (
        f"strlen(line_text) <= {MAX_LINE} and len(head) = len(parts) and len(words) <= 2 and strlen(words[1]) <= {_LONGEST_NUMBER}"
        f" and regexp_full_match(words[1], '{_NUMBER}') and (len(words) = 1 or regexp_full_match(words[2], '{_STAMP}'))"
    )
    return f"""
    create or replace temp table bulk_piece as
    select {before + 1} + row as line, 0 as place, head[1] as name, coalesce(head[2], '') as label_text, words[1] as value_text,
        coalesce(words[2], '') as time_text,
        case when is_regular then words[1]::double end as number,
        case when is_regular and len(words) = 2
             then make_timestamptz(words[2]::bigint * case when length(words[2]) = 13 then 1000 else 1000000 end) end as ts,
        case when not is_regular then line_text end as odd_text
    from (
        select *, coalesce({grammar}, false) as is_regular
        from (
            select row, line_text, parts, case len(parts) when 2 then string_split(parts[1], '{{') else string_split(line_text, ' ')[:1] end as head,
                case len(parts) when 2 then string_split(parts[2], ' ') else string_split(line_text, ' ')[2:] end as words
            from (select rowid as row, line_text, string_split(line_text, '}} ') as parts from bulk_lines
                  where line_text is not null and not starts_with(line_text, '#'))
        )
    )
    """


NEW_NAMES = """
insert into bulk_names
select (select coalesce(max(name_id), 0) from bulk_names) + row_number() over (order by name), name
from (select distinct name from bulk_piece where odd_text is null and name not in (select name from bulk_names))
"""

# Values of a query are taken when they have their usual form; others come back as `odd_text`.
SPLIT_ANSWERS = f"""
create or replace temp table bulk_piece as
select line, place, name, label_text, value_text, time_text,
    case when is_regular and regexp_full_match(value_text, '{_NUMBER}') and strlen(value_text) <= {_LONGEST_NUMBER} then value_text::double end as number,
    case when is_regular then make_timestamptz(time_text[:10]::bigint * 1000000 + rpad(time_text[12:], 6, '0')::bigint) end as ts,
    case when not is_regular then pair end as odd_text
from (
    select *, words[1] as time_text, words[2][2:-2] as value_text, coalesce(len(words) = 2 and regexp_full_match(words[1], '[12][0-9]{{9}}([.][0-9]{{1,3}})?')
        and regexp_full_match(words[2], '"[-+0-9.eEInfNa]+"'), false) as is_regular
    from (
        select *, string_split(pair, ',') as words, first_place + nth as place
        from (
            select line, first_place, name, label_text, unnest(pairs) as pair, generate_subscripts(pairs, 1) as nth
            from (select *, string_split(series_values, '],[') as pairs from bulk_answers)
        )
    )
)
"""
ODD_ANSWERS = "select line, place, name, label_text, odd_text from bulk_piece where odd_text is not null order by line, place"

# A line whose name is none is of another grammar; it is read as a whole.
ODD_NAMES = f"select name from bulk_names where not regexp_full_match(name, '{_NAME}') or length(name) > {_LONGEST_NAME}"
MAKE_ODD = f"""
update bulk_piece set odd_text = name || case when label_text = '' then ' ' else '{{' || label_text || '}} ' end || value_text
                                              || case when time_text <> '' then ' ' || time_text else '' end
where odd_text is null and name in ({ODD_NAMES});
delete from bulk_names where name in ({ODD_NAMES});
"""
ODD_LINES = "select line, odd_text from bulk_piece where odd_text is not null order by line"

# Labels that differ in the number of the link alone share a stem; a quoted comma could fool the search,
# so labels with a backslash keep to themselves.
NEW_LABELS = f"""
insert into bulk_labels
select (select count(*) from bulk_labels) + row_number() over () as label_id, label_text,
    case when strlen(label_text) <= {MAX_TEXT} then label_text else left(label_text, {MAX_TEXT}) end as entity_text,
    case when link is null then label_text else regexp_replace(label_text, '((?:^|[ ,])nvlink=")[0-9]{{1,4}}"', '\\1' || {_MARK} || '"') end as stem, link
from (
    select label_text, case when contains(label_text, 'nvlink="') and not contains(label_text, chr(92)) and not contains(label_text, {_MARK})
                             and (contains(label_text, 'gpu="') or contains(label_text, 'nvswitch="'))
                            then try_cast(regexp_extract(label_text, '(?:^|[ ,])nvlink="([0-9]{{1,4}})"', 1) as integer) end as link
    from (select distinct p.label_text from bulk_piece p anti join bulk_labels l on l.label_text = p.label_text where p.odd_text is null)
)
"""

TAKE_PIECE = f"""
insert into bulk_samples
select p.line * {PER_LINE} + p.place, p.line, n.name_id, l.label_id, p.value_text, p.time_text, p.number, p.ts
from bulk_piece p join bulk_names n using (name) join bulk_labels l using (label_text) where p.odd_text is null
"""

READ_NUMBERS = f"""
update bulk_piece set number = value_text::double
where number is null and odd_text is null and regexp_full_match(value_text, '{_NUMBER}') and strlen(value_text) <= {_LONGEST_NUMBER}
"""

STEMS = "create or replace temp table bulk_stems as select row_number() over (order by stem) as stem_id, stem from (select distinct stem from bulk_labels)"

# Metrics and labels that occur together, by what the labels have to say.
SHAPED = """
select s.stem_id, s.stem, x.shape_id
from (select distinct name_id, label_id from bulk_samples) b join bulk_labels l using (label_id) join bulk_stems s using (stem)
join bulk_metrics x using (name_id)
where s.stem_id > ? and s.stem_id <= ? group by all order by s.stem_id, x.shape_id
"""

# Every series beside its metric and place, by number.
SERIES = f"""
create or replace temp table bulk_series as
select b.name_id, b.label_id, p.place_id, p.thing_id, p.rule,
    case when l.link is null then p.interface else replace(p.interface, {_MARK}, l.link::varchar) end as interface,
    case when l.link is null then p.device else replace(p.device, {_MARK}, l.link::varchar) end as device,
    x.family is not null and p.node is not null as is_measured
from (select distinct name_id, label_id from bulk_samples) b join bulk_labels l using (label_id) join bulk_stems t using (stem)
join bulk_metrics x using (name_id) join bulk_places p on p.shape_id = x.shape_id and p.stem_id = t.stem_id
"""

# Of events and names of hosts the first of equal values counts; timings, and what may be refused, do one by one.
SINGLES = """
select b.line, n.name, l.label_text, b.value_text, b.time_text
from bulk_samples b join bulk_names n using (name_id) join bulk_labels l using (label_id)
where n.name in (select unnest($names::varchar[]))
qualify starts_with(n.name, 'nccl_') or not regexp_full_match(b.value_text, '[0-9]+')
    or row_number() over (partition by b.name_id, b.label_id, b.value_text order by b.ord) = 1
order by b.ord
"""
DROP_SINGLES = """
delete from bulk_samples where name_id in (select name_id from bulk_names where name in (select unnest($names::varchar[])))
"""

OTHERS = """
select n.name, count(*) from bulk_samples b join bulk_series s using (name_id, label_id) join bulk_names n using (name_id)
where not s.is_measured and s.rule is null group by n.name
"""

# A number that `measure.plain_outcome` takes as it stands; the readings below do with it what that does.
_HOLDS = f"(x.decode = '' and coalesce(b.number >= 0 and b.number <= {_LARGEST!r} and b.number not in ({_BLANK}), false))"
_MEASURED = "bulk_samples b join bulk_series s using (name_id, label_id) join bulk_metrics x using (name_id)"
_OUTCOME = "left join bulk_outcomes o on o.name_id = b.name_id and o.place_id = s.place_id and o.value_text = b.value_text"

SPECIAL = f"""
select x.*, p.*, v.device, v.value_text
from (select b.name_id, s.place_id, s.device, b.value_text, min(b.ord) as first_ord from {_MEASURED} where s.is_measured and not {_HOLDS} group by all) v
join bulk_metrics x using (name_id) join bulk_places p using (place_id) order by v.first_ord
"""

COUNT_VALUES = """
select count(*) filter (quality <> 'not_supported' and counter_text <> '') from staged_readings where file = $file
"""

# Samples of one series without time stamps, in order, each with the one before it.
REPEATS = f"""
select ord, before from (
    select b.ord, lag(b.ord) over (partition by b.name_id, b.label_id order by b.ord) as before
    from {_MEASURED} {_OUTCOME} where s.is_measured and b.time_text = '' and o.rule is null
) where before is not null order by ord
"""

# Series of one counter of one thing, and series that repeat a time: only these can contradict.
CONTESTED = """
create or replace temp table bulk_contested as
with series as (
    select s.name_id, s.label_id, s.thing_id, s.interface, x.lane, coalesce(nullif(x.counter, ''), 'raw ' || x.name) as counter_key
    from bulk_series s join bulk_metrics x using (name_id) where s.is_measured
), shared as (
    select thing_id, interface, lane, counter_key from series group by all having count(*) > 1
)
select s.name_id, s.label_id from series s join shared h on h.thing_id = s.thing_id and h.counter_key = s.counter_key
    and h.interface = s.interface and h.lane is not distinct from s.lane
union
select name_id, label_id from bulk_samples where ts is not null group by name_id, label_id, ts having count(*) > 1
"""

# One reading for one measured thing: what repeats it is dropped, the worse of two values keeps the name.
_KEY = "is_measured, counter_key, thing_id, interface, lane, scrape, ts"
FATES = f"""
insert into bulk_fates
with rows as (
    select b.ord, s.thing_id, s.interface, x.lane, coalesce(o.quality, 'ok') <> 'not_supported' as is_measured,
        case when coalesce(o.quality, 'ok') <> 'not_supported' and coalesce(o.counter, x.counter) <> '' then coalesce(o.counter, x.counter)
             else 'raw ' || x.name end as counter_key,
        case when b.ts is null then c.scrape end as scrape, b.ts,
        case when coalesce(o.counter, x.counter) = 'link_up' then -1 else 1 end
            * case when o.place_id is null then b.number / x.divisor else o.value end as badness
    from {_MEASURED} join bulk_contested k on k.name_id = b.name_id and k.label_id = b.label_id
    asof join bulk_scrapes c on b.ord >= c.ord
    {_OUTCOME}
    where s.is_measured and o.rule is null
), seen as (
    select *, row_number() over w as place, max(badness) over (partition by {_KEY}) as worst,
        max(badness) over (partition by {_KEY} order by ord rows between unbounded preceding and 1 preceding) as worst_before
    from rows window w as (partition by {_KEY} order by ord)
)
select ord, place > 1 and badness is not distinct from worst_before from seen
where (place > 1 and badness is not distinct from worst_before)
   or not (badness is not distinct from worst and (place = 1 or badness > worst_before))
"""

# Samples before `last_scrape` without a stamp have no time.
READINGS = f"""
insert into staged_readings
select $file, line, $format, $version, time_text, entity_text, name, value_text, node, interface, link_type, lane,
    case when is_raw or counter = '' then null else counter end, kind, scope, ts,
    case when abs(value) <= {_LARGEST!r} then value end, case when ts > $latest and quality = 'ok' then 'clock_skew' else quality end, gpu_uuid, socket, state,
    case when is_raw or counter = '' or not is_known
         then 'counter ''' || left(name, 80) || ''' is not in the catalogue: kept here, not judged' else refused_by end
from (
    select b.ord, b.line, b.time_text, b.value_text, l.entity_text, s.interface, x.* exclude (counter), p.* exclude (state, interface),
        coalesce(f.ord is not null, false) as is_raw, coalesce(b.ts, case when b.ord >= $last_scrape then $time::timestamptz end) as ts,
        coalesce(o.counter, x.counter) as counter, case when o.place_id is null then b.number / x.divisor else o.value end as value,
        case when o.place_id is null then case when b.number = x.ceiling then 'saturated' else 'ok' end else o.quality end as quality,
        case when o.place_id is null then p.state else o.state end as state, o.refused_by
    from {_MEASURED} join bulk_places p on p.place_id = s.place_id join bulk_labels l on l.label_id = b.label_id
    {_OUTCOME} left join bulk_fates f on f.ord = b.ord
    where s.is_measured and o.rule is null and not coalesce(f.is_dropped, false)
)
"""
IN_ORDER = "order by ord"  # behind the readings of samples that their lines do not order

# Values and series that break the grammar, as the lines they stood in.
REFUSED = f"""
insert into staged_readings
select $file, b.line, $format, $version, '',
    left(x.name || case when l.label_text <> '' then '{{' || l.label_text || '}}' else '' end || ' ' || b.value_text
         || case when b.time_text <> '' then ' ' || b.time_text else '' end, {MAX_TEXT}),
    '', '', $node, '', '', null, null, '', 'link', null, null, 'ok', '', null, '', coalesce(s.rule, o.rule)
from {_MEASURED} join bulk_labels l on l.label_id = b.label_id {_OUTCOME} where coalesce(s.rule, o.rule) is not null
"""
