"""Which groups cross which link, in a fleet of two runs with one group a node and one a rail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fabric_pipeline.diagnose.localise.groups import on_one_clock
from fabric_pipeline.diagnose.localise.paths import Route, Router
from fabric_pipeline.diagnose.localise.window import (
    FABRIC,
    HOST,
    LEAF,
    NODE_NETWORK,
    NODE_RAIL,
    NVLINK_DOMAIN,
    RUN,
)
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.localise.windows import RUNS, STEP_S, fleet, timed

NODES = ("n1", "n2", "n3", "n4")


def link(a: tuple[str, str], b: tuple[str, str], kind: str) -> dict[str, Any]:
    """A link between (node or "", port) and (switch, port)."""
    ends = [{"node": o, "port": p} if o in NODES else {"switch": o, "port": p} for o, p in (a, b)]
    return {"id": f"{a}-{b}", "type": kind, "a": ends[0], "b": ends[1]}


def two_leaves(spines: int = 2) -> Topology:
    """n1 and n3 on leaf-0, n2 and n4 on leaf-1, with one cable a rail; every leaf on every spine."""
    links = [
        link(
            (node, f"mlx5_{rail}/1"), (f"leaf-{number % 2}", str(10 * number + rail)), "infiniband"
        )
        for number, node in enumerate(NODES)
        for rail in range(4)
    ]
    links += [
        link((f"leaf-{leaf}", str(60 + spine)), (f"spine-{spine}", str(leaf)), "infiniband")
        for leaf in range(2) for spine in range(spines)
    ]  # fmt: skip
    return Topology([TopologyPart(links=links)])


def router(topology: Topology | None = None, extra: Sequence[Any] = ()) -> Router:
    return Router(on_one_clock([*fleet(), *extra], STEP_S), topology or Topology())


def crossing(found: Router, component: str, far_end: str = "", kind: str = "") -> list[str]:
    """Names of the groups that cross a link, as run/communicator."""
    return names(found, route(found, component, far_end, kind).path)


def route(found: Router, component: str, far_end: str = "", kind: str = "") -> Route:
    way = found.route(component, far_end, kind)
    assert way is not None
    return way


def names(found: Router, path: int) -> list[str]:
    groups = [found.fleet.groups[int(group)] for group in found.paths[path]]
    return [f"{one.run}/{one.communicator}" for one in groups]


def test_nvlinks_carry_the_traffic_inside_their_node() -> None:
    found = router()
    way = route(found, "n1:gpu2/nvlink-4", "n1:nvswitch-0/port-3", "nvlink")
    assert names(found, way.path) == ["a/tp-n1"]
    assert (way.node, way.is_nvlink) == (0, True)
    assert found.places[way.place].name == "n1: NVLinks"
    assert crossing(found, "n1:nvswitch-0/port-3") == ["a/tp-n1"]
    assert crossing(found, "n2:gpu0/nvlink-1") == ["a/tp-n2"]


def test_a_flat_group_crosses_the_nvlinks_and_every_rail() -> None:
    flat = timed("a", "world", np.zeros(60), ["n1", "n2"])
    found = router(extra=[flat])
    assert crossing(found, "n1:gpu2/nvlink-4") == ["a/tp-n1", "a/world"]
    assert crossing(found, "n1:mlx5_2/1") == ["a/dp2", "a/world"]


@pytest.mark.parametrize(
    "component", ["n1:mlx5_2/1", "n1:gpu2/pcie", "n1:pcie-switch-2/port-1", "n1:mlx5_2/pcie"]
)
def test_the_links_of_a_rail_carry_its_groups(component: str) -> None:
    found = router()
    way = route(found, component)
    assert names(found, way.path) == ["a/dp2"]
    assert found.places[way.place].name == "n1: rail 2"
    assert not way.is_nvlink


def test_a_network_card_takes_the_rail_of_the_gpu_beside_it() -> None:
    nodes = [
        {
            "node": "n1",
            "gpus": [{"gpu": 3, "pcie_switch": "pcie-switch-7"}],
            "nics": [{"hca": "mlx5_0", "pcie_switch": "pcie-switch-7"}],
        },
        {"node": "n2", "nics": [{"hca": "mlx5_12"}, {"hca": "mlx5_5"}]},
    ]
    found = router(Topology([TopologyPart(nodes=nodes)]))
    assert crossing(found, "n1:mlx5_0/1") == ["a/dp3"]
    assert crossing(found, "n1:pcie-switch-7/port-0") == ["a/dp3"]
    assert crossing(found, "n2:mlx5_5/1") == ["a/dp1"], "the second card of the node"


def test_a_link_without_a_known_rail_may_be_any() -> None:
    found = router()
    way = route(found, "n1:pci-0000:5d:00.0", "", "pcie")
    assert names(found, way.path) == [f"a/dp{rail}" for rail in range(4)]


def test_a_leaf_port_is_the_cable_of_the_card_behind_it() -> None:
    found = router(two_leaves())
    way = route(found, "unknown:leaf-0/port-2", "n1:mlx5_2/1", "infiniband")
    assert way == route(found, "n1:mlx5_2/1", "unknown:leaf-0/port-2", "infiniband")
    assert names(found, way.path) == ["a/dp2"]


@pytest.mark.parametrize("spines", [1, 2, 4])
def test_an_uplink_carries_a_share_of_what_leaves_the_leaf(spines: int) -> None:
    found = router(two_leaves(spines))
    way = route(found, "unknown:leaf-0/port-60", "unknown:spine-0/port-0", "infiniband")
    assert names(found, way.path) == [f"{run}/dp{rail}" for run in RUNS for rail in range(4)]
    assert found.path_share.get(way.path, 1.0) == 1 / spines
    assert found.places[way.place].name == "switch leaf-0"
    assert (way.node, way.is_nvlink) == (-1, False)
    back = route(found, "unknown:spine-0/port-0", "unknown:leaf-0/port-60", "infiniband")
    assert back == way


def test_groups_below_one_leaf_do_not_leave_it() -> None:
    near = timed("c", "dp0", np.zeros(60), ["n1", "n3"], gpus=[0])
    found = router(two_leaves(), [near])
    uplink = crossing(found, "unknown:leaf-0/port-60", "unknown:spine-0/port-0")
    assert "c/dp0" not in uplink
    assert "c/dp0" in crossing(found, "n1:mlx5_0/1")


def test_an_nvlink_domain_over_nodes_carries_what_lies_in_it() -> None:
    links = [
        link((node, f"gpu{gpu}/nvlink-0"), ("nvswitch-tray-0", str(4 * number + gpu)), "nvlink")
        for number, node in enumerate(NODES[:3])
        for gpu in range(4)
    ]
    found = router(Topology([TopologyPart(links=links)]))
    inside = ["a/tp-n1", *(f"a/dp{rail}" for rail in range(4))]
    assert crossing(found, "n1:gpu2/nvlink-0", "unknown:nvswitch-tray-0/port-2") == inside
    assert crossing(found, "unknown:nvswitch-tray-0/port-2", "n1:gpu2/nvlink-0", "nvlink") == inside
    assert crossing(found, "n3:gpu2/nvlink-0") == ["b/tp-n3"], "run b leaves the domain"


@pytest.mark.parametrize(
    ("component", "far_end"),
    [
        ("n9:mlx5_2/1", ""),
        ("n9:gpu0/nvlink-1", "n9:nvswitch-0/port-1"),
        ("unknown:leaf-0/port-9", "n9:mlx5_2/1"),
        ("unknown:leaf-7/port-1", ""),
        ("unknown:spine-0/port-9", "unknown:core-1/port-1"),
    ],
)
def test_what_nothing_places_has_no_route(component: str, far_end: str) -> None:
    assert router(two_leaves()).route(component, far_end, "infiniband") is None


def test_a_host_is_placed_without_any_topology() -> None:
    found = router()
    kinds = {kind: [p.name for p in found.places if p.kind == kind] for kind in range(7)}
    assert kinds[NVLINK_DOMAIN] == [f"n{n}: NVLinks" for n in range(1, 5)]
    assert kinds[HOST] == [f"n{n}: host" for n in range(1, 5)]
    assert kinds[NODE_RAIL] == [f"n{n}: rail {rail}" for n in range(1, 5) for rail in range(4)]
    assert kinds[RUN] == ["run a", "run b"]
    assert kinds[FABRIC] == ["the whole fabric"]
    assert kinds[LEAF] == kinds[NODE_NETWORK] == []
    host = next(place for place in found.places if place.name == "n1: host")
    assert len(host.groups) == 5


def test_leaves_are_places_of_the_groups_that_leave_them() -> None:
    found = router(two_leaves())
    leaves = [place for place in found.places if place.kind == LEAF]
    assert [one.name for one in leaves] == ["switch leaf-0", "switch leaf-1"]
    assert [len(one.groups) for one in leaves] == [8, 8]


def test_congestion_belongs_to_the_rail_and_the_leaf() -> None:
    found = router(two_leaves())
    places = found.congestion_places("n1:mlx5_2/1", "unknown:leaf-0/port-2")
    assert [found.places[place].name for place in places] == ["n1: rail 2", "switch leaf-0"]
    assert found.congestion_places("n9:mlx5_2/1", "") == []
