"""Hardware facts of the three platforms a fleet can consist of, and how their ports are named.

Constants and naming only; `topology_arrays` lays whole fleets out with them. H100 facts come from
`synth.hardware`; A100: DGX A100 user guide (12 NVLinks over six NVSwitches, HDR NICs); NVL72: DGX
GB200 guide (18 nodes of four GPUs, nine NVSwitch trays of two chips, one link of each GPU to each).
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.synth import hardware as hw

NVL72_NODES_PER_RACK = 18


@dataclass(frozen=True, slots=True)
class Platform:
    """One kind of node. `rack_nodes`: nodes a rack holds; `shared_switches`: NVSwitches are the rack's."""

    gpus: int
    nvswitch_of: tuple[int, ...]  # of each NVLink of a GPU
    hcas: tuple[str, ...]
    gpus_per_pcie_switch: int
    rack_nodes: int
    shared_switches: bool
    nvlink_gbps: float
    nvlink_lanes: int
    pcie_gbps: float
    ib_gbps: float
    nvlink_busbw: float  # bytes per second of a good all-reduce
    rail_busbw: float

    @property
    def nvlinks(self) -> int:
        """NVLinks of one GPU."""
        return len(self.nvswitch_of)

    def nvswitch_port(self, place: int, nvlink: int) -> str:
        """`<switch>/port-<n>` of a link of the GPU at a place of its NVLink domain."""
        switch = self.nvswitch_of[nvlink]
        count = self.nvswitch_of.count(switch)
        nth = self.nvswitch_of[:nvlink].count(switch)
        first = 0 if self.shared_switches else hw.NVSWITCH_FIRST_PORT
        return f"{switch}/port-{first + place * count + nth}"


_H100_SWITCHES = tuple(hw.nvswitch_of(nvlink)[0] for nvlink in range(hw.NVLINKS_PER_GPU))
_A100_HCAS = ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9")
_NVL72_HCAS = ("mlx5_0", "mlx5_1", "mlx5_3", "mlx5_4")

PLATFORMS = {
    "h100": Platform(
        gpus=8,
        nvswitch_of=_H100_SWITCHES,
        hcas=hw.HCAS,
        gpus_per_pcie_switch=1,
        rack_nodes=4,
        shared_switches=False,
        nvlink_gbps=hw.NVLINK_GBPS,
        nvlink_lanes=hw.NVLINK_LANES,
        pcie_gbps=hw.PCIE_GBPS,
        ib_gbps=hw.IB_GBPS,
        nvlink_busbw=3.6e11,
        rail_busbw=4.6e10,
    ),
    "a100": Platform(
        gpus=8,
        nvswitch_of=tuple(nvlink // 2 for nvlink in range(12)),
        hcas=_A100_HCAS,
        gpus_per_pcie_switch=2,
        rack_nodes=4,
        shared_switches=False,
        nvlink_gbps=200.0,
        nvlink_lanes=4,
        pcie_gbps=256.0,
        ib_gbps=200.0,
        nvlink_busbw=2.3e11,
        rail_busbw=2.3e10,
    ),
    "nvl72": Platform(
        gpus=4,
        nvswitch_of=tuple(range(18)),
        hcas=_NVL72_HCAS,
        gpus_per_pcie_switch=1,
        rack_nodes=NVL72_NODES_PER_RACK,
        shared_switches=True,
        nvlink_gbps=400.0,
        nvlink_lanes=2,
        pcie_gbps=512.0,
        ib_gbps=400.0,
        nvlink_busbw=6.5e11,
        rail_busbw=4.6e10,
    ),
}
PCIE_LANES = hw.PCIE_LANES
IB_LANES = hw.IB_LANES
