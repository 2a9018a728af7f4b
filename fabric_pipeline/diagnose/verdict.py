"""The one verdict over all findings: faulty, not a link, healthy, or no data."""

from __future__ import annotations

from collections.abc import Iterable

from fabric_pipeline.model.findings import Finding


def verdict(findings: Iterable[Finding], has_measurements: bool) -> str:
    """`faulty` when a link is accused, `not_a_link` when only other causes are, else by what was measured.

    Unknown is not healthy: without any state, error count, timing or event the answer is `no_data`.
    """
    accusing = [finding for finding in findings if finding.accuses]
    if any(finding.is_link for finding in accusing):
        return "faulty"
    if accusing:
        return "not_a_link"
    return "healthy" if has_measurements else "no_data"
