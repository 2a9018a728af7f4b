"""The readings that the diagnosis looks at one by one: states where they change, and totals of network ports.

SQL picks them out of link_counters, for a fleet's readings are far too many to look at. What they mean is
judged in `detect.link_state`, `detect.port_state` and `detect.port_counters`.
"""

from __future__ import annotations

from typing import Any

from fabric_pipeline.detect.counting.witnesses_sql import OTHER_WITNESS
from fabric_pipeline.detect.port_counters.thresholds import CONTEXT_LIMITS
from fabric_pipeline.diagnose.diagnose import PORT_LINKS
from fabric_pipeline.model.counters import STATE_COUNTERS
from fabric_pipeline.model.records import Reading

_STATES = ", ".join(f"'{name}'" for name in STATE_COUNTERS)
_PORTS = ", ".join(f"'{name}'" for name in sorted(PORT_LINKS))
_BIT_ERROR_RATES = {"effective_ber", "symbol_ber"}

# State readings where they change, and the first and last of each series.
_STATE_SQL = f"""
with states as (
    select *, lag(value) over w as before, lag(state) over w as state_before,
        row_number() over (partition by node, interface, lane, counter order by sample desc) as from_end
    from {{rows}} where counter in ({_STATES})
    window w as (partition by node, interface, lane, counter order by sample)
)
select line, counter, value, node, interface, link_type, lane, ts, gpu_uuid, socket, state, s.file, quality, scope
from states s left join drop_files f using (file)
where before is null or before is distinct from value or state_before is distinct from state or from_end = 1
order by f.file_no, line
"""
# Series of states that never change, with their first and last reading; the rows of all others.
_MANY_STATES = 50_000
_STANDING_SQL = f"""
create or replace temp table standing_states as
select node, interface, lane, counter, min(sample) as first, max(sample) as last from link_counters where counter in ({_STATES})
group by node, interface, lane, counter having count(value) = count(*) and min(value) = max(value) and min(state) = max(state)
    and min(gpu_uuid) = max(gpu_uuid) and min(scope) = max(scope)
"""
_STATE_ROWS_SQL = f"""
create or replace temp table state_rows as
select c.* from link_counters c left join standing_states s
    on s.node = c.node and s.interface = c.interface and s.counter = c.counter and s.lane is not distinct from c.lane
where c.counter in ({_STATES}) and (s.node is null or sample in (first, last))
"""
# Counters of ports without any time span; which series those are is found out first, because the counters
# of a fleet mostly have times.
_PORT_COUNTER = f"""
    value is not null and quality <> '{OTHER_WITNESS}'
    and (counter in ('effective_ber', 'symbol_ber') or (link_type in ({_PORTS}) and kind in ('cumulative', 'delta')))
"""
_UNTIMED_SQL = f"""
create or replace temp table untimed_ports as
select node, interface, lane, counter from link_counters where {_PORT_COUNTER}
group by node, interface, lane, counter having count(elapsed_s) = 0
"""
_PORT_SNAPSHOT_SQL = f"""
with untimed as (
    select *, count(elapsed_s) over (partition by node, interface, lane, counter) as timed from link_counters c
    where {_PORT_COUNTER} and exists (
        from untimed_ports u where u.node = c.node and u.interface = c.interface and u.counter = c.counter and u.lane is not distinct from c.lane
    )
)
select line, counter, value, kind, node, interface, link_type, lane, ts, gpu_uuid, socket, state, u.file, quality, scope
from untimed u left join drop_files f using (file) where timed = 0 order by f.file_no, line
"""
# Network ports whose waiting time or errors marked upstream grew unlike the others: victims of something
# else. First and last reading; ports wait all the time, so only the odd ones are worth a line.
_PORT_CONTEXT_SQL = f"""
with grown as (
    select node, interface, counter, gpu_uuid, scope, min(sample) as first, max(sample) as last, coalesce(sum(delta), 0) as growth
    from link_counters where counter in ('rx_remote_physical', 'tx_wait') and link_type in ({_PORTS}) and kind = 'cumulative'
        and value is not null and lane is null
    group by node, interface, counter, gpu_uuid, scope having count(elapsed_s) > 0
), usual as (select counter, quantile_disc(growth, 0.5) as usual from grown group by counter)
select line, c.counter, value, kind, node, interface, link_type, lane, ts, gpu_uuid, socket, state, file, quality, scope
from link_counters c join grown using (node, interface, counter, gpu_uuid, scope) join usual using (counter)
where sample in (first, last) and lane is null and growth > 10 * usual
    and growth > case c.counter when 'tx_wait' then {CONTEXT_LIMITS["tx_wait"]} else {CONTEXT_LIMITS["rx_remote_physical"]} end
order by node, interface, counter, sample
"""


def states(connection: Any) -> list[Reading]:
    """States where they change. Of a fleet's many that stand still only the ends are put in order."""
    counted = f"select count(*) from link_counters where counter in ({_STATES})"
    if connection.execute(counted).fetchall()[0][0] <= _MANY_STATES:
        return _readings(connection, _STATE_SQL.format(rows="link_counters"))
    connection.execute(_STANDING_SQL)
    connection.execute(_STATE_ROWS_SQL)
    return _readings(connection, _STATE_SQL.format(rows="state_rows"))


def port_snapshots(connection: Any) -> list[Reading]:
    """Totals of ports without times, and ports that wait or forward errors unlike the others."""
    present = {
        name: {
            row[0]
            for row in connection.execute(f"select distinct {name} from link_counters").fetchall()
        }
        for name in ("counter", "link_type")
    }
    if not present["counter"] & _BIT_ERROR_RATES and not present["link_type"] & PORT_LINKS:
        return []  # the statements below look into every reading
    connection.execute(_UNTIMED_SQL)
    found = (
        _readings(connection, _PORT_SNAPSHOT_SQL) if has_rows(connection, "untimed_ports") else []
    )
    return found + _readings(connection, _PORT_CONTEXT_SQL)


def dict_rows(connection: Any, sql: str) -> list[dict[str, Any]]:
    """Rows of a query by the names of its columns."""
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def has_rows(connection: Any, rows: str) -> bool:
    """True when there is any; `rows` is a table with or without a condition."""
    return bool(connection.execute(f"select 1 from {rows} limit 1").fetchall())


def _readings(connection: Any, sql: str) -> list[Reading]:
    found = []
    for row in dict_rows(connection, sql):
        row["time"] = row.pop("ts")
        found.append(
            Reading(
                counter_text=row["counter"],
                value_text="" if row["value"] is None else f"{row['value']:g}",
                **row,
            )
        )
    return found
