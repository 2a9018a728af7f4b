"""Results of `dcgmi diag -j` in the schemas of several DCGM versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.dcgmi.diag_json import DcgmiDiagJsonReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, read, source

READER = DcgmiDiagJsonReader()


def document(*tests: dict[str, Any], title: str = "DCGM Diagnostic") -> str:
    return json.dumps(
        {title: {"test_categories": [{"category": "x", "tests": list(tests)}]}}, indent=1
    )


def entity(gpu: int, status: str, *warnings: str, severity: int = 2) -> dict[str, Any]:
    told = [{"error_id": 5, "error_severity": severity, "warning": text} for text in warnings]
    return {"entity_group": "GPU", "entity_id": gpu, "status": status, "warnings": told}


def inspect(tmp_path: Path, *results: dict[str, Any], name: str = "pcie") -> ReadResult:
    return read(READER, tmp_path, document({"name": name, "results": list(results)}))


def test_passed_interconnect_test_is_a_reading(tmp_path: Path) -> None:
    result = inspect(tmp_path, entity(0, "Pass"), entity(1, "Pass"))
    assert [(r.interface, r.counter, r.value) for r in result.readings] == [
        ("gpu0/pcie", "link_up", 1.0),
        ("gpu1/pcie", "link_up", 1.0),
    ]
    assert result.events == []


def test_failed_interconnect_test_is_an_event_with_its_link(tmp_path: Path) -> None:
    text = "GPU 2's NvLink link 7 is currently down. Check the system logs."
    result = inspect(tmp_path, entity(2, "Fail", text), name="nvbandwidth")
    (event,) = result.events
    assert (event.kind, event.interface) == ("diag_link_test_failed", "gpu2/nvlink-7")
    assert (event.role, event.severity, event.text) == ("cause", "warning", text)
    assert event.details["error_id"] == 5
    assert result.readings == []


def test_warning_of_another_test_that_speaks_of_a_link(tmp_path: Path) -> None:
    result = inspect(
        tmp_path, entity(3, "Warn", "Detected 9 PCIe replays on GPU 3"), name="software"
    )
    (event,) = result.events
    assert (event.severity, event.interface) == ("watch", "gpu3/pcie")


def test_other_tests_measure_no_link(tmp_path: Path) -> None:
    result = inspect(tmp_path, entity(1, "Fail", "memory page is bad"), name="memory")
    (event,) = result.events
    assert (event.kind, event.details["is_link"]) == ("diag_other_test_failed", False)
    assert result.readings == []
    warned = inspect(tmp_path, entity(1, "Warn", "persistence mode is off"), name="software")
    assert (warned.events, warned.readings) == ([], [])
    assert warned.facts["diagnostic_complaints"][0]["text"] == "persistence mode is off"


def test_failed_setting_of_the_host_is_a_complaint_only(tmp_path: Path) -> None:
    setting = entity(0, "Fail", "persistence mode is off", severity=5)
    result = inspect(tmp_path, setting, name="software")
    assert (result.events, result.readings) == ([], [])
    assert result.facts["diagnostic_complaints"][0]["status"] == "Fail"


@pytest.mark.parametrize("status", ["Skip", "Not Run"])
def test_skipped_test_is_not_measured(tmp_path: Path, status: str) -> None:
    result = inspect(tmp_path, entity(0, status))
    assert (result.readings, [fact.interface for fact in result.unknown]) == ([], ["gpu0/pcie"])


def test_old_schema_names_gpus_in_one_text(tmp_path: Path) -> None:
    old = {"name": "PCIe", "results": [{"gpu_ids": "0,1", "status": "Pass"}]}
    text = "$ dcgmi diag -r 2 -j\n" + document(old, title="DCGM GPU Diagnostic")
    result = read(READER, tmp_path, text)
    assert [r.interface for r in result.readings] == ["gpu0/pcie", "gpu1/pcie"]
    assert result.facts["diagnostic_results"] == {"Pass": 1}


def test_cut_document_keeps_what_was_read(tmp_path: Path) -> None:
    text = document({"name": "pcie", "results": [entity(n, "Pass") for n in range(4)]})
    result = read(READER, tmp_path, text[: len(text) * 2 // 3])
    assert result.readings
    assert result.rejected


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert READER.score(file) == 0
    assert READER.read(file).readings == []
