"""Records of machines that no source names: each its own incident, none with the place of another."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology

PLACE = "unknown:gpu3/nvlink-4"


def said(machine: str, **changes: Any) -> Finding:
    stated = {"role": "cause", "severity": "critical", "kind": "physical_link_degradation"}
    return Finding(
        PLACE, reason="x.", evidence=[EvidenceRef("A.txt", 3)], machine=machine, **stated | changes
    )


def test_two_machines_that_nobody_names_are_two_incidents_without_a_place() -> None:
    gpus = [{"gpu": 3, "uuid": "GPU-of-the-first"}]
    context = Context("d1", topology=Topology([TopologyPart(nodes=[{"node": "", "gpus": gpus}])]))
    follows = said("B.txt", kind="sxid", role="symptom", severity="watch", cause=PLACE)
    first, second = build_incidents([said("A.txt"), said("B.txt"), follows], context)
    assert first.incident_id != second.incident_id
    assert {first.place.gpu_uuid, second.place.gpu_uuid} == {""}, "the map may be of the other one"
    assert (len(first.symptoms), len(second.symptoms)) == (0, 1)
    (alone,) = build_incidents([said("")], context)
    assert alone.incident_id not in (first.incident_id, second.incident_id)
    assert alone.place.gpu_uuid == "GPU-of-the-first"
