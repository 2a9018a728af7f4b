"""Port lists of the rdma tool: states, LIDs, RDMA counters, rows that are cut."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.infiniband.rdma_ports import RdmaPortsReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

READER = RdmaPortsReader()
LINKS = """ops@larch-4:~$ rdma link show
link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 13 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
0/2: mlx5_1/2: state DOWN physical_state POLLING netdev ens3f1np1
link mlx5_2/1 state ACTI
"""


def test_states_kind_of_link_and_host(tmp_path: Path) -> None:
    result = read(READER, tmp_path, LINKS)
    up, down = one(result, "mlx5_0/1", "link_up"), one(result, "mlx5_1/2", "link_up")
    assert (up.value, up.state, up.node, up.link_type) == (
        1, "Active/LinkUp", "larch-4", "infiniband",
    )  # fmt: skip
    assert (down.value, down.state, down.link_type) == (0, "Down/Polling", "roce")
    assert one(result, "mlx5_0/1", "base_lid").value == 13
    assert [(r.line, r.rule) for r in result.rejected] == [(4, "'ACTI' is no state of a port")]


def test_counters_of_a_statistic(tmp_path: Path) -> None:
    text = "link mlx5_0/1 rx_write_requests 104 out_of_sequence 41 out_of_buffer x\n"
    result = read(READER, tmp_path, text)
    assert one(result, "mlx5_0/1", "out_of_sequence").value == 41
    assert [r.value for r in result.readings if r.counter_text == "rx_write_requests"] == [104]
    assert [r.rule for r in result.rejected] == ["the counter out_of_buffer has no number"]
    assert not [r for r in result.readings if r.counter in ("rx_drops", "link_up")]


def test_prose_is_nobody_s(tmp_path: Path) -> None:
    assert READER.score(source(tmp_path, "link to the page\nlink and/or more words\n")) == 0
