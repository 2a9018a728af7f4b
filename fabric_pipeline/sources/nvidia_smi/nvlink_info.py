"""Reader of `nvidia-smi nvlink -info`: NVLink version, encryption and firmware of each GPU.

Device facts, no links: it says which GPU has which UUID, and nothing of what its links do.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    MAX_TEXT,
    ReadResult,
    RejectedLine,
    TopologyPart,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import captured_lines, squeezed
from fabric_pipeline.sources.nvidia_smi.nvlink_rows import GPU_HEADER, UUID

_FIELD = re.compile(
    r"^(?P<name>NVLE|NV[Ll]ink Encryption|NV[Ll]ink [Vv]ersion|Firmware Version)\s?:\s?(?P<value>\S.{0,80})?$"
)
_FIRMWARE = re.compile(r"^(?P<name>MSE|NETIR(?: [A-Z]{2,8})?)\s?:\s?(?P<value>\d\S{0,40}|N/A)$")
_KEYS = {
    "nvle": "nvlink_encryption",
    "nvlink encryption": "nvlink_encryption",
    "nvlink version": "nvlink_version",
}
_MOST = 4096  # GPUs of one file; a capture of many hosts stays below


class NvlinkInfoReader:
    """Facts of `nvlink -info` by GPU, and the GPUs with their UUIDs."""

    format_id: ClassVar[str] = "nvidia_smi_nvlink_info"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi nvlink -info, --info",
        versions="GB200; the older word NVLE and the newer NVLink Encryption",
        recognised_by="rows `NVLE:`, `NVLink Encryption:` or `Firmware Version:` below a GPU, and no link rows",
        gives="GPUs with their UUIDs; NVLink version, encryption and link firmware as facts",
        traps=(
            "It says nothing of any link: neither that one is up nor that it is not.",
            "A GPU without NVLink, or of an older driver, prints no rows at all.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with one of its rows below the header of a GPU."""
        if file.is_binary or "GPU" not in file.head:
            return 0
        has_gpu = False
        for line in captured_lines(file, head_only=True):
            text = squeezed(line.text)
            has_gpu = has_gpu or bool(GPU_HEADER.match(text))
            if re.match(r"^Links? \d", text):
                return 0
            if has_gpu and _FIELD.match(text):
                return 88
        return 0

    def read(self, file: SourceFile) -> ReadResult:
        """The GPUs of every host in the file; rows of a GPU that no header names are refused."""
        result = ReadResult()
        nodes: dict[str, dict[int, dict[str, Any]]] = {}
        current: dict[str, Any] | None = None
        told: dict[str, dict[str, Any]] = {}
        for line in captured_lines(file):
            text = squeezed(line.text)
            if header := GPU_HEADER.match(text):
                current = _gpu(nodes, line.node, header)
                if current is not None:
                    told.setdefault(f"{line.node or 'unknown'}:gpu{current['gpu']}", current)
            elif field := _FIELD.match(text) or _FIRMWARE.match(text):
                if current is None:
                    rule = "the row stands below no GPU"
                    result.rejected.append(RejectedLine(line.number, text[:MAX_TEXT], rule))
                else:
                    _keep(current, field["name"], field["value"] or "")
        parts = [{"node": node, "gpus": _stated(gpus)} for node, gpus in nodes.items()]
        result.topology = TopologyPart(nodes=[part for part in parts if part["gpus"]])
        if told:
            result.facts["nvlink_info"] = {
                name: {key: value for key, value in gpu.items() if key != "gpu"}
                for name, gpu in told.items()
            }
        reason = "this listing names firmware and encryption only"
        result.unknown.append(UnknownFact(file.hints.node, "", "state of the NVLinks", reason))
        return result


def _gpu(
    nodes: dict[str, dict[int, dict[str, Any]]], node: str, header: re.Match[str]
) -> dict[str, Any] | None:
    gpus = nodes.setdefault(node, {})
    index = int(header["gpu"])
    if index not in gpus and sum(map(len, nodes.values())) >= _MOST:
        return None
    name, _, tail = header["rest"].partition("(UUID")
    uuid = UUID.search(tail)
    entry = gpus.setdefault(index, {"gpu": index, "name": name.strip()[:120]})
    if uuid:
        entry["uuid"] = uuid[0]
    return entry


def _stated(gpus: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"gpu": gpu["gpu"], "uuid": gpu["uuid"]} for gpu in gpus.values() if "uuid" in gpu]


def _keep(gpu: dict[str, Any], name: str, value: str) -> None:
    key = _KEYS.get(name.lower())
    if key:
        gpu[key] = value
    elif name != "Firmware Version":
        gpu.setdefault("link_firmware", {})[name] = value
