"""Reader of `nvidia-smi nvlink -e` and `-ec`: error counters a link, or a lane.

Rows that people merged by hand (`Links 1-5: No errors`) become one reading a link and counter.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.nvlink_format import read_listing, row_mixture


class NvlinkErrorsReader:
    """Replay, recovery and CRC counters of `nvlink -e`, and the longer lists of Blackwell."""

    format_id: ClassVar[str] = "nvidia_smi_nvlink_errors"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi nvlink -e, -ec",
        versions="V100 (condensed by hand), A100, GB300",
        recognised_by=(
            "rows `Link n: <counter>: <number>`, also merged ones such as `Links 1-5: No errors`;"
            " wins over states in the same file"
        ),
        gives=(
            "replay, recovery and CRC counters of each link, CRC of each lane, and the longer "
            "lists of newer GPUs (symbol and effective errors, bit error rates)"
        ),
        traps=(
            "The counters are lifetime sums without a start: one capture tells no rate.",
            "A classic counter at 65535 is full: saturated, so its true value is unknown.",
            (
                "Total recoveries count only where successful and failed ones are not listed; "
                "they are never added to their parts."
            ),
            "A raw BER of 1 and more is a register value, not a rate, and is kept uninterpreted.",
            "A link whose last rows are cut is unknown in those counters.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with counter rows, whatever else stands in the file."""
        mixture = row_mixture(file)
        return mixture.confidence if mixture.counters else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Cumulative readings; 65535 of a classic counter is marked `saturated`."""
        return read_listing(file)
