"""Reader of `nvidia-smi --query-gpu=... --format=csv`: the PCIe link and fabric columns, row by row.

The columns are those that somebody chose; a table without a link or fabric column is not taken. Rows
of a loop (`-l`) carry their own time stamps and become a series.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import CapturedLine, captured_lines
from fabric_pipeline.sources.nvidia_smi.clock import parse_clock
from fabric_pipeline.sources.nvidia_smi.gpu_query import (
    Field,
    QueriedGpu,
    add_records,
    topology_entry,
)

# The unit may have lost its first letters: `[ms]` looks like what is left of a colour code.
_NAME = re.compile(r"^[a-z][\w.]{1,80}(?: \[?[^\]]{1,12}\])?$", re.IGNORECASE)
_PCI = re.compile(r"^[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$")
_MAX_COLUMNS = 400
_MAX_ROW = 16000  # characters; a row of all columns has near 4000

# column of --query-gpu -> field of gpu_query
_FIELDS = {
    "pcie.link.gen.current": "gen_current",
    "pcie.link.gen.gpucurrent": "gen_device_current",
    "pcie.link.gen.max": "gen_max",
    "pcie.link.gen.gpumax": "gen_device_max",
    "pcie.link.gen.hostmax": "gen_host_max",
    "pcie.link.width.current": "width_current",
    "pcie.link.width.max": "width_max",
    "pstate": "performance_state",
    "name": "name",
    "gpu_name": "name",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "serial": "serial",
    "gpu_serial": "serial",
    "gpu_recovery_action": "recovery_action",
    "fabric.state": "fabric_state",
    "fabric.status": "fabric_status",
    "fabric.cliqueid": "fabric_clique",
    "fabric.clusteruuid": "fabric_cluster",
    "fabric.health.summary": "fabric_health",
    "fabric.health.bandwidth": "fabric_bandwidth",
    "fabric.health.route_recovery_in_progress": "fabric_route_recovery",
    "fabric.health.route_unhealthy": "fabric_route",
    "fabric.health.access_timeout_recovery": "fabric_access_recovery",
    "fabric.health.incorrect_configuration": "fabric_configuration",
}
_OF_LINKS = ("pcie.link.", "fabric.")


class QueryCsvReader:
    """PCIe width and generation, performance state and fabric health of chosen columns."""

    format_id: ClassVar[str] = "nvidia_smi_query_csv"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi --query-gpu with --format=csv",
        versions="columns of drivers 590.48 and 610.57",
        recognised_by="a header of column names with at least one of `pcie.link.` or `fabric.`",
        gives=(
            "PCIe width and generation with their maxima, performance state, state of the NVLink "
            "fabric; serial number and UUID"
        ),
        traps=(
            "Without its header (`noheader`) a table says nothing and is not taken.",
            (
                "A narrow or slow link of an idle GPU saves power; ask for `pstate` beside the link "
                "columns."
            ),
            "Without the column `index` a GPU goes by its PCI address.",
            "The time stamp is local time and the table names no host.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely with a header that has a column of a link; a whole report beside it is worth more."""
        if file.is_binary or not any(name in file.head for name in _OF_LINKS):
            return 0
        lines = captured_lines(file, head_only=True, max_line=_MAX_ROW)
        return 65 if any(_header(line.text) for line in lines) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Readings on `gpu<N>/pcie` for each row; rows of another length are refused."""
        result = ReadResult()
        nodes: dict[str, list[dict[str, object]]] = {}
        for gpu in _rows(file, result):
            add_records(gpu, result)
            entry = topology_entry(gpu)
            if entry and entry not in nodes.setdefault(gpu.node, []):
                nodes[gpu.node].append(entry)
        if nodes:
            parts = [{"node": node, "gpus": gpus} for node, gpus in nodes.items()]
            result.topology = TopologyPart(nodes=parts)
        return result


def _header(text: str) -> list[str]:
    """Column names in lower case without their units, [] for a line that is no header."""
    cells = [cell.strip() for cell in text.split(",")[:_MAX_COLUMNS]]
    if len(cells) < 2 or not all(_NAME.match(cell) for cell in cells):
        return []
    names = [cell.partition(" ")[0].lower() for cell in cells]
    return names if any(name.startswith(_OF_LINKS) for name in names) else []


def _rows(file: SourceFile, result: ReadResult) -> Iterator[QueriedGpu]:
    names: list[str] = []
    for line in captured_lines(file, max_line=_MAX_ROW):
        if header := _header(line.text):
            names = header
        elif names and "--query-gpu" not in line.text:
            cells = [cell.strip() for cell in line.text.split(",")]
            if len(cells) == len(names):
                yield _gpu(line, dict(zip(names, cells, strict=True)), file)
            elif 2 * len(cells) < len(names):
                names = []  # something else follows the table
            else:
                rule = f"the row has {len(cells)} cells, its header {len(names)}"
                result.rejected.append(RejectedLine(line.number, line.text[:MAX_TEXT], rule))


def _gpu(line: CapturedLine, cells: dict[str, str], file: SourceFile) -> QueriedGpu:
    pci = cells.get("pci.bus_id", cells.get("gpu_bus_id", ""))
    stamp = cells.get("timestamp", "").replace("/", "-")
    time = parse_clock(stamp, file.hints.timezone) or line.time
    gpu = QueriedGpu(line.node, time, pci if _PCI.match(pci) else "", 0, line.number, listed=1)
    index = cells.get("index", "")
    if index.isdecimal() and len(index) < 5:
        gpu.chosen = int(index)
    else:
        gpu.attached = -1  # a table without indices says nothing of the order of the host's GPUs
    for name, text in cells.items():
        field = _FIELDS.get(name)
        if field and text:
            gpu.fields.setdefault(field, Field(text[:300], name, line.number))
    return gpu
