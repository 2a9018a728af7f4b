"""ibswinfo: housekeeping is never a link, alarms are kept, cut tables are said."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.infiniband.ibswinfo import IbswinfoReader
from fabric_pipeline_tests.sources.infiniband.files import read, source

READER = IbswinfoReader()
TEXT = """=================================================
Cordage HDR edge
=================================================
part number        | CRD8790-X
serial number      | CS2210K0044
GUID               | 0x0000bb0000bb0001
PSU0 status        | OK
     fan status    | OK
PSU1 status        | ERROR
     P/N           | CRD-PSU
fan status         | OK
fan#1 (rpm)        | 8100
"""


def test_alarm_and_everything_else_are_facts(tmp_path: Path) -> None:
    result = read(READER, tmp_path, TEXT)
    assert result.facts["alarms"] == [{"line": 9, "row": "PSU1 status", "value": "ERROR"}]
    assert not result.events
    assert result.facts["switch"]["PSU1 P/N"] == "CRD-PSU"
    assert not result.readings
    assert result.unknown[0].interface == "0x0000bb0000bb0001"


def test_row_without_a_name_is_refused(tmp_path: Path) -> None:
    assert [r.line for r in read(READER, tmp_path, TEXT + "   | 44\n").rejected] == [13]


def test_empty_is_not_mine(tmp_path: Path) -> None:
    assert READER.score(source(tmp_path, "")) == 0
