"""Reader of `nvidia-smi topo -m`: how GPUs and NICs reach each other, and their NUMA nodes.

A map without counters. NV# says how many NVLinks a pair shares, never which ones; damaged cells are
refused and the affinity is then unknown, not completed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    MAX_TEXT,
    ReadResult,
    RejectedLine,
    TopologyPart,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import captured_lines, clean
from fabric_pipeline.sources.nvidia_smi.topo_cells import (
    Header,
    Row,
    parse_header,
    parse_row,
    reject_shortened,
)

_GPU_NAME = re.compile(r"GPU\d{1,4}")
MAX_LINKS_PER_GPU = 18  # NVLinks of the largest GPUs (field-guide section 5)
NEAR = ("PIX", "PXB")  # relations that stay below one PCIe host bridge
SAME_SOCKET = (*NEAR, "PHB", "NODE")
_HEADER_HINT = re.compile(r"^.{0,80}?\bGPU0\b|^.{0,80}?\bGPU\d{1,3}\s+GPU\d", re.M)
_LEGEND = re.compile(r"^\s*(?P<nic>NIC\d{1,3})\s*:\s*(?P<name>[\w.-]{1,40})")


@dataclass(slots=True)
class _Matrix:
    """One table of a file with the host it was taken on."""

    node: str
    header: Header
    rows: list[Row] = field(default_factory=list)
    nics: dict[str, str] = field(default_factory=dict)


class TopoMatrixReader:
    """GPU and NIC matrix of `topo -m`, with or without NIC, NUMA and GPU NUMA columns."""

    format_id: ClassVar[str] = "nvidia_smi_topo_matrix"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi topo -m",
        versions="A40, A100, A800, H800; with and without the column GPU NUMA ID",
        recognised_by=(
            "a header of GPU and NIC columns followed by rows of relations (X, NV18, PIX, PXB, "
            "PHB, NODE, SYS)"
        ),
        gives=(
            "GPUs and NICs with NUMA node and CPU list, which GPUs share a PCIe switch with which"
            " NIC, NVLinks between directly joined GPUs"
        ),
        traps=(
            "NV18 says how many NVLinks a pair shares, never which ones.",
            (
                "Counts larger than a GPU's own links mean that switches stand between; no direct"
                " links are then stated."
            ),
            "With more than two NUMA nodes a node is no socket, so no socket is given.",
            "Cells that ran together are refused and the rest of their row stays unknown.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when a header of device columns is followed by rows of relations."""
        if file.is_binary or not _HEADER_HINT.search(file.head):
            return 0
        matrices = _matrices(file, head_only=True)
        return 85 if any(matrix.rows for matrix in matrices) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Topology of every matrix in the file; refused cells and missing rows are listed."""
        result = ReadResult(topology=TopologyPart())
        for matrix in _matrices(file):
            reject_shortened(matrix.rows)
            _tell_damage(matrix, result)
            _tell_topology(matrix, result)
        return result


def _matrices(file: SourceFile, *, head_only: bool = False) -> list[_Matrix]:
    found: list[_Matrix] = []
    for line in captured_lines(file, head_only=head_only):
        text = clean(line.text)
        header = parse_header(text)
        legend = _LEGEND.match(text)
        if header:
            found.append(_Matrix(line.node, header))
        elif not found:
            continue
        elif legend:
            found[-1].nics[legend["nic"]] = legend["name"]
        else:
            row = parse_row(line.number, text, found[-1].header)
            if row:
                found[-1].rows.append(row)
    return found


def _tell_damage(matrix: _Matrix, result: ReadResult) -> None:
    named = {row.name for row in matrix.rows}
    for row in matrix.rows:
        for rule in row.damage:
            result.rejected.append(RejectedLine(row.line, row.text[:MAX_TEXT], rule))
        if row.damage:
            what = f"CPU and NUMA affinity of {row.name}"
            if row.tails.get("NUMA Affinity"):
                what = f"CPU affinity of {row.name}"
            result.unknown.append(
                UnknownFact(matrix.node, row.name.lower(), what, "; ".join(row.damage))
            )
    for device in matrix.header.devices:
        if device.startswith("GPU") and device not in named:
            reason = f"the matrix has a column but no row for {device}; it is cut"
            what = f"row of {device} in the topology matrix"
            result.unknown.append(UnknownFact(matrix.node, device.lower(), what, reason))


def _tell_topology(matrix: _Matrix, result: ReadResult) -> None:
    gpus = [_gpu(row) for row in matrix.rows if row.name.startswith("GPU")]
    sockets = {gpu["numa"] for gpu in gpus if "numa" in gpu}
    if sockets <= {0, 1}:  # more NUMA nodes than two are parts of sockets, so no socket is stated
        for gpu in gpus:
            if "numa" in gpu:
                gpu["socket"] = gpu["numa"]
    nics = [_nic(name, matrix, gpus) for name in _nic_names(matrix)]
    topology = result.topology or TopologyPart()
    topology.nodes.append({"node": matrix.node, "gpus": gpus, "nics": nics})
    pairs = _nvlink_pairs(matrix)
    if _is_direct(pairs):
        topology.links.extend(_link(matrix.node, pair, count) for pair, count in pairs.items())
    result.topology = topology
    result.facts.setdefault("topology_matrix", []).append(
        {
            "node": matrix.node or "unknown",
            "gpus": len(gpus),
            "nics": len(nics),
            "nvlinks_between": _brief(pairs, len(gpus)),
        }
    )


def _gpu(row: Row) -> dict[str, Any]:
    digits = re.sub(r"\D", "", row.name)
    entry: dict[str, Any] = {"gpu": int(digits[:9] or 0)}
    numa = row.tails.get("NUMA Affinity", "")
    if numa.isdecimal():
        entry["numa"] = int(numa[:9])
    if row.tails.get("CPU Affinity", "N/A") != "N/A":
        entry["cpus"] = row.tails["CPU Affinity"]
    return entry


def _nic_names(matrix: _Matrix) -> list[str]:
    """NICs by column and, where the columns are cut off, by row."""
    names = [*matrix.header.devices, *(row.name for row in matrix.rows)]
    return [name for name in dict.fromkeys(names) if not re.match(r"^GPU\d", name)]


def _nic(name: str, matrix: _Matrix, gpus: list[dict[str, Any]]) -> dict[str, Any]:
    """A NIC with its device name, the GPUs behind the same PCIe switch, and its socket if clear."""
    entry: dict[str, Any] = {"hca": matrix.nics.get(name, name)}
    own: dict[str, str] = next((r.relations for r in matrix.rows if r.name == name), {})
    by_row = {row.name: row.relations.get(name, "") for row in matrix.rows}
    relation = {
        gpu["gpu"]: by_row.get(f"GPU{gpu['gpu']}") or own.get(f"GPU{gpu['gpu']}", "")
        for gpu in gpus
    }
    near = [gpu for gpu, word in relation.items() if word in NEAR]
    homes = {gpu.get("socket") for gpu in gpus if relation[gpu["gpu"]] in SAME_SOCKET}
    if near:
        entry["near_gpus"] = near
    if len(homes) == 1 and None not in homes:
        entry["socket"] = homes.pop()
    return entry


def _nvlink_pairs(matrix: _Matrix) -> dict[tuple[str, str], int]:
    pairs: dict[tuple[str, str], int] = {}
    for row in matrix.rows:
        for device, relation in row.relations.items():
            names = (row.name, device)
            if not all(_GPU_NAME.fullmatch(name) for name in names):
                continue  # another device, or a name that is damaged
            if relation.startswith("NV") and row.name != device:
                a, b = sorted((name.lower() for name in names), key=lambda name: int(name[3:]))
                pairs.setdefault((a, b), int(relation[2:]))
    return pairs


def _brief(pairs: dict[tuple[str, str], int], gpus: int) -> dict[str, int]:
    """Counts by pair, or one entry when every pair of the matrix has the same count."""
    if len(set(pairs.values())) == 1 and len(pairs) == gpus * (gpus - 1) // 2:
        return {"every pair": next(iter(pairs.values()))}
    return {f"{a}-{b}": count for (a, b), count in pairs.items()}


def _is_direct(pairs: dict[tuple[str, str], int]) -> bool:
    """True when the counts fit on the GPUs' own links; more means that a switch stands between."""
    totals: dict[str, int] = defaultdict(int)
    for pair, count in pairs.items():
        for name in pair:
            totals[name] += count
    return all(total <= MAX_LINKS_PER_GPU for total in totals.values())


def _link(node: str, pair: tuple[str, str], count: int) -> dict[str, Any]:
    a, b = pair
    ends = {"a": {"node": node, "port": a}, "b": {"node": node, "port": b}}
    return {"id": f"{node or 'unknown'}:{a}--{b}", "type": "nvlink", **ends, "count": count}
