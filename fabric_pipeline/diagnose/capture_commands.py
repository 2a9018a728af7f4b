"""The read-only commands that settle what captures leave open: one table, by need and kind of component.

Nothing here runs anything. No command resets, clears or changes a counter, a link or a device; a test
holds the table against the options that do. Which of them fit a case is `next_capture`'s to choose.
"""

from __future__ import annotations

from dataclasses import dataclass

# Kinds of component, as far as a command addresses them differently.
NVLINK, NVSWITCH, GPU, PCIE = "nvlink", "nvswitch", "gpu", "pcie"
HCA, SWITCH_PORT, NETDEV, NODE = "hca", "switch_port", "netdev", "node"

# What is open.
FAR_END = "far_end"  # which port the other end of the link is
GROWTH = "growth"  # whether a total still grows
COUNTERS = "counters"  # errors were not counted at all
STATE = "state"  # whether the link is up, how fast and wide
WHICH_LINK = "which_link"  # a sum was counted, the link is not named
MODULE = "module"  # whether the cable or module is to blame
LOAD = "load"  # width and speed while the device is busy
IDENTITY = "identity"  # which host, board or device it is
EVENTS = "events"  # what the driver said and when, with the host's name
HOST_STATE = "host_state"  # clocks, throttling and temperature of a slow rank
JOB_STATE = "job_state"  # which ranks a running job waits for
TRAFFIC_RULES = "traffic_rules"  # congestion and losses on the way
SUBNET = "subnet"  # what the subnet manager sees


@dataclass(frozen=True, slots=True)
class CaptureCommand:
    """One command with places to fill in, and what its output settles.

    `needs`: the places that have to be known (`gpu` as nvidia-smi takes it, `gpu_index`, `bdf`, `hca`,
    `port` as the switch is labelled, `port_number`, `lid`, `guid`, `switch`, `netdev`). `site_has`:
    beginnings of format ids that show that the site has the tool; () for any site. `reads`: the format
    id under which its output is read again, "" when it is for people alone.
    """

    template: str
    settles: str
    reads: str = ""
    needs: tuple[str, ...] = ()
    site_has: tuple[str, ...] = ()


_GROWS = "shows whether the counts still grow or are old"
_WIDE = "shows whether the counts still grow; 64 bits do not stop at 255 or 65,535"
_COUNTS = "counts replays, recoveries and CRC errors of each link"
_MODULE = "reads module, optical power and bit errors: tells a bad cable or module from a bad port"
_DCGM = ("dcgmi_",)
_PROMETHEUS = ("dcgm_exporter", "prometheus_", "node_exporter")
PULL = CaptureCommand(
    "fabric-pipeline pull --prometheus URL --window 1h",
    "shows whether the counts grow, over an hour and for every link that the server scrapes",
    site_has=_PROMETHEUS,
)  # fmt: skip

