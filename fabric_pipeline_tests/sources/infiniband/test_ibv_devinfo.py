"""ibv_devinfo: states and rates of ports, Ethernet ports, blocks that are cut."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.infiniband.ibv_devinfo import IbvDevinfoReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

READER = IbvDevinfoReader()
SPECIMEN = (Path(__file__).parents[1] / "specimens" / "ibv_devinfo.txt").read_text()


def test_states_rates_and_kinds_of_links(tmp_path: Path) -> None:
    result = read(READER, tmp_path, f"ops@larch-8:~$ ibv_devinfo\n{SPECIMEN}")
    up, down = one(result, "mlx5_0/1", "link_up"), one(result, "mlx5_1/1", "link_up")
    assert (up.value, up.state, up.node, up.line) == (1, "Active/LinkUp", "larch-8", 7)
    assert (down.value, down.state, down.link_type) == (0, "Down/Disabled", "roce")
    assert one(result, "mlx5_0/1", "speed_gbps").value == 400
    assert one(result, "mlx5_0/1", "width").value == 4
    assert one(result, "mlx5_0/1", "base_lid").value == 41
    rated = {r.interface for r in result.readings if r.counter in ("speed_gbps", "base_lid")}
    assert rated == {"mlx5_0/1"}, "a port that is down has no speed, an Ethernet port no LID"


def test_what_a_cut_block_does_not_say_stays_unknown(tmp_path: Path) -> None:
    text = SPECIMEN[: SPECIMEN.rindex("\t\t\tstate")] + "\t\t\tstate:\t\t\tPORT_ODD (9)\n"
    result = read(READER, tmp_path, text)
    assert [(u.interface, u.what) for u in result.unknown] == [("mlx5_1/1", "port state")]
    assert [r.text for r in result.rejected] == ["PORT_ODD (9)"]
    assert READER.score(source(tmp_path, "hca_id: a b c\n")) == 0
