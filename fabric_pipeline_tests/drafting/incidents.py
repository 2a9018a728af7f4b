"""Incident records for the drafting tests, built by hand with invented names and figures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fabric_pipeline.incidents.record import (
    Alternative,
    Evidence,
    FiredRule,
    IncidentRecord,
    Place,
    Symptom,
)

FIRST = datetime(2026, 3, 14, 2, 17, tzinfo=UTC)
LAST = datetime(2026, 3, 14, 9, 41, tzinfo=UTC)


def nvlink_incident(**changes: Any) -> IncidentRecord:
    """NVLink 13 of GPU 6 on a known HGX H100 node in a known rack, two symptoms, three alternatives."""
    fields: dict[str, Any] = {
        "incident_id": "INC-9f31c2",
        "drop": "drop-2026-03-14",
        "first_seen": FIRST,
        "last_seen": LAST,
        "isolated_component": "trn-b07-n03:gpu6/nvlink-13",
        "far_end": "trn-b07-n03:nvswitch-2/port-27",
        "place": Place(
            node="trn-b07-n03",
            site="LUX2",
            row="B",
            rack="B07",
            unit="21",
            node_serial="SN77K04512",
            socket=1,
            gpu=6,
            gpu_uuid="GPU-5b1d0c9e",
            gpu_serial="1654822003117",
            gpu_slot="SXM7",
            pci="0000:ab:00.0",
        ),
        "link_type": "nvlink",
        "fabric_or_switch_port": "nvswitch-2/port-27",
        "part_reference": "nvlink-hgx-h100",
        "fault_type": "physical_link_degradation",
        "error_class": "corrected_multi",
        "class_basis": "reported",
        "severity": "CRITICAL",
        "ticket_priority": "urgent",
        "action_code": "reseat_or_replace_gpu_module",
        "action_text": "Reseat the GPU module in slot SXM7, then swap to isolate",
        "summary": "NVLink 13 of GPU 6 logged 31,407 CRC errors in 7.4 hours; its 17 siblings logged 0.",
        "reasoning": ["31,407 CRC errors stand against 0 on 17 sibling links."],
        "degradation_pct": 61.3462,
        "latency_us": 1342.5,
        "baseline_us": 832.0,
        "affected_runs": ["run-442"],
        "affected_ranks": [30, 31],
        "gpu_hours_lost": 212.8,
        "straggler_p_value": 0.00021,
        "confidence": 0.97,
        "alternatives": [
            Alternative(
                explanation="A bad NVSwitch port",
                why_set_aside="port 26 and port 28 of it are clean",
            ),
            Alternative(
                explanation="A slow GPU", why_set_aside="its compute time equals its peers"
            ),
        ],
        "symptoms": [
            Symptom(
                component="trn-b07-n03:gpu2/nvlink-4", kind="late_arrival", reason="waits for GPU 6"
            ),
        ],
        "rules": [
            FiredRule(
                rule_id="nvlink_crc_rate",
                says="CRC rate",
                value="70.7 a minute",
                limit="1 a minute",
            )
        ],
        "numbers": {"crc_errors": 31407, "hours": 7.4, "siblings": 17},
        "evidence": [
            Evidence(
                evidence_id="E1",
                file="counters.csv",
                sha256="0" * 64,
                line=812,
                last_line=1255,
                excerpt="2026-03-14T02:17:00Z,trn-b07-n03,gpu6/nvlink-13,crc_flit,31407",
                says="crc_flit of gpu6/nvlink-13 rises from 0 to 31,407",
            ),
            Evidence(
                evidence_id="E2",
                file="collectives.csv",
                sha256="1" * 64,
                line=90,
                excerpt="run-442,all_reduce,1342.5",
                says="All-reduce of run-442 takes 1,342.5 µs against a baseline of 832 µs",
            ),
        ],
        "evidence_sha256": "a" * 64,
    }
    return IncidentRecord(**{**fields, **changes})


def infiniband_incident(**changes: Any) -> IncidentRecord:
    """An NDR cable whose transceiver type the topology names, with a port label printed on the box."""
    fields: dict[str, Any] = {
        "incident_id": "INC-20ab77",
        "drop": "drop-2026-03-14",
        "first_seen": FIRST,
        "isolated_component": "trn-b02-n11:mlx5_4/1",
        "far_end": "unknown:leaf-6/port-19",
        "place": Place(node="trn-b02-n11", rack="B02", unit="9", port_label="OSFP2P2"),
        "link_type": "infiniband",
        "fabric_or_switch_port": "leaf-6/port-19",
        "cable_id": "C-20411",
        "part_reference": "MMA4Z00-NS",
        "fault_type": "link_flapping",
        "severity": "WARNING",
        "ticket_priority": "high",
        "action_code": "clean_then_replace_transceivers",
        "action_text": "Clean and reinsert the fibre, then replace the transceivers at both ends",
        "summary": "mlx5_4/1 of trn-b02-n11 went down 6 times in 11 hours; its peers did not.",
        "confidence": 0.9,
        "numbers": {"link_downed": 6},
        "evidence": [
            Evidence(evidence_id="E1", file="ib.txt", line=4, says="link_downed rises by 6")
        ],
    }
    return IncidentRecord(**{**fields, **changes})


def pcie_incident(**changes: Any) -> IncidentRecord:
    """A PCIe link without any topology: no rack, no far end, no part reference."""
    fields: dict[str, Any] = {
        "incident_id": "INC-5510de",
        "drop": "drop-2026-03-14",
        "isolated_component": "trn-c01-n08:gpu3/pcie",
        "link_type": "pcie",
        "fault_type": "width_or_speed_downgrade",
        "severity": "WARNING",
        "ticket_priority": "normal",
        "action_code": "reseat_card_or_riser",
        "action_text": "Reseat the card, then the riser",
        "summary": "GPU 3 runs at 8 of 16 lanes under load, with 2,210 replays an hour.",
        "confidence": 0.8,
        "numbers": {"width": 8, "max_width": 16, "replays_per_hour": 2210},
        "evidence": [
            Evidence(
                evidence_id=f"E{number}", file="smi.txt", line=number, says=f"reading {number}"
            )
            for number in range(1, 15)
        ],
    }
    return IncidentRecord(**{**fields, **changes})


def unplaced_incident(**changes: Any) -> IncidentRecord:
    """NVLink of a node that no topology describes, from a record without any evidence file."""
    bare = {"place": Place(), "part_reference": "", "fabric_or_switch_port": "", "far_end": ""}
    return nvlink_incident(**{**bare, "evidence": [], "symptoms": [], **changes})
