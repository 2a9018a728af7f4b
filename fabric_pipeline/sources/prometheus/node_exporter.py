"""Reader of the text that node_exporter serves: InfiniBand ports, Ethernet and PCI devices.

Detection only; lines are parsed in `exposition`, metrics understood in `node_series`. Metrics of
disks, processors and the like become no readings.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.prometheus.families import family_score, read_text

_METRIC = re.compile(r"(?<![A-Za-z0-9_])node_[a-z][A-Za-z0-9_]{1,150}+")


class NodeExporterReader:
    """Prometheus text whose metrics begin with `node_`."""

    format_id: ClassVar[str] = "node_exporter"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "timings"})

    def score(self, file: SourceFile) -> int:
        """High when most value lines of the head are node_exporter metrics."""
        return family_score(file, _METRIC)

    def read(self, file: SourceFile) -> ReadResult:
        """All readings of ports, network devices and PCI devices in file order."""
        return read_text(file)
