"""The boxed tables of `dcgmi diag` and `dcgmi health`: results by GPU, complaints."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Hints, Reader
from fabric_pipeline.sources.dcgmi.diag_text import DcgmiDiagTextReader
from fabric_pipeline.sources.dcgmi.health import DcgmiHealthReader
from fabric_pipeline_tests.sources.nvidia_smi.files import read, source

DIAG, HEALTH = DcgmiDiagTextReader(), DcgmiHealthReader()
SPECIMENS = Path(__file__).parents[1] / "specimens"


def specimen(reader: Reader, tmp_path: Path) -> ReadResult:
    text = (SPECIMENS / f"{reader.format_id}.txt").read_text()
    return read(reader, tmp_path, text, Hints(node="n4"))


def test_rows_by_gpu_of_newer_versions(tmp_path: Path) -> None:
    result = specimen(DIAG, tmp_path)
    assert [(r.line, r.node, r.interface, r.counter, r.value) for r in result.readings] == [
        (13, "n4", "gpu0/pcie", "link_up", 1.0)
    ]
    (event,) = result.events
    assert (event.kind, event.interface, event.severity, event.line) == (
        "diag_link_test_failed",
        "gpu1/nvlink-3",
        "warning",
        15,
    )
    assert event.text.endswith("Run a field diagnostic on the GPU.")
    assert result.facts["diagnostic_results"] == {"Pass": 2, "Fail": 1, "Skip": 1}


def test_older_versions_name_the_gpus_behind_the_status(tmp_path: Path) -> None:
    text = (
        "| Diagnostic   | Result             |\n"
        "| PCIe         | Fail - GPU: 2      |\n"
        "| Warning      | too many replays   |\n"
        "| Info         | took 3 seconds     |\n"
        "| NVLink       | Pass - GPUs: 0, 1  |\n"
        "| PCIe again   | Skip - All         |\n"
    )
    result = read(DIAG, tmp_path, text)
    assert [(e.interface, e.text) for e in result.events] == [("gpu2/pcie", "too many replays")]
    assert [r.interface for r in result.readings] == ["gpu0", "gpu1"]
    assert [u.what for u in result.unknown] == ["DCGM test PCIe again"]


def test_complaints_are_notes_of_the_device_or_link_they_name(tmp_path: Path) -> None:
    result = specimen(HEALTH, tmp_path)
    assert result.readings == []
    assert [(e.interface, e.severity, e.role) for e in result.events] == [
        ("gpu3/nvlink-5", "watch", "context"),
        ("gpu3/pcie", "watch", "context"),
        ("nvswitch-1/port-40", "watch", "context"),
    ]
    assert result.events[1].text.endswith("for GPU 3 : 21")
    assert [c["system"] for c in result.facts["health_complaints"]] == ["Thermal"]
    assert result.facts["overall_health"] == "Failure"


def test_an_overall_healthy_says_nothing_of_a_link(tmp_path: Path) -> None:
    result = read(HEALTH, tmp_path, "| Health Monitor Report  |\n| Overall Health | Healthy |\n")
    assert (result.readings, result.events) == ([], [])


def test_other_tables_are_nobody_s(tmp_path: Path) -> None:
    file = source(tmp_path, "| Diagnostic | Outcome |\nHealth Monitor Report of the week\n")
    assert DIAG.score(file) == HEALTH.score(file) == 0
