"""Reader of `nvidia-smi nvlink --status`: one row a link with its speed, or a sentence for all.

Rows of other nvlink commands in the same file are read along; holes become unknown facts.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.nvlink_format import read_listing, row_mixture


class NvlinkStatusReader:
    """Link states and speeds of `nvlink -s`."""

    format_id: ClassVar[str] = "nvidia_smi_nvlink_status"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi nvlink -s",
        versions="A100, H800 (driver 525.105.17), B200, GB200",
        recognised_by=(
            "rows `Link n: x GB/s` or `<inactive>` below a GPU header, or one sentence that "
            "speaks for all links; no error counters in the file"
        ),
        gives=(
            "link state of every link and, for working links, the speed in Gb/s each way; GPU "
            "UUIDs; a lost GPU as an event"
        ),
        traps=(
            "The printed speed is in bytes; it is multiplied by eight.",
            (
                "`all links are inactive` takes the place of all rows: the whole GPU's links are "
                "down."
            ),
            (
                "A GPU without NVLink is unknown, not down; on some products an inactive link "
                "only lacks its bridge."
            ),
            "Rows behind an ellipsis or a cut are unknown, neither up nor down.",
            "Without a shell prompt, a banner or a hint the output names no host and no time.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with state rows or the sentence for all links, unless error counters stand there."""
        mixture = row_mixture(file)
        if mixture.counters or not mixture.states:
            return 0
        return mixture.confidence

    def read(self, file: SourceFile) -> ReadResult:
        """Two readings a row: `link_up` and, for working links, `speed_gbps` (Gb/s each way)."""
        return read_listing(file)
