"""The settings blocks of ethtool: states with their reasons, speeds, and what is not stated."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.ethtool_link import EthtoolLinkReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

READER = EthtoolLinkReader()
BLOCKS = """root@larch-6:~# ethtool ens3f0np0; ethtool ens3f1np1; ethtool ens4
Settings for ens3f0np0:
\tAdvertised link modes:  25000baseCR/Full
\tSpeed: 200000Mb/s
\tLanes: 4
\tLink detected: yes
Settings for ens3f1np1:
\tSpeed: 100000Mb/s
\tLink detected: no (Autoneg, No partner detected)
Settings for ens4:
\tSpeed: Unknown!
\tLink detected: maybe
"""


def test_state_speed_and_reason_of_each_interface(tmp_path: Path) -> None:
    result = read(READER, tmp_path, BLOCKS)
    up, down = one(result, "ens3f0np0", "link_up"), one(result, "ens3f1np1", "link_up")
    assert (up.value, up.state, up.link_type, up.node) == (1, "interface up", "ethernet", "larch-6")
    assert (down.value, down.state) == (0, "interface down (Autoneg, No partner detected)")
    assert one(result, "ens3f0np0", "speed_gbps").value == 200
    assert one(result, "ens3f0np0", "width").value == 4
    speeds = [r.interface for r in result.readings if r.counter == "speed_gbps"]
    assert speeds == ["ens3f0np0"], "the speed of a link that is down is no speed"


def test_what_a_block_does_not_say_stays_unknown(tmp_path: Path) -> None:
    result = read(READER, tmp_path, BLOCKS)
    assert [(u.interface, u.what) for u in result.unknown] == [("ens4", "link state")]
    assert [r.text for r in result.rejected] == ["maybe"]
    assert READER.score(source(tmp_path, "Settings for the house:\n")) == 0
