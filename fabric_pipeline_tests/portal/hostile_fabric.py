"""A small fabric whose every name tries to be something else than a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.workflows.fabric_lake import (
    Lake,
    all_ends,
    incident,
    spike,
    topology,
)

SCRIPT = '<script>alert("n004")</script>'
NAMES = (
    SCRIPT,
    "\u202egnp.exe\u202c \u200fא",
    "\"'><img src=x onerror=alert(1)>",
    "line\nbreak\tand\x07bell",
    "n" * 500,
    "=1+1",
    "../../etc/passwd?x=%2e#y",
    "</text></svg><script>alert(2)</script>",
)
EMPTY_TABLES = ("collective_timings", "fabric_events", "stragglers", "straggler_correlations")


def hostile_home(home: Path) -> Settings:
    """Every name, place, serial and label is hostile; each node has a degraded NVLink and a cable."""
    part = topology(NAMES)
    part.site = SCRIPT
    for node, name in zip(part.nodes, NAMES, strict=True):
        node.update(row=name, rack=name, serial=name, unit=name[:40])
        for device in (*node["gpus"], *node["nics"]):
            device.update(slot=name, serial=name, port_label=name, uuid=name)
    for switch in part.switches:
        switch.update(rack=SCRIPT, unit=SCRIPT, serial=NAMES[2])
    for link in part.links:
        link["cable"] = link["part"] = NAMES[2]
    lake = Lake(home, "hostile").topology(part).counters(all_ends(part))
    ends = [(name, "gpu1/nvlink-2") for name in NAMES] + [(name, "mlx5_0/1") for name in NAMES[:3]]
    lake.spikes(*(_hit(end) for end in ends))
    lake.incidents(
        *(
            incident(n, f"{node}:{port}", "CRITICAL", drop="hostile", summary=f"{node} erred.")
            for n, (node, port) in enumerate(ends)
        )
    )
    for table in EMPTY_TABLES:
        lake.write(table, [])
    return lake.settings


def _hit(end: tuple[str, str]) -> dict[str, Any]:
    return spike(end, "replay", 4000)
