"""Remote maps and capability flags: the two nvlink listings without readings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.sources.nvidia_smi.nvlink_capabilities import NvlinkCapabilitiesReader
from fabric_pipeline.sources.nvidia_smi.nvlink_remote import NvlinkRemoteReader
from fabric_pipeline.sources.nvidia_smi.nvlink_status import NvlinkStatusReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, UUID, read, source

REMOTE, FLAGS = NvlinkRemoteReader(), NvlinkCapabilitiesReader()
HEAD = f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\n"


def test_remote_rows_become_topology_links(tmp_path: Path) -> None:
    text = (
        "root@hgx-3:~# nvidia-smi nvlink -R\n" + HEAD
        + "\t Link 0: Remote Device 00000000:C7:00.0: Link 46\n\t Link 1: 00000000:C8:00.0\n"
    )  # fmt: skip
    topology = read(REMOTE, tmp_path, text).topology
    assert topology is not None
    first, second = topology.links
    assert first["a"] == {"node": "hgx-3", "port": "gpu0/nvlink-0"}
    assert first["b"] == {"node": "hgx-3", "port": "pci-0000:c7:00.0/nvlink-46"}
    assert second["b"]["port"] == "pci-0000:c8:00.0"


def test_cut_map_names_the_gpu(tmp_path: Path) -> None:
    rows = [f"\t Link {n}: Remote Device 00000000:C7:00.0: Link {n}\n" for n in range(4)]
    text = HEAD + "".join(rows) + HEAD.replace("GPU 0", "GPU 1") + rows[0] + "\t Link 1: Remote Dev"
    result = read(REMOTE, tmp_path, text)
    assert [fact.interface for fact in result.unknown] == ["gpu1"]
    assert len(result.rejected) == 1


def test_flags_are_counted_and_are_no_states(tmp_path: Path) -> None:
    text = HEAD + "".join(
        f"\t Link {n}, P2P is supported: true\n\t Link {n}, Link is supported: false\n"
        for n in range(3)
    )
    result = read(FLAGS, tmp_path, text)
    assert result.readings == []
    assert result.facts["nvlink_capabilities"] == {
        "P2P is supported": {"true": 3},
        "Link is supported": {"false": 3},
    }
    assert NvlinkStatusReader().score(source(tmp_path, text)) == 0


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert (REMOTE.score(file), FLAGS.score(file)) == (0, 0)
    assert REMOTE.read(file).topology is None
