"""A home with a long history, made in bulk: drops in the lake, incidents and chained rows in the ledger.

One real drop is diagnosed; its rows and files stand for all others under other names, links, serials and
days. Old partitions of a table are one file under many names, so folders and footers cost what they cost,
while the disk does not hold the same rows ten thousand times. All values are invented.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.long_home_rows import AT, OldDrop, OldIncident, Rows, cluster_name
from fabric_pipeline.settings import Settings, project_root
from fabric_pipeline.store import lake
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dispatch_stages import dossier_stage
from fabric_pipeline.workflows.draft_drop import draft_stage
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    incident_stage,
    ingest_stage,
    link_counters_stage,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.inbox import claim
from fabric_pipeline.workflows.run_drops import begin_diagnosis

NEW_DROP = project_root() / "data" / "drops" / "crc-multibit-lane"
DROPS_PER_CLUSTER = 200
ACCUSED_SHARE = 5  # every fifth incident accuses a component; each of those is seen in three drops
SEEN_IN = 3
_REPORT = "ingest_report.json"


def make_home(home: Path, drops: int, incidents: int) -> Settings:
    """A home with so many old drops and incidents, and nothing of the new drop yet."""
    settings = Settings(root=project_root(), home=home)
    template = Settings(root=settings.root, home=home.with_name(f"{home.name}-template"))
    name = diagnose(template, NEW_DROP)
    past = _old_drops(drops)
    _fill_lake(template.lake, name, settings.lake, past)
    Rows(template, name).fill(settings, past, _old_incidents(template, name, past, incidents))
    return settings


def diagnose(settings: Settings, path: Path) -> str:
    """All stages of one drop up to its dossiers, as a run takes them; returns its id."""
    drop = claim(Ledger(settings.ledger), path, AT).drop_id
    begin_diagnosis(settings, drop, AT)
    ingest_stage(settings, drop, path, AT)
    for stage in (link_counters_stage, spike_stage, straggler_stage, correlation_stage):
        stage(settings, drop)
    incident_stage(settings, drop, AT)
    draft_stage(settings, drop, AT)
    dossier_stage(settings, drop, AT)
    return drop


def _old_drops(count: int) -> list[OldDrop]:
    """One drop a day of each cluster, the oldest first; the newest is of the day before the new drop."""
    found = []
    for number in range(count):
        cluster, place = divmod(number, DROPS_PER_CLUSTER)
        day = min(DROPS_PER_CLUSTER, count) - place
        start = datetime(2026, 11, 20, 10, tzinfo=UTC) - timedelta(days=day)
        found.append(OldDrop(f"pod-{cluster:03d}-{start:%Y%m%d}", cluster, day, start))
    return sorted(found, key=lambda one: (one.start, one.cluster))


def _old_incidents(
    template: Settings, name: str, past: Sequence[OldDrop], count: int
) -> list[OldIncident]:
    ends = _link_ends(template, name)
    by_cluster: dict[int, list[OldDrop]] = {}
    for one in past:
        by_cluster.setdefault(one.cluster, []).append(one)
    found = []
    for number in range(count):
        first = past[number % len(past)]
        accuses = number // len(past) % ACCUSED_SHARE == 0
        own = by_cluster[first.cluster]
        place = own.index(first) if number < len(past) else -1
        if place < 0:
            place = next(at for at, one in enumerate(own) if one.day == first.day)
        seen = own[place : place + SEEN_IN] if accuses else [first]
        digest = hashlib.sha256(f"incident {number}".encode()).hexdigest()[:12]
        end = ends[number * 7919 % len(ends)]
        found.append(OldIncident(number, f"INC-{digest}", end, accuses, seen))
    return found


def _link_ends(template: Settings, name: str) -> list[str]:
    with closing(lake_connection(template, "link_counters", name)) as con:
        rows = con.execute(
            "select distinct node || ':' || interface from link_counters where node <> '' order by 1"
        ).fetchall()
    return [row[0] for row in rows]


def lake_connection(settings: Settings, table: str, drop: str) -> Any:
    """A connection with one table of one drop."""
    from fabric_pipeline.store.duck import session

    con = session()
    lake.attach(con, settings.lake, table, drop)
    return con


def _fill_lake(source: Path, name: str, target: Path, past: Sequence[OldDrop]) -> None:
    """Every table of the template under the name of every old drop."""
    report = json.loads((source / "raw_telemetry" / f"drop={name}" / _REPORT).read_text())
    reports = target.parent / "reports"
    reports.mkdir(parents=True)
    for cluster in {one.cluster for one in past}:
        body = report | {"cluster": cluster_name(cluster)}
        (reports / f"{cluster}.json").write_text(json.dumps(body, indent=1))
    for table in lake.tables_of(source):
        (target / table).mkdir(parents=True)
        file = str(lake.part_path(source, table, name))
        for one in past:
            folder = f"{target}/{table}/drop={one.drop}"
            os.mkdir(folder)  # noqa: PTH102 - a hundred thousand of them
            os.link(file, f"{folder}/{lake.PART_FILE}")
            if table == "raw_telemetry":
                os.link(reports / f"{one.cluster}.json", f"{folder}/{_REPORT}")
