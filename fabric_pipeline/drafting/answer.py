"""The answer of Claude: a topology finding and a text, two validated models in one structure.

Here the answer is judged too: what is wrong with it, and whether its finding agrees with the isolation.
The model is never asked whether it agrees; that is computed, and a finding overrides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabric_pipeline.drafting import facts
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.sanitise import clean, clip
from fabric_pipeline.drafting.verify import finding_problems, problems
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import DraftText, FailedAttempt, TopologyFinding
from fabric_pipeline.model.components import Component, parse_component

TOOL_NAME = "ticket_draft"
TOOL_DESCRIPTION = "Hand in your topology finding and the ticket text."
MAX_PROBLEMS = 12
MAX_PROBLEM = 300
# Limits of the text of one kept attempt: the longest string of each try, until the whole fits the ticket.
_MAX_ANSWER = 8000
_STRING_LIMITS = (900, 400, 150)


class Finding(BaseModel):
    """Your own reading of the topology: what fails, judged from topology, counters and timelines."""

    model_config = ConfigDict(extra="forbid")

    component: str = Field(
        min_length=1,
        max_length=200,
        description="Component id exactly as the data write it",
    )
    level: Literal["lane", "port", "link", "shared_component", "device"] = Field(
        description="lane: the id ends in a lane; port: one end of a link; link: the connection; "
        "shared_component: a part that the data list as shared; device: a whole GPU, adapter or switch"
    )
    why: str = Field(min_length=1, max_length=600)
    would_refute_it: str = Field(
        min_length=1, max_length=400, description="Observation that would make you drop this view"
    )
    evidence_ids: list[str] = Field(min_length=1, max_length=10)


class DrafterAnswer(BaseModel):
    """The drafter's topology finding, then the worded part of the ticket."""

    model_config = ConfigDict(extra="forbid")

    finding: Finding
    text: DraftText


def answer_problems(
    answer: DrafterAnswer, incident: IncidentRecord, catalogue: Catalogue, seen: Sequence[Any]
) -> list[str]:
    """What is wrong with both halves, one sentence each; `seen` is what the drafter was shown."""
    return [
        *problems(answer.text, incident, catalogue, seen=seen),
        *finding_problems(answer.finding, incident, catalogue, seen=seen),
    ]


def finding_of(finding: Finding, incident: IncidentRecord) -> TopologyFinding:
    """The finding as the ticket holds it, with the agreement computed."""
    return TopologyFinding(
        component=clean(finding.component, 200),
        level=finding.level,
        why=clean(finding.why, 600),
        would_refute_it=clean(finding.would_refute_it, 400),
        evidence_ids=[clean(ref, 80) for ref in finding.evidence_ids],
        agrees_with_isolation=agrees(finding.component, finding.level, incident),
    )


def agrees(component: str, level: str, incident: IncidentRecord) -> bool:
    """Whether a finding blames what the isolation blames.

    A shared component or a device agrees only when the isolation names that very thing; a link agrees
    from either end, since it is one cable or trace; a port has to be the end that is blamed. A lane
    that only one side states is a finer view of the same link, two different lanes are not.
    """
    named = parse_component(clean(component, 200).casefold())
    isolated = parse_component(incident.isolated_component.casefold())
    is_shared = incident.fault_type == "shared_component"
    if (level in ("shared_component", "device")) != is_shared:
        return False
    ends = [isolated]
    if level == "link" and incident.far_end:
        ends.append(parse_component(incident.far_end.casefold()))
    return any(_same_end(named, end) for end in ends) and _lanes_agree(named, incident)


def shape_problems(error: ValidationError) -> list[str]:
    """Where an answer leaves the shape that was asked for, field first."""
    return [
        f"{'.'.join(str(step) for step in each['loc']) or 'answer'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False)
    ]


def failed_attempt(answer: object, found: Sequence[str]) -> FailedAttempt:
    """An answer that was refused, cleaned and cut, with the reasons."""
    return FailedAttempt(
        problems=[clean(problem, MAX_PROBLEM) for problem in found[:MAX_PROBLEMS]],
        answer=_as_json(answer),
    )


def _same_end(named: Component, end: Component) -> bool:
    return (named.node, named.interface) == (end.node, end.interface)


def _lanes_agree(named: Component, incident: IncidentRecord) -> bool:
    blamed = parse_component(incident.isolated_component).lane
    lanes = {named.lane, incident.lane if blamed is None else blamed} - {None}
    return len(lanes) <= 1


def _as_json(answer: object) -> str:
    text = ""
    for limit in _STRING_LIMITS:
        text = json.dumps(facts.bounded(answer, limit), ensure_ascii=False)
        if len(text) <= _MAX_ANSWER:
            return text
    return clip(text, _MAX_ANSWER)
