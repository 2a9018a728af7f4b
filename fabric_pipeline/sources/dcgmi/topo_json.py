"""Reader of `dcgmi topo --gpuid N -j`: how one GPU reaches each other GPU, and its CPU cores.

A map without counters. The links to a peer are named; behind a switch they are the same for all.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult, RejectedLine, TopologyPart, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import selected_gpu
from fabric_pipeline.sources.nvidia_smi.located_json import Document, located_documents

_GPU_ID = re.compile(r"^GPU ID\s*:?\s*(\d{1,4})$", re.I)
_PEER = re.compile(r"^To GPU\s+(\d{1,4})$", re.I)
_LINKS = re.compile(
    r"NVLINKs?\b.{0,20}?Links?:\s*(?P<list>\d{1,3}(?:\s*,\s*\d{1,3}){0,40})\s*\)", re.I
)
_CORES = re.compile(r"^\d{1,5}(?:\s*-\s*\d{1,5})?(?:\s*,\s*\d{1,5}(?:\s*-\s*\d{1,5})?){0,200}$")


class DcgmiTopoJsonReader:
    """Peers, NVLink numbers and CPU cores of one GPU (or several documents for several)."""

    format_id: ClassVar[str] = "dcgmi_topo_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi topo -j",
        versions="DCGM 3.1.8",
        recognised_by="JSON with `Topology Information`, or with `To GPU n` in a body",
        gives="CPU cores of a GPU, and its NVLinks to a peer by number",
        traps=(
            (
                "Links that are named for several peers end on a switch; no direct link is then "
                "stated."
            ),
            "A map has no states and no counters.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the title; likely with peers in a body that is cut before it."""
        head = file.head
        if file.is_binary or "{" not in head:
            return 0
        if '"Topology Information"' in head:
            return 90
        return 80 if '"To GPU ' in head and '"body"' in head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Topology nodes with `cpus`; NVLinks to a peer where they belong to that peer alone."""
        result = ReadResult(topology=TopologyPart())
        for document in located_documents(file):
            _read(document, result)
            result.rejected.extend(document.refused())
        return result


def _read(document: Document, result: ReadResult) -> None:
    gpu = _gpu_of(document)
    if gpu is None:
        reason = "the document does not say whose topology it is"
        result.unknown.append(UnknownFact(document.node, "", "GPU of a topology", reason))
        return
    entry: dict[str, Any] = {"gpu": gpu}
    peers: dict[int, tuple[int, ...]] = {}
    for leaf in document.leaves:
        text = str(leaf.value)
        keys = [part for part in leaf.path if isinstance(part, str)]
        peer = next((found for key in keys if (found := _PEER.match(key))), None)
        links = _LINKS.search(text)
        if peer and links:
            peers[int(peer[1])] = tuple(int(n) for n in links["list"].split(","))
        elif peer:
            peers.setdefault(int(peer[1]), ())
        elif "CPU Core Affinity" in keys and _CORES.match(text):
            entry["cpus"] = text.replace(" ", "")
        elif "CPU Core Affinity" in keys:
            rule = f"the CPU core affinity reads {text[:60]!r}, which is no list of numbers"
            result.rejected.append(RejectedLine(leaf.line, text[:200], rule))
    _add_node(document.node, entry, result)
    _add_links(document.node, gpu, peers, result)
    facts = {f"gpu{peer}": len(links) for peer, links in peers.items()}
    result.facts.setdefault("nvlinks_to", {})[f"{document.node or 'unknown'}:gpu{gpu}"] = facts


def _gpu_of(document: Document) -> int | None:
    for leaf in document.leaves:
        found = _GPU_ID.match(str(leaf.value)) if leaf.path[0] == "header" else None
        if found:
            return int(found[1])
    return selected_gpu(document.command)


def _add_node(node: str, entry: dict[str, Any], result: ReadResult) -> None:
    topology = result.topology or TopologyPart()
    known = next((part for part in topology.nodes if part["node"] == node), None)
    if known is None:
        known = {"node": node, "gpus": []}
        topology.nodes.append(known)
    known["gpus"].append(entry)
    result.topology = topology


def _add_links(node: str, gpu: int, peers: dict[int, tuple[int, ...]], result: ReadResult) -> None:
    """Links named for one peer only are direct; links named for all end on a switch."""
    named = [link for links in peers.values() for link in links]
    if result.topology is None or len(named) != len(set(named)):
        return
    for peer, links in peers.items():
        for link in links:
            near = f"gpu{gpu}/nvlink-{link}"
            ends = {"a": {"node": node, "port": near}, "b": {"node": node, "port": f"gpu{peer}"}}
            name = f"{node or 'unknown'}:{near}--gpu{peer}"
            result.topology.links.append({"id": name, "type": "nvlink", **ends})
