"""ibdiagnet2.db_csv and ibdiagnet2.net_dump_ext: columns by name, counters, links, what is not measured."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.infiniband.ibdiagnet2_db_csv import Ibdiagnet2DbCsvReader
from fabric_pipeline.sources.infiniband.ibdiagnet2_net_dump_ext import Ibdiagnet2NetDumpExtReader
from fabric_pipeline_tests.sources.infiniband.files import ends, one, read

DB, EXT = Ibdiagnet2DbCsvReader(), Ibdiagnet2NetDumpExtReader()
SPECIMENS = Path(__file__).parents[1] / "specimens"
DATABASE = (SPECIMENS / "ibdiagnet2_db_csv.txt").read_text()
DUMP = (SPECIMENS / "ibdiagnet2_net_dump_ext.txt").read_text()
NODES = DATABASE[: DATABASE.index("START_PM_INFO")]


def test_states_levels_and_counters_of_the_database(tmp_path: Path) -> None:
    result = read(DB, tmp_path, DATABASE)
    assert result.rejected == []
    port, adapter = "fern-1/port-3", "mlx5_1/1"
    assert one(result, port, "link_up").value == 1
    assert one(result, "fern-1/port-5", "link_up").value == 0
    assert (one(result, port, "width").value, one(result, port, "width_max").value) == (4, 4)
    assert one(result, port, "speed_gbps").value == 200
    wide = one(result, port, "symbol_error")
    assert (wide.value, wide.quality) == (70123, "ok"), "the 64-bit column replaces the full one"
    classic = one(result, adapter, "symbol_error")
    assert (classic.value, classic.quality, classic.node) == (11, "ok", "oak-03")
    assert one(result, port, "tx_bytes").value == 4000
    assert one(result, port, "link_downed").value == 2
    assert [r.counter for r in result.readings if r.interface == "fern-1/port-5"] == [
        "link_up",
        "port_identity",
    ], "the width and speed of a port without a link are left over"
    assert result.facts["other_sections"] == {"TEMP_SENSING": 2}


def test_the_link_of_the_database_has_both_ends_and_its_cable(tmp_path: Path) -> None:
    result = read(DB, tmp_path, DATABASE)
    assert ends(result) == {frozenset({"fern-1/port-3", "mlx5_1/1"})}
    assert result.topology is not None
    (link,) = result.topology.links
    assert (link["cable_serial"], link["cable_part_number"]) == ("CS-17", "P-2M")
    guids = {side["port"]: side["guid"] for side in (link["a"], link["b"])}
    assert guids == {"fern-1/port-3": "0x0000bb0000bb0001", "mlx5_1/1": "0x0000aa0000aa0013"}


def test_a_classic_counter_at_its_ceiling_is_saturated(tmp_path: Path) -> None:
    text = DATABASE.replace(",SymbolErrorCounterExt", "").replace("65535,70123", "65535")
    found = one(read(DB, tmp_path, text.replace("11,N/A", "11")), "fern-1/port-3", "symbol_error")
    assert (found.value, found.quality) == (65535, "saturated")


def test_columns_may_come_in_any_order_and_number(tmp_path: Path) -> None:
    text = NODES + (
        "START_PM_INFO\nPortNumber,Something,SymbolErrorCounter,NodeGUID\n"
        "3,9,17,0x0000bb0000bb0001\n3,9,x,0x0000bb0000bb0001\n1,2,3,4,5\nEND_PM_INFO\n"
    )
    result = read(DB, tmp_path, text)
    assert one(result, "fern-1/port-3", "symbol_error").value == 17
    assert [refused.rule for refused in result.rejected] == [
        "a row of PM_INFO with 5 cells under 4 columns",
        "symbolerrorcounter is no number",
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.integers(1, 41),
        st.tuples(st.integers(0, 65534), st.integers(0, 254), st.integers(0, 2**63)),
        min_size=1,
        max_size=20,
    )
)
def test_rendered_counters_read_back_equal(counts: dict[int, tuple[int, int, int]]) -> None:
    rows = "".join(
        f"0x0000bb0000bb0001,{port},{symbols},{downs},{hex(packets)}\n"
        for port, (symbols, downs, packets) in counts.items()
    )
    head = "NodeGUID,PortNumber,SymbolErrorCounter,LinkDownedCounter,PortRcvPktsExtended"
    text = f"{NODES}START_PM_INFO\n{head}\n{rows}END_PM_INFO\n"
    with TemporaryDirectory() as folder:
        result = read(DB, Path(folder), text)
    names = ("symbol_error", "link_downed", "rx_packets")
    found = {(r.interface, r.counter): r.value for r in result.readings if r.counter in names}
    assert found == {
        (f"fern-1/port-{port}", name): float(value)
        for port, values in counts.items()
        for name, value in zip(names, values, strict=True)
    }


def test_states_rates_and_error_rates_of_the_dump(tmp_path: Path) -> None:
    result = read(EXT, tmp_path, DUMP)
    assert result.rejected == []
    port = "MF0;fern-1:Q-9/U1/port-3"
    assert one(result, port, "link_up").value == 1
    assert one(result, port, "speed_gbps").value == 400
    assert one(result, port, "effective_ber").value == 1.5e-254
    assert one(result, port, "symbol_ber").value == 3e-14
    assert (
        one(result, port, "symbol_error").value,
        one(result, port, "effective_error").value,
    ) == (41, 7)
    assert one(result, "mlx5_1/1", "symbol_error").value == 0
    down = [r for r in result.readings if r.interface.endswith("port-5")]
    assert [(r.counter, r.value) for r in down] == [("link_up", 0.0), ("port_identity", 1.0)]


def test_the_far_end_of_the_dump_follows_from_lids(tmp_path: Path) -> None:
    result = read(EXT, tmp_path, DUMP)
    assert ends(result) == {frozenset({"MF0;fern-1:Q-9/U1/port-3", "mlx5_1/1"})}
    assert result.topology is not None
    (switch,) = result.topology.switches
    assert switch["port_labels"] == {"3": "2/1", "5": "3/1"}


def test_two_ports_that_point_at_one_lid_stay_open(tmp_path: Path) -> None:
    second = next(line for line in DUMP.splitlines() if line.startswith("SW : 2/1"))
    second = second.replace("SW : 2/1   : 3 ", "SW : 2/2   : 4 ")
    result = read(EXT, tmp_path, DUMP + second + "\n")
    assert result.topology is not None
    assert result.topology.links == []


def test_a_port_row_that_is_cut_is_refused(tmp_path: Path) -> None:
    result = read(EXT, tmp_path, DUMP + "SW : 2/3 : 6 : 0x0000bb\n")
    assert [refused.line for refused in result.rejected] == [6]
