"""Captures of invented links as several tools print them: text in, nothing judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

GPUS, LINKS = 4, 6
ADDRESSES = ("1A", "3B", "5D", "9C")
Link = tuple[int, int]


def uuid(gpu: int, board: str = "7a1c0f22") -> str:
    return f"GPU-{board}-{gpu:04d}-4444-5555-66667777aaaa"


def nvlink_errors(counts: Mapping[Link, tuple[int, int, int]], board: str = "7a1c0f22") -> str:
    """`nvidia-smi nvlink -e`; counts are replays, recoveries and CRC errors."""
    rows = []
    for gpu in range(GPUS):
        rows.append(f"GPU {gpu}: NVIDIA A100-SXM4-80GB (UUID: {uuid(gpu, board)})")
        for link in range(LINKS):
            named = ("Replay Errors", "Recovery Errors", "CRC Errors")
            values = counts.get((gpu, link), (0, 0, 0))
            rows += [f"\t Link {link}: {n}: {v}" for n, v in zip(named, values, strict=True)]
    return "\n".join(rows) + "\n"


def nvlink_status(down: Iterable[Link]) -> str:
    """`nvidia-smi nvlink -s`."""
    dead, rows = set(down), []
    for gpu in range(GPUS):
        rows.append(f"GPU {gpu}: NVIDIA A100-SXM4-80GB (UUID: {uuid(gpu)})")
        rows += [
            f"\t Link {link}: {'<inactive>' if (gpu, link) in dead else '25 GB/s'}"
            for link in range(LINKS)
        ]
    return "\n".join(rows) + "\n"


def nvlink_remote() -> str:
    """`nvidia-smi nvlink -R`: link n of every GPU goes to NVSwitch n, at PCI address Cn."""
    rows = []
    for gpu in range(GPUS):
        rows.append(f"GPU {gpu}: NVIDIA A100-SXM4-80GB (UUID: {uuid(gpu)})")
        rows += [
            f"\t Link {link}: Remote Device 00000000:C{link}:00.0: Link {10 * gpu + link}"
            for link in range(LINKS)
        ]
    return "\n".join(rows) + "\n"


def dcgm(host: str, rows: Sequence[tuple[str, Mapping[str, object], int]]) -> str:
    """dcgm-exporter text."""
    lines = []
    for name, labels, value in rows:
        shown = ",".join(f'{key}="{text}"' for key, text in labels.items())
        lines.append(f'DCGM_FI_DEV_{name}{{{shown},Hostname="{host}"}} {value}')
    return "\n".join(lines) + "\n"


def dcgm_links(host: str, metric: str, counts: Mapping[Link, int]) -> str:
    """One counter of every NVLink (`CRC_FLIT`, `REPLAY`)."""
    return dcgm(
        host,
        [
            (f"NVLINK_{metric}_ERROR_COUNT_L{link}", {"gpu": gpu, "UUID": uuid(gpu)}, counts.get((gpu, link), 0))
            for gpu in range(GPUS)
            for link in range(LINKS)
        ],
    )  # fmt: skip


def dcgm_sums(host: str, counts: Mapping[int, int]) -> str:
    """CRC errors summed over all NVLinks of each GPU."""
    name = "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"
    labels = [(gpu, {"gpu": gpu, "UUID": uuid(gpu)}) for gpu in range(GPUS)]
    return dcgm(host, [(name, shown, counts.get(gpu, 0)) for gpu, shown in labels])


def query() -> str:
    """`nvidia-smi -q` of a healthy node: which GPU has which PCI address."""
    blocks = [
        f"""GPU 00000000:{address}:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    GPU UUID                              : {uuid(gpu)}
    Minor Number                          : {gpu}
    PCI
        Bus Id                            : 00000000:{address}:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 0
        Replay Number Rollovers           : 0
    Performance State                     : P0
