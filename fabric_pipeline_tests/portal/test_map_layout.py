"""Where things are drawn: all of it is there, nothing lies on anything else, unknown is never healthy."""

from __future__ import annotations

import gzip
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from fabric_pipeline.portal.map_fabric import FabricMap
from fabric_pipeline.portal.map_floor import MOST_CABLES, FloorMap
from fabric_pipeline.portal.map_marks import Box, Picture, frame
from fabric_pipeline.portal.map_masks import Mask
from fabric_pipeline.portal.map_node import NodeMap
from fabric_pipeline.portal.map_scene import Scene
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.fabric_view_model import (
    QUIET,
    Device,
    End,
    EndReading,
    FabricView,
    Link,
    Links,
    NodeView,
    Port,
    Ports,
    RackView,
    SwitchView,
)
from fabric_pipeline_tests.portal.large_fabric import large_home
from fabric_pipeline_tests.workflows.fabric_lake import (
    NODES,
    Lake,
    all_ends,
    healthy_lake,
    incident,
    spike,
    topology,
)

SVG = "{http://www.w3.org/2000/svg}"
Classes = set[str]


def fabric(view: FabricView) -> tuple[Picture, ET.Element]:
    return read(FabricMap(Scene(view), view.racks, view.switches, view.degraded()).picture())


def floor(view: FabricView) -> tuple[Picture, ET.Element]:
    return read(FloorMap(Scene(view), view.racks, view.switches, view.degraded()).picture())


def read(picture: Picture) -> tuple[Picture, ET.Element]:
    return picture, ET.fromstring(str(frame(picture, "a map")))  # noqa: S314 - our own markup


def of_class(root: ET.Element, wanted: str) -> Iterator[ET.Element]:
    names = set(wanted.split())
    return (each for each in root.iter() if names <= set((each.get("class") or "").split()))


def pills(root: ET.Element) -> list[Box]:
    """Faces of all pills, in the units of the picture."""
    found = []
    for group in root.iter(f"{SVG}g"):
        if "link" not in (group.get("class") or "").split():
            continue
        moved = re.match(
            r"translate\(([\d.-]+) ([\d.-]+)\) scale\(([\d.-]+)\)",
            next((g.get("transform") or "" for g in group.iter() if g.get("transform")), ""),
        )
        dx, dy, by = (float(moved[n]) for n in (1, 2, 3)) if moved else (0.0, 0.0, 1.0)
        for face in group.findall(f".//{SVG}a[@href]/{SVG}rect[@class='face']"):
            x, y, w, h = (float(face.get(name, "0")) for name in ("x", "y", "width", "height"))
            found.append(Box(dx + x * by, dy + y * by, w * by, h * by))
    return found


def apart(boxes: list[Box]) -> bool:
    return not any(
        a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom
        for a, b in combinations(boxes, 2)
    )


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FabricView]:
    """Fabrics of several kinds with two dozen degraded links each."""
    made = {}
    for name, nodes, platform in (
        ("h100", 8, "h100"),
        ("nvl72", 20, "nvl72"),
        ("floor", 64, "h100"),
    ):
        home = large_home(tmp_path_factory.mktemp(name), nodes, platform=platform)
        made[name] = load_fabric_view(home)
    return made


@pytest.mark.parametrize("name", ["h100", "nvl72", "floor"])
def test_every_degraded_link_can_be_picked_once_and_no_pill_lies_on_another(
    views: dict[str, FabricView], name: str
) -> None:
    view = views[name]
    picture, root = (floor if name == "floor" else fabric)(view)
    picks = [
        each.get("data-link")
        for each in of_class(root, "link")
        if each.find(f"{SVG}a[@class='pick']") is not None
    ]
    assert picks == [link.a.component for link in view.degraded()]
    labels = [each.get("aria-label") or "" for each in of_class(root, "pick")]
    assert all(link.a.interface in said for link, said in zip(view.degraded(), labels, strict=True))
    found = pills(root)
    assert len(found) >= 15
    assert apart(found)
    assert all(
        box.x >= 0 and box.right <= picture.width and box.bottom <= picture.height for box in found
    )


def test_racks_stand_with_their_highest_unit_on_top(views: dict[str, FabricView]) -> None:
    _, root = fabric(views["h100"])
    faces = {each.get("href"): next(each.iter(f"{SVG}rect")) for each in of_class(root, "card")}
    names = [node.name for node in views["h100"].racks[0].nodes]
    tops = {name: float(faces[f"/nodes/{name}"].get("y") or "") for name in names}
    units = {node.name: node.unit for node in views["h100"].racks[0].nodes}
    assert sorted(tops, key=tops.__getitem__) == sorted(units, key=units.__getitem__, reverse=True)


def test_every_nvlink_of_a_gpu_is_a_tick(views: dict[str, FabricView]) -> None:
    for name in ("h100", "nvl72"):
        view = views[name]
        _, root = fabric(view)
        ticks = sum((each.get("d") or "").count("M") for each in of_class(root, "tick"))
        assert ticks == sum(len(g.ports_of("nvlink")) for n in view.nodes for g in n.of_kind("gpu"))


