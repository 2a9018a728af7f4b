"""An invented fabric in a small lake: two racks, four GPUs a node, one leaf and one spine.

Rows have the shape of the schemas; topology rows and incident records are made by the project's own
code, so that the pictures are tested on what the pipeline really writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fabric_pipeline.incidents.record import IncidentRecord, Symptom
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import write_table
from fabric_pipeline.workflows.topology_rows import topology_rows

START = datetime(2031, 5, 6, 7, 0, tzinfo=UTC)
NODES = ("ada-01", "ada-02", "bob-01")
LINKS = 6
End = tuple[str, str]


def settings(home: Path) -> Settings:
    return Settings(root=home, home=home / "warehouse")


def topology(names: Sequence[str] = NODES) -> TopologyPart:
    """Nodes in racks by the first letter; each GPU has six NVLinks to two NVSwitches."""
    part = TopologyPart(site="harbour-9")
    for place, name in enumerate(names):
        part.nodes.append(_node(name, place))
        part.links += [_nvlink(name, gpu, link) for gpu in range(4) for link in range(LINKS)]
        part.links += [_pcie(name, f"gpu{gpu}", f"pcie-switch-{gpu // 2}", gpu) for gpu in range(4)]
        part.links += [
            _pcie(name, f"mlx5_{nic}", f"pcie-switch-{nic}", 8 + nic) for nic in range(2)
        ]
        part.links += [_cable(name, nic, place) for nic in range(2)]
    part.switches = [
        {"name": "leaf-0", "tier": "leaf", "rack": "S", "unit": "U40"},
        {"name": "spine-0", "tier": "spine", "rack": "S", "unit": "U42"},
    ]
    uplink = {"switch": "leaf-0", "port": "port-33"}, {"switch": "spine-0", "port": "port-1"}
    part.links.append({"id": "up-1", "type": "infiniband", "a": uplink[0], "b": uplink[1]})
    return part


def all_ends(part: TopologyPart) -> list[End]:
    """Both ends of every link, as `link_counters` names them."""
    ends = []
    for link in part.links:
        for end in (link["a"], link["b"]):
            port = str(end["port"])
            if end.get("switch"):
                ends.append(("", f"{end['switch']}/{port}"))
            else:
                ends.append((str(end["node"]), port))
    return ends


class Lake:
    """Writes the tables of one drop."""

    def __init__(self, home: Path, drop: str = "d1") -> None:
        self.settings = settings(home)
        self.drop = drop
        self._connection = session()

    def topology(self, *parts: TopologyPart) -> Lake:
        """One file for each part."""
        stated = [
            row
            for number, part in enumerate(parts)
            for row in topology_rows(f"topology-{number}.json", part)
        ]
        added = ("drop", "entry", "file_sha256")
        names = [n for n in TABLES["fabric_topology"].column_names if n not in added]
        rows = [
            self._row("fabric_topology", entry=entry, **dict(zip(names, row, strict=True)))
            for entry, row in enumerate(stated, 1)
        ]
        return self.write("fabric_topology", rows)

    def counters(self, ends: Iterable[End], counter: str = "replay", **changes: Any) -> Lake:
        """Two quiet samples for each end."""
        quiet = {"counter": counter, "kind": "cumulative", "scope": "link", "value": 0.0, "delta": 0.0,
                 "elapsed_s": 3600.0, "quality": "ok", **changes}  # fmt: skip
        rows = [
            self._row(
                "link_counters", node=node, interface=interface, link_type=_type(interface),
                sample=sample, ts=START + timedelta(hours=sample), **quiet,
            )
            for node, interface in ends
            for sample in (1, 2)
        ]  # fmt: skip
        return self.write("link_counters", rows)

    def spikes(self, *rows: dict[str, Any]) -> Lake:
        return self.write(
            "spike_detections", [self._row("spike_detections", **row) for row in rows]
        )

    def incidents(self, *records: IncidentRecord) -> Lake:
        rows = []
        for record in records:
            values = record.model_dump(mode="json") | {"record": record.model_dump_json()}
            values["evidence_sha256"] = "0" * 64
            rows.append([values.get(name) for name in TABLES["incident_records"].column_names])
        return self.write("incident_records", rows)

    def judged(self) -> Lake:
        """No spike and no incident: the diagnosis ran and found nothing."""
        return self.spikes().incidents()

    def write(self, name: str, rows: Sequence[Sequence[Any]]) -> Lake:
        table = TABLES[name]
        self._connection.execute(f"create or replace temp table {name} as {table.empty_sql()}")
        insert_columns(self._connection, name, [(c.name, c.type) for c in table.columns], rows)
        write_table(self._connection, name, self.settings.lake, name, self.drop)
        return self

    def _row(self, name: str, **values: Any) -> list[Any]:
        blank = {c.name: None if c.nullable else "" for c in TABLES[name].columns}
        filled = blank | {"drop": self.drop} | values
        return [filled[column] for column in TABLES[name].column_names]


def spike(
    end: End, counter: str, events: float, hours: float = 1.0, **changes: Any
) -> dict[str, Any]:
    """One interval of errors, or with `hours=0` a total without a time span."""
    seconds = hours * 3600 if hours else None
    hit = {
        "rule_id": "some_rule",
        "severity": changes.get("severity", "info"),
        "says": "too many",
        "value": "9",
        "limit": "5",
        "source": "x",
    }
    return {
        "node": end[0], "interface": end[1], "link_type": _type(end[1]), "counter": counter, "scope": "link", "spike": 1,
        "error_class": "detected_retransmitted", "class_basis": "proxy", "events": events, "series_events": events,
        "start_ts": START if hours else None, "end_ts": START + timedelta(hours=hours) if hours else None,
        "exposure_s": seconds, "series_exposure_s": seconds, "rate_per_hour": events / hours if hours else None,
        "peers": 3, "is_lower_bound": "no", "rules": json.dumps([hit]), "severity": "info", **changes,
    }  # fmt: skip


def incident(number: int, component: str, severity: str, **changes: Any) -> IncidentRecord:
    values: dict[str, Any] = {
        "incident_id": f"INC-{number:012x}", "drop": "d1", "isolated_component": component, "severity": severity,
        "role": "cause", "fault_type": "physical_link_degradation", "ticket_priority": "normal", "action_code": "look",
        "action_text": "look at it", "summary": f"{component} counted errors.", "confidence": 0.75,
    }  # fmt: skip
    return IncidentRecord(**(values | changes))


def symptom(component: str, kind: str = "late_rank") -> Symptom:
    return Symptom(component=component, kind=kind, reason="it follows")


def healthy_lake(home: Path) -> Lake:
    """Everything measured, nothing found."""
    part = topology()
    return Lake(home).topology(part).counters(all_ends(part)).judged()


def _node(name: str, place: int) -> dict[str, Any]:
    return {
        "node": name, "row": "K", "rack": name[0].upper(), "unit": f"U{10 * place + 2:02d}", "serial": f"SER{place}", "sockets": [0, 1],
        "gpus": [{"gpu": g, "socket": g // 2, "slot": f"SLOT-{g}", "pci": f"0000:{g + 16:02x}:00.0", "pcie_switch": f"pcie-switch-{g // 2}"}
                 for g in range(4)],
        "nvswitches": [{"nvswitch": "nvswitch-0"}, {"nvswitch": "nvswitch-1"}],
        "pcie_switches": [{"pcie_switch": "pcie-switch-0", "socket": 0}, {"pcie_switch": "pcie-switch-1", "socket": 1}],
        "nics": [{"hca": f"mlx5_{n}", "socket": n, "pcie_switch": f"pcie-switch-{n}", "port_label": f"CAGE{n}"} for n in range(2)],
    }  # fmt: skip


def _nvlink(name: str, gpu: int, link: int) -> dict[str, Any]:
    far = f"nvswitch-{link // 3}/port-{gpu * 3 + link % 3}"
    near = f"gpu{gpu}/nvlink-{link}"
    ends = {"node": name, "port": near}, {"node": name, "port": far}
    return {
        "id": f"{name}:{near}",
        "type": "nvlink",
        "a": ends[0],
        "b": ends[1],
        "lanes": 2,
        "part": "board",
    }


def _pcie(name: str, device: str, switch: str, port: int) -> dict[str, Any]:
    ends = (
        {"node": name, "port": f"{device}/pcie"},
        {"node": name, "port": f"{switch}/port-{port + 1}"},
    )
    return {"id": f"{name}:{device}/pcie", "type": "pcie", "a": ends[0], "b": ends[1]}


def _cable(name: str, nic: int, place: int) -> dict[str, Any]:
    ends = (
        {"node": name, "port": f"mlx5_{nic}/1"},
        {"switch": "leaf-0", "port": f"port-{place * 2 + nic + 1}"},
    )
    return {
        "id": f"{name}:mlx5_{nic}/1",
        "type": "infiniband",
        "a": ends[0],
        "b": ends[1],
        "cable": f"CAB-{place}{nic}",
    }


def _type(interface: str) -> str:
    if "nvlink" in interface or "nvswitch" in interface:
        return "nvlink"
    return "pcie" if "pci" in interface else "infiniband"
