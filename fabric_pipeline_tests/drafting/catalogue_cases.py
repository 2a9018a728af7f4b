"""One fitting incident for every entry of the shipped catalogue, and incidents whose platform is in doubt."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.incidents.record import CableFacts, IncidentRecord, Place, PlatformFacts
from fabric_pipeline_tests.drafting.incidents import (
    infiniband_incident,
    nvlink_incident,
    pcie_incident,
)


def nvlink_on(stated: str = "", model: str = "", **counts: Any) -> IncidentRecord:
    """An NVLink fault whose topology names no part reference."""
    facts = PlatformFacts(stated=stated, gpu_model=model, **counts)
    return nvlink_incident(part_reference="", platform=facts)


def cabled(medium: str, link_type: str = "infiniband", **facts: Any) -> IncidentRecord:
    """A network link whose topology names the cable, but no part reference."""
    speed, nic = facts.pop("speed_gbps", None), facts.pop("nic_model", "")
    return infiniband_incident(
        link_type=link_type,
        part_reference="",
        cable=CableFacts(medium=medium, **facts),
        platform=PlatformFacts(speed_gbps=speed, nic_model=nic),
    )


def pcie_on(stated: str = "", part: str = "") -> IncidentRecord:
    """A PCIe fault on a known GPU."""
    place = Place(node="trn-c01-n08", rack="C01", gpu=3, gpu_serial="S3", pci="0000:5d:00.0")
    return pcie_incident(place=place, part_reference=part, platform=PlatformFacts(stated=stated))


FITTING: dict[str, IncidentRecord] = {
    "nvlink-hgx-a100": nvlink_on(model="NVIDIA A100-SXM4-80GB", nvlinks_of_gpu=12),
    "nvlink-hgx-h100": nvlink_on(model="NVIDIA H100 80GB HBM3"),
    "nvlink-hgx-b200": nvlink_on("HGX B200 8-GPU", nvlinks_of_gpu=18, nvswitches_of_gpu=2),
    "nvlink-gb200-nvl72": nvlink_on("GB200 NVL72", nvlink_far_end="switch"),
    "nvlink-bridge": nvlink_on(model="NVIDIA A100 80GB PCIe", nvlink_far_end="gpu"),
    "nvlink-platform-unknown": nvlink_on(),
    "infiniband-ndr-osfp": cabled("MMF", connector="MPO-12/APC", speed_gbps=400.0),
    "infiniband-copper": cabled("DAC"),
    "infiniband-aoc": cabled("AOC"),
    "roce-optical-osfp": cabled("SMF", "roce", connector="OSFP"),
    "roce-copper": cabled("ACC", "roce"),
    "roce-aoc": cabled("AOC", "roce"),
    "connectx7-osfp": cabled("", nic_model="NVIDIA ConnectX-7"),
    "infiniband-rate-unknown": cabled(""),
    "pcie-slot": pcie_on(),
    "pcie-riser": pcie_on(part="pcie-riser"),
    "pcie-retimer": pcie_on("DGX B200"),
    "shared-part": infiniband_incident(fault_type="shared_component", isolated_component="leaf-6"),
    "no-entry": pcie_incident(link_type="ethernet", isolated_component="trn-c01-n08:eth4"),
}

# Facts that do not settle the platform, and the entry that then answers.
DOUBTFUL: dict[str, tuple[IncidentRecord, str]] = {
    "eighteen links are on three generations": (
        nvlink_on(nvlinks_of_gpu=18, nvlink_far_end="nvswitch"),
        "nvlink-platform-unknown",
    ),
    "eighteen links over four switches": (
        nvlink_on(nvlinks_of_gpu=18, nvlink_far_end="nvswitch", nvswitches_of_gpu=4),
        "nvlink-hgx-h100",
    ),
    "eighteen links over two switches": (
        nvlink_on(nvlinks_of_gpu=18, nvlink_far_end="nvswitch", nvswitches_of_gpu=2),
        "nvlink-hgx-b200",
    ),
    "twelve links alone": (nvlink_on(nvlinks_of_gpu=12), "nvlink-platform-unknown"),
    "twelve links over six switches": (
        nvlink_on(nvlinks_of_gpu=12, nvswitches_of_gpu=6),
        "nvlink-hgx-a100",
    ),
    "A100 ends on a GPU: bridged": (nvlink_on(model="A100", nvlink_far_end="gpu"), "nvlink-bridge"),
    "A100 ends on a switch: board": (
        nvlink_on(model="A100", nvlink_far_end="nvswitch"),
        "nvlink-hgx-a100",
    ),
    "A100 alone": (nvlink_on(model="A100"), "nvlink-platform-unknown"),
    "few links listed": (nvlink_on(model="H200", nvlinks_of_gpu=1), "nvlink-hgx-h100"),
    "more links than it can have": (
        nvlink_on(model="NVIDIA A100-SXM4-80GB", nvlinks_of_gpu=18),
        "nvlink-platform-unknown",
    ),
    "two names of two platforms": (nvlink_on("HGX B200", "H100 SXM5"), "nvlink-platform-unknown"),
    "a name that nobody knows": (
        nvlink_on("Falcon 9", nvlinks_of_gpu=18, nvswitches_of_gpu=4),
        "nvlink-platform-unknown",
    ),
    "a server's name beside a known GPU": (
        nvlink_on("PowerEdge XE9680", "H100 SXM5 80GB", nvlinks_of_gpu=18),
        "nvlink-hgx-h100",
    ),
    "reference against the GPU model": (
        nvlink_incident(
            part_reference="hgx-h100", platform=PlatformFacts(gpu_model="A100-SXM4-40GB")
        ),
        "nvlink-hgx-a100",
    ),
    "copper at an optical reference": (
        infiniband_incident(part_reference="ndr-osfp", cable=CableFacts(medium="DAC")),
        "infiniband-copper",
    ),
    "optical at another speed": (cabled("SMF", speed_gbps=200.0), "infiniband-rate-unknown"),
    "a connector of another generation": (
        cabled("MMF", connector="QSFP56"),
        "infiniband-rate-unknown",
    ),
    "a medium that nobody knows": (cabled("wet string"), "infiniband-rate-unknown"),
    "number of the cable": (
        infiniband_incident(part_reference="", cable=CableFacts(part_number="mcp7y00-n003")),
        "infiniband-copper",
    ),
}
