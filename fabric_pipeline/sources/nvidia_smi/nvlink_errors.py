"""Reader of `nvidia-smi nvlink -e` and `-ec`: error counters a link, or a lane.

Rows that people merged by hand (`Links 1-5: No errors`) become one reading a link and counter.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.nvidia_smi.nvlink_format import read_listing, row_mixture


class NvlinkErrorsReader:
    """Replay, recovery and CRC counters of `nvlink -e`, and the longer lists of Blackwell."""

    format_id: ClassVar[str] = "nvidia_smi_nvlink_errors"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})

    def score(self, file: SourceFile) -> int:
        """Sure with counter rows, whatever else stands in the file."""
        mixture = row_mixture(file)
        return mixture.confidence if mixture.counters else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Cumulative readings; 65535 of a classic counter is marked `saturated`."""
        return read_listing(file)
