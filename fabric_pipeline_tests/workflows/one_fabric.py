"""One small invented fabric as ten sources describe it: two nodes, two leaves, a spine.

Each source names things in its own manner. The cable plan puts the cable of oak-08 one port too far; all
else agrees.
"""

from __future__ import annotations

import json

GUIDS = {
    "fern-1": "0c42a10300aa0001", "fern-2": "0c42a10300aa0002", "crown-1": "0c42a10300aa0009",
    "oak-07": "0c42a10300bb0007", "oak-08": "0c42a10300bb0008",
}  # fmt: skip
_LIDS = {name: number for number, name in enumerate(GUIDS, 1)}
_CABLES = (
    ("fern-1", 3, "oak-07", 1), ("fern-2", 3, "oak-08", 1), ("fern-1", 20, "crown-1", 1), ("fern-2", 20, "crown-1", 2),
)  # fmt: skip
_UUID = "GPU-0f0e0d0c-0b0a-0908-0706-05040302010"


def _is_host(name: str) -> bool:
    return name.startswith("oak")


def _described(name: str) -> str:
    return f"{name} HCA-1" if _is_host(name) else f"MF0;{name}:Q-40/U1"


def ibnetdiscover() -> str:
    blocks = []
    for name, guid in GUIDS.items():
        kind, mark = ("Ca", "H") if _is_host(name) else ("Switch", "S")
        rows = []
        for ends in _CABLES:
            for own, far in ((ends[:2], ends[2:]), (ends[2:], ends[:2])):
                if own[0] != name:
                    continue
                mark_far = "H" if _is_host(str(far[0])) else "S"
                guid_far = f"({GUIDS[str(far[0])]})" if mark_far == "H" else ""
                before = f"({guid})" if mark == "H" else ""
                told = f'"{_described(str(far[0]))}" lid {_LIDS[str(far[0])]} 4xHDR'
                own_lid = f"lid {_LIDS[name]} lmc 0 " if mark == "H" else ""
                rows.append(
                    f'[{own[1]}]{before}\t"{mark_far}-{GUIDS[str(far[0])]}"[{far[1]}]{guid_far}\t\t# {own_lid}{told}'
                )
        ports = "enhanced port 0 " if mark == "S" else ""
        lid = f"{ports}lid {_LIDS[name]} lmc 0" if mark == "S" else ""
        head = f'{kind}\t41 "{mark}-{guid}"\t\t# "{_described(name)}" {lid}'.rstrip()
        blocks.append("\n".join([head, *rows]))
    return "\n\n".join(blocks) + "\n"


def database() -> str:
    """ibdiagnet2.db_csv: everything by GUID, with the only errors of the fabric."""
    nodes = "".join(
        f'"{_described(name)}",41,{1 if _is_host(name) else 2},0x{guid},0x{guid},0x{guid}\n'
        for name, guid in GUIDS.items()
    )
    links = "".join(f"0x{GUIDS[a]},{p},0x{GUIDS[b]},{q}\n" for a, p, b, q in _CABLES)
    counts = "".join(
        f"0x{GUIDS[name]},{port},{errors}\n"
        for name, port, errors in (("fern-1", 3, 120), ("oak-07", 1, 7), ("fern-2", 3, 0))
    )
    return (
        f"START_NODES\nNodeDesc,NumPorts,NodeType,SystemImageGUID,NodeGUID,PortGUID\n{nodes}END_NODES\n"
        f"START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n{links}END_LINKS\n"
        f"START_PM_INFO\nNodeGUID,PortNumber,SymbolErrorCounter\n{counts}END_PM_INFO\n"
        "START_CABLE_INFO\nNodeGuid,PortNum,Vendor,PN,SN\n"
        f"0x{GUIDS['fern-1']},3,Acme,P-2M,CS-1\nEND_CABLE_INFO\n"
    )


def _pci(bus: str, device: str, kind: str, vendor: str, parent: tuple[str, str] | None) -> str:
    above = ("0000", *parent, "0") if parent else ("*",) * 4
    names = ("parent_segment", "parent_bus", "parent_device", "parent_function")
    labels = ",".join(f'{name}="{value}"' for name, value in zip(names, above, strict=True))
    return (
        f'node_pcidevice_info{{segment="0000",bus="{bus}",device="{device}",function="0",{labels},'
        f'class_id="{kind}",vendor_id="{vendor}"}} 1\n'
    )


