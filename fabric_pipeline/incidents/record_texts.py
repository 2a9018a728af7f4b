"""The sentences of an incident record: summary, reasoning, what else was weighed, which links fail.

Pure: a finding and a topology in, texts for people out. Facts of the record are gathered in
`incidents.build`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fabric_pipeline.incidents.record import Alternative, FaultType
from fabric_pipeline.incidents.whereabouts import links_of_device, plug_twin
from fabric_pipeline.model.components import UNKNOWN, natural_key
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.topology import Topology

_MOST_NAMED = 12
_NOT_RULED_OUT = "not ruled out by these data"
# `unknown:` in front of a switch is part of its id and of no use to a reader.
_UNKNOWN_NODE = re.compile(rf"\b{UNKNOWN}:(?=[A-Za-z0-9])")


def summary(finding: Finding, fault: FaultType, together: int) -> str:
    """The fault in one sentence, and what it cost; `together` links are accused over the same runs."""
    text = (finding.summary or finding.reason.split(". ")[0]).rstrip(".") + "."
    degradation = finding.numbers.get("degradation_pct")
    if degradation is not None and finding.is_link and finding.accuses:
        text += f" {_cost(degradation, together)}"
    return readable(text if text.strip(". ") else f"{finding.component}: {fault}")


def _cost(degradation: float, together: int) -> str:
    slower = f"are {degradation:.1f} % slower than their baseline"
    if together < 2:
        return f"Collectives over it {slower}."
    return (
        f"Collectives of its training run {slower}; {together} links are accused over that run, and the share "
        "of each is not separable here."
    )


def readable(text: str) -> str:
    """A text for people: switches without the word that stands for their missing node."""
    return _UNKNOWN_NODE.sub("", text)


def reasoning(finding: Finding) -> list[str]:
    """Sentence by sentence, then one a rule with value, limit and source."""
    sentences = [part.strip() for part in finding.reason.split(". ") if part.strip()]
    sentences = [
        readable(part if part.endswith((".", "!", "?")) else part + ".") for part in sentences
    ]
    for rule in finding.numbers.get("rules") or []:
        sentences.append(
            f"Rule {rule['rule_id']}: {rule['says']}; {rule['value']} against a limit of {rule['limit']} ({rule['source']})."
        )
    return sentences


def alternatives(finding: Finding) -> list[Alternative]:
    """Other explanations, each with why it was set aside or that it is not ruled out."""
    split = [readable(text).partition(": ") for text in finding.alternatives]
    return [
        Alternative(explanation=head, why_set_aside=tail or _NOT_RULED_OUT)
        for head, _, tail in split
    ]


def failing_links(
    finding: Finding, fault: FaultType, symptoms: Sequence[Finding], topology: Topology
) -> list[str]:
    """The links behind a shared part that fail, each with its other end where the topology states one."""
    if fault != "shared_component":
        return []
    named = finding.numbers.get("failing_links") or [symptom.component for symptom in symptoms]
    told = []
    for component in sorted(dict.fromkeys(named), key=natural_key):
        far = topology.far_end(component)
        told.append(readable(f"{component} to {far}" if far else component))
    return told


def failing_text(finding: Finding, failing: Sequence[str], topology: Topology) -> list[str]:
    """How many and which links fail, as one sentence; none without a shared part."""
    if not failing:
        return []
    known = len(links_of_device(finding.component, topology))
    of = f" of the {known} that the topology states for it" if known >= len(failing) else ""
    rest = len(failing) - _MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return [f"Failing are {len(failing)} links{of}: {', '.join(failing[:_MOST_NAMED])}{more}."]


def more_numbers(
    finding: Finding, failing: Sequence[str], together: int, topology: Topology
) -> dict[str, Any]:
    """What texts need beside the finding's own figures; only what is known."""
    known = len(links_of_device(finding.component, topology)) if failing else 0
    return {
        key: value
        for key, value in (
            ("links_accused_over_its_runs", together if together > 1 else None),
            ("failing_links", list(failing)),
            ("links_of_the_part", known),
            ("plug_twin", readable(plug_twin(finding.component, topology))),
        )
        if value
    }
