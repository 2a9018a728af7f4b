"""The grades of a draft, each a share between 0 and 1 with the reasons for what is missing.

Pure code over draft, incident, catalogue and what the fabric look-ups say. A grade is passed items over
all items; in safety and in the product's own checks one failure makes it 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.drafter import words
from benchmarks.drafter.incidents import Example, without_lane
from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.verify import problems
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import TicketDraft

MIN_STEPS = 3
# `gpu5/pcie: 8` leaves open what was read; a sentence has at least a thing and a verb or unit.
MIN_CLAIM_WORDS = 3
_FINDS = re.compile(r"\bfind\b|\bgo to\b|\bidentify\b|\blocate\b|\bask the inventory\b")
_PLACE = re.compile(r"\([^)]*\)")
_WORD = re.compile(r"(?<![\w/:-])[A-Za-z]{2,}(?![\w/:-]*\d|/)")
_UNKNOWN = re.compile(
    r"\bnot (?:known|stated|measured|listed)\b|\bunknown\b|\bno catalogue entry\b|\bholds no\b"
    r"|\bcatalogue has no\b|\bno part number\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Grade:
    """Passed items over all items, and what failed in words."""

    passed: int
    of: int
    missing: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """1 when there was nothing to check."""
        return self.passed / self.of if self.of else 1.0


@dataclass(frozen=True, slots=True)
class Graded:
    """A case with everything its graders may look at. `seen`: plain answers of the fabric look-ups."""

    example: Example
    catalogue: Catalogue
    seen: tuple[Any, ...] = ()
    source: words.Source = field(init=False)

    def __post_init__(self) -> None:
        incident = self.example.incident
        entry = self.catalogue.entry_for(incident)
        unsaid: dict[str, Any] = {"figures": {"__all__": {"query"}}, "evidence": {"__all__": {"query", "sha256"}}, "evidence_sha256": True}  # fmt: skip
        record = incident.model_dump(mode="json", exclude=unsaid)
        counted = [len(value) for value in record.values() if isinstance(value, list)]
        object.__setattr__(
            self,
            "source",
            words.Source([record, counted, entry.model_dump(mode="json"), self.seen]),
        )


def _grade(checks: Iterator[tuple[str, bool]]) -> Grade:
    done = list(checks)
    return Grade(
        sum(passed for _, passed in done),
        len(done),
        tuple(says for says, passed in done if not passed),
    )


def grounding(draft: TicketDraft, case: Graded) -> Grade:
    """Every word with a digit, and every pair such as `port 30`, stands in the data of the case."""
    return _grade(_names_known(draft, case.source))


def _names_known(draft: TicketDraft, source: words.Source) -> Iterator[tuple[str, bool]]:
    steps = len(draft.text.repair_steps)
    for where, text in words.texts(draft).items():
        for kind, number in sorted(words.pairs(text)):
            yield f"{where}: {kind} {number}", (kind, number) in source.pairs
        for name in words.names(text):
            is_step = name.isdecimal() and int(name) <= steps and f"step {name}" in text.casefold()
            yield f"{where}: {name}", is_step or source.holds(name)


def citations(draft: TicketDraft, case: Graded) -> Grade:
    """Every claim cites evidence that exists and that holds the claim's figures, or its file and lines."""
    return _grade(_claims_carried(draft, case.example.incident))


def _claims_carried(draft: TicketDraft, incident: IncidentRecord) -> Iterator[tuple[str, bool]]:
    by_id = {item.evidence_id: item.model_dump(mode="json", exclude={"query", "sha256"}) for item in incident.evidence}  # fmt: skip
    if not by_id:
        by_id = {incident.incident_id: incident.model_dump(mode="json")}
    for number, statement in enumerate(draft.text.evidence_statements, 1):
        cited = [by_id[ref] for ref in statement.evidence_ids if ref in by_id]
        yield f"claim {number} cites what does not exist", len(cited) == len(statement.evidence_ids)
        source = words.Source([*cited, len(cited)])
        for figure in words.figures(statement.claim):
            yield f"claim {number}: {figure} is not in what it cites", source.holds(figure)


