"""What a topology states for tickets is the same after the lake as before it, and reaches the ticket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.drafting.catalogue import load_catalogue
from fabric_pipeline.drafting.rules_draft import draft_by_rules
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    drop_tables,
    incident_stage,
    ingest_stage,
    link_counters_stage,
    spike_stage,
    straggler_stage,
    topology_of,
)
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT
from fabric_pipeline_tests.small_drop import BAD_LINKS, write_drop

SERVICE = {"contact": "dc-operations desk", "sla": {"urgent": "4 hours", "high": "8 hours"}}
SPARE = {
    "part": "gpu-module-h100",
    "fits": "HGX H100",
    "location": "store 2, shelf 1",
    "quantity": 2,
}


def richer(topology: dict[str, Any]) -> dict[str, Any]:
    for node in topology["nodes"]:
        node |= {"hall": "H1", "cage": "C3", "face": "front", "asset_tag": f"A-{node['node'][-1]}", "platform": "HGX H100"}  # fmt: skip
    return topology | {"service": SERVICE, "spares": [SPARE]}


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    folder = write_drop(tmp_path / "drop")
    file = folder / "topology.json"
    file.write_text(json.dumps(richer(json.loads(file.read_text()))))
    return folder


def test_facts_survive_the_lake_and_stand_on_the_ticket(drop: Path, tmp_path: Path) -> None:
    settings = Settings(root=ROOT, home=tmp_path / "home")
    results, report = ingest_stage(settings, "d", drop, NOW)
    assert [one.violations for one in results if one.violations] == []
    assert report.conflicts == []
    link_counters_stage(settings, "d")
    with drop_tables(settings, "d", ["fabric_topology"]) as connection:
        stored = topology_of(connection)
    assert (stored.service, stored.spares) == (SERVICE, [SPARE])
    assert stored.nodes["calc-r1-n1"]["asset_tag"] == "A-1"
    for stage in (spike_stage, straggler_stage, correlation_stage):
        stage(settings, "d")
    _, records = incident_stage(settings, "d", NOW)
    record = next(one for one in records if one.isolated_component == BAD_LINKS[0])
    ticket = draft_by_rules(record, load_catalogue(settings.catalogue))
    assert (ticket.hall, ticket.cage, ticket.face, ticket.asset_tag) == ("H1", "C3", "front", "A-1")
    assert ticket.contact == "dc-operations desk"
    assert ticket.sla == SERVICE["sla"][ticket.priority]  # type: ignore[index]
    assert ticket.parts[0].name == "GPU module (SXM5)"
    assert ticket.parts[0].spare_location == "store 2, shelf 1 (2 in stock)"
