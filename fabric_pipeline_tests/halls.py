"""A drop of seven nodes in two files, for tests that cut drops into shards. Everything in it is invented."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from fabric_pipeline.engine.base import Done
from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.accounting import table_sha256
from fabric_pipeline_tests.pipeline_runs import ROOT, diagnose_without_dagster
from fabric_pipeline_tests.small_drop import START

DROP, NODES = "hall", tuple(f"calc-{number:02d}" for number in range(7))
HEADER = "ts,node,link_type,link,counter,value"
READINGS_OF_A_NODE = 2 * 3 * 40
JUDGED = ("spike_detections", "stragglers", "straggler_correlations", "incident_records")


class Losing(LocalEngine):
    """Loses one shard, as workers that are killed again and again would."""

    def __init__(self, number: int) -> None:
        self._number = number

    def map(self, work: Any, items: Any, **said: Any) -> list[Done[Any]]:
        done = super().map(work, items, **said)
        lost: Done[Any] = Done(self._number, None, "its worker was killed 3 times")
        return [lost if one.number == self._number else one for one in done]


def write_hall(folder: Path) -> Path:
    """One link bursts, others drizzle, restart, come twice, late, without a node or unreadable."""
    lines: list[str] = []
    for minute in range(40):
        at = (START + timedelta(minutes=minute)).isoformat()
        for number, node in enumerate(NODES):
            for link in range(3):
                burst = 900 * max(0, min(minute - 9, 20)) if (number, link) == (4, 1) else 0
                replay = burst + (minute // 7 if number % 2 else 0)
                if (number, link) == (2, 0) and minute > 25:
                    replay = minute - 26
                for counter, value in (("replay", replay), ("rx_bytes", minute * 10**9)):
                    lines.append(f"{at},{node},nvlink,gpu0/nvlink-{link},{counter},{value}")
    late = lines.pop(300)
    lines += [late, lines[500], f"{START.isoformat()},calc-03,nvlink,gpu0/nvlink-0,replay,many"]
    lines.append(f"{START.isoformat()},,nvlink,gpu0/nvlink-0,replay,4")
    folder.mkdir(parents=True)
    for name, nodes in (("a.csv", ("", *NODES[:4])), ("b.csv", NODES[4:])):
        mine = [line for line in lines if line.split(",")[1] in nodes]
        (folder / name).write_text("\n".join([HEADER, *mine]) + "\n", encoding="utf-8")
    (folder / "drop.yaml").write_text('cluster: "alder"\n', encoding="utf-8")
    return folder


def diagnosed(home: Path, hall: Path, most: int, **changes: Any) -> Settings:
    """The drop taken through all stages in shards of at most `most` readings."""
    settings = replace(Settings(root=ROOT, home=home, shard_readings=most), **changes)
    diagnose_without_dagster(settings, hall)
    return settings


def judged(settings: Settings) -> dict[str, str]:
    """Hashes of the tables that say what was found."""
    return {name: table_sha256(settings, name, DROP) for name in JUDGED}


def rows_sha256(settings: Settings, table: str) -> str:
    """Hash over all rows of a table in their order."""
    with session() as connection:
        assert lake.attach(connection, settings.lake, table, DROP)
        rows = connection.execute(f"from {table}").fetchall()
    return hashlib.sha256(repr(rows).encode()).hexdigest()
