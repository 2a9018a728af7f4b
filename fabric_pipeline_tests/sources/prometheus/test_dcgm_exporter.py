"""What the reader makes of dcgm-exporter scrapes of all versions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.model.records import Reading, ReadResult
from fabric_pipeline.sources.prometheus.dcgm_exporter import DcgmExporterReader
from fabric_pipeline_tests.sources.prometheus.files import source

Read = Callable[..., ReadResult]
GPU = 'gpu="3",UUID="GPU-aa11",pci_bus_id="00000000:5D:00.0",device="nvidia3",Hostname="n07"'


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def _read(
        *lines: str, node: str = "", time: datetime | None = None, end: str = "\n"
    ) -> ReadResult:
        file = source(tmp_path, end.join(lines) + end, node, time)
        return DcgmExporterReader().read(file)

    return _read


def only(result: ReadResult) -> Reading:
    assert len(result.readings) == 1
    assert result.rejected == []
    return result.readings[0]


@pytest.mark.parametrize(
    ("name", "interface", "counter", "scope"),
    [
        ("dcgm_nvlink_flit_crc_error_count_total", "gpu3", "crc_flit", "gpu_sum"),
        ("dcgm_pcie_replay_counter", "gpu3/pcie", "pcie_replay", "link"),
        ("DCGM_FI_DEV_PCIE_REPLAY_TOTAL", "gpu3/pcie", "pcie_replay", "link"),
        ("DCGM_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS", "gpu3/pcie", "aer_correctable", "link"),
        ("DCGM_FI_DEV_PCIE_CORRECTABLE_ERROR_TOTAL", "gpu3/pcie", "aer_correctable", "link"),
        ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "gpu3", "crc_data", "gpu_sum"),
        ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", "gpu3", "crc_data", "gpu_sum"),
        ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L12", "gpu3/nvlink-12", "replay", "link"),
        ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_L12_TOTAL", "gpu3/nvlink-12", "replay", "link"),
        ("DCGM_FI_DEV_NVLINK_ERROR_DL_RECOVERY", "gpu3", "recovery", "gpu_sum"),
        ("DCGM_FI_DEV_NVLINK_RECOVERY_TOTAL", "gpu3", "recovery", "gpu_sum"),
        (
            "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS",
            "gpu3",
            "recovery_failed",
            "gpu_sum",
        ),
        ("DCGM_FI_DEV_NVLINK_RX_SYMBOL_ERROR_TOTAL", "gpu3", "symbol_error", "gpu_sum"),
        ("DCGM_FI_DEV_NVLINK_COUNT_FEC_HISTORY_2", "gpu3", "fec_bin_2", "gpu_sum"),
        ("DCGM_FI_DEV_NVLINK_FEC_HISTORY_2_TOTAL", "gpu3", "fec_bin_2", "gpu_sum"),
        ("DCGM_FI_DEV_NVLINK_COUNT_RX_PACKETS", "gpu3", "rx_packets", "gpu_sum"),
        ("DCGM_FI_DEV_PSTATE", "gpu3", "performance_state", "link"),
        ("DCGM_FI_DEV_PCIE_LINK_WIDTH", "gpu3/pcie", "width", "link"),
        ("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "gpu3/pcie", "pcie_gen_max", "link"),
        ("DCGM_FI_DEV_NVLINK_RECOVERY_EVENT_TOTAL", "gpu3", "", "gpu_sum"),
    ],
)
def test_names_of_all_versions(
    read: Read, name: str, interface: str, counter: str, scope: str
) -> None:
    reading = only(read(f"{name}{{{GPU}}} 8"))
    assert (reading.node, reading.interface, reading.gpu_uuid) == ("n07", interface, "GPU-aa11")
    assert (reading.counter, reading.value, reading.scope) == (counter, 8.0, scope)
    assert (reading.line, reading.counter_text, reading.value_text) == (1, name, "8")


def test_link_entities_of_gpus_and_switches(read: Read) -> None:
    result = read(
        'DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_PER_LINK_TOTAL{nvlink="35",gpu="1",hostname="n1"} 4',
        'DCGM_FI_DEV_NVSWITCH_LINK_REPLAY_ERRORS{nvlink="34",nvswitch="nvswitch2",hostname="n1"} 5',
        'DCGM_FI_DEV_NVSWITCH_LINK_CRC_ERRORS_LANE3{nvlink="34",nvswitch="nvswitch2",hostname="n1"} 6',
        'DCGM_FI_DEV_NVSWITCH_LINK_ECC_ERROR_L3_TOTAL{nvlink="34",nvswitch="2",hostname="n1"} 7',
    )
    assert [(r.interface, r.counter, r.lane, r.scope, r.value) for r in result.readings] == [
        ("gpu1/nvlink-35", "crc_flit", None, "link", 4),
        ("nvswitch-2/port-34", "replay", None, "link", 5),
        ("nvswitch-2/port-34", "crc", 3, "lane", 6),
        ("nvswitch-2/port-34", "ecc", 3, "lane", 7),
    ]
    assert {r.link_type for r in result.readings} == {"nvlink"}


@pytest.mark.parametrize(
    ("name", "value", "up", "state"),
    [
        ("DCGM_FI_DEV_NVLINK_GET_STATE", "0", 0.0, "inactive"),
        ("DCGM_FI_DEV_NVLINK_LINK_STATUS", "1", 1.0, "active"),
        ("DCGM_FI_DEV_NVLINK_GET_STATE", "2", 1.0, "sleep"),
    ],
)
def test_link_state(read: Read, name: str, value: str, up: float, state: str) -> None:
    reading = only(read(f'{name}{{nvlink="14",gpu="0",hostname="n1"}} {value}'))
    assert (reading.interface, reading.counter, reading.kind) == (
        "gpu0/nvlink-14",
        "link_up",
        "gauge",
    )
    assert (reading.value, reading.state) == (up, state)


@pytest.mark.parametrize(
    ("value", "up", "quality"),
    [("0", 0.0, "ok"), ("2", 1.0, "ok"), ("3", 0.0, "ok"), ("-1", None, "not_supported")],
)
def test_state_of_a_switch_port(read: Read, value: str, up: float | None, quality: str) -> None:
    labels = 'nvlink="9",nvswitch="nvswitch0",hostname="n1"'
    reading = only(read(f"DCGM_FI_DEV_NVSWITCH_LINK_STATUS{{{labels}}} {value}"))
    assert (reading.interface, reading.value) == ("nvswitch-0/port-9", up)
    assert reading.quality == quality


def test_values_that_their_metric_cannot_have(read: Read) -> None:
    result = read(
        'DCGM_FI_DEV_NVLINK_GET_STATE{nvlink="1",gpu="0",hostname="n1"} 0.5',
        f"DCGM_FI_DEV_PSTATE{{{GPU}}} +Inf",
        f"DCGM_FI_DEV_PCIE_LINK_WIDTH{{{GPU}}} 0",
        f"DCGM_FI_DEV_XID_ERRORS{{{GPU}}} 9223372036854775794",
    )
    assert [r.line for r in result.rejected] == [1, 2]
    assert [r.quality for r in result.readings] == ["not_supported"]
    assert result.events == []
    assert any("XID" in fact.what for fact in result.unknown)


def test_interconnect_metrics_without_a_canonical_counter_stay_raw(read: Read) -> None:
    result = read(
        f"DCGM_FI_DEV_C2C_LINK_ERROR_REPLAY{{{GPU}}} 3",
        f"DCGM_FI_DEV_PCIE_TX_THROUGHPUT{{{GPU}}} 8599",
        'DCGM_FI_DEV_CONNECTX_ACTIVE_PCIE_LINK_WIDTH{Hostname="n07"} 16',
        'DCGM_FI_DEV_NVSWITCH_THROUGHPUT_TX{nvswitch="nvswitch0",Hostname="n07"} 5',
        f'DCGM_EXP_P2P_STATUS{{{GPU},peer_gpu="1",link_status="OK"}} 0',
    )
    assert [(r.interface, r.counter, r.scope) for r in result.readings] == [
        ("gpu3", "", "link"),
        ("gpu3/pcie", "", "link"),
        ("", "", "link"),
        ("nvswitch-0", "", "switch_sum"),
        ("gpu3", "", "link"),
    ]
    assert result.readings[4].state == "OK"


def test_state_code_that_no_version_explains_stays_raw(read: Read) -> None:
    reading = only(read('DCGM_FI_DEV_NVLINK_GET_STATE{nvlink="1",gpu="0",hostname="n1"} 9'))
    assert (reading.counter, reading.value) == ("", 9)


@pytest.mark.parametrize(
    "value",
    ["9223372036854775794", "2147483634", "140737488355330.000000", "9.223372036854776e+18", "NaN"],
)
def test_blank_is_no_reading_and_stated_once_per_gpu_and_family(read: Read, value: str) -> None:
    names = [f"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L{link}" for link in range(4)]
    result = read(*(f"{name}{{{GPU}}} {value}" for name in names))
    assert result.understood == 0
    assert [r.quality for r in result.readings] == ["not_supported"] * 4
    assert [r.value for r in result.readings] == [None] * 4
    facts = [fact for fact in result.unknown if fact.interface == "gpu3"]
    assert len(facts) == 1
    assert "CRC_FLIT" in facts[0].what


@pytest.mark.parametrize(
    ("raw", "rate"),
    [("4095", 0.0), ("2572", 1e-11), ("782", 3e-14), ("0", 0.0), ("4078", 1.5e-237)],
)
def test_raw_bit_error_rate(read: Read, raw: str, rate: float) -> None:
    # 2572 = 10 << 8 | 12, so 10e-12; 782 = 3 << 8 | 14
    reading = only(read(f"DCGM_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER{{{GPU}}} {raw}"))
    assert (reading.counter, reading.scope) == ("effective_ber", "gpu_sum")
    assert reading.value == pytest.approx(rate, rel=1e-9, abs=0)


def test_printed_bit_error_rate_of_zero_is_not_zero(read: Read) -> None:
    result = read(
        f"DCGM_FI_DEV_NVLINK_EFFECTIVE_BER_RATIO{{{GPU}}} 0.000000",
        f"DCGM_FI_DEV_NVLINK_EFFECTIVE_BER_RAW{{{GPU}}} 782",
        f"DCGM_FI_DEV_NVLINK_COUNT_SYMBOL_BER_FLOAT{{{GPU}}} 0.000004",
    )
    assert [(r.counter, r.quality, r.value) for r in result.readings] == [
        ("effective_ber", "not_supported", None),
        ("effective_ber", "ok", 3e-14),
        ("symbol_ber", "ok", 4e-6),
    ]
    assert any("six decimals" in fact.reason for fact in result.unknown)


def test_raw_bit_error_rate_of_more_than_12_bits_is_refused(read: Read) -> None:
    result = read(f"DCGM_FI_DEV_NVLINK_SYMBOL_BER_RAW{{{GPU}}} 5000")
    assert "12 bits" in result.rejected[0].rule


def test_mig_instances_and_pods_share_one_link(read: Read) -> None:
    result = read(
        *(f'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{GPU},GPU_I_ID="{i}"}} 4' for i in range(3)),
        f'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{GPU},pod="train-1",namespace="a"}} 4',
    )
    assert only(result).value == 4
    assert result.facts["duplicate_values"] == 3


def test_old_and_new_name_of_one_counter_count_once(read: Read) -> None:
    result = read(
        f"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{{{GPU}}} 2",
        f"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL{{{GPU}}} 2",
        f"DCGM_FI_DEV_NVLINK_REPLAY_TOTAL{{{GPU}}} 5",
    )
    assert [(r.counter, r.value) for r in result.readings] == [("", 2), ("replay", 5)]


def test_xid_gauge_is_an_undated_note(read: Read) -> None:
    time = datetime(2026, 3, 1, tzinfo=UTC)
    result = read(
        f'DCGM_FI_DEV_XID_ERRORS{{{GPU},GPU_I_ID="1",err_code="74"}} 74',
        f'DCGM_FI_DEV_XID_ERRORS{{{GPU},GPU_I_ID="2",err_code="74"}} 74',
        'DCGM_FI_DEV_XID_ERRORS{gpu="4",Hostname="n07"} 0',
        'DCGM_EXP_XID_ERRORS_COUNT{gpu="5",Hostname="n07",xid="31"} 2',
        'DCGM_FI_DEV_XID_ERRORS{gpu="6",Hostname="n07"} 1.5',
        time=time,
    )
    assert [(e.interface, e.code, e.count, e.role, e.severity, e.time) for e in result.events] == [
        ("gpu3", 74, 1, "context", "watch", None),
        ("gpu5", 31, 2, "context", "watch", None),
    ]
    assert "last code" in result.events[0].reason
    assert result.readings == []
    assert [r.line for r in result.rejected] == [5]


def test_sxid_gauge_names_the_switch(read: Read) -> None:
    result = read('DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch="nvswitch1",Hostname="n07"} 20034')
    assert [(e.kind, e.interface, e.code) for e in result.events] == [("sxid", "nvswitch-1", 20034)]


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ('Hostname="n07"', "n07"),
        ('hostname="n07.example.org"', "n07.example.org"),
        ('exported_hostname="n07"', "n07"),
        ('Hostname="10.1.2.3"', "10.1.2.3"),
        ('Hostname="3f54a054f69d",kubernetes_node="n07"', "n07"),
        ('Hostname="3f54a054f69d"', ""),
        ('Hostname="nvidia-dcgm-exporter-x7k2p"', ""),
        ('Hostname="trainer-0",pod="trainer-0"', ""),
        ('Hostname="localhost",instance="n07:9400"', "n07"),
        ('instance="10.1.2.3:9400"', ""),
        ('job="x"', ""),
    ],
)
def test_node_is_a_host_or_unknown(read: Read, labels: str, node: str) -> None:
    result = read(f'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{gpu="0",{labels}}} 1')
    assert only(result).node == node
    assert any(fact.what == "name of the host" for fact in result.unknown) is (not node)


def test_hint_of_the_node_wins(read: Read) -> None:
    result = read(f"DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{GPU}}} 1", node="rack3-n1")
    assert only(result).node == "rack3-n1"
    assert result.unknown == []


def test_gpu_without_index_is_named_by_device_or_address(read: Read) -> None:
    result = read(
        'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{device="nvidia6",Hostname="n1"} 1',
        'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{pci_bus_id="00000000:9C:00.0",Hostname="n1"} 1',
    )
    assert [r.interface for r in result.readings] == ["gpu6/pcie", "pci-0000:9c:00.0/pcie"]


def test_scrapes_with_stamps_are_kept_apart(read: Read) -> None:
    series = f"DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{GPU}}}"
    result = read(f"{series} 1 1700000000000", f"{series} 1 1700000060000")
    assert [r.time for r in result.readings] == [
        datetime.fromtimestamp(1_700_000_000, UTC),
        datetime.fromtimestamp(1_700_000_060, UTC),
    ]


def test_time_of_the_capture_dates_the_last_scrape_only(read: Read) -> None:
    series, time = f"DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{GPU}}}", datetime(2026, 3, 1, tzinfo=UTC)
    assert only(read(f"{series} 1", time=time)).time == time
    result = read(f"{series} 1", f"{series} 2", time=time)
    assert [(r.value, r.time) for r in result.readings] == [(1, None), (2, time)]
    assert any("earlier scrapes" in fact.what for fact in result.unknown)


def test_throughput_in_mb_per_second(read: Read) -> None:
    result = read(
        f"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{{{GPU}}} 120",
        f"DCGM_FI_PROF_NVLINK_L4_TX_BYTES{{{GPU}}} 2500000",
        f"DCGM_FI_PROF_PCIE_RX_BYTES{{{GPU}}} 19830",
        f"DCGM_FI_PROF_PCIE_RX_BYTES_TOTAL{{{GPU}}} 77",
    )
    assert [(r.interface, r.counter, r.value) for r in result.readings] == [
        ("gpu3", "throughput_mbps", 120),
        ("gpu3/nvlink-4", "tx_throughput_mbps", 2.5),
        ("gpu3/pcie", "rx_throughput_mbps", 0.01983),
        ("gpu3/pcie", "rx_bytes", 77),
    ]


def test_other_metrics_are_no_readings(read: Read) -> None:
    result = read(
        f"DCGM_FI_DEV_GPU_TEMP{{{GPU}}} 41",
        f"dcgm_fi_prof_gr_engine_active{{{GPU}}} 0.5",
        "process_cpu_seconds_total 3",
    )
    assert result.readings == []
    assert result.facts["other_metrics"]["DCGM_FI_DEV_GPU_TEMP"] == 1
    assert any(fact.what == "interconnect counters" for fact in result.unknown)


def test_damaged_scrape_keeps_what_is_whole(read: Read) -> None:
    result = read(
        "$ kubectl exec exporter -- curl -s localhost:9400/metrics",
        f"DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{GPU}}} 3",
        f"Y_COUNTER{{{GPU}}} 3",
        "...",
        f"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{{{GPU}}} -1",
        'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu="4",UUID="GPU-b',
        end="\r\n",
    )
    assert [r.value for r in result.readings] == [3]
    assert sorted(r.line or 0 for r in result.rejected) == [3, 5, 6]
    assert any("left out" in fact.what for fact in result.unknown)


def test_score(tmp_path: Path) -> None:
    reader = DcgmExporterReader()
    for text in (
        f"DCGM_FI_DEV_GPU_TEMP{{{GPU}}} 41\n",
        f"# HELP x y\ndcgm_gpu_temp{{{GPU}}} 41\n",
        '{__name__="DCGM_FI_DEV_GPU_TEMP",gpu="1"} 4 1700000000000\n',
    ):
        assert reader.score(source(tmp_path, text)) > 90
    mixed = "a log line\n" * 9 + f"DCGM_FI_DEV_GPU_TEMP{{{GPU}}} 41\n"
    assert 0 < reader.score(source(tmp_path, mixed)) < 50
    for content in (
        "",
        "DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature (in C).\n",
        '{"metric": {"__name__": "DCGM_FI_DEV_GPU_TEMP"}}\n',
        'node_load1{a="b"} 4\n',
        b"\0\1DCGM_FI_DEV_GPU_TEMP{} 4\n",
    ):
        assert reader.score(source(tmp_path, content)) == 0


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"\xff\xfe\xff{" * 300, b"{}\n" * 50])
def test_junk_is_survived(tmp_path: Path, content: bytes) -> None:
    result = DcgmExporterReader().read(source(tmp_path, content))
    assert result.understood == 0
    assert result.unknown
