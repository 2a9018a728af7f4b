"""Checks a draft against the incident and the catalogue, whoever wrote it. Pure: text in, problems out.

A draft passes when every name and figure in it is known, every claim cites evidence that holds what it
says, no sentence orders anything done to a machine, and nothing required is missing. What is known is
gathered in `drafting.known`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from fabric_pipeline.drafting import known as knowledge
from fabric_pipeline.drafting import places, steps
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.facts import catalogue_facts
from fabric_pipeline.drafting.forbidden import forbidden, in_other_words
from fabric_pipeline.drafting.identifiers import Known, pairs_in, strangers
from fabric_pipeline.drafting.misspelt import misspelt
from fabric_pipeline.drafting.prompt import PROMPT
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import DraftText, EvidenceStatement
from fabric_pipeline.model.components import link_type_of, parse_component

# Under these lengths a technician could not act on the ticket alone.
MIN_SUMMARY = 80
MIN_STEPS = 2
MIN_WORDS = 12
# A reason shorter than this says nothing that a reviewer could check.
MIN_REASON_WORDS = 3
# So many equal words in a row are a copy of the instructions, not a coincidence.
RUN = 9

_PART_NUMBER = re.compile(
    r"(?:\bpart\s{0,2}(?:number|no\.?|#)|\bp/?n\b)\s{0,2}(?:is\b|:|=|#)?\s{0,2}([A-Z0-9][\w/-]{2,40})",
    re.IGNORECASE,
)
_POINTER = re.compile(r"\bthe link (?:of|in the link field of) this ticket\b", re.IGNORECASE)


class FindingLike(Protocol):
    """What a finding has to state to be checked."""

    @property
    def component(self) -> str: ...  # noqa: D102
    @property
    def level(self) -> str: ...  # noqa: D102
    @property
    def why(self) -> str: ...  # noqa: D102
    @property
    def would_refute_it(self) -> str: ...  # noqa: D102
    @property
    def evidence_ids(self) -> Sequence[str]: ...  # noqa: D102


def problems(
    text: DraftText, incident: IncidentRecord, catalogue: Catalogue, *, seen: Sequence[Any] = ()
) -> list[str]:
    """What is wrong with this draft, one sentence each, field first; empty when nothing is.

    `seen` is plain data that tools showed the drafter: its names of one word and its figures are known.
    """
    entry = catalogue.entry_for(incident)
    facts = catalogue_facts(incident, entry)
    check = _Check(incident, facts, seen)
    found = _missing(text, incident) + _uncited(text, incident)
    for field, words in _texts(text):
        found += check.sentence(field, words, len(text.repair_steps))
    for number, statement in enumerate(text.evidence_statements, start=1):
        found += check.claim(f"evidence statement {number}", statement)
    found += steps.problems(text, entry, facts)
    return list(dict.fromkeys(found))


def finding_problems(
    finding: FindingLike,
    incident: IncidentRecord,
    catalogue: Catalogue,
    *,
    seen: Sequence[Any] = (),
) -> list[str]:
    """What is wrong with a drafter's own reading of the topology; `seen` as in `problems`."""
    facts = catalogue_facts(incident, catalogue.entry_for(incident))
    check = _Check(incident, facts, seen)
    found = _component_problems(finding, incident, seen)
    if not finding.evidence_ids:
        found.append("finding.evidence_ids: cite the evidence behind the finding")
    absent = set(finding.evidence_ids) - evidence_ids(incident)
    found += [
        f"finding.evidence_ids: there is no evidence {clean(ref, 40)!r}" for ref in sorted(absent)
    ]
    for field in ("why", "would_refute_it"):
        words = getattr(finding, field)
        if len(words.split()) < MIN_REASON_WORDS:
            found.append(f"finding.{field}: says too little to be checked")
        found += check.sentence(f"finding.{field}", words, 0)
        found += check.names(f"finding.{field}", words, 0)
    return list(dict.fromkeys(found))


def evidence_ids(incident: IncidentRecord) -> set[str]:
    """Ids that a claim may cite; the record itself stands in when it holds no evidence."""
    return {item.evidence_id for item in incident.evidence} or {incident.incident_id}


class _Check:
    """Everything known about one incident, and the checks of single sentences against it."""

    def __init__(
        self, incident: IncidentRecord, catalogue: dict[str, Any], seen: Sequence[Any]
    ) -> None:
        self.known = knowledge.general(incident, catalogue, seen)
        self._incident = incident
        self._quotable = knowledge.quotable(incident)
        self._names = knowledge.name_values(incident)
        self._parts = knowledge.part_numbers(incident, catalogue)

    def sentence(self, field: str, words: str, step_count: int) -> list[str]:
        """Orders, part numbers, and (but for claims, which answer to their evidence) unknown names."""
        found = [f"{field}: {reason}" for reason in (*forbidden(words), *in_other_words(words))]
        found += [f"{field}: it repeats the drafter's instructions"] if _repeats(words) else []
        stated = [hit for hit in _PART_NUMBER.findall(words) if any(map(str.isdigit, hit))]
        found += [
            f"{field}: the catalogue holds no part number {clean(hit, 40)!r}"
            for hit in stated
            if hit.rstrip(".").casefold() not in self._parts
        ]
        is_claim = field.startswith("evidence statement")
        return found if is_claim else found + self.names(field, words, step_count)

    def names(self, field: str, words: str, step_count: int) -> list[str]:
        """Names and figures that stand neither in the incident nor in the catalogue."""
        return [
            f"{field}: {clean(stranger, 40)!r} stands neither in the incident nor in the catalogue"
            for stranger in self._strangers(words, self.known, step_count)
        ]

    def claim(self, field: str, statement: EvidenceStatement) -> list[str]:
        """Names and figures that none of the cited pieces holds."""
        cited = [
            item for item in self._incident.evidence if item.evidence_id in statement.evidence_ids
        ]
        if not self._incident.evidence:
            return self.names(field, statement.claim, 0)
        held = knowledge.of_claim(self._incident, cited)
        return [
            f"{field}: {clean(stranger, 40)!r} stands in none of the evidence that it cites"
            for stranger in self._strangers(statement.claim, held, 0)
        ]

    def _strangers(self, words: str, known: Known, step_count: int) -> list[str]:
        for name in self._quotable:
            words = words.replace(name, " ")
        unknown = strangers(words, known, step_count)
        return [*unknown, *misspelt(words, self._names, self.known.tokens)]


