"""sysfs by grep, JSON snapshot and ttar archive: the same paths, the same readings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.infiniband.sysfs_grep import SysfsGrepReader
from fabric_pipeline.sources.infiniband.sysfs_snapshot import SysfsSnapshotReader
from fabric_pipeline.sources.infiniband.sysfs_ttar import SysfsTtarReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

GREP, SNAPSHOT, TTAR = SysfsGrepReader(), SysfsSnapshotReader(), SysfsTtarReader()
DEVICE = "/sys/bus/pci/devices/0000:3b:00.0"
FILES = {
    f"{DEVICE}/infiniband/mlx5_2/node_desc": "oak-11 HCA-3",
    f"{DEVICE}/infiniband/mlx5_2/hca_type": "MT4123",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/state": "4: ACTIVE",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/phys_state": "5: LinkUp",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/rate": "200 Gb/sec (4X HDR)",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/link_layer": "InfiniBand",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/lid": "0x1f",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/counters/link_downed": "255",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/counters/port_rcv_data": "25",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/counters/symbol_error": "N/A (no PMA)",
    f"{DEVICE}/infiniband/mlx5_2/ports/1/hw_counters/lifespan": "10",
    f"{DEVICE}/net/ib5/type": "32",
    f"{DEVICE}/net/ib5/operstate": "down",
    f"{DEVICE}/net/ib5/carrier_up_count": "6",
    f"{DEVICE}/net/ib5/speed": "200000",
    "/sys/class/pci_bus/0000:3a/device/0000:3a:00.0/current_link_speed": "16 GT/s",
    "/sys/class/pci_bus/0000:3a/device/0000:3a:00.0/current_link_width": "8",
}


def as_grep(files: dict[str, str]) -> str:
    return "".join(f"{path}:{content}\n" for path, content in files.items())


def as_json(files: dict[str, str]) -> str:
    return json.dumps({path: content + "\n" for path, content in files.items()}, indent=1)


def as_ttar(files: dict[str, str]) -> str:
    rule = "# ttar" + " -" * 34 + "\n"
    return "".join(f"Path: {p}\nLines: 1\n{c}EOF\nMode: 644\n{rule}" for p, c in files.items())


FORMS: list[tuple[Reader, str]] = [
    (GREP, as_grep(FILES)),
    (SNAPSHOT, as_json(FILES)),
    (TTAR, as_ttar(FILES)),
]


@pytest.mark.parametrize(("reader", "text"), FORMS)
def test_every_form_reads_the_same(tmp_path: Path, reader: Reader, text: str) -> None:
    result = read(reader, tmp_path, text)
    assert one(result, "mlx5_2/1", "link_up").node == "oak-11"
    assert one(result, "mlx5_2/1", "speed_gbps").value == 200
    assert "0000:3b:00.0" in one(result, "mlx5_2/1", "port_identity").state
    assert one(result, "ib5", "carrier_up_count").value == 6
    assert one(result, "mlx5_2/1", "link_downed").quality == "saturated"
    assert one(result, "mlx5_2/1", "rx_bytes").value == 100
    missing = one(result, "mlx5_2/1", "symbol_error")
    assert (missing.value, missing.quality) == (None, "not_supported")
    assert one(result, "ib5", "link_up").state == "interface down"
    assert one(result, "pci-0000:3a:00.0", "pcie_gen").value == 4
    assert one(result, "pci-0000:3a:00.0", "width").value == 8
    assert not result.rejected


@pytest.mark.parametrize(("reader", "text"), FORMS)
def test_lines_point_at_the_content(tmp_path: Path, reader: Reader, text: str) -> None:
    line = one(read(reader, tmp_path, text), "mlx5_2/1", "speed_gbps").line
    assert line is not None
    assert "4X HDR" in text.split("\n")[line - 1]


def test_relative_paths_and_messages_of_grep(tmp_path: Path) -> None:
    text = (
        "$ grep -r . /sys/class/infiniband\n"
        "grep: mlx5_7/ports/1/gid_attrs/types/9: Invalid argument\n"
        "mlx5_7/ports/1/counters/symbol_error:3\n"
        "mlx5_7/ports/1/counters/link_error_recovery:x\n"
        "mlx5_7/ports/1/hw_counters/np_cnp_sent:12\n"
    )
    result = read(GREP, tmp_path, text)
    assert one(result, "mlx5_7/1", "symbol_error").link_type == "roce"
    assert {r.text for r in result.rejected} == {
        "grep: mlx5_7/ports/1/gid_attrs/types/9: Invalid argument",
        "x",
    }
    assert [u.what for u in result.unknown] == ["port state"]


def test_blanked_contents_are_not_measured(tmp_path: Path) -> None:
    files = {**FILES, f"{DEVICE}/infiniband/mlx5_2/ports/1/rate": "rate"}
    result = read(SNAPSHOT, tmp_path, as_json(files))
    assert not [r for r in result.readings if r.counter == "speed_gbps"]
    assert not result.rejected


def test_cut_snapshot_reads_what_is_there(tmp_path: Path) -> None:
    text = as_json(FILES)
    result = read(SNAPSHOT, tmp_path, text[: text.index("counters/port_rcv_data")])
    assert one(result, "mlx5_2/1", "link_downed").value == 255
    assert len(result.rejected) == 1


def test_cut_archive_is_said(tmp_path: Path) -> None:
    text = as_ttar(FILES).replace("Lines: 1\n200000", "Lines: 9\n200000")
    result = read(TTAR, tmp_path, text[: text.index("200000")])
    assert len(result.rejected) == 1
    assert one(result, "ib5", "link_up").value == 0


def test_empty_is_nobody_s(tmp_path: Path) -> None:
    for reader in (GREP, SNAPSHOT, TTAR):
        assert reader.score(source(tmp_path, "")) == 0


COUNTERS = {
    "symbol_error": "symbol_error",
    "port_rcv_errors": "rx_errors",
    "VL15_dropped": "vl15_dropped",
}


@given(st.dictionaries(st.sampled_from(sorted(COUNTERS)), st.integers(0, 65000), min_size=1))
def test_rendered_counters_read_back(tmp_path_factory, counts: dict[str, int]) -> None:  # type: ignore[no-untyped-def]
    files = {f"mlx5_0/ports/1/counters/{name}": str(v) for name, v in counts.items()}
    folder = tmp_path_factory.mktemp("sysfs")
    for reader, text in ((GREP, as_grep(files)), (TTAR, as_ttar(files))):
        path = folder / reader.format_id
        path.write_text(text)
        result: ReadResult = reader.read(SourceFile(path, "f"))
        for name, value in counts.items():
            assert one(result, "mlx5_0/1", COUNTERS[name]).value == value
