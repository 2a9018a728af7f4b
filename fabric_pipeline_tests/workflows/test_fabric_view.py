"""The fabric as a value: states of link ends, no data, both ends, drops without topology."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.workflows.fabric_view import drops_with_fabric, load_fabric_view
from fabric_pipeline.workflows.fabric_view_json import view_as_json
from fabric_pipeline.workflows.fabric_view_model import EndReading, FabricView, Link, worst
from fabric_pipeline_tests.workflows.fabric_lake import (
    Lake,
    all_ends,
    healthy_lake,
    incident,
    settings,
    spike,
    symptom,
    topology,
)

NEAR = ("ada-02", "gpu1/nvlink-4")
FAR = ("ada-02", "nvswitch-1/port-4")


def link_at(view: FabricView, node: str, interface: str) -> Link:
    return next(
        link
        for link in view.links
        for end in link.ends
        if (end.node, end.interface) == (node, interface)
    )


def reading_at(view: FabricView, node: str, interface: str) -> EndReading:
    link = link_at(view, node, interface)
    return next(e.reading for e in link.ends if (e.node, e.interface) == (node, interface))


def test_a_measured_and_judged_fabric_is_healthy_and_in_its_place(tmp_path: Path) -> None:
    view = load_fabric_view(healthy_lake(tmp_path).settings)
    assert (view.drop, view.site, view.is_judged, view.has_topology) == (
        "d1",
        "harbour-9",
        True,
        True,
    )
    assert [(rack.name, [node.name for node in rack.nodes]) for rack in view.racks] == [
        ("A", ["ada-01", "ada-02"]),
        ("B", ["bob-01"]),
    ]
    assert {link.state for link in view.links} == {"healthy"}
    assert len(view.links) == len(topology().links)
    node = view.racks[0].nodes[1]
    assert (node.unit, node.serial, node.state) == ("U12", "SER1", "healthy")
    gpu = node.of_kind("gpu")[1]
    assert [port.end.interface for port in gpu.ports_of("nvlink")] == [
        f"gpu1/nvlink-{n}" for n in range(6)
    ]
    assert [port.far.interface for port in gpu.ports_of("nvlink") if port.far][:3] == [
        "nvswitch-0/port-3", "nvswitch-0/port-4", "nvswitch-0/port-5",
    ]  # fmt: skip
    assert [switch.tier for switch in view.switches] == ["leaf", "spine"]
    assert [port.end.interface for port in view.switches[0].ports][-1] == "leaf-0/port-33"
    assert view.window_start is not None
    assert view.window_start.hour == 8


def test_an_end_without_a_reading_has_no_data_and_its_link_is_one_sided(tmp_path: Path) -> None:
    part = topology()
    seen = [end for end in all_ends(part) if end[0] != "bob-01" and end != FAR]
    lake = Lake(tmp_path).topology(part).counters(seen).judged()
    view = load_fabric_view(lake.settings)
    assert reading_at(view, *NEAR).state == "healthy"
    assert reading_at(view, *FAR).state == "no_data"
    assert link_at(view, *NEAR).state == "healthy"
    silent = next(node for node in view.nodes if node.name == "bob-01")
    assert silent.state == "no_data"
    assert {port.state for port in silent.ports()} == {"no_data"}


def test_readings_that_say_nothing_of_the_link_are_no_data(tmp_path: Path) -> None:
    part = topology()
    lake = Lake(tmp_path).topology(part).judged()
    for counter, value in (("tx_bytes", 7.0), ("performance_state", 0.0), ("replay", None)):
        lake.counters(all_ends(part), counter, value=value)
        assert {link.state for link in load_fabric_view(lake.settings).links} == {"no_data"}


def test_a_link_that_is_down_is_not_healthy_unless_an_incident_says_more(tmp_path: Path) -> None:
    part = topology()
    lake = Lake(tmp_path).topology(part).counters([NEAR, FAR], "link_up", kind="gauge", value=0.0)
    view = load_fabric_view(lake.judged().settings)
    assert link_at(view, *NEAR).state == "no_data"
    assert "the link is down" in reading_at(view, *NEAR).rule
    assert any("2 link ends are down" in note for note in view.notes)
    lake.incidents(incident(1, "ada-02:gpu1/nvlink-4", "CRITICAL", fault_type="link_down"))
    assert link_at(load_fabric_view(lake.settings), *NEAR).state == "critical"


def test_without_a_diagnosis_nothing_is_called_healthy(tmp_path: Path) -> None:
    part = topology()
    lake = Lake(tmp_path).topology(part).counters(all_ends(part))
    view = load_fabric_view(lake.settings)
    assert not view.is_judged
    assert {link.state for link in view.links} == {"no_data"}
    assert any("has not run" in note for note in view.notes)


@pytest.mark.parametrize(
    ("severity", "role", "state"),
    [
        ("CRITICAL", "cause", "critical"),
        ("WARNING", "cause", "warning"),
        ("WARNING", "context", "watch"),
        ("WATCH", "context", "watch"),
        ("INFO", "context", "healthy"),
    ],
)
def test_an_incident_colours_both_ends_of_its_link(
    tmp_path: Path, severity: str, role: str, state: str
) -> None:
    record = incident(
        1, "ada-02:gpu1/nvlink-4/lane-1", severity, role=role, far_end="ada-02:nvswitch-1/port-4"
    )
    view = load_fabric_view(healthy_lake(tmp_path).incidents(record).settings)
    assert link_at(view, *NEAR).state == state
    assert {reading_at(view, *end).state for end in (NEAR, FAR)} == {state}
    expected = () if state == "healthy" else ("INC-000000000001",)
    assert link_at(view, *NEAR).incidents == expected
    assert sum(link.state == state for link in view.links) == (1 if expected else len(view.links))


def test_a_rule_without_an_incident_is_a_watch_and_alone_it_speaks_for_itself(
    tmp_path: Path,
) -> None:
    lake = healthy_lake(tmp_path).spikes(spike(NEAR, "replay", 2500.0, severity="critical"))
    reading = reading_at(load_fabric_view(lake.settings), *NEAR)
    assert (reading.state, reading.rule) == ("watch", "some_rule: 9, limit 5")
    part = topology()
    alone = Lake(tmp_path, "d3").topology(part).counters(all_ends(part))
    alone.spikes(spike(NEAR, "replay", 2500.0, severity="critical"))
    view = load_fabric_view(alone.settings, "d3")
    assert reading_at(view, *NEAR).state == "critical"
    assert any("rules alone" in note for note in view.notes)


def test_the_worst_counter_is_the_one_nearest_to_its_limit(tmp_path: Path) -> None:
    lake = healthy_lake(tmp_path).spikes(
        spike(NEAR, "crc_flit", 3600.0),  # 1 % of 360,000 an hour
        spike(NEAR, "replay", 250.0),  # 25 % of 1,000 an hour
        spike(FAR, "recovery", 2.0),  # 2 of 3
    )
    view = load_fabric_view(lake.settings)
    near, far = reading_at(view, *NEAR), reading_at(view, *FAR)
    assert (near.counter, near.value, near.limit, near.unit) == (
        "replay",
        250.0,
        1000.0,
        "per hour",
    )
    assert near.share == pytest.approx(0.25)
    assert (far.counter, far.unit, far.share) == ("recovery", "in total", pytest.approx(2 / 3))
    assert near.state == far.state == "healthy"
    assert link_at(view, *NEAR).share == pytest.approx(2 / 3)


def test_a_few_events_in_a_short_interval_make_no_rate(tmp_path: Path) -> None:
    one = spike(NEAR, "replay", 1.0, rate_per_hour=3600.0, series_exposure_s=7200.0)
    view = load_fabric_view(healthy_lake(tmp_path).spikes(one).settings)
    assert reading_at(view, *NEAR).value == pytest.approx(0.5)


def test_a_total_without_a_time_span_is_never_a_rate(tmp_path: Path) -> None:
    total = spike(NEAR, "replay", 4000.0, hours=0, is_lower_bound="yes")
    reading = reading_at(load_fabric_view(healthy_lake(tmp_path).spikes(total).settings), *NEAR)
    assert (reading.value, reading.limit, reading.unit) == (4000.0, 1000.0, "in total")
    assert reading.is_lower_bound


def test_counters_without_a_limit_have_no_share(tmp_path: Path) -> None:
    view = load_fabric_view(healthy_lake(tmp_path).spikes(spike(NEAR, "plr_retry", 50.0)).settings)
    reading = reading_at(view, *NEAR)
    assert (reading.counter, reading.limit, reading.share) == ("plr_retry", None, None)


def test_symptoms_devices_and_nodes_are_not_lost(tmp_path: Path) -> None:
    lake = healthy_lake(tmp_path).incidents(
        incident(1, "ada-01:gpu0/nvlink-0", "CRITICAL", symptoms=[symptom("ada-01:gpu3")]),
        incident(2, "bob-01:pcie-switch-1", "WARNING", fault_type="shared_component"),
        incident(3, "eve-07:unknown", "WATCH", fault_type="not_a_link"),
        incident(4, "ada-02:gpu9/nvlink-1", "WARNING", far_end="ada-02:gpu8/nvlink-2"),
        incident(5, "none", "INFO", fault_type="nominal"),
    )
    view = load_fabric_view(lake.settings)
    nodes = {node.name: node for node in view.nodes}
    gpu = nodes["ada-01"].devices["gpu3"].reading
    assert gpu is not None
    assert (gpu.state, gpu.incidents) == ("watch", ("INC-000000000001",))
    shared = nodes["bob-01"].devices["pcie-switch-1"].reading
    assert shared is not None
    assert shared.state == "warning"
    assert nodes["bob-01"].state == "warning"
    assert nodes["eve-07"].state == "watch"
    event_only = link_at(view, "ada-02", "gpu9/nvlink-1")
    assert event_only.state == "warning"
    assert event_only.b is not None
    assert event_only.b.interface == "gpu8/nvlink-2"
    assert len(view.incidents) == 5


def test_a_sum_over_a_gpu_says_nothing_of_its_links(tmp_path: Path) -> None:
    part = topology()
    lake = Lake(tmp_path).topology(part).counters([("ada-01", "gpu2")], scope="gpu_sum").judged()
    view = load_fabric_view(lake.settings)
    gpu = view.nodes[0].devices["gpu2"]
    assert gpu.reading is not None
    assert gpu.reading.state == "healthy"
    assert {port.state for port in gpu.ports} == {"no_data"}


def test_a_gpu_named_by_its_pci_address_is_found(tmp_path: Path) -> None:
    part = topology()
    end = ("ada-02", "pci-0000:11:00.0/nvlink-4")
    lake = Lake(tmp_path).topology(part).counters([end]).incidents()
    lake.spikes(spike(end, "replay", 900.0))
    view = load_fabric_view(lake.settings)
    assert reading_at(view, *NEAR).value == 900.0
    assert len(view.links) == len(part.links)


def test_without_topology_the_picture_is_made_of_the_ends_seen(tmp_path: Path) -> None:
    ends = [
        ("n1", "gpu0/nvlink-0"),
        ("n1", "gpu0/nvlink-10"),
        ("n1", "gpu0/nvlink-9"),
        ("", "leaf-3/port-2"),
        ("n2", "eth0"),
    ]
    lake = Lake(tmp_path).topology(TopologyPart()).counters(ends).judged()
    view = load_fabric_view(lake.settings)
    assert not view.has_topology
    assert any("no topology" in note for note in view.notes)
    assert [port.end.interface for port in view.nodes[0].devices["gpu0"].ports] == [
        "gpu0/nvlink-0", "gpu0/nvlink-9", "gpu0/nvlink-10",
    ]  # fmt: skip
    assert all(link.b is None for link in view.links)
    assert [switch.name for switch in view.switches] == ["leaf-3"]
    assert view.nodes[1].devices["eth0"].kind == "nic"


def test_a_link_stated_by_two_files_the_other_way_round_is_one_link(tmp_path: Path) -> None:
    part = topology(["ada-01"])
    turned = TopologyPart(links=[{**link, "a": link["b"], "b": link["a"]} for link in part.links])
    lake = Lake(tmp_path).topology(part, turned).counters(all_ends(part)).judged()
    view = load_fabric_view(lake.settings)
    assert len(view.links) == len(part.links)


def test_the_drop_read_last_is_shown_and_a_missing_one_names_the_others(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no drop has been read"):
        load_fabric_view(settings(tmp_path))
    for number, drop in enumerate(("zeta", "alpha")):
        lake = Lake(tmp_path, drop).topology(topology()).counters([])
        for part in lake.settings.lake.glob(f"*/drop={drop}/*.parquet"):
            os.utime(part, (number + 1000, number + 1000))
    assert drops_with_fabric(lake.settings.lake) == ["alpha", "zeta"]
    assert load_fabric_view(lake.settings).drop == "alpha"
    assert load_fabric_view(lake.settings, "zeta").drop == "zeta"
    with pytest.raises(NotFoundError) as problem:
        load_fabric_view(lake.settings, "../zeta")
    assert "alpha, zeta" in problem.value.remedy


def test_json_holds_every_link_once_with_both_ends(tmp_path: Path) -> None:
    lake = healthy_lake(tmp_path).spikes(spike(NEAR, "replay", 64000.0, severity="warning"))
    lake.incidents(
        incident(1, "ada-02:gpu1/nvlink-4", "CRITICAL", far_end="ada-02:nvswitch-1/port-4")
    )
    view = load_fabric_view(lake.settings)
    shown = json.loads(json.dumps(view_as_json(view)))
    assert len(shown["links"]) == len(view.links)
    assert shown["counts"]["nvlink"] == {"healthy": 71, "critical": 1}
    bad = next(link for link in shown["links"] if link["state"] == "critical")
    assert (bad["a"]["component"], bad["b"]["component"]) == (
        "ada-02:gpu1/nvlink-4", "ada-02:nvswitch-1/port-4",
    )  # fmt: skip
    assert bad["a"]["share"] == 64.0
    assert "share" not in bad["b"]
    node = shown["racks"][0]["nodes"][1]
    gpu = next(device for device in node["devices"] if device["name"] == "gpu1")
    assert bad["n"] in gpu["links"]
    assert (node["state"], gpu["state"]) == ("critical", "critical")
    assert shown["incidents"][0]["incident_id"] == "INC-000000000001"


def test_json_of_one_node_or_one_kind_leaves_the_rest_out(tmp_path: Path) -> None:
    lake = healthy_lake(tmp_path).incidents(
        incident(1, "bob-01:unknown", "WARNING"), incident(2, "ada-01:gpu0/nvlink-1", "WARNING")
    )
    view = load_fabric_view(lake.settings)
    one = view_as_json(view, node="bob-01")
    assert [shown["incident_id"] for shown in one["incidents"]] == ["INC-000000000001"]
    assert [node["node"] for rack in one["racks"] for node in rack["nodes"]] == ["bob-01"]
    assert len(one["links"]) == 4 * 6 + 4 + 2 + 2
    assert [switch["name"] for switch in one["switches"]] == ["leaf-0"]
    assert {link["type"] for link in view_as_json(view, kind="nic")["links"]} == {"infiniband"}


def test_no_data_never_outranks_trouble_and_is_never_healthy() -> None:
    assert worst(["healthy", "no_data"]) == "no_data"
    assert worst(["no_data", "watch"]) == "watch"
    assert worst([]) == "no_data"
