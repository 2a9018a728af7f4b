"""The front of the link-state rules: state readings of any source in, findings out.

A state that was not measured makes no finding here, neither good nor bad; readers and diagnosis
list it as unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric_pipeline.detect.link_state.history import nodes_of
from fabric_pipeline.detect.link_state.nvlink import nvlink_findings
from fabric_pipeline.detect.link_state.nvlink_speed import nvlink_speed_findings
from fabric_pipeline.detect.link_state.pcie import pcie_findings
from fabric_pipeline.detect.link_state.thresholds import LIMITS, LinkStateLimits
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import Reading


def evaluate_link_state(
    states: Sequence[Reading], limits: LinkStateLimits = LIMITS
) -> list[Finding]:
    """Findings on NVLink and PCIe states, node by node in order of appearance.

    `states` are readings of counters with the role `state`; others, blanks, lanes and ports of
    InfiniBand, RoCE or Ethernet are passed over. Files stand in order of time, earlier first.
    """
    findings: list[Finding] = []
    for node in nodes_of(states):
        findings.extend(nvlink_findings(node, limits))
        findings.extend(nvlink_speed_findings(node, limits))
        findings.extend(pcie_findings(node, limits))
    return findings
