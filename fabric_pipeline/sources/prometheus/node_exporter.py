"""Reader of the text that node_exporter serves: InfiniBand ports, Ethernet and PCI devices.

Detection only; lines are parsed in `exposition`, metrics understood in `node_series`. Metrics of
disks, processors and the like become no readings.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.prometheus.families import family_score, read_text

_METRIC = re.compile(r"(?<![A-Za-z0-9_])node_[a-z][A-Za-z0-9_]{1,150}+")


class NodeExporterReader:
    """Prometheus text whose metrics begin with `node_`."""

    format_id: ClassVar[str] = "node_exporter"
    version: ClassVar[str] = "2"
    set_wise: ClassVar[str] = "exposition"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "timings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="node_exporter (infiniband, ethtool, netclass, pcidevice)",
        versions="not stated",
        recognised_by="Prometheus text whose metrics begin with `node_`",
        gives=(
            "InfiniBand port counters, states and rates, RDMA counters, Ethernet driver "
            "statistics with lanes, carrier changes, PCIe width and generation; socket and PCIe "
            "switch of GPUs and network cards"
        ),
        traps=(
            (
                "Classic InfiniBand counters stop at their ceilings: such a value is saturated, "
                "not healthy."
            ),
            "Whether RoCE runs over a network device is not stated, so its link type stays open.",
            (
                "A port state of 0 states nothing, and a PCIe width of 63 or 255 says that no "
                "link is there."
            ),
            "Virtual interfaces are left out: they have no link.",
            (
                "The host is taken from `node_uname_info` where one stands; two hosts behind one "
                "address leave it unknown."
            ),
            (
                "Series of dcgm-exporter, node_exporter and the NCCL Inspector in one text are "
                "all read; the format is that of most lines."
            ),
        ),
    )

    def score(self, file: SourceFile) -> int:
        """High when most value lines of the head are node_exporter metrics."""
        return family_score(file, _METRIC)

    def read(self, file: SourceFile) -> ReadResult:
        """All readings of ports, network devices and PCI devices in file order."""
        return read_text(file)
