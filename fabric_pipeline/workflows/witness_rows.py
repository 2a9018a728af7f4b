"""Reads from link_counters what several instruments say of one counter or state of a link end.

Only places that more than one format speaks of are read, so that a drop of one exporter costs nothing.
Whether they agree is decided in `diagnose.witnesses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabric_pipeline.detect.counting.witnesses_sql import OTHER_WITNESS
from fabric_pipeline.diagnose.witnesses import COMPARED_STATES, SAME_COUNTER, Witness
from fabric_pipeline.store.columns import insert_columns

_SAME = ", ".join(f"'{name}'" for name in sorted({*SAME_COUNTER, *SAME_COUNTER.values()}))
_STATES = ", ".join(f"'{name}'" for name in COMPARED_STATES)
_LAST = """arg_max({value: value, ts: ts, file: file, line: line, state: state},
        (ts is not null, coalesce(ts, to_timestamp(0)), file_no, coalesce(line, 0)))"""
# A counter that was reset says nothing that could be compared; a blank says nothing at all.
_SQL = f"""
with compared as (
    select c.*, f.format, f.file_no from link_counters c join witness_files f using (file)
    -- A speed of each lane (`lane` without a number) is no speed of the link.
    where value is not null and (scope = 'link' or (scope = 'lane' and lane is not null))
        and not (node = '' and not contains(interface, '/port-') and gpu_uuid = '')
        and (counter in ({_STATES}) or counter in ({_SAME})
            or (node, interface, counter) in (select (node, interface, counter) from link_counters where quality = '{OTHER_WITNESS}'))
), said as (
    select node, interface, lane, counter, format, {_LAST} as last
    from compared group by node, interface, lane, counter, format having not bool_or(quality = 'reset')
), several as (
    -- A PCI address and a GPU index may be one end, which the topology tells later.
    select *, case when contains(interface, 'pci') or contains(interface, 'gpu') then '' else interface end as end_name,
        count(distinct format) over (partition by node, end_name) as formats
    from said
)
select node, interface, lane, counter, several.format, last.file, last.line, last.value, last.ts, last.state from several
left join witness_files f on f.file = last.file where formats > 1 order by f.file_no, last.line, counter, interface
"""


def witnesses(connection: Any, formats: Mapping[str, str]) -> list[Witness]:
    """The last words of every instrument, in the order of the drop; [] where one format says all."""
    if len(set(formats.values())) < 2 or not _has_several(connection, formats):
        return []
    connection.execute(
        "create or replace temp table witness_files (file varchar, format varchar, file_no integer)"
    )
    types = (("file", "VARCHAR"), ("format", "VARCHAR"), ("file_no", "INTEGER"))
    rows = [(file, form, number) for number, (file, form) in enumerate(formats.items())]
    insert_columns(connection, "witness_files", types, rows)
    return [Witness(*row) for row in connection.execute(_SQL).fetchall()]


def _has_several(connection: Any, formats: Mapping[str, str]) -> bool:
    """False where files of one format alone hold the readings; the others hold a map, runs or events."""
    files = connection.execute("select distinct file from link_counters").fetchall()
    return len({formats[file] for (file,) in files if file in formats}) > 1