# Syntax: `nvidia-smi nvlink -h` (-e error counters, -s status, -R remote ends, -i index, UUID or PCI
# address; reset is -re and is not used here). DCGM dcgmi/CommandLineParser.cpp (nvlink -s; -e with -g, a
# GPU id). rdma-core infiniband-diags man pages: perfquery(8) (-x extended 64-bit counters, -G by GUID,
# -C and -P a local port; -r, -R and a third number reset and are not used), ibqueryerrors(8) (-k and -K
# clear and are not used), ibnetdiscover(8) (-p ports report), iblinkinfo(8), ibswitches(8), ibstat(8),
# sminfo(8). NVIDIA MFT, mlxlink utility (-d device or lid-N, -p port, -m module, -c counters and BER;
# -a, -s and --pc change or clear and are not used). lspci(8) (-vvv as root, -s slot), ethtool(8)
# (-S statistics, -m module), ip-link(8), journalctl(1) (-k kernel, -o short-iso). NCCL user guide, RAS
# (ncclras -v). nvidia-smi(1) (-q, -i, -d).
COMMANDS: dict[tuple[str, str], tuple[CaptureCommand, ...]] = {
    (FAR_END, NVLINK): (
        CaptureCommand("nvidia-smi nvlink -R -i {gpu}", "names the far end of every NVLink of this GPU", "nvidia_smi_nvlink_remote", ("gpu",)),
    ),
    (FAR_END, NVSWITCH): (
        CaptureCommand("nvidia-smi nvlink -R", "names the GPU and the link behind every NVSwitch port", "nvidia_smi_nvlink_remote"),
    ),
    (FAR_END, HCA): (
        CaptureCommand("ibnetdiscover -p", "names both ends of every InfiniBand link", "ibnetdiscover_ports"),
    ),
    (FAR_END, SWITCH_PORT): (
        CaptureCommand("ibnetdiscover -p", "names both ends of every InfiniBand link", "ibnetdiscover_ports"),
    ),
    (GROWTH, NVLINK): (
        CaptureCommand("dcgmi nvlink -g {gpu_index} -e", _GROWS, "dcgmi_nvlink_errors", ("gpu_index",), _DCGM),
        PULL,
        CaptureCommand("nvidia-smi nvlink -e -i {gpu}", _GROWS, "nvidia_smi_nvlink_errors", ("gpu",)),
    ),
    (GROWTH, PCIE): (
        PULL,
        CaptureCommand("lspci -vvv -s {bdf}", "shows width, speed and which error bits are set now (as root)", "lspci_verbose", ("bdf",)),
        CaptureCommand("nvidia-smi -q -i {gpu}", "shows whether the replays since reset still grow", "nvidia_smi_query_text", ("gpu",)),
    ),
    (GROWTH, HCA): (
        PULL,
        CaptureCommand("grep -r . /sys/class/infiniband/{hca}/ports/{port}/", _WIDE, "sysfs_infiniband_grep", ("hca", "port")),
    ),
    (GROWTH, SWITCH_PORT): (
        CaptureCommand("perfquery -x {lid} {port_number}", _WIDE, "perfquery", ("lid", "port_number")),
        CaptureCommand("perfquery -x -G {guid} {port_number}", _WIDE, "perfquery", ("guid", "port_number")),
        CaptureCommand("ibqueryerrors", "shows whether the counts still grow (the GUID it prints serves perfquery -x -G GUID PORT)", "ibqueryerrors"),
    ),
    (GROWTH, NETDEV): (
        CaptureCommand("ethtool -S {netdev}", "shows whether the counts still grow", "ethtool_stats", ("netdev",)),
    ),
    (COUNTERS, NVLINK): (
        CaptureCommand("dcgmi nvlink -g {gpu_index} -e", _COUNTS, "dcgmi_nvlink_errors", ("gpu_index",), _DCGM),
        CaptureCommand("nvidia-smi nvlink -e -i {gpu}", _COUNTS, "nvidia_smi_nvlink_errors", ("gpu",)),
        CaptureCommand("nvidia-smi nvlink -e", "counts replays, recoveries and CRC errors of every NVLink of the host", "nvidia_smi_nvlink_errors"),
    ),
    (COUNTERS, GPU): (
        CaptureCommand("nvidia-smi nvlink -e -i {gpu}", _COUNTS, "nvidia_smi_nvlink_errors", ("gpu",)),
        CaptureCommand("nvidia-smi nvlink -e", "counts replays, recoveries and CRC errors of every NVLink of the host", "nvidia_smi_nvlink_errors"),
    ),
    (COUNTERS, NVSWITCH): (
        CaptureCommand("nvidia-smi nvlink -e", "counts the errors at the GPU end of every NVLink of the host", "nvidia_smi_nvlink_errors"),
    ),
    (COUNTERS, PCIE): (
        CaptureCommand("lspci -vvv -s {bdf}", "shows width, speed and which error bits are set (as root)", "lspci_verbose", ("bdf",)),
        CaptureCommand("nvidia-smi -q", "shows width, generation and replays of every GPU's PCIe link", "nvidia_smi_query_text"),
    ),
    (COUNTERS, HCA): (
        CaptureCommand("ethtool -S NETDEV", "counts the errors of this port, by lane where the card does", "ethtool_stats", (), ("ethtool_",)),
        CaptureCommand("grep -r . /sys/class/infiniband/{hca}/ports/{port}/", "counts the errors of this port", "sysfs_infiniband_grep", ("hca", "port")),
        CaptureCommand("grep -r . /sys/class/infiniband/", "counts the errors of every port of the host", "sysfs_infiniband_grep"),
    ),
    (COUNTERS, SWITCH_PORT): (
        CaptureCommand("perfquery {lid} {port_number}", "counts the errors of this port", "perfquery", ("lid", "port_number")),
        CaptureCommand("ibqueryerrors", "counts the errors of every port of the fabric", "ibqueryerrors"),
    ),
    (COUNTERS, NETDEV): (
        CaptureCommand("ethtool -S {netdev}", "counts the errors of this port, by lane where the card does", "ethtool_stats", ("netdev",)),
    ),
    (STATE, NVLINK): (
        CaptureCommand("dcgmi nvlink -s", "shows which NVLinks are up", "dcgmi_nvlink_status", (), _DCGM),
        CaptureCommand("nvidia-smi nvlink -s", "shows which NVLinks are up, and at what speed", "nvidia_smi_nvlink_status"),
    ),
    (STATE, PCIE): (
        CaptureCommand("lspci -vvv", "shows width and speed of every PCIe link (as root)", "lspci_verbose"),
    ),
    (STATE, HCA): (
        CaptureCommand("ibstat {hca} {port}", "shows state, rate and link layer of this port", "ibstat", ("hca", "port")),
        CaptureCommand("ibstat", "shows state, rate and link layer of every port of the host", "ibstat"),
    ),
    (STATE, SWITCH_PORT): (
        CaptureCommand("iblinkinfo", "shows state, width and speed of every link of the fabric, with both ends", "iblinkinfo"),
    ),
    (STATE, NETDEV): (
        CaptureCommand("ip -s link show dev {netdev}", "shows whether the interface is up and how often it lost its carrier", needs=("netdev",)),
    ),
    (WHICH_LINK, GPU): (
        CaptureCommand("dcgmi nvlink -g {gpu_index} -e", "counts by link, so that the one link has a name", "dcgmi_nvlink_errors", ("gpu_index",), _DCGM),
        CaptureCommand("nvidia-smi nvlink -e -i {gpu}", "counts by link, so that the one link has a name", "nvidia_smi_nvlink_errors", ("gpu",)),
    ),
    (WHICH_LINK, SWITCH_PORT): (
        CaptureCommand("ibqueryerrors", "counts by port, so that the one port has a name", "ibqueryerrors"),
    ),
    (MODULE, HCA): (
        CaptureCommand("mlxlink -d {hca} -m -c", _MODULE, "mlxlink_text", ("hca",)),
    ),
    (MODULE, SWITCH_PORT): (
        CaptureCommand("mlxlink -d lid-{lid} -p {port} -m -c", _MODULE, "mlxlink_text", ("lid", "port")),
        CaptureCommand("mlxlink -d lid-LID -p {port} -m -c", f"{_MODULE} (ibswitches lists the LID of {{switch}})", "mlxlink_text", ("switch", "port")),
    ),
    (MODULE, NETDEV): (
        CaptureCommand("ethtool -m {netdev}", "reads module, temperature and optical power", needs=("netdev",)),
    ),
    (LOAD, PCIE): (
        CaptureCommand("nvidia-smi -q -i {gpu}", "shows width and generation while the GPU works", "nvidia_smi_query_text", ("gpu",)),
        CaptureCommand("lspci -vvv -s {bdf}", "shows width and speed while the device works (as root)", "lspci_verbose", ("bdf",)),
    ),
    (IDENTITY, GPU): (
        CaptureCommand("nvidia-smi -q", "gives index, PCI address, UUID and serial number of every GPU", "nvidia_smi_query_text"),
    ),
    (GROWTH, NODE): (
        CaptureCommand("ethtool -S NETDEV", _GROWS, "ethtool_stats", (), ("ethtool_",)),
    ),
    (MODULE, NODE): (
        CaptureCommand("ethtool -m NETDEV", "reads module, temperature and optical power", "", (), ("ethtool_",)),
    ),
    (EVENTS, NODE): (
        CaptureCommand("journalctl -k -o short-iso", "gives every line of the kernel its host and its full time", "kernel_log"),
    ),
    (HOST_STATE, NODE): (
        CaptureCommand("nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE,POWER", "shows on the slow host whether a GPU is held back"),
    ),
    (JOB_STATE, NODE): (
        CaptureCommand("ncclras -v", "lists which ranks a running job waits for, and on which hosts they are", "nccl_ras_text"),
    ),
    (TRAFFIC_RULES, NODE): (
        CaptureCommand("grep -r . /sys/class/infiniband/", "shows on which ports losses and congestion marks still grow", "sysfs_infiniband_grep"),
    ),
    (SUBNET, NODE): (
        CaptureCommand("sminfo", "shows whether a subnet manager answers: a port that hangs in Init waits for one"),
    ),
}  # fmt: skip

