"""`nvidia-smi nvlink -info`: devices with UUID, version, encryption and firmware, and no links."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.nvidia_smi.nvlink_info import NvlinkInfoReader
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline_tests.sources.infiniband.files import read, source

TEXT = (Path(__file__).parents[1] / "specimens" / "nvidia_smi_nvlink_info.txt").read_text()


def test_facts_and_uuids_of_every_gpu(tmp_path: Path) -> None:
    result = read(NvlinkInfoReader(), tmp_path, TEXT)
    assert result.readings == []
    assert result.topology is not None
    (node,) = result.topology.nodes
    assert node["node"] == "oak-05"
    assert [gpu["uuid"][-3:] for gpu in node["gpus"]] == ["101", "102"]
    facts = result.facts["nvlink_info"]
    assert facts["oak-05:gpu0"]["nvlink_encryption"] == "disabled"
    assert facts["oak-05:gpu0"]["link_firmware"] == {
        "MSE": "3:1:0", "NETIR": "11:207:9", "NETIR UPHY": "1:0:0",
    }  # fmt: skip
    assert facts["oak-05:gpu1"]["nvlink_version"] == "5.0"
    assert [fact.what for fact in result.unknown] == ["state of the NVLinks"]


def test_a_listing_of_states_is_not_taken(tmp_path: Path) -> None:
    text = "GPU 0: X (UUID: GPU-0f0e0d0c-0b0a-0908-0706-050403020101)\n\t Link 0: 25 GB/s\n"
    assert NvlinkInfoReader().score(source(tmp_path, text + TEXT)) == 0
    assert recognise(source(tmp_path, TEXT)).format_id == "nvidia_smi_nvlink_info"


def test_rows_below_no_gpu_are_refused(tmp_path: Path) -> None:
    text = "NVLE: disabled\n" + TEXT
    result = read(NvlinkInfoReader(), tmp_path, text)
    assert [(one.line, one.rule) for one in result.rejected] == [(1, "the row stands below no GPU")]
