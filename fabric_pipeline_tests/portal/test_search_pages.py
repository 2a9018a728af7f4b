"""One field finds everything by what is printed on it, and leads straight there when only one thing fits."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.fabric_search import search
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.portal.serving import ask

TOPOLOGY = json.loads((ROOT / "data" / "drops" / "crc-multibit-lane" / "topology.json").read_text())


def goes_to(url: str, asked: str) -> str:
    answer = ask(url, f"/search?q={quote(asked)}")
    assert answer.status == 303, answer.text[-3000:]
    return answer.headers["location"]


def test_what_is_printed_on_a_thing_leads_to_it(portal_url: str) -> None:
    node = TOPOLOGY["nodes"][2]
    cable = next(link for link in TOPOLOGY["links"] if link.get("cable") and "node" in link["a"])
    page = f"/links/{quote(cable['a']['node'] + ':' + cable['a']['port'], safe='')}"
    assert goes_to(portal_url, node["node"]) == f"/nodes/{node['node']}"
    assert goes_to(portal_url, node["serial"].lower()) == f"/nodes/{node['node']}"
    assert goes_to(portal_url, node["gpus"][3]["uuid"]) == f"/nodes/{node['node']}"
    assert goes_to(portal_url, node["gpus"][3]["serial"]) == f"/nodes/{node['node']}"
    assert goes_to(portal_url, node["nics"][0]["serial"]) == f"/nodes/{node['node']}"
    assert goes_to(portal_url, cable["cable"]) == page
    assert (
        goes_to(portal_url, f"{node['node']}:gpu5/nvlink-11")
        == f"/links/{node['node']}%3Agpu5%2Fnvlink-11"
    )
    assert goes_to(portal_url, "leaf-2/port-3").startswith("/links/")
    assert goes_to(portal_url, node["rack"]) == f"/racks/{node['rack']}"


def test_incidents_and_tickets_are_found(portal_url: str, home: Settings) -> None:
    incident = load_fabric_view(home, "crc-multibit-lane").incidents[0].incident_id
    assert goes_to(portal_url, incident) == f"/incidents/{incident}"
    ticket = Ledger(home.ledger).tickets()[0].ticket_id
    assert goes_to(portal_url, ticket.lower()) == f"/tickets/{ticket}"


def test_a_part_of_a_name_gives_groups(portal_url: str) -> None:
    answer = ask(portal_url, "/search?q=gpu-r11&drop=missing-data")
    assert answer.status == 200
    for said in (
        "Nodes",
        "Links and cables",
        'href="/nodes/gpu-r11-n01?drop=missing-data"',
        "more; ask for more",
    ):
        assert said in answer.text


@pytest.mark.parametrize(
    "asked", ["", "   ", "no-such-thing-anywhere", "%_", "'; drop table x; --", "\u202e", "\\"]
)
def test_what_is_not_there_is_said(portal_url: str, asked: str) -> None:
    answer = ask(portal_url, f"/search?q={quote(asked)}")
    assert answer.status == 200
    assert ("Nothing in this drop" in answer.text) == bool(asked.strip())


def test_an_exact_hit_outranks_those_that_merely_contain_it(home: Settings) -> None:
    view = load_fabric_view(home, "crc-multibit-lane")
    hits = search(home, view, "leaf-1")
    assert [hit.key for hit in hits if hit.is_exact] == ["leaf-1"]
    assert hits[0].kind in ("incident", "switch")