# For files that hold no measurement of a link: what the same tool, or its neighbour, would have given.
# Need and kind by the beginning of a format id; the first that fits counts.
INSTEAD_OF: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("nvidia_smi_", ((COUNTERS, NVLINK), (STATE, NVLINK))),
    ("dcgmi_", ((STATE, NVLINK), (COUNTERS, NVLINK))),
    ("perfquery", ((COUNTERS, SWITCH_PORT),)),
    ("ib", ((COUNTERS, SWITCH_PORT), (STATE, SWITCH_PORT))),
    ("mlxlink", ((COUNTERS, HCA), (STATE, HCA))),
    ("sysfs_", ((COUNTERS, HCA), (STATE, HCA))),
    ("lspci", ((STATE, PCIE),)),
    ("nccl_topo", ((COUNTERS, NVLINK), (STATE, PCIE))),
    ("nccl_graph", ((COUNTERS, NVLINK),)),
    ("fabric_", ((COUNTERS, NVLINK), (COUNTERS, HCA))),
)
# Files that no reader takes, or nothing of any use at all.
OTHERWISE = ((COUNTERS, NVLINK), (COUNTERS, HCA), (EVENTS, NODE))

# What a dcgm-exporter has to be told to export before a link can be judged: one field a line in the file
# of counters that it is started with (`-f`). NVIDIA/dcgm-exporter etc/default-counters.csv.
EXPORTER_FIELDS = (
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
)
