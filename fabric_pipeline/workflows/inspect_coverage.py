"""How far the measurements of one inspection reach, counted in its open tables.

The words for it are `diagnose.coverage`'s.
"""

from __future__ import annotations

from typing import Any

from fabric_pipeline.diagnose.coverage import (
    GPU_SUMS,
    NVLINK,
    PCIE,
    PORT,
    Coverage,
    KindCoverage,
)
from fabric_pipeline.model.counters import COUNTERS

_KINDS = (NVLINK, GPU_SUMS, PCIE, PORT)
_ERRORS = ", ".join(
    f"'{s.name}'"
    for s in COUNTERS.values()
    if s.role == "error" or s.name in ("effective_ber", "symbol_ber")
)
_REPAIRS = ", ".join(f"'{s.name}'" for s in COUNTERS.values() if s.role == "quality")
_STATES = "'link_up', 'width', 'speed_gbps', 'pcie_gen'"
_SQL = f"""
with ends as (
    select node, interface, gpu_uuid,
        case when link_type = 'nvlink' and (scope in ('gpu_sum', 'switch_sum')) then '{GPU_SUMS}'
            when link_type = 'nvlink' then '{NVLINK}' when link_type = 'pcie' then '{PCIE}'
            when link_type in ('infiniband', 'roce', 'ethernet') then '{PORT}' end as kind,
        count(distinct counter) filter (counter in ({_ERRORS})) as errors,
        count(*) filter (counter in ({_STATES})) as states,
        count(*) filter (counter in ({_ERRORS}) and (sample > 1 or kind = 'delta')) as grown,
        count(*) filter (counter in ({_REPAIRS})) as repairs
    from link_counters where value is not null group by all
)
select kind, count(*), count(*) filter (errors > 0), max(errors), count(*) filter (states > 0), count(*) filter (grown > 0),
    count(*) filter (repairs > 0)
from ends where kind is not null group by kind
"""


def coverage_of(connection: Any) -> Coverage:
    """What was measured; needs link_counters, collective_timings and fabric_events in the connection."""
    rows = {row[0]: KindCoverage(*row) for row in connection.execute(_SQL).fetchall()}
    counted = [
        connection.execute(f"select coalesce(sum({what}), 0) from {table}").fetchall()[0][0]
        for what, table in (("1", "collective_timings"), ("count", "fabric_events"))
    ]
    kinds = tuple(rows[kind] for kind in _KINDS if kind in rows)
    return Coverage(kinds, int(counted[0]), int(counted[1]))
