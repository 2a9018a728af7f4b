"""Links in columns: counted and found without being made, and each made once."""

from __future__ import annotations

import pytest

from fabric_pipeline.workflows.fabric_link_model import DOWN, NO_DATA, QUIET, End, EndReading, Link
from fabric_pipeline.workflows.fabric_links import Links, Ports

LOUD = EndReading("critical", "replay", None, 9.0, 500.0, 1000.0, "per hour")


def end(node: str, interface: str, reading: EndReading = QUIET) -> End:
    return End(node, interface, interface.partition("/")[0], reading)


def some() -> Links:
    return Links.of(
        [
            Link("1", "nvlink", end("n1", "gpu0/nvlink-9", LOUD), end("n1", "nvswitch-0/port-1")),
            Link("2", "nvlink", end("n1", "gpu0/nvlink-10"), end("n1", "nvswitch-0/port-2", NO_DATA)),
            Link("3", "infiniband", end("n2", "mlx5_0/1", DOWN), end("", "leaf-0/port-1", DOWN), 4, 400.0, "C7"),
            Link("4", "pcie", end("n2", "gpu1/pcie", NO_DATA), None),
        ]
    )  # fmt: skip


def test_what_is_counted_is_what_the_links_say() -> None:
    links = some()
    assert len(links) == 4
    assert {kind: dict(states) for kind, states in links.counts().items()} == {
        "nvlink": {"critical": 1, "healthy": 1},
        "infiniband": {"no_data": 1},
        "pcie": {"no_data": 1},
    }
    assert [link.link_id for link in links.in_trouble()] == ["1"]
    assert links.worst_shares() == {"n1": 0.5}
    assert links.count_of(DOWN) == 2


def test_an_end_leads_to_its_link_and_always_to_the_same_one() -> None:
    links = some()
    assert links.at("", "leaf-0/port-1") is links[2]
    assert links.at("n1", "nvswitch-0/port-2") is links[1]
    assert links.at("n1", "mlx5_0/1") is None
    assert links.at("no-such", "x") is None
    assert links.by_id("4") is links[-1]
    assert links.by_id("5") is None
    assert [link.link_id for link in links[1:3]] == ["2", "3"]
    with pytest.raises(IndexError):
        links[4]


def test_ports_know_their_state_before_they_are_made() -> None:
    links = some()
    gpu = links.ports("n1", "gpu0")
    assert (len(gpu), gpu.state) == (2, "critical")
    assert [port.end.interface for port in gpu] == ["gpu0/nvlink-9", "gpu0/nvlink-10"]
    assert gpu[0].link is links[0]
    assert links.ports("n1", "nvswitch-0").state == "critical"
    assert links.ports("n2", "gpu1").state == "no_data"
    assert links.ports("", "leaf-0").state == "no_data"
    assert len(links.ports("n1", "gpu9")) == 0
    assert Ports().state == "no_data"


def test_every_device_is_named_once_with_its_kind_of_link() -> None:
    found = {(node, device): link_type for node, device, _, link_type in some().devices()}
    assert found == {
        ("n1", "gpu0"): "nvlink", ("n1", "nvswitch-0"): "nvlink", ("n2", "mlx5_0"): "infiniband",
        ("", "leaf-0"): "infiniband", ("n2", "gpu1"): "pcie",
    }  # fmt: skip


def test_no_links_are_no_trouble() -> None:
    links = Links.of([])
    assert (len(links), links.counts(), links.in_trouble(), links.devices()) == (0, {}, [], [])
    assert links.at("n1", "x") is None
