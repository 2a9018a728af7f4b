"""`lspci` output: link readings of the long form, an inventory from the short one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.lspci import LspciListReader, LspciVerboseReader

BLOCK = (
    "2b:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)\n"
    "\tNUMA node: 1\n"
    "\t\tDevSta:\tCorrErr+ NonFatalErr- FatalErr- UnsupReq- AuxPwr+ TransPend-\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <4us\n"
    "\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n"
    "\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s\n"
    "\t\tCESta:\tRxErr+ BadTLP- BadDLLP+ Rollover- Timeout- AdvNonFatalErr-\n"
)
LISTING = (
    "0000:2b:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330] (rev a1)\n"
    "0000:05:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:22a3] (rev a1)\n"
    "0000:2c:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 [15b3:1021]\n"
    "0000:00:00.0 System peripheral: Intel Corporation Device 09a2 (rev 20)\n"
)


def file(tmp_path: Path, text: str) -> SourceFile:
    path = tmp_path / "f"
    path.write_bytes(text.encode())
    return SourceFile(path, "f")


def verbose(tmp_path: Path, text: str) -> ReadResult:
    return LspciVerboseReader().read(file(tmp_path, text))


def test_width_and_speed_of_a_link_with_their_marks(tmp_path: Path) -> None:
    result = verbose(tmp_path, BLOCK)
    values = {r.counter: (r.value, r.state, r.line) for r in result.readings}
    assert values == {
        "width_max": (16.0, "", 4),
        "speed_max_gbps": (32.0, "", 4),
        "pcie_gen_max": (5.0, "", 4),
        "width": (8.0, "downgraded", 5),
        "speed_gbps": (16.0, "downgraded", 5),
        "pcie_gen": (4.0, "downgraded", 5),
    }
    assert {r.interface for r in result.readings} == {"pci-0000:2b:00.0"}
    assert result.facts["sticky_error_bits"] == {
        "pci-0000:2b:00.0": ["DevSta.CorrErr", "CESta.RxErr", "CESta.BadDLLP"]
    }
    assert result.facts["numa_node"] == {"pci-0000:2b:00.0": 1}


def test_old_form_without_marks_and_unknown_values(tmp_path: Path) -> None:
    result = verbose(
        tmp_path,
        "2b:00.0 VGA compatible controller: NVIDIA Corporation GK110\n"
        "\t\tLnkSta:\tSpeed unknown, Width x16, TrErr- Train- SlotClk+\n",
    )
    assert [(r.counter, r.quality, r.value) for r in result.readings] == [
        ("width", "ok", 16.0),
        ("speed_gbps", "not_supported", None),
    ]


def test_excerpt_without_header_keeps_the_readings_and_says_so(tmp_path: Path) -> None:
    result = verbose(tmp_path, "LnkSta: Speed 2.5GT/s (downgraded), Width x16 (ok)\n")
    assert [r.interface for r in result.readings] == ["", "", ""]
    assert result.unknown[0].what == "PCI address"


def test_block_cut_before_the_status_is_unknown_not_healthy(tmp_path: Path) -> None:
    result = verbose(tmp_path, BLOCK[: BLOCK.index("\t\tLnkSta")])
    assert [fact.what for fact in result.unknown] == ["PCIe link state"]


def test_unreadable_link_line_is_rejected(tmp_path: Path) -> None:
    result = verbose(tmp_path, "2b:00.0 3D controller: NVIDIA x\n\t\tLnkSta:\tSpe")
    assert len(result.rejected) == 1


def test_capabilities_denied_to_ordinary_users(tmp_path: Path) -> None:
    text = "2b:00.0 3D controller: NVIDIA x\n\tCapabilities: <access denied>\n"
    assert "root" in verbose(tmp_path, text * 2).unknown[0].reason


def test_list_gives_an_inventory_and_no_reading(tmp_path: Path) -> None:
    result = LspciListReader().read(file(tmp_path, LISTING))
    assert result.understood == 0
    assert result.topology is not None
    (node,) = result.topology.nodes
    assert [gpu["pci"] for gpu in node["gpus"]] == ["0000:2b:00.0"]
    assert node["nvswitches"] == [{"pci": "0000:05:00.0"}]
    assert [nic["pci"] for nic in node["nics"]] == ["0000:2c:00.0"]


@pytest.mark.parametrize(
    ("text", "long_form", "short_form"),
    [
        (BLOCK, True, False),
        (LISTING, False, True),
        ("root@n1:~# lspci -vvv\n" + BLOCK, True, False),
        ("", False, False),
        ("hello\nworld\n", False, False),
        ("\0\0" + BLOCK, False, False),
    ],
)
def test_recognised_by_content(
    tmp_path: Path, text: str, long_form: bool, short_form: bool
) -> None:
    source = file(tmp_path, text)
    assert (LspciVerboseReader().score(source) >= 80) is long_form
    assert (LspciListReader().score(source) >= 80) is short_form


def test_hostile_line_is_read_quickly(tmp_path: Path) -> None:
    text = "00:00.0 " + "A" * 500_000 + ": x\n\tLnkSta: " + "Speed " * 100_000
    assert verbose(tmp_path, text).readings == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    bus=st.integers(0, 255),
    width=st.sampled_from([1, 2, 4, 8, 16, 32]),
    speed=st.sampled_from([2.5, 5.0, 8.0, 16.0, 32.0, 64.0]),
    mark=st.sampled_from(["ok", "downgraded", "strange"]),
)
def test_rendered_link_state_reads_back_equal(
    tmp_path: Path, bus: int, width: int, speed: float, mark: str
) -> None:
    result = verbose(
        tmp_path,
        f"{bus:02x}:00.0 Ethernet controller: Some Vendor Card\n"
        f"\t\tLnkSta:\tSpeed {speed:g}GT/s ({mark}), Width x{width} ({mark})\n",
    )
    values = {r.counter: r.value for r in result.readings}
    assert (values["width"], values["speed_gbps"]) == (width, speed)
    assert {r.state for r in result.readings} == {mark}
    assert {r.interface for r in result.readings} == {f"pci-0000:{bus:02x}:00.0"}
