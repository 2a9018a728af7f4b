"""The chosen columns of `--query-gpu` as CSV: links, fabric, loops, rows that do not fit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fabric_pipeline.sources.nvidia_smi.query_csv import QueryCsvReader
from fabric_pipeline_tests.sources.nvidia_smi.files import one, read, source

READER = QueryCsvReader()
SPECIMEN = (Path(__file__).parents[1] / "specimens" / "nvidia_smi_query_csv.txt").read_text()


def test_links_times_and_fabric_of_a_loop(tmp_path: Path) -> None:
    result = read(READER, tmp_path, SPECIMEN)
    widths = [
        (r.line, r.interface, r.value, r.quality) for r in result.readings if r.counter == "width"
    ]
    assert widths == [
        (2, "gpu0/pcie", 8, "ok"),
        (3, "gpu1/pcie", 16, "ok"),
        (4, "gpu0/pcie", None, "not_supported"),
    ]  # fmt: skip
    assert result.readings[0].time == datetime(2026, 11, 20, 12, 0, 0, 250000, tzinfo=UTC)
    assert one(result, "gpu1/pcie", "pcie_gen_max").value == 5
    assert [(e.kind, e.interface, e.severity) for e in result.events] == [
        ("fabric_bandwidth", "gpu1", "warning")
    ]
    assert result.topology is not None
    assert [g["pci"] for g in result.topology.nodes[0]["gpus"]] == ["0000:5d:00.0", "0000:5e:00.0"]


def test_without_an_index_the_address_names_the_gpu(tmp_path: Path) -> None:
    text = (
        "pci.bus_id, pcie.link.width.current, encoder.latency [ms]\n00000000:5D:00.0, 8, 0\n"
        "x, 1\n$ nvidia-smi --query-gpu=a,b,pcie.link.width.max --format=csv\nother words\n1, 2, 3\n"
    )
    result = read(READER, tmp_path, text)
    assert one(result, "pci-0000:5d:00.0/pcie", "width").value == 8
    assert [r.rule for r in result.rejected] == ["the row has 2 cells, its header 3"]


def test_tables_without_links_or_header_are_nobody_s(tmp_path: Path) -> None:
    for text in (
        "index, utilization.gpu [%]\n0, 5 %\n",
        "0, 00000000:5D:00.0, 8\n",
        "pcie.link.\n",
    ):
        assert READER.score(source(tmp_path, text)) == 0
