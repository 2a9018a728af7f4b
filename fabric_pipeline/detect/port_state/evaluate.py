"""The door of the port state rules: state readings and links in, findings out.

Names every suspected link once, sets common causes apart first, and says nothing about unused,
disabled or unknown ports. Pure: no files, no clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabric_pipeline.detect.port_state.candidates import Candidate, merge_links
from fabric_pipeline.detect.port_state.common_causes import set_apart
from fabric_pipeline.detect.port_state.down import down_candidates
from fabric_pipeline.detect.port_state.equals import lower_alike_findings
from fabric_pipeline.detect.port_state.interfaces import interface_findings, renamed_findings
from fabric_pipeline.detect.port_state.link_ends import aliases, far_ends
from fabric_pipeline.detect.port_state.rates import rate_candidates
from fabric_pipeline.detect.port_state.thresholds import JUDGED_LINK_TYPES
from fabric_pipeline.detect.port_state.views import build
from fabric_pipeline.detect.port_state.waiting import unconfigured_findings, unexplained_findings
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import Reading


def evaluate_port_state(
    states: Sequence[Reading], topology_links: Sequence[Mapping[str, Any]]
) -> list[Finding]:
    """Judge states, widths and speeds of InfiniBand, RoCE and Ethernet ports.

    `states` may hold other readings too; they are passed over. Captures are files, ordered by their
    times where all have one, else by first appearance. `topology_links` are links as readers or
    `topology.json` give them.
    """
    if not any(reading.link_type in JUDGED_LINK_TYPES for reading in states):
        return []  # naming both ends of every link of a fleet takes longer than all else
    far = far_ends(topology_links)
    captures = build(states, aliases(topology_links))
    suspected: list[Candidate] = down_candidates(captures, far) + rate_candidates(captures, far)
    common, single = set_apart(suspected, captures, far)
    findings = common + unconfigured_findings(captures, far)
    findings += [candidate.finding() for candidate in merge_links(single, far)]
    findings += interface_findings(captures) + renamed_findings(captures)
    findings += lower_alike_findings(captures, far)
    named = {end for finding in findings for end in (finding.component, finding.far_end)}
    return findings + [f for f in unexplained_findings(captures) if f.component not in named]
