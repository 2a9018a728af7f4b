"""No reader of this package raises or hangs on damage, and none claims what is not its own."""

from __future__ import annotations

import hashlib
import time
from importlib import import_module
from pathlib import Path

import pytest

from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.ethtool import EthtoolStatsReader

_CLASSES = {
    "ibstat": "IbstatReader",
    "ibstatus": "IbstatusReader",
    "iblinkinfo": "IblinkinfoReader",
    "ibnetdiscover": "IbnetdiscoverReader",
    "ibnetdiscover_ports": "IbnetdiscoverPortsReader",
    "ibqueryerrors": "IbqueryerrorsReader",
    "perfquery": "PerfqueryReader",
    "ibswitches": "IbswitchesReader",
    "ibswinfo": "IbswinfoReader",
    "ibdiagnet2_log": "Ibdiagnet2LogReader",
    "ibdiagnet2_lst": "Ibdiagnet2LstReader",
    "ibdiagnet2_cables": "Ibdiagnet2CablesReader",
    "ibdiagnet2_report": "Ibdiagnet2ReportReader",
    "mlxlink_text": "MlxlinkTextReader",
    "mlxlink_json": "MlxlinkJsonReader",
    "sysfs_grep": "SysfsGrepReader",
    "sysfs_snapshot": "SysfsSnapshotReader",
    "sysfs_ttar": "SysfsTtarReader",
}
READERS: list[Reader] = [
    getattr(import_module(f"fabric_pipeline.sources.infiniband.{module}"), name)()
    for module, name in _CLASSES.items()
]
READERS.append(EthtoolStatsReader())

JUNK = [
    b"",
    b"\x00\x01\xff" * 4000,
    b" " * 300_000,
    b"==(" * 100_000,
    b"/ports/1/" * 40_000,
    b'{"a": ' * 20_000,
    b"x" * 1_000_000,
    b"the quick brown fox\n" * 500,
    hashlib.shake_256(b"seed").digest(200_000),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.format_id)
def test_junk_is_survived_in_time(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "junk"
    start = time.monotonic()
    for data in JUNK:
        path.write_bytes(data)
        file = SourceFile(path, "junk")
        assert reader.score(file) == 0
        result = reader.read(file)
        assert not [reading for reading in result.readings if reading.counter]
    assert time.monotonic() - start < 30


def test_format_ids_are_distinct() -> None:
    assert len({reader.format_id for reader in READERS}) == len(READERS)
