"""Reader of `nvidia-smi nvlink -R` (and `-p`): which device and port each link ends on.

A map without counters. It cannot say whether the far device is a GPU or an NVSwitch.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.nvlink_format import read_listing, row_mixture


class NvlinkRemoteReader:
    """Link map of `nvlink -R`: `gpu0/nvlink-3` to `pci-<bdf>/nvlink-<n>`."""

    format_id: ClassVar[str] = "nvidia_smi_nvlink_remote"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi nvlink -R, -p",
        versions="H100",
        recognised_by="rows that end in `Remote Device <PCI address>: Link n`, and no states or counters",
        gives="the far end of every NVLink: PCI address and link number there",
        traps=(
            (
                "It does not say whether the far device is a GPU or an NVSwitch, so the far end "
                "keeps its PCI address."
            ),
            "A map has no state: a listed link need not work.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with remote rows, unless states or counters stand in the file too."""
        mixture = row_mixture(file)
        if mixture.counters or mixture.states or not mixture.remotes:
            return 0
        return mixture.confidence

    def read(self, file: SourceFile) -> ReadResult:
        """Topology links, and unknown facts for GPUs whose map is cut."""
        return read_listing(file)
