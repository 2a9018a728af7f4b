"""SQL that keeps several instruments that read one counter apart: one is counted, the others stand beside.

Two tools that read a counter at different moments are no series: laid behind each other they would show
growth and resets that never were, and added up they would count every error twice. What the others say is
kept and shown in `diagnose.witnesses`.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabric_pipeline.model.sql import sql_text

OTHER_WITNESS = "other_witness"
# A port of a switch or fabric is named by the fabric; a GPU or adapter only together with its host.
UNNAMED = "interface = '' or (node = '' and not contains(interface, '/port-'))"


def machines_sql(machines: Mapping[str, str]) -> str:
    """A relation (file, machine) of the files that name no host, where they may be of several machines."""
    rows = [f"({sql_text(file)}, {sql_text(name)})" for file, name in machines.items()]
    return f"select * from (values {', '.join(rows) or '(null, null)'}) c(file, machine)"


def witnesses_sql() -> str:
    """CTEs over `accepted` and `series`, ending in `others`: the readings that are not counted.

    A witness is a tool, and a spelling where one tool prints two of them for one counter in one capture.
    Counted is the one with times, then the one that was read again, then the one that counted most.
    `is_elsewhere` marks readings of what may be another machine: no witness of this link at all.
    """
    return f"""
    disputed as (
        select a.*, s.series from accepted a join series s using (node, interface, lane_key, counter, gpu_uuid, scope)
        where s.may_differ and a.kind = 'cumulative' and a.value is not null
    ), spelled as (
        select series, format from (
            select series, format, file, ts, count(distinct counter_text) as spellings from disputed group by series, format, file, ts
        ) where spellings > 1 group by series, format
    ), told as (
        select d.entry, d.series, d.value, d.node = '' as is_unnamed, case when d.quality <> 'clock_skew' then d.ts end as ts,
            d.format || case when p.series is null then '' else chr(0) || d.counter_text end as instrument,
            case when ({UNNAMED}) then coalesce(m.machine, '') else '' end as host, host || chr(0) || instrument as witness
        from disputed d left join spelled p using (series, format) left join machines m using (file)
    ), weighed as (
        select series, host, witness, count(distinct ts) > 1 as has_times, count(*) > 1 and not any_value(is_unnamed) as was_read_again,
            max(value) as most, min(entry) as first_entry
        from told group by series, host, witness
    ), counted_witness as (
        select series, first({{witness: witness, host: host}} order by has_times desc, was_read_again desc, most desc, first_entry) as best
        from weighed group by series having count(*) > 1
    ), others as (
        select t.entry, t.host <> best.host as is_elsewhere from told t join counted_witness c on c.series = t.series and best.witness <> t.witness
    )
    """