def _repeats(words: str) -> bool:
    """True when a run of words stands in the instructions of the drafter too."""
    return bool(_runs(words) & _PROMPT_RUNS)


def _runs(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z0-9]+", text.casefold())
    return frozenset(" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


_PROMPT_RUNS = _runs(PROMPT)


def _texts(text: DraftText) -> Iterator[tuple[str, str]]:
    yield "title", text.title
    yield "summary", text.summary
    yield "rollback", text.rollback
    for number, statement in enumerate(text.evidence_statements, start=1):
        yield f"evidence statement {number}", statement.claim
    for number, words in enumerate(text.alternatives, start=1):
        yield f"alternative {number}", words
    for number, step in enumerate(text.repair_steps, start=1):
        yield f"repair step {number} (do)", step.do
        yield f"repair step {number} (proves)", step.proves


def _missing(text: DraftText, incident: IncidentRecord) -> list[str]:
    found = [f"{field}: empty" for field, words in _texts(text) if not words.strip()]
    if len(text.summary) < MIN_SUMMARY or len(text.summary.split()) < MIN_WORDS:
        found.append(f"summary: too short to act on (at least {MIN_SUMMARY} characters)")
    if len(text.repair_steps) < MIN_STEPS:
        found.append(f"repair_steps: fewer than {MIN_STEPS} steps")
    if not _names_the_link(f"{text.title} {text.summary}", incident):
        found.append(f"title and summary: neither names the isolated component{_advice(incident)}")
    others = pairs_in(text.title) - _own_pairs(incident)
    found += [
        f"title: {kind} {number} is not of the isolated link" for kind, number in sorted(others)
    ]
    return found


def _names_the_link(words: str, incident: IncidentRecord) -> bool:
    part = parse_component(incident.isolated_component)
    wanted = {places.near_end(incident), part.interface}
    if any(name and name.casefold() in words.casefold() for name in wanted):
        return True
    if not _is_nameable(incident) and _POINTER.search(words):
        return True
    pairs = pairs_in(part.interface)
    return bool(pairs) and pairs <= pairs_in(words)


def _is_nameable(incident: IncidentRecord) -> bool:
    """False when the component's name is unlike a name, so that no sentence has to repeat it."""
    end = places.near_end(incident)
    return bool(end) and " " not in end and end.casefold() in incident.isolated_component.casefold()


def _advice(incident: IncidentRecord) -> str:
    return (
        ""
        if _is_nameable(incident)
        else "; its name is unlike a name, so write `the link of this ticket`"
    )


def _own_pairs(incident: IncidentRecord) -> set[tuple[str, int]]:
    return pairs_in(" ; ".join([*knowledge.own_words(incident), incident.action_text]))


def _uncited(text: DraftText, incident: IncidentRecord) -> list[str]:
    allowed = evidence_ids(incident)
    cited = {ref for statement in text.evidence_statements for ref in statement.evidence_ids}
    return [
        f"evidence_statements: there is no evidence {clean(ref, 40)!r}"
        for ref in sorted(cited - allowed)
    ]


def _component_problems(
    finding: FindingLike, incident: IncidentRecord, seen: Sequence[Any]
) -> list[str]:
    named = clean(finding.component, 200)
    shared, isolated = _shared_in(seen), clean(incident.isolated_component, 200)
    known = knowledge.components(incident, seen).tokens
    is_known = named.casefold() in known and ":" in named
    if named.casefold() not in shared and not is_known and named != isolated:
        return ["finding.component: not a component of this incident or of an answer of a tool"]
    wrong = _level_problem(named, finding.level, incident, shared)
    return [f"finding.level: {wrong}"] if wrong else []


def _level_problem(named: str, level: str, incident: IncidentRecord, shared: frozenset[str]) -> str:
    part = parse_component(named)
    is_isolated = named == clean(incident.isolated_component, 200)
    is_end = is_isolated or bool(link_type_of(part.interface)) or "/" in part.interface
    if level == "lane":
        return "" if part.lane is not None else "a lane needs a component that ends in its lane"
    if part.lane is not None:
        return "the component names a lane, so the level is lane"
    if level in ("port", "link"):
        return "" if is_end else f"a {level} needs a component that names one end of a link"
    if level == "device":
        return "a device has no port in its name" if is_end else ""
    of_incident = incident.fault_type == "shared_component" and is_isolated
    if of_incident or named.casefold() in shared or not is_end:
        return ""
    return "a shared component is one that the incident or shared_components names"


def _shared_in(value: Any) -> frozenset[str]:
    """Shared parts that a look-up named, in lower case."""
    if isinstance(value, dict):
        own = {str(value["shared"]).casefold()} if isinstance(value.get("shared"), str) else set()
        return frozenset(own).union(*map(_shared_in, value.values()))
    if isinstance(value, (list, tuple)):
        return frozenset().union(*map(_shared_in, value))
    return frozenset()
