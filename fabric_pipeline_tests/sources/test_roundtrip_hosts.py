"""What commands on a host print reads back equal: nvidia-smi, dcgmi, ethtool, mlxlink.

A file is one host's; the host is the folder the file lies in. None of these listings has a time.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fabric_pipeline_tests.sources.facts import (
    Fact,
    Found,
    counts,
    delivered,
    facts,
    formats,
    nodes,
    readings,
    rounds,
)  # fmt: skip

NVIDIA_SMI = {"replay": "Replay Errors", "recovery": "Recovery Errors", "crc": "CRC Errors"}
DCGMI = {
    "crc_flit": "CRC FLIT Error", "crc_data": "CRC Data Error",
    "replay": "Replay Error", "recovery": "Recovery Error",
}  # fmt: skip
# Short names of fields 202 and 403 ... 439, as `dcgmi dmon -l` lists them.
DMON = {"replay": "NREL", "recovery": "NRCL", "crc_flit": "NFEL", "crc_data": "NDEL"}
ETHTOOL = {
    "crc_phy": "rx_crc_errors_phy", "symbol_error": "rx_symbol_err_phy", "link_downed": "link_down_events_phy",
    "corrected_bits": "rx_corrected_bits_phy", "tx_discards": "tx_discards_phy",
}  # fmt: skip
Cells = dict[int, dict[int, dict[str, int]]]  # GPU -> link -> counter -> value


def _cells(found: list[Fact], names: dict[str, str]) -> Cells:
    counters, cells = list(names), Cells()
    for f in found:
        cells.setdefault(f.gpu, {}).setdefault(f.link, {})[counters[f.word]] = f.value
    return cells


def _rows(node: str, cells: Cells) -> Found:
    return Counter(
        (node, f"gpu{gpu}/nvlink-{link}", counter, float(value), None, "link", "nvlink")
        for gpu, links in cells.items()
        for link, values in links.items()
        for counter, value in values.items()
    )


def nvidia_smi(cells: Cells, blank: str) -> str:
    text = ""
    for gpu, links in cells.items():
        text += (
            f"GPU {gpu}: NVIDIA A100-SXM4-80GB (UUID: GPU-{gpu:08x}-0000-4000-8000-0123456789ab)\n"
        )
        for link, values in links.items():
            text += "".join(f"{blank}Link {link}: {NVIDIA_SMI[name]}: {value}\n" for name, value in values.items())  # fmt: skip
    return text


def dcgmi_text(cells: Cells) -> str:
    rule, text = "+" + "-" * 29 + "+" + "-" * 30 + "+\n", ""
    for gpu, links in cells.items():
        text += (
            f"{rule}| {'NVLINK Error Counts':58} |\n| {f'GPU {gpu}':58} |\n{rule.replace('-', '=')}"
        )
        for link, values in links.items():
            text += f"| {f'Link {link}':27} | {'':28} |\n"
            for name, value in values.items():
                text += f"| {'-> ' + DCGMI[name]:27} | {value:<28} |\n"
    return text + rule


def dcgmi_json(gpu: int, links: dict[int, dict[str, int]], indent: int | None) -> str:
    body = {
        f"Link {link}": {"children": {DCGMI[name]: {"value": str(value)} for name, value in values.items()}}
        for link, values in links.items()
    }  # fmt: skip
    return json.dumps(
        {"body": body, "header": ["NVLINK Error Counts", f"GPU {gpu}"]}, indent=indent
    )


def dmon(cells: Cells) -> str:
    """One row a GPU; a field that a GPU does not have reads N/A."""
    columns = sorted({(name, link) for links in cells.values() for link, values in links.items() for name in values})  # fmt: skip
    text = "#Entity   " + "".join(f"{DMON[name]}{link:<18}" for name, link in columns) + "\nID\n"
    for gpu, links in cells.items():
        row = [str(links.get(link, {}).get(name, "N/A")) for name, link in columns]
        text += f"GPU {gpu:<6}" + "".join(f"{cell:<22}" for cell in row) + "\n"
    return text


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(nodes, facts(3, most=8), st.sampled_from(["\t ", "\t", "         "]))
def test_nvidia_smi_nvlink_errors(node: str, found: list[Fact], blank: str) -> None:
    cells = _cells(found, NVIDIA_SMI)
    readout = delivered({f"{node}/nvlink.txt": nvidia_smi(cells, blank)})
    assert formats(readout) == {"nvidia_smi_nvlink_errors"}
    assert readings(readout, f"{node}/nvlink.txt", "scope", "link_type") == _rows(node, cells)


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(nodes, facts(len(DCGMI), most=8), st.sampled_from([None, 2, 4]))
def test_dcgmi(node: str, found: list[Fact], indent: int | None) -> None:
    """Table, JSON of each GPU, and `dmon`: the same counts from all three."""
    cells = _cells(found, DCGMI)
    files = {f"{node}/text": dcgmi_text(cells), f"{node}/dmon": dmon(cells)}
    files |= {f"{node}/{gpu}.json": dcgmi_json(gpu, links, indent) for gpu, links in cells.items()}
    readout = delivered(files)
    columns = ("scope", "link_type")
    assert formats(readout) == {"dcgmi_nvlink_errors", "dcgmi_dmon", "dcgmi_nvlink_errors_json"}
    assert readings(readout, f"{node}/text", *columns) == _rows(node, cells)
    measured = Counter(row for row in readings(readout, f"{node}/dmon", *columns).elements() if row[3] is not None)  # fmt: skip
    assert measured == _rows(node, cells)
    for gpu, links in cells.items():
        assert readings(readout, f"{node}/{gpu}.json", *columns) == _rows(node, {gpu: links})


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(nodes, facts(len(ETHTOOL), most=8), st.dictionaries(st.integers(0, 7), counts, max_size=4))
def test_ethtool_statistics(node: str, found: list[Fact], lanes: dict[int, int]) -> None:
    names = list(ETHTOOL.items())
    text, expected = "", Counter[tuple[Any, ...]]()
    for gpu in sorted({f.gpu for f in found}):
        text += f"[root@{node} ~]# ethtool -S ens{gpu}np0\nNIC statistics:\n"
        of_port = {names[f.word]: f.value for f in found if f.gpu == gpu}
        for (counter, name), value in of_port.items():
            text += f"     {name}: {value}\n"
            expected[node, f"ens{gpu}np0", counter, float(value), None, None] += 1
        for lane, value in lanes.items():
            text += f"     rx_err_lane_{lane}_phy: {value}\n"
            expected[node, f"ens{gpu}np0", "corrected_bits", float(value), None, lane] += 1
    readout = delivered({"statistics": text})
    assert formats(readout) == {"ethtool_stats"}
    assert readings(readout, "statistics", "lane") == expected


MLXLINK = {"effective_error": "Effective Physical Errors", "link_downed": "Link Down Counter"}


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(
    nodes,
    st.lists(st.fixed_dictionaries({**dict.fromkeys(MLXLINK, counts), "lanes": st.lists(counts, min_size=1, max_size=4)}), min_size=1, max_size=3),
    st.sampled_from([2, 4]),
)  # fmt: skip
def test_mlxlink(node: str, ports: list[dict[str, object]], indent: int) -> None:
    """Text and JSON of several devices in one file."""
    text, jsons, expected = "", "", Counter[tuple[Any, ...]]()
    for number, port in enumerate(ports):
        lanes = port["lanes"]
        assert isinstance(lanes, list)
        command = f"[root@{node} ~]# mlxlink -d mlx5_{number} -c"
        title = "Physical Counters and BER Info"
        rows = {words: str(port[name]) for name, words in MLXLINK.items()}
        text += f"{command}\n\n{title}\n{'-' * len(title)}\n"
        text += "".join(f"{words:<34} : {value}\n" for words, value in rows.items())
        text += f"{'Raw Physical Errors Per Lane':<34} : {','.join(map(str, lanes))}\n\n"
        section = rows | {"Raw Physical Errors Per Lane": {"values": [str(one) for one in lanes]}}
        jsons += f"{command} --json\n{json.dumps({'status': {'code': 0}, 'result': {'output': {title: section}}}, indent=indent)}\n"
        place = (node, f"mlx5_{number}/1")
        for name in MLXLINK:
            expected[*place, name, float(str(port[name])), None, None] += 1
        for lane, value in enumerate(lanes):
            expected[*place, "corrected_bits", float(value), None, lane] += 1
    readout = delivered({"text": text, "json": jsons})
    assert formats(readout) == {"mlxlink_text", "mlxlink_json"}
    assert readings(readout, "text", "lane") == expected
    assert readings(readout, "json", "lane") == expected
