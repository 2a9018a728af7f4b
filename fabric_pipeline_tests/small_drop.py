"""Writes a small normalized drop: two nodes, 40 minutes, two bad NVLinks that each slow one run.

Big enough to end in two tickets, small enough to go through the whole pipeline in seconds. What is in
it is invented here; nothing is copied from a site.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 6, 7, tzinfo=UTC)
MINUTES = 40
NODES = ("calc-r1-n1", "calc-r1-n2")
GPUS, LINKS = 2, 3
# Link end -> minutes in which it counts replays and its run is slow.
FAULTS = {("calc-r1-n1", 1, 2): (10, 28), ("calc-r1-n2", 0, 1): (6, 22)}
REPLAYS_A_MINUTE = 90
BASELINE_US, SLOW_US = 800.0, 2000.0
BAD_LINKS = ("calc-r1-n1:gpu1/nvlink-2", "calc-r1-n2:gpu0/nvlink-1")


def write_drop(
    folder: Path,
    *,
    faulty: bool = True,
    note: str = "",
    faults: dict[tuple[str, int, int], tuple[int, int]] | None = None,
) -> Path:
    """The drop in `folder`; another `note` gives other bytes and the same incidents.

    `faults` stands for `FAULTS`, in the same form.
    """
    folder.mkdir(parents=True, exist_ok=True)
    faults = (FAULTS if faults is None else faults) if faulty else {}
    meta = f'cluster: "larch"\nsite: "test-hall"\ntimezone: "UTC"\n# {note}\n'
    (folder / "drop.yaml").write_text(meta, encoding="utf-8")
    with (folder / "counters.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["ts", "node", "socket", "gpu", "link_type", "link", "replay", "crc_multi_bit"]
        )
        writer.writerows(_counter_rows(faults))
    with (folder / "collectives.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["run", "comm", "seq", "op", "bytes", "ts", "node", "duration_us", "baseline_us"]
        )
        writer.writerows(_collective_rows(faults))
    runs = [_run(node) for node in NODES]
    (folder / "runs.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in runs))
    (folder / "topology.json").write_text(json.dumps(_topology()))
    return folder


def _times(step_s: int) -> Iterator[tuple[int, datetime]]:
    return (
        (number, START + timedelta(seconds=number * step_s))
        for number in range(MINUTES * 60 // step_s)
    )


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _counter_rows(faults: dict[tuple[str, int, int], tuple[int, int]]) -> Iterator[list[object]]:
    for minute, moment in _times(60):
        for node in NODES:
            for gpu in range(GPUS):
                for link in range(LINKS):
                    first, last = faults.get((node, gpu, link), (0, 0))
                    bad_minutes = max(0, min(minute, last) - first)
                    replays, crc = bad_minutes * REPLAYS_A_MINUTE, bad_minutes * 11
                    end = f"gpu{gpu}/nvlink-{link}"
                    yield [_iso(moment), node, 0, gpu, "nvlink", end, replays, crc]


def _collective_rows(
    faults: dict[tuple[str, int, int], tuple[int, int]],
) -> Iterator[list[object]]:
    for number, moment in _times(10):
        for node in NODES:
            minute = number * 10 / 60
            slow = any(
                where == node and first <= minute < last
                for (where, _, _), (first, last) in faults.items()
            )
            duration = (SLOW_US if slow else BASELINE_US) + number % 7
            yield [
                f"train-{node}", "tp-0", number, "all_reduce", 67108864, _iso(moment), node,
                duration, BASELINE_US,
            ]  # fmt: skip


def _run(node: str) -> dict[str, object]:
    end = START + timedelta(minutes=MINUTES)
    return {"run": f"train-{node}", "nodes": [node], "start": _iso(START), "end": _iso(end)}


def _topology() -> dict[str, object]:
    nodes = [
        {
            "node": node,
            "row": "A",
            "rack": "r1",
            "unit": f"U{10 + place}",
            "serial": f"SN-{place}",
            "sockets": [0],
            "gpus": [
                {"gpu": gpu, "socket": 0, "uuid": f"GPU-{place}{gpu}", "serial": f"S{place}{gpu}"}
                for gpu in range(GPUS)
            ],
            "nvswitches": [{"nvswitch": "nvswitch-0", "ports": 8}],
        }
        for place, node in enumerate(NODES)
    ]
    links = [
        {
            "id": f"L-{node}-{gpu}-{link}",
            "type": "nvlink",
            "a": {"node": node, "port": f"gpu{gpu}/nvlink-{link}"},
            "b": {"node": node, "port": f"nvswitch-0/port-{gpu * LINKS + link}"},
            "lanes": 2,
            "speed_gbps": 200,
        }
        for node in NODES
        for gpu in range(GPUS)
        for link in range(LINKS)
    ]
    return {"site": "test-hall", "nodes": nodes, "switches": [], "links": links}
