"""What a map can be coloured by besides health: how busy each link end is, and what width and speed it has.

Set-based SQL over the readings of one drop; an end without the readings for a figure is not listed, so
that a map shows it as unknown. Shares of error limits come with the fabric view itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.lake import attach

Key = tuple[str, str]


class Figure(NamedTuple):
    """One link end: its share (1.0 = all of it) and the figures behind it in words."""

    share: float
    says: str


# The nominal speed is that of one direction, so each direction is compared with it by itself.
# A stated speed outranks a read one: a link that came up slow is not busier for it.
_UTILISATION_SQL = """
with stated as (
    select node, interface, any_value(speed_gbps) as gbps from (
        select node, interface, speed_gbps from fabric_topology where kind = 'link'
        union all select far_node, far_interface, speed_gbps from fabric_topology where kind = 'link'
    ) where speed_gbps > 0 and interface <> '' group by node, interface
), shown as (
    select node, interface, max(value) as gbps from link_counters
    where counter in ('speed_gbps', 'speed_max_gbps') and value > 0 group by node, interface
), moved as (
    select node, interface, counter, 8 * sum(delta) / sum(elapsed_s) / 1e9 as mean_gbps, max(8 * delta / elapsed_s) / 1e9 as peak_gbps
    from link_counters
    where counter in ('tx_bytes', 'rx_bytes') and quality = 'ok' and delta >= 0 and elapsed_s > 0
    group by node, interface, counter
)
select m.node, m.interface, max(m.mean_gbps), max(m.peak_gbps), any_value(coalesce(s.gbps, r.gbps)) as nominal
from moved m left join stated s using (node, interface) left join shown r using (node, interface)
group by m.node, m.interface having nominal > 0
"""

# What both ends could do is the smaller of their maxima; where neither tells, what the topology states.
_WIDTH_SQL = """
with stated as (
    select node, interface, far_node, far_interface, lanes, speed_gbps from fabric_topology where kind = 'link' and interface <> ''
), ends as (
    select * from stated union all
    select far_node, far_interface, node, interface, lanes, speed_gbps from stated where far_interface <> ''
), facts as (
    select node, interface, any_value(far_node) as far_node, any_value(far_interface) as far_interface,
        any_value(lanes) as lanes, any_value(speed_gbps) as speed_gbps from ends group by node, interface
), shown as (
    select node, interface,
        arg_max(value, sample) filter (counter = 'width') as width,
        arg_max(value, sample) filter (counter = 'speed_gbps') as speed,
        max(value) filter (counter = 'width_max') as width_max,
        max(value) filter (counter = 'speed_max_gbps') as speed_max
    from link_counters
    where counter in ('width', 'speed_gbps', 'width_max', 'speed_max_gbps') and value > 0
    group by node, interface
)
select s.node, s.interface, s.width, coalesce(least(s.width_max, o.width_max), s.width_max, o.width_max, f.lanes) as width_could,
    s.speed, coalesce(least(s.speed_max, o.speed_max), s.speed_max, o.speed_max, f.speed_gbps) as speed_could
from shown s left join facts f using (node, interface)
    left join shown o on o.node = f.far_node and o.interface = f.far_interface
"""


def utilisation(settings: Settings, drop: str) -> dict[Key, Figure]:
    """Mean use of the busier direction over the drop, by (node, interface)."""
    found = {}
    for node, interface, mean, peak, nominal in _rows(settings, drop, _UTILISATION_SQL):
        says = f"{mean:,.1f} Gb/s of {nominal:,.0f} on average, {peak:,.1f} at most"
        found[node, interface] = Figure(mean / nominal, says)
    return found


def width_and_speed(settings: Settings, drop: str) -> dict[Key, Figure]:
    """The last width and speed against what both ends could do, the smaller share of the two."""
    found = {}
    for node, interface, width, width_could, speed, speed_could in _rows(
        settings, drop, _WIDTH_SQL
    ):
        pairs = [(width, width_could, "lanes"), (speed, speed_could, "Gb/s")]
        known = [(now, could, unit) for now, could, unit in pairs if now and could]
        if known:
            says = ", ".join(f"{now:,.10g} of {could:,.10g} {unit}" for now, could, unit in known)
            found[node, interface] = Figure(min(now / could for now, could, _ in known), says)
    return found


def _rows(settings: Settings, drop: str, sql: str) -> list[tuple[Any, ...]]:
    connection = connect()
    try:
        for table in ("link_counters", "fabric_topology"):
            if not attach(connection, settings.lake, table, drop):
                connection.execute(f"create temp table {table} as {TABLES[table].empty_sql()}")
        rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return rows
    finally:
        connection.close()
