"""Reader of `nvidia-smi nvlink --capabilities`: what links could do, which measures nothing.

The flags go to the facts; `Link is supported: false` is one of them and no link state.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.nvlink_format import read_listing, row_mixture


class NvlinkCapabilitiesReader:
    """Flags of `nvlink -c`, counted by name and value."""

    format_id: ClassVar[str] = "nvidia_smi_nvlink_capabilities"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi nvlink -c",
        versions="H800 (driver 525.105.17)",
        recognised_by="rows `Link n, <capability>: true`, and no other kind of link row",
        gives="GPUs with their UUIDs; the flags are counted as facts",
        traps=(
            (
                "A flag says what a link could do; `Link is supported: false` is no link that is "
                "down."
            ),
            "Nothing in it was measured.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when capability rows are all there is."""
        mixture = row_mixture(file)
        if mixture.counters or mixture.states or mixture.remotes or not mixture.capabilities:
            return 0
        return mixture.confidence

    def read(self, file: SourceFile) -> ReadResult:
        """No readings: the flags, and the GPUs with their UUIDs."""
        return read_listing(file)