def test_a_node_without_data_is_hatched_and_says_so(tmp_path: Path) -> None:
    part = topology()
    ends = [end for end in all_ends(part) if end[0] != "bob-01"]
    view = load_fabric_view(Lake(tmp_path).topology(part).counters(ends).judged().settings)
    _, root = fabric(view)
    silent = next(each for each in of_class(root, "card") if each.get("href") == "/nodes/bob-01")
    assert "no_data" in (silent.get("class") or "")
    assert "No data" in (silent.findtext(f"{SVG}title") or "")
    assert any(text.text == "no data" for text in silent.iter(f"{SVG}text"))
    assert not [
        t for t in silent.iter() if {"tick", "healthy"} <= set((t.get("class") or "").split())
    ]
    _, root = floor(view)
    cells = {(each.get("class") or ""): each for each in of_class(root, "cells")}
    assert (cells["cells no_data"].get("d") or "").count("M") == 1
    assert (cells["cells gpus"].get("d") or "").count("M") == 2


def test_a_drop_without_topology_is_drawn_from_its_links(tmp_path: Path) -> None:
    ends = [("ada-01", f"gpu{g}/nvlink-{n}") for g in range(4) for n in range(18)]
    view = load_fabric_view(
        Lake(tmp_path).counters([*ends, ("solo", "nvlink-3")]).judged().settings
    )
    for draw in (fabric, floor):
        _, root = draw(view)
        leads = {each.get("href") for each in root.iter(f"{SVG}a")}
        assert {"/nodes/ada-01", "/nodes/solo"} <= leads
    _, root = fabric(view)
    assert any("Rack not stated" in (text.text or "") for text in root.iter(f"{SVG}text"))
    assert sum((each.get("d") or "").count("M") for each in of_class(root, "tick healthy")) == 72


def test_nothing_at_all_can_be_drawn() -> None:
    for draw in (fabric, floor):
        picture, _ = draw(FabricView("empty"))
        assert picture.width > 0


def test_healthy_is_grey_and_has_no_mark(tmp_path: Path) -> None:
    _, root = fabric(load_fabric_view(healthy_lake(tmp_path).settings))
    assert not list(of_class(root, "link"))
    assert not [each for each in of_class(root, "mark") if "hatch" not in (each.get("class") or "")]


def test_a_node_shows_each_link_beside_the_degraded_one(tmp_path: Path) -> None:
    part = topology()
    end = (NODES[0], "gpu1/nvlink-4")
    lake = Lake(tmp_path).topology(part).counters(all_ends(part)).spikes(spike(end, "replay", 5000))
    view = load_fabric_view(lake.incidents(incident(7, f"{end[0]}:{end[1]}", "CRITICAL")).settings)
    node = view.nodes[0]
    picture, root = read(NodeMap(Scene(view), node, view.degraded()).picture())
    singles = [each.find(f"{SVG}title") for each in of_class(root, "single")]
    assert [(said.text or "").partition(" ")[0] for said in singles if said is not None] == [
        "gpu1/nvlink-3", "gpu1/nvlink-4", "gpu1/nvlink-5",
    ]  # fmt: skip
    assert len(list(of_class(root, "rope"))) == 7
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"CPU socket 0", "PCIe switch 1", "GPU 1", "mlx5_1", "NVSwitch 0", "4"} <= set(words)
    assert picture.height > 400


def test_an_unknown_figure_is_hatched_in_every_mask(tmp_path: Path) -> None:
    view = load_fabric_view(healthy_lake(tmp_path).settings)
    for name in ("utilisation", "width"):
        scene = Scene(view, Mask(name))
        _, root = read(FabricMap(scene, view.racks, view.switches, []).picture())
        assert list(of_class(root, "tick mx"))
        assert not list(of_class(root, "tick m0"))


def test_too_many_cables_are_left_to_the_list(tmp_path: Path) -> None:
    view = load_fabric_view(large_home(tmp_path, 44, bad=60, kind="infiniband"))
    picture, root = floor(view)
    cables = [each for each in of_class(root, "cable") if "thin" not in (each.get("class") or "")]
    assert len(cables) == MOST_CABLES
    assert any("more degraded cables" in note for note in picture.notes)
    assert apart(pills(root))


def test_a_thousand_nodes_stay_light() -> None:
    view = FabricView("large", is_judged=True, has_topology=True)
    view.switches = [SwitchView(f"leaf-{n}", "leaf") for n in range(256)]
    links = []
    for place in range(250):
        rack = RackView(f"r{place}", "ABCDEFGH"[place // 32])
        view.racks.append(rack)
        for unit in range(4):
            node = NodeView(
                f"gpu-r{place}-n{unit}", rack.row, rack.name, f"U{unit}", is_stated=True
            )
            port = End(node.name, "mlx5_0/1", "mlx5_0", _reading(place, unit))
            far = End("", f"leaf-{place}/port-{unit}", f"leaf-{place}", QUIET)
            link = Link(port.component, "infiniband", port, far)
            node.devices["mlx5_0"] = Device("nic", "mlx5_0", {}, Ports([Port(link, port)]))
            links.append(link)
            rack.nodes.append(node)
    view.links = Links.of(links)
    picture, root = floor(view)
    drawn = str(frame(picture, "a map"))
    assert len(view.nodes) == 1000
    assert len(gzip.compress(drawn.encode())) < 60 * 1024
    assert len(list(root.iter())) < 3000
    assert len(list(of_class(root, "pick"))) == 25
    assert apart(pills(root))


def _reading(place: int, unit: int) -> EndReading:
    return (
        EndReading("critical", "symbol_error", None, 9, 9, 5, "per hour")
        if place % 10 == unit == 0
        else QUIET
    )
