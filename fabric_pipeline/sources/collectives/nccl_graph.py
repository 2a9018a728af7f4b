"""Reader of NCCL graph files: the rings and trees that NCCL would send over. A plan, nothing measured."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.nccl_xml import Element, read_root, stands_first

# `NCCL_TOPO_PATTERN_*` of NCCL's `graph.h`.
_PATTERNS = {1: "balanced tree", 2: "split tree", 3: "tree", 4: "ring", 5: "NVLS", 6: "CollNet"}
_SHOWN_CHANNELS = 64
_OWN = re.compile(r"<graph\s|<channel[\s/>]|<graphs\s{1,20}version\s{0,20}=")
_TEXTS = ("typeintra", "typeinter", "speedintra", "speedinter", "latencyinter", "crossnic")


class NcclGraphXmlReader:
    """Reads `nccl_graph_xml` files; yields facts only."""

    format_id: ClassVar[str] = "nccl_graph_xml"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset()
    note: ClassVar[FormatNote] = FormatNote(
        tool="NCCL, a graph file",
        versions='version="1"',
        recognised_by="the root `<graphs>` with channels",
        gives="facts only: pattern, path types and the order of devices in each channel",
        traps=("A graph is a plan of NCCL; it tells no state, error or duration.",),
    )

    def score(self, file: SourceFile) -> int:
        """94 when the file starts with its root element, 45 when the element stands deeper in it."""
        if file.is_binary or "<graphs" not in file.head or not _OWN.search(file.head):
            return 0
        return 94 if stands_first(file.head, "graphs") else 45

    def read(self, file: SourceFile) -> ReadResult:
        """Pattern, path types and the order of devices in every channel, as facts."""
        result = ReadResult()
        root = read_root(file, "graphs", result)
        if root is None:
            return result
        graphs = [_graph(element, file, result) for element in root.inside("graph")]
        result.facts["graphs"] = graphs
        reason = "a graph file is a plan of channels; it tells no state, error or duration"
        result.unknown.append(UnknownFact(file.hints.node, "", "state of the links", reason))
        return result


def _graph(element: Element, file: SourceFile, result: ReadResult) -> dict[str, Any]:
    channels = list(element.inside("channel"))
    pattern = element.number("pattern")
    name = element.text("id") or "?"
    graph: dict[str, Any] = {
        "id": name,
        "pattern": _PATTERNS.get(pattern or 0, element.text("pattern")),
        "channels": [" ".join(_stops(channel)) for channel in channels[:_SHOWN_CHANNELS]],
        **{key: element.text(key) for key in _TEXTS if element.text(key)},
    }
    stated = element.number("nchannels")
    if stated is not None and stated != len(channels):
        what = f"channels of graph {name}"
        reason = f"the graph states {stated} channels and lists {len(channels)}"
        result.unknown.append(UnknownFact(file.hints.node, "", what, reason))
    return graph


def _stops(channel: Element) -> list[str]:
    """Devices of a channel in order: `gpu0`, `net3`."""
    return [f"{stop.name}{stop.text('dev')}" for stop in channel.inside("gpu", "net")]
