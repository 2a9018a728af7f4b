"""Port states through the one door: unused ports, downs, downgrades, common causes, interfaces."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fabric_pipeline.detect.port_state.evaluate import evaluate_port_state
from fabric_pipeline.detect.port_state.rates import GENERATION, HINT
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import Reading
from fabric_pipeline.sources.infiniband import ibdiagnet2_lst, iblinkinfo

Link = dict[str, Any]


def level(
    interface: str, counter: str, value: float, state: str = "", node: str = "", **more: Any
) -> Reading:
    more.setdefault("file", "now.txt")
    more.setdefault("link_type", "infiniband")
    return Reading(
        1, counter, str(value), node=node, interface=interface, counter=counter, value=value,
        kind="gauge", state=state, **more,
    )  # fmt: skip


def identity(interface: str, text: str, node: str = "", **more: Any) -> Reading:
    return level(interface, "port_identity", 1, text, node, **more)


def up(
    interface: str, speed: float = 400, width: int = 4, node: str = "", tool: str = "t", **more: Any
) -> list[Reading]:
    return [
        level(interface, "link_up", 1, "Active/LinkUp", node, **more),
        identity(interface, f"{tool}: {interface}", node, **more),
        level(interface, "speed_gbps", speed, "", node, **more),
        level(interface, "width", width, "", node, **more),
    ]


def down(interface: str, state: str = "Down/Polling", node: str = "", **more: Any) -> list[Reading]:
    return [
        level(interface, "link_up", 0, state, node, **more),
        identity(interface, f"t: {interface}", node, **more),
    ]


def link(switch: str, port: int, node: str = "", adapter: str = "", far: str = "") -> Link:
    a = {"switch": switch, "port": f"{switch}/port-{port}"}
    other = (
        {"switch": far.partition("/")[0], "port": far} if far else {"node": node, "port": adapter}
    )
    return {"type": "infiniband", "a": a, "b": other}


def host_links(count: int, switch: str = "alder-1") -> tuple[list[Reading], list[Link]]:
    """`count` hosts on one switch, both ends read."""
    states, links = [], []
    for n in range(1, count + 1):
        states += up(f"{switch}/port-{n}") + up("mlx5_0/1", node=f"oak-{n:02d}")
        links.append(link(switch, n, f"oak-{n:02d}", "mlx5_0/1"))
    return states, links


def accused(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(f.component, f.kind) for f in findings if f.accuses]


def test_a_healthy_fabric_has_no_finding() -> None:
    states, links = host_links(8)
    assert evaluate_port_state(states, links) == []


@pytest.mark.parametrize("state", ["Down/Polling", "Down/Disabled", "Down/no peer", "Down/Sleep"])
def test_unused_switch_ports_are_nothing(state: str) -> None:
    states, links = host_links(4)
    assert evaluate_port_state(states + down("alder-1/port-20", state), links) == []


def test_port_that_was_active_is_down_and_reported_once() -> None:
    before, links = host_links(6)
    for reading in before:
        reading.file = "before.txt"
    after, _ = host_links(5)
    after += down("alder-1/port-6")
    (finding,) = evaluate_port_state(before + after, links)
    # the host is gone from the later capture, so only the switch port shows it there
    assert (finding.kind, finding.severity) == ("link_down", "critical")
    assert {finding.component, finding.far_end} == {"oak-06:mlx5_0/1", "unknown:alder-1/port-6"}
    assert {e.file for e in finding.evidence} == {"before.txt", "now.txt"}


def test_disabled_port_is_left_alone_even_after_use() -> None:
    before = up("alder-1/port-1", file="before.txt")
    assert evaluate_port_state(before + down("alder-1/port-1", "Down/Disabled"), []) == []


def test_known_peer_makes_a_polling_port_a_fault() -> None:
    links = [link("alder-1", 7, "oak-07", "mlx5_3/1")]
    (finding,) = evaluate_port_state(down("alder-1/port-7"), links)
    assert finding.far_end == "oak-07:mlx5_3/1"
    assert "topology links it" in finding.reason


def test_adapter_port_that_keeps_its_lid_was_active() -> None:
    lids = [
        level("mlx5_2/1", "base_lid", 44),
        level("mlx5_2/1", "sm_lid", 3),
    ]
    (finding,) = evaluate_port_state(down("mlx5_2/1") + lids, [])
    assert (finding.kind, finding.numbers["lid"]) == ("link_down", 44)
    lids[0].value = 65535
    (unused,) = evaluate_port_state(down("mlx5_2/1") + lids, [])
    assert (unused.role, unused.severity) == ("context", "watch")


def test_missing_port_counts_only_when_its_device_is_covered_by_the_same_tool() -> None:
    before = [r for n in range(1, 4) for r in up(f"alder-1/port-{n}", file="before.txt")]
    same = [r for n in range(1, 3) for r in up(f"alder-1/port-{n}")]
    other_tool = [r for n in range(1, 3) for r in up(f"alder-1/port-{n}", tool="x")]
    elsewhere = up("alder-2/port-1")
    assert accused(evaluate_port_state(before + same, [])) == [
        ("unknown:alder-1/port-3", "link_down")
    ]
    assert evaluate_port_state(before + other_tool, []) == []
    assert evaluate_port_state(before + elsewhere, []) == []


def test_order_of_captures_follows_their_times() -> None:
    late, early = datetime(2026, 5, 2, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
    states = down("mlx5_0/1", node="oak-1", file="a", time=late)
    states += up("mlx5_0/1", node="oak-1", file="b", time=early)
    assert accused(evaluate_port_state(states, [])) == [("oak-1:mlx5_0/1", "link_down")]
    for reading in states:
        reading.time = None
    assert accused(evaluate_port_state(states, [])) == []


def test_host_whose_ports_all_left_is_one_common_cause() -> None:
    before, links = host_links(6)
    extra = [link("alder-1", 40, "oak-06", "mlx5_1/1")]
    before += up("alder-1/port-40") + up("mlx5_1/1", node="oak-06")
    for reading in before:
        reading.file = "before.txt"
    after, _ = host_links(5)
    after += down("alder-1/port-6") + down("alder-1/port-40")
    findings = evaluate_port_state(before + after, links + extra)
    assert accused(findings) == [("oak-06:unknown", "node_left_fabric")]
    assert not findings[0].is_link


def test_narrow_and_slow_links_are_named_once_each() -> None:
    states, links = host_links(12)
    trunks = [link("alder-1", 30 + n, far=f"crown-{n}/port-1") for n in range(1, 6)]
    for n in range(1, 6):
        width = 1 if n == 3 else 4
        for end in (f"alder-1/port-{30 + n}", f"crown-{n}/port-1"):
            states += up(end, 100.0 * width, width)
    for reading in states:
        if reading.interface == "alder-1/port-5" or reading.node == "oak-05":
            reading.value = 200 if reading.counter == "speed_gbps" else reading.value
    findings = evaluate_port_state(states, links + trunks)
    assert sorted(accused(findings)) == [
        ("oak-05:mlx5_0/1", "width_or_speed_downgrade"),
        ("unknown:alder-1/port-33", "width_or_speed_downgrade"),
    ]
    assert {f.far_end for f in findings} == {"unknown:alder-1/port-5", "unknown:crown-3/port-1"}
    assert "100 Gb/s a lane" in next(f for f in findings if "port-33" in f.component).reason


def test_other_kind_of_host_is_no_equal_and_another_generation_is_no_fault() -> None:
    states, links = host_links(8)
    states += up("alder-1/port-9", 100) + up("mlx5_0/1", 100, node="store-1")
    links.append(link("alder-1", 9, "store-1", "mlx5_0/1"))
    assert evaluate_port_state(states, links) == []
    for reading in states:
        if reading.counter == "speed_gbps" and reading.node in ("oak-01", "oak-02", "oak-03"):
            reading.value = 200.0
    (finding,) = evaluate_port_state(states, links)
    assert (finding.kind, finding.role) == ("several_links_lower_alike", "context")


def test_one_slow_port_among_equals_of_a_host() -> None:
    states = [r for n in range(7) for r in up(f"mlx5_{n}/1", 400, node="oak-1")]
    states += up("mlx5_7/1", 200, node="oak-1")
    assert accused(evaluate_port_state(states, [])) == [
        ("oak-1:mlx5_7/1", "width_or_speed_downgrade")
    ]
    for reading in states[-4:]:
        reading.link_type = "roce"  # another kind of port may be slower by nature
    assert evaluate_port_state(states, []) == []


def test_all_ports_lower_than_before_is_one_setting() -> None:
    before = [r for n in range(4) for r in up(f"mlx5_{n}/1", 400, node="oak-1", file="a")]
    after = [r for n in range(4) for r in up(f"mlx5_{n}/1", 200, node="oak-1", file="b")]
    (finding,) = evaluate_port_state(before + after, [])
    assert (finding.component, finding.is_link) == ("oak-1:unknown", False)
    assert finding.numbers == {"ports": 4, "speed_gbps": 200, "earlier_speed_gbps": 400}
    one = (
        before
        + after[:3]
        + [r for n in (1, 2, 3) for r in up(f"mlx5_{n}/1", node="oak-1", file="b")]
    )
    assert accused(evaluate_port_state(one, [])) == [("oak-1:mlx5_0/1", "width_or_speed_downgrade")]


def test_maximum_of_both_ends_and_who_claims_it() -> None:
    low = up("alder-1/port-1", 100)
    stated = [level("alder-1/port-1", "speed_max_gbps", 200, "both ends enable it")]
    assert len(evaluate_port_state(low + stated, [])) == 1
    stated[0].state = GENERATION
    assert evaluate_port_state(low + stated, []) == []
    stated[0].value = 400
    assert len(evaluate_port_state(low + stated, [])) == 1


def test_hint_on_most_rows_or_of_twelve_lanes_means_nothing() -> None:
    states, links = host_links(6)
    hints = [level(f"alder-1/port-{n}", "width_max", 12, HINT) for n in range(1, 7)]
    hints += [level(f"alder-1/port-{n}", "speed_max_gbps", 800, HINT) for n in range(1, 7)]
    both = hints + [
        level("mlx5_0/1", "speed_max_gbps", 800, HINT, f"oak-{n:02d}") for n in range(1, 7)
    ]
    assert evaluate_port_state(states + both, links) == []
    one = [level("alder-1/port-2", "speed_max_gbps", 800, HINT)]
    assert len(evaluate_port_state(states + one, links)) == 1


def test_words_of_readers_and_rules_agree() -> None:
    assert (iblinkinfo.HINT, ibdiagnet2_lst.GENERATION) == (HINT, GENERATION)


def test_lane_rate_below_the_enabled_one() -> None:
    states = [
        level("alder-1/port-4", "speed_gbps", 2.5, scope="lane"),
        level("alder-1/port-4", "speed_max_gbps", 25, "both ends enable it", scope="lane"),
    ]
    (finding,) = evaluate_port_state(states, [])
    assert "2.5 Gb/s a lane" in finding.reason


PCI = "sysfs: /sys/bus/pci/devices/0000:{}:00.0/"


def rdma(
    number: int, bus: str, state: str = "Active/LinkUp", file: str = "now.txt"
) -> list[Reading]:
    name = f"mlx5_{number}/1"
    path = PCI.format(bus) + f"infiniband/mlx5_{number}/ports/1"
    return [
        level(name, "link_up", float("Active" in state), state, "oak-1", file=file),
        identity(name, path, "oak-1", file=file),
    ]


def netdev(name: str, bus: str, is_up: bool, ups: float = 0) -> list[Reading]:
    words = "interface up" if is_up else "interface down"
    return [
        level(name, "link_up", float(is_up), words, "oak-1"),
        identity(name, PCI.format(bus) + f"net/{name}", "oak-1"),
        level(name, "carrier_up_count", ups, "", "oak-1"),
    ]


def test_port_in_init_with_its_interface_down() -> None:
    states = rdma(0, "1b") + netdev("ib0", "1b", True) + rdma(1, "2c", "Init/LinkUp")
    findings = evaluate_port_state(states + netdev("ib1", "2c", False), [])
    assert accused(findings) == [("oak-1:mlx5_1/1", "port_not_active")]
    assert "oak-1:ib1 is down" in findings[0].reason
    assert evaluate_port_state(states + netdev("ib1", "2c", True), []) == []


def test_polling_port_whose_interface_once_had_a_carrier() -> None:
    states = rdma(0, "1b") + rdma(1, "2c", "Down/Polling")
    used = evaluate_port_state(states + netdev("ib1", "2c", False, 3), [])
    assert accused(used) == [("oak-1:mlx5_1/1", "link_down")]
    assert used[0].numbers == {"carrier_ups": 3}
    assert accused(evaluate_port_state(states + netdev("ib1", "2c", False, 0), [])) == []


def test_no_port_became_active_is_the_subnet_manager() -> None:
    states = rdma(0, "1b", "Init/LinkUp") + rdma(1, "2c", "Armed/LinkUp")
    (finding,) = evaluate_port_state(states, [])
    assert (finding.kind, finding.is_link) == ("subnet_not_configured", False)


def test_interface_down_over_an_active_port_is_no_link() -> None:
    states = rdma(0, "1b") + netdev("ib0", "1b", True, 1) + rdma(1, "2c")
    (finding,) = evaluate_port_state(states + netdev("ib1", "2c", False, 12), [])
    assert (finding.component, finding.is_link) == ("oak-1:ib1", False)
    assert finding.numbers["carrier_ups"] == 12
    # never brought up: IPoIB is simply not used
    assert evaluate_port_state(states + netdev("ib1", "2c", False, 0), []) == []


def test_names_that_moved_are_configuration() -> None:
    before = rdma(0, "1b", file="a") + rdma(1, "2c", file="a")
    after = rdma(1, "1b", file="b") + rdma(0, "2c", file="b")
    (finding,) = evaluate_port_state(before + after, [])
    assert (finding.kind, finding.is_link) == ("device_names_changed", False)
    assert "mlx5_0/1 -> mlx5_1/1" in finding.reason


def test_other_links_and_blank_readings_are_passed_over() -> None:
    blank = level("mlx5_0/1", "link_up", 0, quality="not_supported")
    nvlink = level("gpu0/nvlink-1", "link_up", 0, link_type="nvlink")
    assert evaluate_port_state([blank, nvlink], []) == []


def test_guid_and_lid_names_meet_the_named_port() -> None:
    links = [link("alder-1", 3, "oak-03", "mlx5_0/1")]
    links[0]["a"] |= {"guid": "0x00000000000000bb", "lid": 4}
    states = up("alder-1/port-3", file="a") + down("lid-4/port-3", file="b")
    (finding,) = evaluate_port_state(states, links)
    assert "unknown:alder-1/port-3" in (finding.component, finding.far_end)


def at(minute: int) -> datetime:
    return datetime(2026, 11, 20, 6, minute, tzinfo=UTC)


def test_a_port_that_dropped_says_when_and_is_not_called_0() -> None:
    states = [
        level("mlx5_9/1", "link_up", value, str(value), "n1", time=at(minute))
        for value, minute in ((1, 0), (0, 10), (0, 39))
    ]
    others = [level("mlx5_8/1", "link_up", 1, "1", "n1", time=at(minute)) for minute in (0, 10, 39)]
    (finding,) = evaluate_port_state([*states, *others], [])
    assert finding.reason == (
        "The port mlx5_9/1 is down since 2026-11-20 06:10:00 UTC, and it was active on 2026-11-20 06:00:00 UTC."
    )
    assert (finding.first_seen, finding.last_seen) == (at(10), at(39))
    shown = [ref.excerpt for ref in finding.evidence]
    assert "mlx5_9/1: state down on 2026-11-20 06:10:00 UTC" in shown
    assert "mlx5_9/1: state active on 2026-11-20 06:00:00 UTC" in shown


def test_a_port_that_got_slower_says_how_much_and_when() -> None:
    readings = [
        level("mlx5_3/1", name, value, str(value), "n1", time=at(minute))
        for minute, values in ((0, (400, 4)), (10, (200, 2)), (39, (200, 2)))
        for name, value in (("link_up", 1), *zip(("speed_gbps", "width"), values, strict=True))
    ]
    (finding,) = evaluate_port_state(readings, [])
    assert finding.reason == (
        "The link mlx5_3/1 runs 2X at 100 Gb/s a lane, 200 Gb/s in all since 2026-11-20 06:10:00 UTC; "
        "on 2026-11-20 06:00:00 UTC it had 400 Gb/s."
    )
    assert finding.first_seen == at(10)
    assert finding.evidence[0].excerpt == (
        "mlx5_3/1: speed 200 of 400 Gb/s on 2026-11-20 06:10:00 UTC"
    )