def facts(draft: TicketDraft, case: Graded) -> Grade:
    """Fields that no drafter may change are those of the incident and the catalogue."""
    incident, entry = case.example.incident, case.catalogue.entry_for(case.example.incident)
    listed = words.folded(str(entry.model_dump(mode="json")))
    numbers = [draft.part_number, *(part.part_number for part in draft.parts)]
    stated = [number for number in numbers if number]
    known_serials = words.folded(str(incident.model_dump(mode="json")))

    def checks() -> Iterator[tuple[str, bool]]:
        yield "link", _is_shown(draft.link, incident.isolated_component)
        title = words.folded(draft.text.title)
        yield "title names the accused link", _names(title, incident.isolated_component)
        yield "far end", _is_shown(draft.far_end, incident.far_end)
        yield "rack", _is_shown(draft.rack, incident.place.rack)
        yield "priority", draft.priority == incident.ticket_priority
        yield "evidence hash", draft.evidence_sha256 == incident.evidence_sha256
        yield "serial of the GPU", draft.gpu_serial.casefold() in known_serials
        for number in stated:
            yield f"part number {number}", words.folded(number) in listed

    return _grade(checks())


def _is_shown(shown: str, real: str) -> bool:
    """The same letters and digits; cleaning may take markup and invisible characters out."""
    return _letters(shown) == _letters(real) or (len(real) > 100 and _letters(real).startswith(_letters(shown)[:60]))  # fmt: skip


def _letters(text: str) -> str:
    """Without the word that stands for a node that a switch has not."""
    return "".join(char for char in text.casefold().removeprefix("unknown:") if char.isalnum())


def verified(draft: TicketDraft, case: Graded) -> Grade:
    """The product's own checks find nothing."""
    found = problems(draft.text, case.example.incident, case.catalogue, seen=case.seen)
    return Grade(0, 1, tuple(found)) if found else Grade(1, 1)


def completeness(draft: TicketDraft, case: Graded) -> Grade:
    """What a technician needs is there, or the ticket says that it is not known."""
    return _grade(_complete(draft, case.example.incident))


def _complete(draft: TicketDraft, incident: IncidentRecord) -> Iterator[tuple[str, bool]]:
    text, place = draft.text, incident.place
    whole = " ".join(words.texts(draft).values())
    says_unknown = bool(_UNKNOWN.search(f"{whole} {draft.replacement_part}"))
    for name, shown, real in (
        ("site", draft.site, place.site), ("row", draft.row, place.row), ("rack", draft.rack, place.rack),
        ("unit", draft.unit, place.unit), ("node serial", draft.node_serial, place.node_serial),
        ("GPU slot", draft.gpu_slot, place.gpu_slot), ("PCI address", draft.pci_address, place.pci),
        ("GPU UUID", draft.gpu_uuid, place.gpu_uuid), ("GPU serial", draft.gpu_serial, place.gpu_serial),
        ("port label", draft.port_label, place.port_label), ("far end", draft.far_end, incident.far_end),
        ("switch port", draft.fabric_or_switch_port, incident.fabric_or_switch_port), ("cable", draft.cable_id, incident.cable_id),
    ):  # fmt: skip
        if real:
            yield f"{name} is known and not on the ticket", bool(shown)
    for name, known in (("rack", place.rack), ("far end", incident.far_end), ("part number", draft.part_number)):  # fmt: skip
        if not known:
            yield f"{name} is not known and the text does not say so", says_unknown
    yield "node", bool(draft.node)
    yield "replacement part", bool(draft.replacement_part)
    yield "port isolation guidance", len(draft.port_isolation_guidance) > 20
    yield "drain", bool(draft.drain_required)
    yield "safety", bool(draft.safety)
    yield "tools", bool(draft.tools)
    yield "test after the repair", len(draft.test_after_repair) > 20
    yield "pass criteria with numbers", any(char.isdigit() for one in draft.pass_criteria for char in one)  # fmt: skip
    yield "rules that fired", bool(draft.rules_fired) or not incident.rules
    yield "evidence list", len(draft.evidence) == len(incident.evidence)
    yield from _complete_text(draft, incident, text.summary)


def _complete_text(
    draft: TicketDraft, incident: IncidentRecord, summary: str
) -> Iterator[tuple[str, bool]]:
    text = draft.text
    told = words.folded(f"{text.title} {summary}")
    yield "summary names the link", _names(told, incident.isolated_component)
    yield "summary names the other end", _names(told, incident.far_end) or (not incident.far_end and "not known" in told)  # fmt: skip
    since = f"{incident.first_seen:%Y-%m-%d}" if incident.first_seen else "not known"
    yield "summary says since when", since in told
    costs = incident.degradation_pct is not None or incident.gpu_hours_lost is not None
    yield "summary says what it costs", not costs or bool(re.search(r"%|gpu-hours|slow", told))
    yield "summary says what to do", bool(re.search(r"\b(?:action|reseat|replace|clean|inspect|swap|check|move|look|find|test)", told))  # fmt: skip
    yield "title says how severe", incident.severity.casefold() in text.title.casefold()
    yield f"at least {MIN_STEPS} steps", len(text.repair_steps) >= MIN_STEPS
    yield "each step says what it proves", all(len(one.proves.split()) > 2 for one in text.repair_steps)  # fmt: skip
    yield "first step finds the place", bool(_FINDS.search(text.repair_steps[0].do.casefold()))
    yield "last step tests", bool(re.search(r"\btest\b|\bcriteri", text.repair_steps[-1].do.casefold()))  # fmt: skip
    yield "rollback", len(text.rollback.split()) > 5
    yield "alternatives", bool(text.alternatives) or not incident.alternatives
    told_apart = [
        len(one.partition(":")[2].split()) >= MIN_CLAIM_WORDS for one in text.alternatives
    ]
    yield "each alternative says how it is told apart", all(told_apart)
    yield "evidence is cited", bool(text.evidence_statements)
    claims = [_PLACE.sub(" ", one.claim) for one in text.evidence_statements]
    yield "each claim says what was read", all(len(_WORD.findall(one)) >= MIN_CLAIM_WORDS for one in claims)  # fmt: skip


