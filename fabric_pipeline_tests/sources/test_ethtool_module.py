"""The module report of ethtool: raised flags, levels, identity, several modules."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.ethtool_module import EthtoolModuleReader
from fabric_pipeline_tests.sources.infiniband.files import read, source

READER = EthtoolModuleReader()
MODULE = """\tIdentifier                                : 0x11 (QSFP28)
\tVendor name                               : EXAMPLE
\tVendor SN                                 : EX0000000007
\tAlarm/warning flags implemented           : Yes
\tOption                                    : RX_LOS implemented
\tModule temperature                        : 41.22 degrees C / 106.20 degrees F
\tRcvr signal avg optical power(Channel 2)  : 0.0001 mW / -40.00 dBm
\tLaser rx power low alarm (Channel 2)      : On
\tRx loss of signal                         : [ No, Yes, No, No ]
\tModule temperature high alarm             : Off
\tModule temperature high alarm threshold   : 75.00 degrees C / 167.00 degrees F
"""


def test_flags_levels_and_identity(tmp_path: Path) -> None:
    text = f"root@larch-7:~# ethtool -m ens3f0np0\n{MODULE}"
    result = read(READER, tmp_path, text)
    assert [(e.line, e.node, e.interface, e.role, e.reason) for e in result.events] == [
        (9, "larch-7", "ens3f0np0", "context",
         "the module raises Laser rx power low alarm (Channel 2)"),
        (10, "larch-7", "ens3f0np0", "context",
         "the module raises Rx loss of signal on channel 2"),
    ]  # fmt: skip
    assert [(r.counter, r.value) for r in result.readings] == [("", 41.22), ("", -40.0)]
    assert result.facts["modules"] == [
        {
            "component": "larch-7:ens3f0np0",
            "identifier": "QSFP28",
            "vendor name": "EXAMPLE",
            "vendor sn": "EX0000000007",
        }
    ]


def test_a_second_module_without_its_command_is_not_the_first_one(tmp_path: Path) -> None:
    result = read(READER, tmp_path, f"# ethtool -m ens1\n{MODULE}{MODULE}")
    assert [e.interface for e in result.events] == ["ens1", "ens1", "", ""]


def test_registers_in_hex_are_nobody_s(tmp_path: Path) -> None:
    assert READER.score(source(tmp_path, "Offset\t\tValues\n0x0000:\t\t11 00 00\n")) == 0
