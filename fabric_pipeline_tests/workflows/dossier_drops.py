"""A tiny drop with one bad link, its tables in a lake, and its incidents: the ground of the dossier tests."""

from __future__ import annotations

import atexit
import csv
import json
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    incident_stage,
    ingest_stage,
    link_counters_stage,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.inbox import claim

START = datetime(2031, 3, 4, 6, tzinfo=UTC)
STEP_S = 30
SAMPLES = 40
BAD = range(15, 30)  # samples in which the bad link counts errors and the run is slow
NODES = ("calc-01", "calc-02", "calc-03")
HOSTILE = ("=cmd()|calc", "<script>alert(1)</script>", "'; drop table x; --")


@dataclass(frozen=True)
class World:
    """A lake and ledger with one processed drop."""

    drop: Path
    settings: Settings
    ledger: Ledger
    records: list[IncidentRecord]

    @property
    def accused(self) -> IncidentRecord:
        """The one incident that accuses a link."""
        (record,) = [record for record in self.records if record.needs_ticket]
        return record


def make_world(home: Path, nodes: tuple[str, str, str] = NODES) -> World:
    """Write the drop, run all stages and fill the lake. The bad link is GPU 1, NVLink 2 of `nodes[0]`.

    The tables are made once for each choice of nodes and copied; claiming and judging are done anew.
    """
    drop = home / "drops" / "tiny"
    write_drop(drop, nodes)
    settings = Settings(root=home, home=home / "warehouse")
    ledger = Ledger(settings.ledger)
    drop_id = claim(ledger, drop, START).drop_id
    shutil.copytree(_tables(nodes), settings.home, dirs_exist_ok=True)
    return World(drop, settings, ledger, incident_stage(settings, drop_id, START)[1])


_KEPT = tempfile.TemporaryDirectory(prefix="dossier-tables-")
atexit.register(_KEPT.cleanup)


@cache
def _tables(nodes: tuple[str, str, str]) -> Path:
    """A home with all tables of the drop and no ledger."""
    folder = Path(_KEPT.name) / str(_tables.cache_info().misses)
    write_drop(folder / "tiny", nodes)
    settings = Settings(root=folder, home=folder / "warehouse")
    process(folder / "tiny", settings, Ledger(settings.ledger))
    for file in settings.home.glob(f"{settings.ledger.name}*"):
        file.unlink()
    return settings.home


def process(
    drop: Path, settings: Settings, ledger: Ledger, at: datetime = START
) -> list[IncidentRecord]:
    """The stages of the pipeline over one drop, as the assets chain them; all recorded at `at`."""
    drop_id = claim(ledger, drop, at).drop_id
    ingest_stage(settings, drop_id, drop, at + timedelta(days=1))
    for stage in (link_counters_stage, spike_stage, straggler_stage, correlation_stage):
        assert not stage(settings, drop_id).violations
    return incident_stage(settings, drop_id, at)[1]


def write_drop(drop: Path, nodes: tuple[str, str, str]) -> None:
    """Counters of two links per node, collectives of one run over all nodes, topology, one event."""
    drop.mkdir(parents=True)
    _write_counters(drop / "counters.csv", nodes)
    _write_collectives(drop / "collectives.csv", nodes[0])
    run = {"run": "train-7", "nodes": list(nodes), "start": _time(0), "end": _time(SAMPLES)}
    (drop / "runs.jsonl").write_text(json.dumps(run) + "\n")
    event = {"ts": _time(16), "node": nodes[0], "component": "gpu1", "kind": "note"}
    text = "@SUM(1+1) link retrained, said the log"
    (drop / "events.jsonl").write_text(json.dumps({**event, "text": text}) + "\n")
    (drop / "topology.json").write_text(json.dumps(_topology(nodes), indent=1))


def _write_counters(path: Path, nodes: tuple[str, str, str]) -> None:
    with path.open("w", newline="") as handle:
        out = csv.writer(handle)
        out.writerow(
            ["ts", "node", "gpu", "link_type", "link", "crc_single_bit", "crc_multi_bit", "replay"]
        )
        for sample in range(SAMPLES):
            bad = sum(1 for number in BAD if number <= sample)
            for place, node in enumerate(nodes):
                for gpu, link in ((0, 0), (1, 2)):
                    hit = bad if place == 0 and gpu == 1 else 0
                    name = f"gpu{gpu}/nvlink-{link}"
                    counts = [7 * hit, 90 * hit, 11 * hit]
                    out.writerow([_time(sample), node, gpu, "nvlink", name, *counts])
                    port = f"nvswitch-{gpu}/port-{link}"
                    out.writerow([_time(sample), node, "", "nvlink", port, 0, 0, 95 * hit])


def _write_collectives(path: Path, node: str) -> None:
    with path.open("w", newline="") as handle:
        out = csv.writer(handle)
        out.writerow(
            [
                "run",
                "comm",
                "seq",
                "op",
                "bytes",
                "ts",
                "rank",
                "node",
                "gpu",
                "duration_us",
                "baseline_us",
            ]
        )
        for seq in range(SAMPLES * 2):
            at = START + timedelta(seconds=seq * STEP_S / 2)
            slow = (seq + 1) // 2 in BAD
            duration = (1700 if slow else 1000) + seq % 5
            row = ["train-7", "tp-0", seq, "all_reduce", 1 << 20, at.isoformat(), "", node, ""]
            out.writerow([*row, duration, 1000])


def _topology(nodes: tuple[str, str, str]) -> dict[str, object]:
    links = [
        {
            "id": f"{node} {gpu}",
            "type": "nvlink",
            "a": {"node": node, "port": f"gpu{gpu}/nvlink-{link}"},
            "b": {"node": node, "port": f"nvswitch-{gpu}/port-{link}"},
        }
        for node in nodes
        for gpu, link in ((0, 0), (1, 2))
    ]
    listed = [{"node": node, "rack": "r4", "gpus": [{"gpu": 0}, {"gpu": 1}]} for node in nodes]
    return {"site": "here", "nodes": listed, "switches": [], "links": links}


def _time(sample: int) -> str:
    return (START + timedelta(seconds=sample * STEP_S)).isoformat()


def rehash(bag: Path) -> None:
    """What a careful forger does: all manifests fit the files again."""
    payload = sorted(path for path in (bag / "data").rglob("*") if path.is_file())
    names = sorted(path.relative_to(bag).as_posix() for path in payload)
    lines = [f"{sha256_of(bag / name)}  {name}\n" for name in names]
    (bag / "manifest-sha256.txt").write_text("".join(lines))
    info = (bag / "bag-info.txt").read_text().splitlines()
    oxum = f"Payload-Oxum: {sum(path.stat().st_size for path in payload)}.{len(payload)}"
    info = [oxum if line.startswith("Payload-Oxum") else line for line in info]
    (bag / "bag-info.txt").write_text("\n".join(info) + "\n")
    tags = ("bagit.txt", "bag-info.txt", "manifest-sha256.txt")
    text = "".join(f"{sha256_of(bag / tag)}  {tag}\n" for tag in tags)
    (bag / "tagmanifest-sha256.txt").write_text(text)
