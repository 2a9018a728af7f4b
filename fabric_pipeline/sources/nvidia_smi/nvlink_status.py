"""Reader of `nvidia-smi nvlink --status`: one row a link with its speed, or a sentence for all.

Rows of other nvlink commands in the same file are read along; holes become unknown facts.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.nvidia_smi.nvlink_format import read_listing, row_mixture


class NvlinkStatusReader:
    """Link states and speeds of `nvlink -s`."""

    format_id: ClassVar[str] = "nvidia_smi_nvlink_status"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})

    def score(self, file: SourceFile) -> int:
        """Sure with state rows or the sentence for all links, unless error counters stand there."""
        mixture = row_mixture(file)
        if mixture.counters or not mixture.states:
            return 0
        return mixture.confidence

    def read(self, file: SourceFile) -> ReadResult:
        """Two readings a row: `link_up` and, for working links, `speed_gbps` (Gb/s each way)."""
        return read_listing(file)
