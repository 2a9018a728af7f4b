"""Error counters of nvlink listings: whole, merged by hand, by lane, cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.nvidia_smi.nvlink_errors import NvlinkErrorsReader
from fabric_pipeline.sources.nvidia_smi.nvlink_rows import expand_links
from fabric_pipeline.sources.nvidia_smi.nvlink_status import NvlinkStatusReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, UUID, one, read, source, values

READER = NvlinkErrorsReader()
HEAD = f"GPU 2: Tesla V100-SXM2-16GB (UUID: {UUID})\n"


def test_three_rows_a_link(tmp_path: Path) -> None:
    text = HEAD + "".join(
        f"\t Link {link}: {name} Errors: {link * 10 + n}\n"
        for link in (0, 1)
        for n, name in enumerate(("Replay", "Recovery", "CRC"))
    )
    found = values(read(READER, tmp_path, text))
    assert found["gpu2/nvlink-1", "replay"] == 10
    assert found["gpu2/nvlink-1", "recovery"] == 11
    assert found["gpu2/nvlink-1", "crc"] == 12


def test_merged_rows_become_one_reading_a_link_and_counter(tmp_path: Path) -> None:
    text = HEAD + (
        " Link 3: Replay Errors: 77\n Links 0-2, 4-5: Replay/Recovery/CRC Errors: 0\n"
        "GPU 3: Tesla V100-SXM2-16GB\n Links 1-5: No errors\n Link 0: CRC Errors: 9,876\n"
    )
    result = read(READER, tmp_path, text)
    found = values(result)
    assert found["gpu2/nvlink-3", "replay"] == 77
    assert [found[f"gpu2/nvlink-{n}", "crc"] for n in (0, 1, 2, 4, 5)] == [0] * 5
    assert found["gpu3/nvlink-5", "recovery"] == 0
    assert found["gpu3/nvlink-0", "crc"] == 9876
    assert len(result.readings) == 1 + 15 + 15 + 1


def test_full_counter_is_saturated(tmp_path: Path) -> None:
    result = read(
        READER, tmp_path, HEAD + " Link 0: CRC Errors: 65535\n Link 1: CRC Errors: 65534\n"
    )
    assert one(result, "gpu2/nvlink-0", "crc").quality == "saturated"
    assert one(result, "gpu2/nvlink-1", "crc").quality == "ok"


def test_longer_lists_of_newer_gpus(tmp_path: Path) -> None:
    rows = {
        "Malformed packet Errors": ("rx_malformed", "1", 1.0),
        "Rx Errors": ("rx_errors", "2", 2.0),
        "Rx remote Errors": ("rx_remote_physical", "3", 3.0),
        "Local link integrity Errors": ("local_link_integrity", "4", 4.0),
        "Link recovery successful events": ("recovery", "5", 5.0),
        "Link recovery failed events": ("recovery_failed", "6", 6.0),
        "Total link recovery events": ("Total link recovery events", "11", 11.0),
        "Effective BER": ("effective_ber", "15e-255", 0.0),
        "Symbol BER": ("symbol_ber", "3e-9", 3e-9),
        "Symbol Errors": ("symbol_error", "7", 7.0),
        "FEC Errors - 1": ("fec_bin_1", "36140749276", 36140749276.0),
        "Raw BER Total": ("Raw BER Total", "2060", 2060.0),
    }
    text = "GPU 0: NVIDIA GB300\n" + "".join(f"\t Link 1: {k}: {v[1]}\n" for k, v in rows.items())
    found = values(read(READER, tmp_path, text))
    assert found == {("gpu0/nvlink-1", name): value for name, _, value in rows.values()}


def test_total_recoveries_count_only_without_parts(tmp_path: Path) -> None:
    text = "GPU 0: NVIDIA GB300\n Link 4: Total link recovery events: 12\n"
    assert one(read(READER, tmp_path, text), "gpu0/nvlink-4", "recovery").value == 12


@pytest.mark.parametrize(
    "rows",
    [
        " Link 0: CRC Errors Lane 2: 5\n",
        " Link 0: Lane 2: CRC Errors: 5\n",
        " Link 0:\n   Lane 2: CRC Errors: 5\n",
        " Link 0:\n   Lane 2: 5\n",
        " Link 0, Lane 2: CRC Error: 5\n",
    ],
)
def test_counts_of_a_lane(tmp_path: Path, rows: str) -> None:
    reading = one(
        read(READER, tmp_path, HEAD + " Link 1: CRC Errors: 0\n" + rows), "gpu2/nvlink-0", "crc"
    )
    assert (reading.lane, reading.scope, reading.value) == (2, "lane", 5.0)


def test_throughput_of_a_link_is_counted_in_bytes(tmp_path: Path) -> None:
    rows = " Link 3: Data Tx: 7 KiB\n Link 3: Data Rx: N/A\n Link 3: Raw Tx: 9 KiB\n"
    result = read(READER, tmp_path, HEAD + rows)
    assert one(result, "gpu2/nvlink-3", "tx_bytes").value == 7 * 1024
    assert one(result, "gpu2/nvlink-3", "rx_bytes").quality == "not_supported"
    assert ("gpu2/nvlink-3", "Raw Tx") in values(result)


def test_loop_banners_name_the_gpu_where_no_header_does(tmp_path: Path) -> None:
    text = "".join(
        f"=== GPU {gpu} NVLink Errors ===\nLink 0: Replay Errors: {count}\n"
        for gpu, count in ((6, 4), (7, 5))
    )
    found = values(read(READER, tmp_path, text))
    assert found == {("gpu6/nvlink-0", "replay"): 4, ("gpu7/nvlink-0", "replay"): 5}


def test_two_takes_of_one_command_keep_their_times(tmp_path: Path) -> None:
    take = "$ nvidia-smi nvlink -e\n" + HEAD + " Link 0: Replay Errors: {}\n"
    text = (
        "=== hgx-1 | before | 2026-11-20T10:00:00Z ===\n" + take.format(1)
        + "=== hgx-1 | after | 2026-11-20T11:00:00Z ===\n" + take.format(9)
    )  # fmt: skip
    result = read(READER, tmp_path, text)
    assert [(r.node, r.value, r.time.hour if r.time else 0) for r in result.readings] == [
        ("hgx-1", 1.0, 10),
        ("hgx-1", 9.0, 11),
    ]


def test_not_measured_and_unreadable_values(tmp_path: Path) -> None:
    result = read(
        READER, tmp_path, HEAD + " Link 0: CRC Errors: N/A\n Link 1: CRC Errors: 3O\n Link 2: CRC"
    )
    assert one(result, "gpu2/nvlink-0", "crc").quality == "not_supported"
    assert [refused.line for refused in result.rejected] == [3, 4]
    assert result.understood == 0


def test_link_cut_in_the_middle_is_unknown(tmp_path: Path) -> None:
    text = HEAD + " Link 0: Replay Errors: 0\n Link 0: CRC Errors: 0\n Link 1: Replay Errors: 0\n"
    (fact,) = read(READER, tmp_path, text).unknown
    assert (fact.interface, fact.what) == ("gpu2/nvlink-1", "CRC Errors of GPU 2 link 1")


def test_counters_win_over_states_in_one_file(tmp_path: Path) -> None:
    text = HEAD + " Link 0: 25 GB/s\n" + HEAD + " Link 0: CRC Errors: 4\n"
    assert NvlinkStatusReader().score(source(tmp_path, text)) == 0
    found = values(read(READER, tmp_path, text))
    assert (found["gpu2/nvlink-0", "link_up"], found["gpu2/nvlink-0", "crc"]) == (1.0, 4.0)


@pytest.mark.parametrize("text", ["3-1", "0-999", "x", "1,", "5-6-7"])
def test_broken_link_lists(text: str) -> None:
    assert expand_links(text) is None


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert READER.score(file) == 0
    assert READER.read(file).readings == []


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 7), st.integers(0, 17)),
        st.tuples(st.integers(0, 65534), st.integers(0, 65534), st.integers(0, 65534)),
        min_size=1,
        max_size=20,
    )
)
def test_rendered_counts_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    counts: dict[tuple[int, int], tuple[int, int, int]],
) -> None:
    lines = []
    for (gpu, link), numbers in sorted(counts.items()):
        lines.append(f"GPU {gpu}: NVIDIA A100-SXM4-80GB (UUID: {UUID})")
        names = ("Replay", "Recovery", "CRC")
        lines += [f"\t Link {link}: {n} Errors: {v}" for n, v in zip(names, numbers, strict=True)]
    result = READER.read(source(tmp_path_factory.mktemp("x"), "\n".join(lines)))
    found = values(result)
    for (gpu, link), numbers in counts.items():
        place = f"gpu{gpu}/nvlink-{link}"
        assert tuple(found[place, name] for name in ("replay", "recovery", "crc")) == numbers
    assert len(result.readings) == 3 * len(counts)
