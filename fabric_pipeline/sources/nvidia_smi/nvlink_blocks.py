"""The shapes an nvlink listing is collected in: one block a GPU, one capture a file.

Filled by `nvlink_capture`, searched for holes by `nvlink_gaps`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fabric_pipeline.model.records import Reading, ReadResult, TopologyPart


@dataclass(slots=True)
class GpuBlock:
    """What one listing says of one GPU: its rows by link, and how the listing was interrupted.

    `gpu` is None when neither a header nor the command names it; `hint` is what the command or a
    banner named. `seen` maps a link to the words of its rows. `answered` is True when a sentence
    stands in place of the rows. `gap_after` holds the last link before each ellipsis.
    """

    node: str
    gpu: int | None
    capture: int
    hint: int | None = None
    name: str = ""
    uuid: str = ""
    time: datetime | None = None
    seen: dict[int, list[str]] = field(default_factory=dict)
    answered: bool = False
    gap_after: list[int] = field(default_factory=list)

    @property
    def interface(self) -> str:
        """`gpu3`, or "" when the GPU is not known."""
        return "" if self.gpu is None else f"gpu{self.gpu}"

    @property
    def label(self) -> str:
        """`GPU 3`, for sentences."""
        return "GPU ?" if self.gpu is None else f"GPU {self.gpu}"

    @property
    def entity(self) -> str:
        """The GPU as the listing names it: `GPU 3: NVIDIA H100 80GB HBM3`."""
        return f"{self.label}: {self.name}" if self.name else self.label

    def link(self, number: int | None) -> str:
        """Interface of one of its links, or of the whole GPU for None."""
        return self.interface if number is None else f"{self.interface}/nvlink-{number}".lstrip("/")


@dataclass(slots=True)
class NvlinkCapture:
    """A file read so far: records in `result`, blocks in file order, row kinds counted.

    `flags` counts the values of each capability, `links` are topology links of `-R`, `totals` the
    readings of total recovery rows, `ellipses` the block and line of each ellipsis.
    """

    result: ReadResult = field(default_factory=ReadResult)
    blocks: list[GpuBlock] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    flags: dict[str, Counter[str]] = field(default_factory=dict)
    links: list[dict[str, Any]] = field(default_factory=list)
    totals: list[Reading] = field(default_factory=list)
    ellipses: list[tuple[GpuBlock | None, int]] = field(default_factory=list)

    def topology(self) -> TopologyPart | None:
        """GPUs with their UUIDs by node, and the links of `-R`; None when neither is stated."""
        gpus: dict[str, dict[int, dict[str, Any]]] = {}
        for block in self.blocks:
            if block.gpu is not None and block.uuid:
                entry = {"gpu": block.gpu, "uuid": block.uuid}
                gpus.setdefault(block.node, {})[block.gpu] = entry
        if not gpus and not self.links:
            return None
        nodes = [{"node": node, "gpus": list(found.values())} for node, found in gpus.items()]
        return TopologyPart(nodes=nodes, links=self.links)

    def facts(self) -> dict[str, Any]:
        """Names and numbers of links per GPU, and how often each capability holds."""
        gpus = {
            f"{block.node or 'unknown'}:{block.interface}": {
                "name": block.name,
                "uuid": block.uuid,
                "links_listed": len(block.seen),
            }
            for block in self.blocks
            if block.gpu is not None and (block.seen or block.answered)
        }
        facts: dict[str, Any] = {"nvlink_gpus": gpus} if gpus else {}
        if self.flags:
            facts["nvlink_capabilities"] = {name: dict(seen) for name, seen in self.flags.items()}
        return facts
