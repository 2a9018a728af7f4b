"""Reader of the text files that the NCCL Inspector writes for Prometheus (inspector v5.1).

Detection only; lines are parsed in `exposition`, metrics understood in `nccl_series`.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.prometheus.families import family_score, read_text

_METRIC = re.compile(r"(?<![A-Za-z0-9_])nccl_[a-z][A-Za-z0-9_]{1,150}+")


class NcclInspectorPromReader:
    """`nccl_bus_bandwidth_gbs{...}`, `nccl_collective_exec_time_microseconds{...}`, `nccl_p2p_*`."""

    format_id: ClassVar[str] = "nccl_inspector_prom"
    version: ClassVar[str] = "1"
    set_wise: ClassVar[str] = "exposition"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="NCCL Inspector, Prometheus text file",
        versions="inspector v5.1",
        recognised_by="Prometheus text whose metrics begin with `nccl_`",
        gives=(
            "mean time and bus bandwidth of each collective and point-to-point operation by size "
            "range and GPU"
        ),
        traps=(
            (
                "A value is the mean since the last dump, of all operations in a size range; "
                "single operations cannot be told apart."
            ),
            "It shows a GPU's view and never names a link.",
            "Operations that were dropped before the dump are stated as unknown.",
            (
                "Series of dcgm-exporter, node_exporter and the NCCL Inspector in one text are "
                "all read; the format is that of most lines."
            ),
        ),
    )

    def score(self, file: SourceFile) -> int:
        """High when most value lines of the head are metrics of the inspector."""
        return family_score(file, _METRIC)

    def read(self, file: SourceFile) -> ReadResult:
        """One timing for each operation, size range and GPU."""
        return read_text(file)
