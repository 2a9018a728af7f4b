"""Reader of the text that dcgm-exporter serves, from the lower-case names of 1.x to DCGM 4.6.

Detection only; lines are parsed in `exposition`, metrics understood in `dcgm_series`. Temperatures,
clocks and the like are no interconnect and become no readings.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.prometheus.families import family_score, read_text

_METRIC = re.compile(r"(?<![A-Za-z0-9_])(?:DCGM_(?:FI|EXP)_|dcgm_)[A-Za-z0-9_]{1,150}+")


class DcgmExporterReader:
    """Prometheus text whose metrics begin with `DCGM_FI_`, `dcgm_fi_` or `dcgm_`."""

    format_id: ClassVar[str] = "dcgm_exporter"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "timings"})

    def score(self, file: SourceFile) -> int:
        """High when most value lines of the head are DCGM metrics."""
        return family_score(file, _METRIC)

    def read(self, file: SourceFile) -> ReadResult:
        """All interconnect values in file order, and notes of the last Xid of each GPU."""
        return read_text(file)
