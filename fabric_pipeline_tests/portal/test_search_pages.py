"""One field finds everything by what is printed on it, and leads straight there when only one thing fits."""

from __future__ import annotations

import json
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.fabric_search import search
from fabric_pipeline.workflows.fabric_search_index import index_of
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.workflows.fabric_lake import Lake, all_ends, topology

SEARCH_S = 0.1

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
    assert ("Nothing in drop crc-multibit-lane carries that" in answer.text) == bool(asked.strip())


def test_an_exact_hit_outranks_those_that_merely_contain_it(home: Settings) -> None:
    view = load_fabric_view(home, "crc-multibit-lane")
    hits = search(home, view, "leaf-1")
    assert [hit.key for hit in hits if hit.is_exact] == ["leaf-1"]
    assert hits[0].kind in ("incident", "switch")


def test_nothing_found_says_what_was_searched_and_what_can_be_asked_for(portal_url: str) -> None:
    text = ask(portal_url, "/search?q=no-such-thing").text
    for said in (
        "8 nodes, 12 switches, 1,440 links",
        "GUID, GPU UUID, PCI address",
        "leaf-2/port-3",
    ):
        assert said in text


def test_a_guid_is_found_however_its_digits_are_parted(tmp_path: Path) -> None:
    part = topology()
    cable = next(link for link in part.links if link["type"] == "infiniband")
    cable["a"]["guid"] = "0x946dae0300abcdef"
    cable["cable_serial"] = "MT-ÅÄ-77"
    lake = Lake(tmp_path).topology(part).counters(all_ends(part)).judged()
    view = load_fabric_view(lake.settings)
    for asked in (
        "0x946dae0300abcdef", "946DAE0300ABCDEF", "946d:ae03:00ab:cdef", "94:6d:ae:03:00:ab:cd:ef", "00abcdef",
        "mt-åä-77",
    ):  # fmt: skip
        hits = search(lake.settings, view, asked)
        assert [(hit.kind, hit.key) for hit in hits] == [("link", "ada-01:mlx5_0/1")], asked


def test_parts_that_span_node_and_port_are_found_and_the_best_comes_first(tmp_path: Path) -> None:
    part = topology()
    lake = Lake(tmp_path).topology(part).counters(all_ends(part)).judged()
    view = load_fabric_view(lake.settings)
    keys = [hit.key for hit in search(lake.settings, view, "DA-02:GPU1/nvlink-4")]
    assert keys == ["ada-02:gpu1/nvlink-4"]
    names = [hit.name for hit in search(lake.settings, view, "ada") if hit.kind == "node"]
    assert names == ["ada-01", "ada-02"]
    leaves = [
        hit.name for hit in search(lake.settings, view, "leaf-0/port-3") if hit.kind == "link"
    ]
    assert leaves[0].endswith("leaf-0/port-3")


def test_a_thousand_nodes_are_searched_in_no_time(thousand: Settings) -> None:
    view = load_fabric_view(thousand)
    index_of(thousand, view)
    for asked in ("SER1200007", "gpu", "nvlink-11", "leaf-1203/port-4", "nowhere"):
        spent = []
        for _ in range(3):
            began = time.thread_time()
            search(thousand, view, asked)
            spent.append(time.thread_time() - began)
        assert min(spent) < SEARCH_S, asked
