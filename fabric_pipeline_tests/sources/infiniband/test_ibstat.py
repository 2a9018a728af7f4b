"""ibstat: several adapters, Ethernet beside InfiniBand, ports that are down, cut listings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import Hints, SourceFile
from fabric_pipeline.sources.infiniband.ibstat import IbstatReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

READER = IbstatReader()


def port(name: str, state: str = "Active", physical: str = "LinkUp", rate: str = "400") -> str:
    guid = f"0x0c42a1030000{abs(hash(name)) % 65536:04x}"
    return f"""CA '{name}'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.40.1000
\tNode GUID: {guid}
\tPort 1:
\t\tState: {state}
\t\tPhysical state: {physical}
\t\tRate: {rate}
\t\tBase lid: 31
\t\tLMC: 0
\t\tSM lid: 2
\t\tCapability mask: 0xa751e848
\t\tPort GUID: {guid}
\t\tLink layer: InfiniBand
"""


def test_ports_get_state_speed_and_host_of_the_prompt(tmp_path: Path) -> None:
    text = "[root@larch-07.example ~]# ibstat\n" + port("mlx5_0") + port("mlx5_1", "Initializing")
    result = read(READER, tmp_path, text)
    first, second = (one(result, f"mlx5_{n}/1", "link_up") for n in (0, 1))
    assert (first.value, first.state, first.node) == (1.0, "Active/LinkUp", "larch-07")
    assert (second.value, second.state) == (0.0, "Init/LinkUp")
    assert one(result, "mlx5_0/1", "speed_gbps").value == 400
    assert first.line == 8
    assert not result.rejected


def test_rate_of_a_port_that_is_down_is_no_speed(tmp_path: Path) -> None:
    result = read(READER, tmp_path, port("mlx5_2", "Down", "Polling", "10"))
    assert one(result, "mlx5_2/1", "link_up").state == "Down/Polling"
    assert not [r for r in result.readings if r.counter == "speed_gbps"]
    assert one(result, "mlx5_2/1", "base_lid").value == 31
    assert "(MT4129)" in one(result, "mlx5_2/1", "port_identity").state


def test_ethernet_port_is_marked_roce(tmp_path: Path) -> None:
    text = port("mlx5_3", rate="25").replace("InfiniBand", "Ethernet")
    assert {r.link_type for r in read(READER, tmp_path, text).readings} == {"roce"}


def test_single_port_form_and_fdr10(tmp_path: Path) -> None:
    text = "CA: 'mlx4_0'\nPort 2:\nState: Active\nPhysical state: LinkUp\nRate: 40 (FDR10)\n"
    result = read(READER, tmp_path, text + "Link layer: IB\n")
    assert one(result, "mlx4_0/2", "speed_gbps").value == 40


def test_hints_name_node_and_time(tmp_path: Path) -> None:
    noon = datetime(2026, 6, 1, 12, tzinfo=UTC)
    result = read(READER, tmp_path, port("mlx5_0"), Hints(node="oak-3", time=noon))
    assert {(r.node, r.time) for r in result.readings} == {("oak-3", noon)}


def test_cut_listing_names_what_is_missing(tmp_path: Path) -> None:
    whole = port("mlx5_0") + port("mlx5_1")
    result = read(READER, tmp_path, whole[: whole.rindex("\t\tBase lid")])
    assert [(u.interface, u.what) for u in result.unknown] == [("mlx5_1/1", "link layer")]
    # without a link layer nobody knows whether this is an InfiniBand port
    assert one(result, "mlx5_1/1", "link_up").link_type == ""


def test_unreadable_rate_is_refused(tmp_path: Path) -> None:
    result = read(READER, tmp_path, port("mlx5_0", rate="fast"))
    assert [(r.line, r.text) for r in result.rejected] == [(9, "fast")]


def test_empty_and_foreign_text_is_not_mine(tmp_path: Path) -> None:
    for text in ("", "\n\n", "Port 1:\nState: open\n", "CA certificate 'x'\n"):
        assert READER.score(source(tmp_path, text)) == 0


@given(
    st.lists(
        st.tuples(st.sampled_from(["Active", "Armed", "Down"]), st.integers(1, 1600)),
        min_size=1,
        max_size=12,
    )
)
def test_rendered_ports_read_back(tmp_path_factory, ports: list[tuple[str, int]]) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("ibstat")
    text = "".join(port(f"mlx5_{n}", s, "LinkUp", str(r)) for n, (s, r) in enumerate(ports))
    path = folder / "f"
    path.write_text(text)
    result = READER.read(SourceFile(path, "f"))
    for number, (state, rate) in enumerate(ports):
        assert one(result, f"mlx5_{number}/1", "link_up").value == float(state == "Active")
        speeds = [r.value for r in result.readings if r.counter == "speed_gbps"]
        assert (float(rate) in speeds) or state == "Down"
