"""Reader of the text that dcgm-exporter serves, from the lower-case names of 1.x to DCGM 4.6.

Detection only; lines are parsed in `exposition`, metrics understood in `dcgm_series`. Temperatures,
clocks and the like are no interconnect and become no readings.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.prometheus.families import family_score, read_text

_METRIC = re.compile(r"(?<![A-Za-z0-9_])(?:DCGM_(?:FI|EXP)_|dcgm_)[A-Za-z0-9_]{1,150}+")


class DcgmExporterReader:
    """Prometheus text whose metrics begin with `DCGM_FI_`, `dcgm_fi_` or `dcgm_`."""

    format_id: ClassVar[str] = "dcgm_exporter"
    version: ClassVar[str] = "1"
    set_wise: ClassVar[str] = "exposition"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgm-exporter",
        versions=(
            "image 4.5.3 in one sample, else not stated; names of exporter 1.x, DCGM 3 to 4.5 and"
            " 4.6; drivers 535.129 to 595.58"
        ),
        recognised_by=(
            "Prometheus text whose metrics begin with `DCGM_FI_`, `DCGM_EXP_` or `dcgm_`, with or"
            " without HELP and TYPE lines"
        ),
        gives=(
            "NVLink CRC, replay, recovery, ECC, FEC and bit error rates, link states, PCIe "
            "replays, width and generation, NVSwitch port counters, traffic; the last Xid as an "
            "undated note"
        ),
        traps=(
            (
                "Per-GPU totals never name a link and are not added to per-link series: they are "
                "views of one count."
            ),
            "`_L<n>` is a link number for a GPU and a lane number for an NVSwitch.",
            (
                "A bit error rate printed as 0.000000 can hide any rate below 5e-7; only the raw "
                "field shows it, and zero is never believed."
            ),
            (
                "Old and new names of one counter in one scrape count once; where they disagree "
                "the worse value is kept and both are shown."
            ),
            "The Xid metric shows the last code for ever and has no date.",
            "Blank sentinels (such as 9223372036854775794) are not measured.",
            (
                "A label that holds a container id, a pod or the exporter's name does not name a "
                "host; the host then stays unknown."
            ),
            (
                "Series of dcgm-exporter, node_exporter and the NCCL Inspector in one text are "
                "all read; the format is that of most lines."
            ),
        ),
    )

    def score(self, file: SourceFile) -> int:
        """High when most value lines of the head are DCGM metrics."""
        return family_score(file, _METRIC)

    def read(self, file: SourceFile) -> ReadResult:
        """All interconnect values in file order, and notes of the last Xid of each GPU."""
        return read_text(file)
