"""What a map can be coloured by besides health: how busy each link end is, and what width and speed it has.

Set-based SQL over the readings of one drop; an end without the readings for a figure is not listed, and
one whose ability is not known has a figure without a share: a map shows both as unknown. Shares of error
limits come with the fabric view itself.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.lake import attach

Key = tuple[str, str]
_FULL = 0.999


class Figure(NamedTuple):
    """One link end: its share (1.0 = all of it, None when not known) and the figures in words."""

    share: float | None
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
    select node, interface, max(value) as gbps from readings
    where counter in ('speed_gbps', 'speed_max_gbps') and value > 0 group by node, interface
), moved as (
    select node, interface, counter, 8 * sum(delta) / sum(elapsed_s) / 1e9 as mean_gbps, max(8 * delta / elapsed_s) / 1e9 as peak_gbps
    from readings
    where counter in ('tx_bytes', 'rx_bytes') and quality = 'ok' and delta >= 0 and elapsed_s > 0
    group by node, interface, counter
)
select m.node, m.interface, max(m.mean_gbps), max(m.peak_gbps), any_value(coalesce(s.gbps, r.gbps)) as nominal
from moved m left join stated s using (node, interface) left join shown r using (node, interface)
group by m.node, m.interface having nominal > 0
"""

# What both ends could do is the smaller of their maxima. Where one of them is not known, what the topology
# states of the link; else the known one alone, which says something only when it is reached.
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
    from readings
    where counter in ('width', 'speed_gbps', 'width_max', 'speed_max_gbps') and value > 0
    group by node, interface
)
select s.node, s.interface, s.width, case when s.width_max > 0 and o.width_max > 0 then least(s.width_max, o.width_max) else f.lanes end,
    coalesce(s.width_max, o.width_max), s.speed,
    case when s.speed_max > 0 and o.speed_max > 0 then least(s.speed_max, o.speed_max) else f.speed_gbps end, coalesce(s.speed_max, o.speed_max)
from shown s left join facts f using (node, interface)
    left join shown o on o.node = f.far_node and o.interface = f.far_interface
where s.width > 0 or s.speed > 0
"""

# Readings under the names of the topology: tools that know a device by its PCI address alone spell it
# `pci-…`, and which link of the device they mean is told by the kind of the link.
_PLAIN_SQL = "create temp view readings as select * from link_counters"
_NAMED_SQL = """
create temp view readings as
select c.* replace (coalesce(n.interface, d.device || substr(c.interface, length(d.alias) + 1), c.interface) as interface)
from link_counters c left join addressed d on d.node = c.node and d.alias = split_part(c.interface, '/', 1)
    left join linked n on n.node = d.node and n.device = d.device and n.link_type = c.link_type and c.interface = d.alias
"""
_LINKED_SQL = """
create temp table linked as
select node, device, link_type, any_value(interface) as interface from (
    select node, split_part(interface, '/', 1) as device, link_type, interface from fabric_topology where kind = 'link'
    union all select far_node, split_part(far_interface, '/', 1), link_type, far_interface from fabric_topology where kind = 'link'
) where interface <> '' group by node, device, link_type having count(distinct interface) = 1
"""
_ADDRESSES_SQL = """
select node, interface, attributes from fabric_topology where kind in ('gpu', 'nic') and contains(attributes, '"pci"')
    and node in (select node from link_counters where starts_with(interface, 'pci-'))
"""


def utilisation(settings: Settings, drop: str) -> dict[Key, Figure]:
    """Mean use of the busier direction over the drop, by (node, interface)."""
    found = {}
    for node, interface, mean, peak, nominal in _rows(settings, drop, _UTILISATION_SQL):
        says = f"{mean:,.1f} Gb/s of {nominal:,.0f} on average, {peak:,.1f} at most"
        found[node, interface] = Figure(mean / nominal, says)
    return found


def width_and_speed(settings: Settings, drop: str) -> dict[Key, Figure]:
    """The last width and speed against what both ends could do, the smaller share of the two.

    The share is None when what was read may be less than both ends could do and nobody knows.
    """
    found = {}
    for node, interface, *figures in _rows(settings, drop, _WIDTH_SQL):
        judged = [
            _judged(now, could, one_end, unit)
            for (now, could, one_end), unit in ((figures[:3], "lanes"), (figures[3:], "Gb/s"))
            if now
        ]
        shares = [one.share for one in judged if one.share is not None]
        is_sure = len(shares) == len(judged) or min(shares, default=1.0) < _FULL
        says = ", ".join(one.says for one in judged)
        found[node, interface] = Figure(min(shares) if shares and is_sure else None, says)
    return found


def _judged(now: float, could: float | None, one_end: float | None, unit: str) -> Figure:
    """One of width and speed; `one_end` is the maximum of the end whose maximum is known."""
    if could:
        return Figure(now / could, f"{now:,.10g} of {could:,.10g} {unit}")
    if one_end and now >= one_end:
        return Figure(1.0, f"{now:,.10g} of {one_end:,.10g} {unit}")
    known = f"one end could do {one_end:,.10g}, what the other" if one_end else "what both ends"
    return Figure(None, f"{now:,.10g} {unit}; {known} could do is not known")


def _rows(settings: Settings, drop: str, sql: str) -> list[tuple[Any, ...]]:
    connection = connect()
    try:
        for table in ("link_counters", "fabric_topology"):
            if not attach(connection, settings.lake, table, drop):
                connection.execute(f"create temp table {table} as {TABLES[table].empty_sql()}")
        _name_readings(connection)
        rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return rows
    finally:
        connection.close()


def _name_readings(connection: Any) -> None:
    """The view `readings`, with devices named by their PCI address under their names."""
    rows = connection.execute(_ADDRESSES_SQL).fetchall()
    if not rows:
        connection.execute(_PLAIN_SQL)
        return
    addressed = [
        (node, f"pci-{normalise_pci(str(facts['pci']))}", device)
        for node, device, text in rows
        if (facts := json.loads(text)).get("pci")
    ]
    columns = [(name, "VARCHAR") for name in ("node", "alias", "device")]
    connection.execute("create temp table addressed (node varchar, alias varchar, device varchar)")
    insert_columns(connection, "addressed", columns, addressed)
    connection.execute(_LINKED_SQL)
    connection.execute(_NAMED_SQL)
