"""Port messages: which lines tell one change, and under which name the port is filed."""

from __future__ import annotations

import pytest

from fabric_pipeline_tests.sources.kernel_log.conftest import ReadLog


def test_driver_rdma_and_bonding_lines_of_one_change_are_one_event(read_log: ReadLog) -> None:
    result = read_log(
        "[ 100.10] mlx5_core 0000:2a:00.0 ens4np0: Link down\n"
        "[ 100.11] mlx5_core 0000:2a:00.0 mlx5_7: Port: 1 Link DOWN\n"
        "[ 100.20] bond1: (slave ens4np0): speed changed to 0 on port 1\n"
        "[ 100.21] bond1: (slave ens4np0): link status definitely down, disabling slave\n"
        "[ 103.10] mlx5_core 0000:2a:00.0 ens4np0: Link up\n"
        "[ 103.11] mlx5_core 0000:2a:00.0 mlx5_7: Port: 1 Link ACTIVE\n"
    )
    down, up = result.events
    assert (down.kind, down.interface, down.line, down.last_line) == ("link_down", "ens4np0", 1, 4)
    assert (up.kind, up.line, up.last_line) == ("link_up", 5, 6)
    assert down.details["rdma"] == "mlx5_7/1"


def test_a_second_drop_seconds_later_is_another_event(read_log: ReadLog) -> None:
    result = read_log(
        "[ 100.1] bond1: (slave ens4np0): link status definitely down, disabling slave\n"
        "[ 107.1] mlx5_core 0000:2a:00.0 ens4np0: Link down\n"
    )
    assert [e.kind for e in result.events] == ["link_down", "link_down"]


@pytest.mark.parametrize(
    ("line", "interface", "kind"),
    [
        ("mlx5_core 0000:2a:00.0: ens4np0: Link down", "ens4np0", "link_down"),
        ("mlx5_core ens4np0: Link up", "ens4np0", "link_up"),
        ("mlx4_en: eth3: Link Down", "eth3", "link_down"),
        ("mlx5_core 0000:2a:00.0 mlx5_7: Port: 1 Link INIT", "mlx5_7/1", "link_init"),
        ("hfi1 0000:2a:00.0: hfi1_0: logical state changed to PORT_DOWN (0x1)", "hfi1_0/1", "link_down"),
        ("bonding: bond0: link status definitely down for interface ens4, disabling it", "ens4", "link_down"),
        ("bnxt_en 0000:2a:00.0 ens4: NIC Link is Down", "ens4", "link_down"),
    ],
)  # fmt: skip
def test_forms_of_link_lines(read_log: ReadLog, line: str, interface: str, kind: str) -> None:
    (event,) = read_log(f"{line}\n").events
    assert (event.interface, event.kind) == (interface, kind)


def test_network_daemon_line_is_folded_into_the_driver_line(read_log: ReadLog) -> None:
    (event,) = read_log(
        "Jul  9 05:10:00 n1 kernel: mlx5_core 0000:19:00.0 ens2np0: Link down\n"
        "Jul  9 05:10:00 n1 systemd-networkd[812]: ens2np0: Lost carrier\n"
    ).events
    assert event.details["sources"] == ["mlx5", "daemon"]


def test_virtual_interfaces_and_ready_messages_are_no_fabric(read_log: ReadLog) -> None:
    result = read_log(
        "Jul  9 05:10:00 n1 systemd-networkd[812]: cali123: Lost carrier\n"
        "Jul  9 05:10:00 n1 kernel: IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready\n"
    )
    assert result.events == []


def test_management_card_is_marked(read_log: ReadLog) -> None:
    (event,) = read_log("igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down\n").events
    assert event.details["is_fabric"] is False


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("event: module 0, Cable unplugged", "cable_unplugged"),
        ("event: module 0, Cable plugged", "cable_plugged"),
        ("event[error]: module 0, Cable error, High Temperature", "module_over_temperature"),
        ("event[error]: module 0, Cable error, Power budget exceeded", "module_without_power"),
        ("event[error]: module 0, Cable error, Bad or shorted cable/module", "cable_error"),
    ],
)
def test_module_events_by_their_error_text(read_log: ReadLog, words: str, kind: str) -> None:
    (event,) = read_log(
        f"mlx5_core 0000:2a:00.0: port_module:252:(pid 0): Port module {words}\n"
    ).events
    assert (event.kind, event.interface) == (kind, "pci-0000:2a:00.0")


def test_module_message_wrapped_over_two_lines(read_log: ReadLog) -> None:
    (event,) = read_log(
        "mlx5_core 0000:2a:00.0: port_module:252:(pid 0): Port module\n"
        "event[error]: module 1, Cable error, Power budget exceeded\n"
    ).events
    assert (event.kind, event.details["module"], event.last_line) == ("module_without_power", 1, 2)


def test_renamed_device_keeps_one_name(read_log: ReadLog) -> None:
    events = read_log(
        "[1.0] mlx5_core 0000:2a:00.0: Port module event: module 0, Cable plugged\n"
        "[2.0] mlx5_core 0000:2a:00.0 ens4np0: renamed from eth2\n"
    ).events
    assert events[0].interface == "ens4np0"


def test_failed_card_and_send_queue(read_log: ReadLog) -> None:
    events = read_log(
        "mlx5_core 0000:2a:00.0: poll_health:174: device's health compromised - reached miss count.\n"
        "NETDEV WATCHDOG: ens4np0 (mlx5_core): transmit queue 3 timed out\n"
    ).events
    assert [e.kind for e in events] == ["nic_failed", "tx_timeout"]
