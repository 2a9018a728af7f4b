"""Fixed facts of an eight-GPU H100 node and its rail-optimised fabric.

Only constants live here, each with its source; `topology` turns them into a cluster. Sources:
field-guide section 5 (H100: 18 NVLinks over four NVSwitches in the pattern 5+4+4+5; DGX H100 map of
OSFP cages; one PCIe switch per GPU and NIC, four pairs per socket).
"""

from __future__ import annotations

GPUS_PER_NODE = 8
GPUS_PER_SOCKET = 4
NVLINKS_PER_SWITCH = (5, 4, 4, 5)
NVLINKS_PER_GPU = sum(NVLINKS_PER_SWITCH)
NVSWITCH_PORTS = 64
NVSWITCH_FIRST_PORT = 8
# Fourth-generation NVLink: two lanes per direction; the driver prints 26.562 GB/s per link.
NVLINK_LANES = 2
NVLINK_GBPS = 212.5

# PCIe Gen5 x16: 32 GT/s per lane.
PCIE_LANES = 16
PCIE_GBPS = 512.0

# NDR InfiniBand port: four lanes of 100 Gb/s.
IB_LANES = 4
IB_GBPS = 400.0
IB_SWITCH_PORTS = 64
FIRST_UPLINK_PORT = 33
SPINES = 4
NODES_PER_POD = 32  # rail-aligned group of a SuperPOD: eight leaves serve 32 nodes
MAX_PODS = IB_SWITCH_PORTS // 8

# Index = GPU = rail. The DGX H100 map: two GPUs share one twin-port cage.
HCAS = ("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11")
PORT_LABELS = (
    "OSFP4P2",
    "OSFP3P2",
    "OSFP3P1",
    "OSFP4P1",
    "OSFP1P2",
    "OSFP2P2",
    "OSFP2P1",
    "OSFP1P1",
)
GPU_PCI_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
NIC_PCI_BUSES = ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")
ROOT_PORT_PCI_BUSES = ("15", "3d", "4c", "5b", "97", "bd", "cb", "d9")
NVSWITCH_PCI_BUSES = ("07", "08", "09", "0a")

# References into the parts catalogue (`data/catalogue`), which knows what to order for them.
PART_BASEBOARD = "hgx-h100-8gpu"
PART_PCIE_PATH = "pcie-slot"
PART_RAIL_OPTICS = "MMA4Z00-NS"  # twin-port OSFP, multimode: within a row
PART_UPLINK_OPTICS = "MMS4X00-NS"  # twin-port OSFP, single mode
PLATFORM = "HGX H100 8-GPU"
GPU_MODEL = "H100 SXM5 80GB"
NIC_MODEL = "ConnectX-7"
CONNECTOR = "MPO-12/APC"


def nvswitch_of(nvlink: int) -> tuple[int, int]:
    """NVSwitch that a GPU's NVLink ends on, and its place among that GPU's links to it."""
    first = 0
    for switch, count in enumerate(NVLINKS_PER_SWITCH):
        if nvlink < first + count:
            return switch, nvlink - first
        first += count
    raise ValueError(f"an H100 has NVLinks 0 to {NVLINKS_PER_GPU - 1}, not {nvlink}")


def nvswitch_port(gpu: int, nvlink: int) -> str:
    """Interface of the NVSwitch port at the far end of a GPU's NVLink."""
    switch, place = nvswitch_of(nvlink)
    port = NVSWITCH_FIRST_PORT + gpu * NVLINKS_PER_SWITCH[switch] + place
    return f"nvswitch-{switch}/port-{port}"


def cage_label(port: int) -> str:
    """Label of a switch port as chassis, cage and half: two ports share a twin-port OSFP cage."""
    return f"1/{(port + 1) // 2}/{2 - port % 2}"


def pci_address(bus: str, device: int = 0) -> str:
    """Full PCI address of function 0."""
    return f"0000:{bus}:{device:02x}.0"
