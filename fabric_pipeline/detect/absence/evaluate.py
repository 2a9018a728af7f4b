"""Which series stopped while their siblings went on, and which nodes gave no telemetry at all.

dcgm-exporter stops exporting a link that is down, so a vanished series hints at a link that went down;
a node without any data says nothing about its links.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import EvidenceRef, Finding

_MIN_SAMPLES = 3
_MIN_SILENCE_S = 300.0

# Links whose last reading is long before the last ones of at least two links of that kind on the node.
VANISHED_SQL = f"""
with ends as (
    select node, interface, link_type, max(ts) as last_ts, count(distinct ts) as samples, arg_max(file, ts) as file, arg_max(line, ts) as line,
        max(elapsed_s) as longest_s
    from link_counters where ts is not null and value is not null and scope = 'link' and quality <> 'clock_skew' group by node, interface, link_type
), siblings as (
    select node, link_type, max(last_ts) as newest, max(last_ts, 2)[2] as second_newest, count(*) as ends from ends group by node, link_type
)
select e.node, e.interface, e.last_ts, s.newest, e.file, e.line from ends e join siblings s using (node, link_type)
where s.ends >= 3 and e.samples >= {_MIN_SAMPLES}
    and date_diff('second', e.last_ts, s.second_newest) > greatest(5 * e.longest_s, {_MIN_SILENCE_S})
order by e.node, e.interface
"""

NODES_SQL = """
select distinct node from link_counters where node <> '' union select distinct node from fabric_events where node <> ''
"""


def vanished_series(connection: Any) -> list[Finding]:
    """Link ends that fell silent while at least two siblings on the node went on."""
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


def silent_nodes(connection: Any, expected: Iterable[str]) -> list[Finding]:
    """Expected nodes (of the topology or of a run) without a single reading or event."""
    seen = {row[0] for row in connection.execute(NODES_SQL).fetchall()}
    return [
        Finding(
            component=component_id(node, ""),
            kind="no_telemetry",
            severity="info",
            role="context",
            reason=f"No counter, state or event of {node} is in this drop: nothing can be said of its links, neither good nor bad.",
            is_link=False,
        )
        for node in sorted(set(expected) - seen)
    ]


def _utc(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC")
