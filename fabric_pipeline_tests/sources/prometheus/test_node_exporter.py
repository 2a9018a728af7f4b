"""What the reader makes of node_exporter scrapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.prometheus.node_exporter import NodeExporterReader
from fabric_pipeline_tests.sources.prometheus.files import source

PORT = 'device="mlx5_3",port="1"'


def read(folder: Path, *lines: str, node: str = "n07") -> ReadResult:
    return NodeExporterReader().read(source(folder, "\n".join(lines) + "\n", node))


@pytest.mark.parametrize(
    ("metric", "text", "counter", "value", "quality"),
    [
        ("symbol_error_total", "4", "symbol_error", 4, "ok"),
        ("symbol_error_total", "65535", "symbol_error", 65535, "saturated"),
        ("link_downed_total", "255", "link_downed", 255, "saturated"),
        ("local_link_integrity_errors_total", "15", "local_link_integrity", 15, "saturated"),
        ("port_transmit_wait_total", "4.294967295e+09", "tx_wait", 4294967295, "saturated"),
        ("port_errors_received_total", "2", "rx_errors", 2, "ok"),
        ("port_receive_remote_physical_errors_total", "2", "rx_remote_physical", 2, "ok"),
        ("port_discards_transmitted_total", "5", "tx_discards", 5, "ok"),
        ("port_data_received_bytes_total", "1.8e+07", "rx_bytes", 18e6, "ok"),
        ("port_data_received_bytes_total", "2147483634", "rx_bytes", 2147483634, "ok"),
        ("out_of_sequence_packets_received_total", "9", "out_of_sequence", 9, "ok"),
        ("rate_bytes_per_second", "2.5e+10", "speed_gbps", 200, "ok"),
        ("roce_slow_restart_total", "1", "", 1, "ok"),
    ],
)
def test_port_counters(
    tmp_path: Path, metric: str, text: str, counter: str, value: float, quality: str
) -> None:
    result = read(tmp_path, f"node_infiniband_{metric}{{{PORT}}} {text}")
    (reading,) = result.readings
    assert (reading.node, reading.interface) == ("n07", "mlx5_3/1")
    assert (reading.link_type, reading.counter) == ("infiniband", counter)
    assert reading.value == pytest.approx(value)
    assert reading.quality == quality


@pytest.mark.parametrize(
    ("state", "physical", "up", "word"),
    [
        (4, 5, 1.0, "LinkUp"),
        (1, 2, 0.0, "Polling"),
        (1, 3, 0.0, "Disabled"),
        (2, 5, 0.0, "Initialize"),
    ],
)
def test_port_is_up_when_both_states_say_so(
    tmp_path: Path, state: int, physical: int, up: float, word: str
) -> None:
    result = read(
        tmp_path,
        f"node_infiniband_physical_state_id{{{PORT}}} {physical}",
        f"node_infiniband_state_id{{{PORT}}} {state}",
    )
    (reading,) = [r for r in result.readings if r.counter == "link_up"]
    assert (reading.value, reading.state) == (up, word)


def test_state_that_states_nothing_is_unknown(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        f"node_infiniband_state_id{{{PORT}}} 0",
        f"node_infiniband_state_id{{{PORT}}} NaN",
        f"node_infiniband_state_id{{{PORT}}} 17",
    )
    assert [r.quality for r in result.readings] == ["not_supported", "not_supported"]
    assert [r.line for r in result.rejected] == [3]
    assert any(fact.interface == "mlx5_3/1" for fact in result.unknown)


@pytest.mark.parametrize(
    ("metric", "counter", "lane"),
    [
        ("received_symbol_err_phy", "symbol_error", None),
        ("received_corrected_bits_phy", "corrected_bits", None),
        ("received_err_lane_2_phy", "corrected_bits", 2),
        ("link_down_events_phy", "link_downed", None),
        ("transmitted_discards_phy", "tx_discards", None),
        ("received_errors_total", "rx_errors", None),
        ("received_oversize_pkts_buffer_discard", "", None),
    ],
)
def test_ethtool_statistics(tmp_path: Path, metric: str, counter: str, lane: int | None) -> None:
    result = read(tmp_path, f'node_ethtool_{metric}{{device="ens7np0"}} 6')
    (reading,) = result.readings
    assert (reading.interface, reading.counter, reading.lane) == ("ens7np0", counter, lane)


def test_carrier_of_real_devices(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        'node_network_carrier_down_changes_total{device="ens7np0"} 3',
        'node_network_carrier{device="ens7np0"} 1',
        'node_network_carrier_down_changes_total{device="docker0"} 3',
        'node_network_mtu_bytes{device="ens7np0"} 9000',
        'node_network_carrier{device="ens7np0"} 7',
    )
    assert [(r.counter, r.value) for r in result.readings] == [("link_downed", 3), ("link_up", 1)]
    assert [r.line for r in result.rejected] == [5]


def test_pci_devices(tmp_path: Path) -> None:
    place = 'segment="0000",bus="5d",device="00",function="0"'
    other = 'segment="0000",bus="65",device="00",function="0"'
    result = read(
        tmp_path,
        f"node_pcidevice_current_link_width{{{place}}} 8",
        f"node_pcidevice_max_link_width{{{place}}} 16",
        f"node_pcidevice_current_link_transfers_per_second{{{place}}} 3.2e+10",
        f"node_pcidevice_max_link_transfers_per_second{{{place}}} 2.5e+09",
        f"node_pcidevice_numa_node{{{place}}} 1",
        f"node_pcidevice_current_link_width{{{other}}} -1",
        f"node_pcidevice_current_link_transfers_per_second{{{other}}} -1e+09",
        f'node_pcidevice_power_state{{{place},state="D0"}} 1',
    )
    assert [(r.counter, r.value, r.socket) for r in result.readings if r.quality == "ok"] == [
        ("width", 8, 1),
        ("width_max", 16, 1),
        ("pcie_gen", 5, 1),
        ("pcie_gen_max", 1, 1),
    ]
    assert result.readings[0].interface == "pci-0000:5d:00.0"
    assert [fact.interface for fact in result.unknown] == ["pci-0000:65:00.0"] * 2


def test_host_name_of_the_kernel_names_the_node(tmp_path: Path) -> None:
    line = f"node_infiniband_link_downed_total{{{PORT}}} 0"
    result = read(tmp_path, line, 'node_uname_info{nodename="n11",sysname="Linux"} 1', node="")
    assert [r.node for r in result.readings] == ["n11"]
    assert result.unknown == []
    result = read(tmp_path, line, node="")
    assert [fact.what for fact in result.unknown] == ["name of the host"]


def test_families_of_others_in_the_same_scrape_are_read(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        "node_load1 4",
        'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu="0"} 1',
        'nccl_collective_exec_time_microseconds{gpu="GPU0",collective="AllReduce"} 12',
    )
    assert len(result.readings) == 1
    assert len(result.timings) == 1


def test_score(tmp_path: Path) -> None:
    reader = NodeExporterReader()
    assert reader.score(source(tmp_path, f"node_infiniband_state_id{{{PORT}}} 4\n")) > 90
    assert reader.score(source(tmp_path, "# TYPE node_load1 gauge\nnode_load1 0.5\n")) > 90
    assert reader.score(source(tmp_path, "# TYPE node_load1 gauge\n")) == 40
    assert reader.score(source(tmp_path, "node_modules is a folder\n")) == 0
    assert reader.score(source(tmp_path, "")) == 0


@pytest.mark.parametrize(
    "content", [b"", b"\0\xff" * 3000, b'node_infiniband_state_id{device="mlx']
)
def test_junk_is_survived(tmp_path: Path, content: bytes) -> None:
    assert NodeExporterReader().read(source(tmp_path, content)).understood == 0
