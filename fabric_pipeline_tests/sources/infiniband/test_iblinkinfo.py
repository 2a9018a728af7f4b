"""iblinkinfo: blocks and lines, old spellings, hints, names that are products, cut rows."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.infiniband.iblinkinfo import IblinkinfoReader
from fabric_pipeline_tests.sources.infiniband.files import ends, one, read, source

READER = IblinkinfoReader()
UP = "==( 4X       106.25 Gbps Active/  LinkUp)==>"
DOWN = '==(                Down/ Polling)==>             [  ] "" ( )'

BLOCKS = f"""CA: oak-03 HCA-2:
      0x0000000000aa0003      9    1[  ] {UP}       4    3[  ] "alder-1" ( )
Switch: 0x0000000000bb0001 alder-1:
           4    3[  ] {UP}       9    1[  ] "oak-03 HCA-2" ( )
           4    4[  ] {DOWN}
           4   33[  ] ==( 1X       106.25 Gbps Active/  LinkUp)==>       6    8[  ] "crown-2" (Could be 4X )
           4   34[ 17] ==( 4X     25.78125 Gbps  Armed/  LinkUp)==>       6    9[  ] "crown-2" ( Could be 106.25 Gbps)
"""


def test_blocks_name_both_ends_and_levels(tmp_path: Path) -> None:
    result = read(READER, tmp_path, BLOCKS)
    assert ends(result) == {
        frozenset({"HCA-2/1", "alder-1/port-3"}),
        frozenset({"alder-1/port-33", "crown-2/port-8"}),
        frozenset({"alder-1/port-34", "crown-2/port-9"}),
    }
    assert one(result, "HCA-2/1", "speed_gbps").node == "oak-03"
    assert one(result, "alder-1/port-33", "width").value == 1
    assert one(result, "alder-1/port-33", "width_max").value == 4
    assert one(result, "alder-1/port-34", "speed_gbps").value == 100
    assert one(result, "alder-1/port-34", "speed_max_gbps").value == 400
    assert one(result, "alder-1/port-34", "link_up").state == "Armed/LinkUp"


def test_port_that_is_down_has_state_only(tmp_path: Path) -> None:
    result = read(READER, tmp_path, BLOCKS)
    made = [r.counter for r in result.readings if r.interface == "alder-1/port-4"]
    assert made == ["link_up", "port_identity"]
    assert one(result, "alder-1/port-4", "link_up").value == 0


def test_line_layout_tells_switches_by_their_ports(tmp_path: Path) -> None:
    text = "\n".join(
        f'0x0000000000bb0001 "                       alder-1"      4    {p}[  ] {UP}  '
        f'0x0000000000aa000{p}      {p + 20}    1[  ] "oak-0{p} mlx5_0" ( )'
        for p in (1, 2, 7)
    )
    result = read(READER, tmp_path, text)
    assert frozenset({"alder-1/port-1", "mlx5_0/1"}) in ends(result)
    assert {s["name"] for s in (result.topology.switches if result.topology else [])} == {"alder-1"}


def test_old_spelling_and_product_names_use_the_guid(tmp_path: Path) -> None:
    text = (
        "Switch 0x0000000000cc0001 ISR9024 Voltaire:\n"
        '      2    1[  ]  ==( 4X 5.0 Gbps   Active /   LinkUp)==>      11    1[  ] "elm1 HCA-1" (  )\n'
        '      2    2[  ]  ==( 4X 2.5 Gbps     Down /  Polling)==>             [  ] "" (  )\n'
    )
    result = read(READER, tmp_path, text)
    assert one(result, "0x0000000000cc0001/port-1", "speed_gbps").value == 20
    assert one(result, "0x0000000000cc0001/port-2", "link_up").value == 0


def test_rows_with_prefix_colour_and_no_neighbour(tmp_path: Path) -> None:
    text = (
        "$ iblinkinfo\nSwitch: 0x0000000000bb0001 alder-1:\n"
        f'\x1b[31m>            4    5[  ] {UP}    "Port not available"\x1b[0m\r\n'
    )
    result = read(READER, tmp_path, text)
    assert one(result, "alder-1/port-5", "link_up").value == 1
    assert result.topology is not None
    assert not result.topology.links


def test_cut_row_is_refused(tmp_path: Path) -> None:
    result = read(READER, tmp_path, BLOCKS[: BLOCKS.rindex("Gbps  Armed")])
    assert [r.line for r in result.rejected] == [7]
    assert len([r for r in result.readings if r.counter == "link_up"]) == 4


def test_empty_and_quoting_tools_are_not_mine(tmp_path: Path) -> None:
    quoted = f'       Link info:      4    3[  ] {UP}  0x1      9    1[  ] "oak-03 HCA-2" ( )\n'
    assert READER.score(source(tmp_path, "")) == 0
    assert READER.score(source(tmp_path, quoted)) == 0


@given(
    st.dictionaries(
        st.integers(1, 64),
        st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from([("25.78125", 25), ("53.125", 50)])),
        min_size=3,
        max_size=20,
    )
)
def test_rendered_rows_read_back(tmp_path_factory, ports) -> None:  # type: ignore[no-untyped-def]
    rows = ["Switch: 0x0000000000bb0001 alder-1:"]
    for port, (width, (line_rate, _)) in ports.items():
        rows.append(
            f"      4 {port:4d}[  ] ==({width:3d}X {line_rate:>18} Gbps Active/  LinkUp)==>  "
            f'   {port + 100}    1[  ] "oak-{port} mlx5_0" ( )'
        )
    path = tmp_path_factory.mktemp("links") / "f"
    path.write_text("\n".join(rows))
    result = READER.read(SourceFile(path, "f"))
    for port, (width, (_, lane)) in ports.items():
        assert one(result, f"alder-1/port-{port}", "width").value == width
        assert one(result, f"alder-1/port-{port}", "speed_gbps").value == width * lane
    assert result.topology is not None
    assert len(result.topology.links) == len(ports)