def files() -> dict[str, str]:
    """All files of the drop by name."""
    plan = {
        "nodes": [{"node": "oak-07", "rack": "R1", "unit": "12", "gpus": [{"gpu": 0}, {"gpu": 1}]}],
        "links": [
            {
                "type": "infiniband", "speed_gbps": 200, "cable": "C-1", "a": {"node": "oak-07", "port": "mlx5_0/1"},
                "b": {"switch": "fern-1", "port": 3},
            },
        ],
    }  # fmt: skip
    remote = "".join(
        f"GPU {gpu}: A100 (UUID: {_UUID}{gpu})\n"
        + "".join(
            f"\t Link {n}: Remote Device 00000000:{('3D', '1B')[gpu]}:00.0: Link {n}\n"
            for n in range(4)
        )
        for gpu in (0, 1)
    )
    backwards = bytes.fromhex(GUIDS["oak-07"])[::-1].hex()
    numa = 'node_pcidevice_numa_node{segment="0000",bus="1c",device="00",function="0"} 0\n'
    return {
        "topology.json": json.dumps(plan),
        "cables.csv": (
            "Label,Termination A,Termination B,Device A,Device B,Status,Type,Color,Length\n"
            "C-1,ib0,IB1/3,oak-07,fern-1,Connected,DAC,ffeb3b,2 m\n"
            "C-2,ib0,IB1/4,oak-08,fern-2,Connected,MMF OM4,00ffff,15 m\n"
            "C-3,IB1/20,IB1/1,fern-1,crown-1,Connected,SMF,,30 m\n"
            "C-4,IB1/20,IB1/2,fern-2,crown-1,Connected,SMF,,30 m\n"
        ),
        "devices.csv": (
            "Name,Status,Site,Location,Rack,Role,Type,Serial number,Position (U)\n"
            "oak-07,Active,north,Hall 2,R1,GPU node,Box,S7,12.0\n"
            "fern-1,Active,north,Hall 2,R1,Leaf switch,Q-40,L1,40.0\n"
        ),
        "ibnetdiscover.txt": ibnetdiscover(),
        "ibdiagnet2.db_csv": database(),
        "topology.conf": (
            "SwitchName=fern-1 Nodes=oak-07\nSwitchName=fern-2 Nodes=oak-08\n"
            "SwitchName=crown-1 Switches=fern-[1-2]\n"
        ),
        "oak-07/ibstat.txt": (
            "CA 'mlx5_0'\n\tCA type: MT4123\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 200\n"
            f"\t\tPort GUID: 0x{GUIDS['oak-07']}\n\t\tLink layer: InfiniBand\n"
        ),
        "oak-07/topo.txt": (
            "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\tPXB\t0-31\t0\n"
            "GPU1\tNV4\t X \tSYS\t32-63\t1\nNIC0\tPXB\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
        ),
        "oak-07/remote.txt": remote,
        "oak-07/nccl.xml": (
            '<system version="1">\n<cpu numaid="0" arch="x86_64">\n<pci busid="0000:1a:00.0" class="0x060400">\n'
            '<pci busid="0000:1b:00.0" class="0x030200"><gpu dev="0"/></pci>\n<pci busid="0000:1c:00.0" class="0x020700">'
            f'<nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x{backwards}"/></nic></pci>\n</pci>\n</cpu>\n'
            '<cpu numaid="1" arch="x86_64">\n<pci busid="0000:3d:00.0" class="0x030200"><gpu dev="1"/></pci>\n</cpu>\n'
            "</system>\n"
        ),
        "oak-07/node.prom": (
            'node_uname_info{nodename="oak-07"} 1\n'
            + _pci("16", "01", "0x060400", "0x8086", None)
            + _pci("1a", "00", "0x060400", "0x1000", ("16", "01"))
            + _pci("1a", "04", "0x060400", "0x1000", ("1a", "00"))
            + _pci("1c", "00", "0x020700", "0x15b3", ("1a", "04"))
            + numa
            + 'node_infiniband_symbol_error_total{device="mlx5_0",port="1"} 7\n'
        ),
    }  # fmt: skip
