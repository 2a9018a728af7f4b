"""Which series stopped while their siblings went on, and which nodes gave no telemetry at all.

dcgm-exporter stops exporting a link that is down, so a vanished series hints at a link that went down;
a node without any data says nothing about its links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import EvidenceRef, Finding

_MIN_SAMPLES = 3
_MIN_SILENCE_S = 300.0

_TIMED = "ts is not null and value is not null and scope = 'link' and quality <> 'clock_skew'"
# Links whose last reading is long before the last ones of at least two links of that kind on the node. All
# that is asked of every reading of a fleet is the last time of its link; the rest is asked of the few.
SILENT_SQL = f"""
create or replace temp table silent_ends as
with ends as (
    select node, interface, link_type, max(ts) as last_ts from link_counters where {_TIMED} group by node, interface, link_type
), siblings as (
    select node, link_type, max(last_ts) as newest, max(last_ts, 2)[2] as second_newest, count(*) as ends from ends group by node, link_type
)
select node, interface, link_type, last_ts, newest, date_diff('second', last_ts, second_newest) as silence_s
from ends join siblings using (node, link_type) where ends >= 3 and silence_s > {_MIN_SILENCE_S}
"""
# Of several counters with the last time the first one in the order of the table stands for the link.
VANISHED_SQL = f"""
select node, interface, any_value(s.last_ts), any_value(newest), first(file order by ts desc, lane, counter, gpu_uuid),
    first(line order by ts desc, lane, counter, gpu_uuid)
from link_counters join silent_ends s using (node, interface, link_type) where {_TIMED}
group by node, interface, link_type having count(distinct ts) >= {_MIN_SAMPLES} and any_value(silence_s) > coalesce(5 * max(elapsed_s), 0)
order by node, interface
"""

NODES_SQL = """
select distinct node from link_counters where node <> '' union select distinct node from fabric_events where node <> ''
"""


def vanished_series(connection: Any) -> list[Finding]:
    """Link ends that fell silent while at least two siblings on the node went on."""
    connection.execute(SILENT_SQL)
    if not connection.execute("select 1 from silent_ends limit 1").fetchall():
        return []
    rows: Iterable[tuple[str, str, datetime, datetime, str, int | None]] = connection.execute(
        VANISHED_SQL
    ).fetchall()
    return [
        Finding(
            component=component_id(node, interface),
            kind="series_vanished",
            severity="watch",
            role="context",
            reason=f"The counters of this link end stop at {_utc(last)}, while its siblings on the node go on to {_utc(newest)}; "
            "exporters drop a link that is down, so its state should be looked at.",
            evidence=[EvidenceRef(file, line)],
            last_seen=last,
            rules=["series_vanished"],
        )
        for node, interface, last, newest, file, line in rows
    ]


def silent_nodes(
    connection: Any, expected: Iterable[str], uncounted: Sequence[tuple[str, str]] = ()
) -> list[Finding]:
    """Expected nodes (of the topology or of a run) without a single reading or event.

    Of nodes in the ranges `uncounted` (first and last) there may be readings that could not be counted.
    """
    seen = {row[0] for row in connection.execute(NODES_SQL).fetchall()}
    return [
        Finding(
            component=component_id(node, ""),
            kind="no_telemetry",
            severity="info",
            role="context",
            reason=_silence(node, any(first <= node <= last for first, last in uncounted)),
            is_link=False,
        )
        for node in sorted(set(expected) - seen)
    ]


def _silence(node: str, is_uncounted: bool) -> str:
    if is_uncounted:
        return f"The readings of {node} could not be counted: nothing can be said of its links, neither good nor bad, until the drop is run again."
    return f"No counter, state or event of {node} is in this drop: nothing can be said of its links, neither good nor bad."


def _utc(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC")
