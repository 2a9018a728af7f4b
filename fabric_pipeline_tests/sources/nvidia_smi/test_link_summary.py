"""Flat records about one link."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.sources.nvidia_smi.link_summary import LinkSummaryReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, read, source, values

READER = LinkSummaryReader()
RECORD: dict[str, Any] = {
    "node": "rackmate-3",
    "rack": "r7",
    "gpu": 2,
    "link": 9,
    "link_recovery_events_lifetime": 314,
    "recoveries_in_10_min_sample": 2,
    "crc_errors": 5,
    "replay_errors": None,
    "other_nonzero_counters": 0,
    "failed_at": "2026-11-20T12:00:00",
    "failure": "Xid 149, NETIR_LINK_DOWN Fatal Link 9",
    "other_gpus_reporting_xid145": 31,
}


def test_lifetime_counts_and_failure(tmp_path: Path) -> None:
    result = read(READER, tmp_path, json.dumps(RECORD))
    assert values(result) == {
        ("gpu2/nvlink-9", "recovery"): 314,
        ("gpu2/nvlink-9", "crc"): 5,
        ("gpu2/nvlink-9", "replay"): None,
    }
    (event,) = result.events
    assert (event.code, event.node, event.interface) == (149, "rackmate-3", "gpu2/nvlink-9")
    assert event.time is not None
    assert result.facts["link_summaries"][0]["other_gpus_reporting_xid145"] == 31


def test_list_of_records_and_words_around_numbers(tmp_path: Path) -> None:
    records = [{**RECORD, "gpu": f"gpu{n}", "link": f"nvlink-{n}"} for n in range(2)]
    result = read(READER, tmp_path, json.dumps(records, indent=1))
    assert {r.interface for r in result.readings} == {"gpu0/nvlink-0", "gpu1/nvlink-1"}
    lines = {r.line for r in result.readings}
    assert len(lines) == 6


def test_bad_counts_and_cut_records_are_refused(tmp_path: Path) -> None:
    text = json.dumps({**RECORD, "crc_errors": "many"}, indent=1)
    result = read(READER, tmp_path, text)
    assert [refused.rule for refused in result.rejected] == ["crc_errors is no count"]
    cut = read(READER, tmp_path, text[: text.index("other_nonzero")])
    assert ("gpu2/nvlink-9", "recovery") in values(cut)
    assert cut.rejected


@pytest.mark.parametrize(
    "other",
    [
        '{"gpu": 1, "link": 2}',
        '{"fabric_interface": "nvlink-1", "gpu": 0, "link": 1, "crc": 2}',
        "[]",
    ],
)
def test_other_json_is_not_claimed(tmp_path: Path, other: str) -> None:
    assert READER.score(source(tmp_path, other)) == 0


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert READER.score(file) == 0
    assert READER.read(file).readings == []