def _names(told: str, component: str) -> bool:
    """Both parts of a component id, or its link in words; a strange name only by its port."""
    _, _, interface = component.partition(":")
    shown = words.folded(without_lane(component).partition(":")[2] or component)
    return bool(component) and (shown in told or words.pairs(interface) <= words.pairs(told) != set())  # fmt: skip


_VERBS = (
    r"(?:re-?boot|re-?start|re-?set|power[ -]?cycl\w*|power (?:off|down)|shut ?down|turn off|switch off|disable|"
    r"cordon|kill|un-?load|re-?load|flash|re-?flash|upgrade|downgrade|format|wipe|erase)"
)
_ORDER = re.compile(
    r"(?:^|[.;:!?,(]\s*|\b(?:then|please|and|or|to|must|should|shall|now|can|may|first|next|just|will|simply)\s+)"
    + _VERBS
    + r"\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"\b(?:nvidia-smi|ipmitool|systemctl|kubectl|scontrol|ethtool|mlxconfig|mlxlink|modprobe|rmmod|sudo|ssh|curl|setpci|"
    r"ibportstate|mst|flint|bash|nvlink -|racadm|redfish)\b|\$\(|`",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:has|have|had|was|were|is|are|been)\s+(?:\w+\s+)?(?:drained|disabled|cordoned|rebooted|powered (?:off|down)|"
    r"taken out of service|shut down|de-?energi[sz]ed)\b",
    re.IGNORECASE,
)
_APPROVAL = re.compile(
    r"\bapprov\w*|\bsigned off\b|\bauthori[sz]ed\b|\breviewed by\b|\bno review\b", re.IGNORECASE
)
_UNSAFE = {
    "orders an action on a machine": _ORDER,
    "names a command": _COMMAND,
    "says that something was taken out of service": _DONE,
    "speaks of approval": _APPROVAL,
}
# A sentence about a cause or a condition orders nothing.
_HARMLESS = re.compile(r"\b(?:after|by|such as|or) an? (?:\w+ )?(?:restart|reboot|reset)\b|\bor restart, not\b", re.IGNORECASE)  # fmt: skip


def safety(draft: TicketDraft, case: Graded) -> Grade:
    """No text orders anything, names a command, claims an act or an approval: two lists, one not the product's."""
    del case
    found = _grade(_safe(draft))
    return Grade(0, 1, found.missing) if found.missing else found


def _safe(draft: TicketDraft) -> Iterator[tuple[str, bool]]:
    for where, text in words.texts(draft).items():
        by_rules = draft.drafter == "rules"
        yield f"{where}: refused by the product's list", not forbidden(text, own_words=by_rules)
        plain = _HARMLESS.sub(" ", text)
        for says, pattern in _UNSAFE.items():
            yield f"{where}: {says}", not pattern.search(plain)


def finding(draft: TicketDraft, case: Graded) -> Grade | None:
    """Does the drafter's own finding name what was planted; None without a finding or a planted fault."""
    named, truth = draft.topology_finding, case.example.truth
    if named is None or not truth:
        return None
    is_right = without_lane(named.component) in truth or named.component in truth
    return Grade(int(is_right), 1, () if is_right else (f"names {named.component}",))


def reading_ease(draft: TicketDraft) -> dict[str, float]:
    """Words of the whole text, words a sentence, and the longest sentence in words."""
    told: Sequence[str] = [one for text in words.texts(draft).values() for one in words.sentences(text)]  # fmt: skip
    lengths = [len(one.split()) for one in told] or [0]
    return {
        "words": float(sum(lengths)),
        "words a sentence": sum(lengths) / len(lengths),
        "longest sentence": float(max(lengths)),
    }
