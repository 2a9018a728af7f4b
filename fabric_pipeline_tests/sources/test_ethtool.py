"""ethtool -S: names of several drivers, lanes, several interfaces, cut rows."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.ethtool import EthtoolStatsReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

READER = EthtoolStatsReader()
TEXT = """root@fir-4:~# ethtool -S ens9np0
NIC statistics:
     rx_packets: 12
     rx_crc_errors_phy: 4
     link_down_events_phy: 2
     rx_corrected_bits_phy: 77
     rx_err_lane_0_phy: 70
     rx_err_lane_1_phy: 7
     rx_prio3_discards: 0
root@fir-4:~# ethtool -S ens9np1
     rx_crc_errors_phy: 0
     rx_symbol_err_phy: 1
"""


def test_interfaces_stay_apart_and_lanes_are_before_correction(tmp_path: Path) -> None:
    result = read(READER, tmp_path, TEXT)
    assert one(result, "ens9np0", "crc_phy").value == 4
    assert one(result, "ens9np1", "crc_phy").value == 0
    assert one(result, "ens9np0", "link_downed").node == "fir-4"
    lanes = {r.lane: r.value for r in result.readings if r.scope == "lane"}
    assert lanes == {0: 70, 1: 7}
    assert {r.counter for r in result.readings if r.scope == "lane"} == {"corrected_bits"}


def test_unknown_names_are_kept(tmp_path: Path) -> None:
    result = read(READER, tmp_path, TEXT)
    assert "rx_prio3_discards" in {r.counter_text for r in result.readings if not r.counter}


def test_bare_rows_without_a_command(tmp_path: Path) -> None:
    result = read(
        READER, tmp_path, "rx_crc_errors_phy: 3\nrx_discards_phy: 8\ntx_discards_phy: 0\n"
    )
    assert one(result, "", "rx_drops").value == 8


def test_cut_row_is_refused(tmp_path: Path) -> None:
    result = read(READER, tmp_path, TEXT[: TEXT.rindex(" 1\n")])
    assert [r.text.strip() for r in result.rejected] == ["rx_symbol_err_phy:"]


def test_empty_is_not_mine(tmp_path: Path) -> None:
    assert READER.score(source(tmp_path, "")) == 0


@given(st.dictionaries(st.integers(0, 7), st.integers(0, 10**15), min_size=1))
def test_rendered_lanes_read_back(tmp_path_factory, lanes: dict[int, int]) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path_factory.mktemp("eth") / "f"
    path.write_text("".join(f"  rx_err_lane_{lane}_phy: {v}\r\n" for lane, v in lanes.items()))
    result = READER.read(SourceFile(path, "f"))
    assert {r.lane: r.value for r in result.readings} == {k: float(v) for k, v in lanes.items()}