"""
        for gpu, address in enumerate(ADDRESSES)
    ]
    return f"==============NVSMI LOG==============\n\nAttached GPUs : {GPUS}\n" + "".join(blocks)


def lspci(narrow: str) -> str:
    """`lspci -vvv` of the four GPUs, the one at `narrow` with 8 of its 16 lanes."""
    blocks = []
    for address in ADDRESSES:
        width = "x8 (downgraded)" if address == narrow else "x16 (ok)"
        blocks.append(
            f"{address.lower()}:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)\n"
            "\tCapabilities: [78] Express (v2) Endpoint, MSI 00\n"
            "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
            f"\t\tLnkSta:\tSpeed 16GT/s (ok), Width {width}\n"
        )
    return "".join(blocks)


XID_74 = (
    "[  812.100000] NVRM: Xid (PCI:0000:{address}:00): 74, pid='<unknown>', name=<unknown>, "
    "NVLink: fatal error detected on link 2(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)\n"
)
FABRIC_MANAGER = (
    "[May 07 2024 10:00:00] [ERROR] [tid 1] detected NVSwitch non-fatal error 12028 on fid 0 on "
    "NVSwitch pci bus id 00000000:C2:00.0 physical id 2 port 32\n"
)


def discovery() -> str:
    """`ibnetdiscover`: three hosts on ports 11 to 13 of one switch, all HDR."""
    hosts = [(f"n{7 + at:02d}", f"1070fd03001234{at:02d}", 11 + at) for at in range(3)]
    rows = ["# Topology file: generated on Tue May  7 10:00:00 2024", "", "switchguid=0xb8599f0300aa0001(b8599f0300aa0001)"]  # fmt: skip
    rows.append('Switch\t41 "S-b8599f0300aa0001"\t\t# "leaf-3" enhanced port 0 lid 7 lmc 0')
    rows += [
        f'[{port}]\t"H-{guid}"[1]({guid}) \t\t# "{host} mlx5_0" lid {port + 20} 4xHDR'
        for host, guid, port in hosts
    ]
    for host, guid, port in hosts:
        rows += ["", f"caguid=0x{guid}", f'Ca\t1 "H-{guid}"\t\t# "{host} mlx5_0"']
        rows.append(
            f'[1]({guid}) \t"S-b8599f0300aa0001"[{port}]\t\t# lid {port + 20} lmc 0 "leaf-3" lid 7 4xHDR'
        )
    return "\n".join(rows) + "\n"


def perfquery(symbol: int, downs: int, recoveries: int, port: int = 11) -> str:
    """`perfquery` of one port of the switch with LID 7."""
    counts = {
        "SymbolErrorCounter": symbol, "LinkErrorRecoveryCounter": recoveries, "LinkDownedCounter": downs, "PortRcvErrors": 0,
    }  # fmt: skip
    rows = [f"{name}:{'.' * (34 - len(name))}{value}" for name, value in counts.items()]
    return f"# Port counters: Lid 7 port {port} (CapMask: 0x5200)\n" + "\n".join(rows) + "\n"


def sysfs(symbol: int, downs: int, recoveries: int) -> str:
    """`grep -r . /sys/class/infiniband` of mlx5_0."""
    counts = {
        "counters/symbol_error": symbol, "counters/link_downed": downs, "counters/link_error_recovery": recoveries,
        "counters/port_rcv_errors": 0, "state": "4: ACTIVE", "rate": "200 Gb/sec (4X HDR)", "link_layer": "InfiniBand",
    }  # fmt: skip
    root = "/sys/class/infiniband/mlx5_0/ports/1"
    return "".join(f"{root}/{name}:{value}\n" for name, value in counts.items())


def node_exporter(host: str, symbol: int, downs: int, recoveries: int) -> str:
    counts = {
        "symbol_error_total": symbol, "link_downed_total": downs, "link_error_recovery_total": recoveries, "state_id": 4,
    }  # fmt: skip
    place = f'device="mlx5_0",port="1",instance="{host}:9100"'
    return "".join(f"node_infiniband_{name}{{{place}}} {value}\n" for name, value in counts.items())
