"""What a draft may name: names and figures of one incident, its catalogue entry and what tools showed.

Names come from fields and from our own sentences. Text that a machine wrote (log lines in evidence) lends
its figures, and its names only to a claim that cites it. Whether a text keeps to this is for `verify`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.identifiers import Known, collect, spellings
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.record import Evidence, IncidentRecord

# Numbers inside a query (`limit 1`) and hashes are no facts of the incident.
_UNSAID = frozenset({"evidence_sha256", "schema_version", "query", "sha256"})
# Words of a machine or of a stranger: log lines, and what was read out of them.
_MACHINE_TEXT = frozenset({"says", "excerpt", "reason"})
_NAME_FIELDS_TEXT = (
    "isolated_component far_end place far_place fabric_or_switch_port cable_id part_reference "
    "drop affected_runs component file evidence_id incident_id cable platform service spares"
)
_NAME_FIELDS = frozenset(_NAME_FIELDS_TEXT.split())
# Keys under which tools name components; what stands under others vouches only for itself as a whole.
_COMPONENT_KEYS = frozenset(
    {
        "component",
        "far_end",
        "near_end",
        "switch_port",
        "shared",
        "links",
        "link",
        "isolated_component",
    }
)
# A name of more words lends nothing, so that a sentence in a name field does not vouch for itself.
MAX_NAME_WORDS = 3
_NUMBERED = re.compile(r"[A-Za-z]{2,10}[ _-]?\d{1,5}")


def general(incident: IncidentRecord, catalogue: dict[str, Any], seen: Sequence[Any] = ()) -> Known:
    """Every name and figure that any sentence of a draft may use; `catalogue` is `catalogue_facts`."""
    lent, figures_only = _record_texts(incident)
    lent += _without_sentences(leaves(catalogue), incident)
    shown = list(leaves(list(seen)))
    figures_only += [*shown, *_whole_names(incident)]
    lent += [text for text in components_in(list(seen)) if " " not in text]
    whole = [*_short_names(incident), *(text for text in shown if " " not in text)]
    known = collect([*lent, *_derived(incident)], whole)
    return Known(known.tokens, known.figures | collect(figures_only).figures, known.pairs)


def components(incident: IncidentRecord, seen: Sequence[Any] = ()) -> Known:
    """Components that a finding may blame: of the incident, and of the answers of tools."""
    spoken = _without_sentences([*incident.reasoning, incident.summary], incident)
    named = [text for text in components_in(list(seen)) if " " not in text]
    return collect([*_component_names(incident), *_derived(incident), *spoken, *named])


def components_in(value: Any, *, is_component: bool = False) -> Iterator[str]:
    """Strings under the keys that hold components in answers of tools, at any depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from components_in(item, is_component=str(key) in _COMPONENT_KEYS)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from components_in(item, is_component=is_component)
    elif isinstance(value, str) and is_component:
        yield clean(value, 200)


def of_claim(incident: IncidentRecord, cited: Sequence[Evidence]) -> Known:
    """What a claim may name: what its evidence holds, and what identifies the accused link itself.

    From the record come only names (both ends, place, lane, ports, runs), the times first and last seen,
    the limits of the rules, and the count of the cited pieces. A figure of the record may stand in the
    claim when the evidence holds it in another rounding; a slowdown in percent, when the evidence holds
    latency and baseline.
    """
    texts = [text for item in cited for text in _of_evidence(item)]
    held = collect(texts)
    rounded = {Decimal(text) for value in held.figures for text in _roundings(value)}
    figures = held.figures | rounded | {Decimal(len(cited))}
    figures |= _same_figures(incident, figures)
    limits = [text for rule in incident.rules for text in (rule.rule_id, rule.limit)]
    alone = incident.model_copy(update={"symptoms": []})
    named = collect([*_component_names(alone), *_derived(alone), *limits], _short_names(alone))
    times = collect([*limits, *_derived_times(incident)]).figures
    return Known(held.tokens | named.tokens, frozenset(figures | times), held.pairs | named.pairs)


def quotable(incident: IncidentRecord) -> list[str]:
    """Names of several words, longest first: a draft may repeat them whole, and nothing out of them."""
    values = {value.strip() for value in _raw_names(incident)}
    shown = {clean(value, 200) for value in values} | values
    return sorted((value for value in shown if " " in value), key=len, reverse=True)


def name_values(incident: IncidentRecord) -> set[str]:
    """Names of one word and their pieces, in lower case: what a misspelt name could have been."""
    whole = [value for value in _raw_names(incident) if " " not in value.strip()]
    words = {word for value in whole for word in re.split(r"[\s:/]+", value)}
    return {word.casefold() for word in words if word}


def own_words(incident: IncidentRecord) -> list[str]:
    """How the accused link, its place and its ends are called: what a title may name."""
    alone = incident.model_copy(update={"symptoms": []})
    return [*_component_names(alone), incident.cable_id, *_derived(alone)]


def part_numbers(incident: IncidentRecord, catalogue: dict[str, Any]) -> set[str]:
    """Part numbers of the catalogue for this incident and of the topology, in lower case."""
    record = incident.model_dump(mode="json", include={"place", "far_place", "cable", "spares"})
    found = [*_under("part", record), *_under("part_number", catalogue)]
    return {text.casefold() for text in found if text}


def leaves(value: Any, kept: frozenset[str] = frozenset()) -> Iterator[str]:
    """Every string and number of a structure as text, keys of mappings included."""
    if isinstance(value, dict):
        for key, item in value.items():
            if str(key) not in kept:
                yield str(key)
                yield from leaves(item, kept)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item, kept)
    elif isinstance(value, str):
        yield clean(value, 4000)
    elif value is not None and not isinstance(value, bool):
        yield from spellings(value)


def _record_texts(incident: IncidentRecord) -> tuple[list[str], list[str]]:
    """Texts that lend names and figures, and texts that lend figures alone."""
    record = incident.model_dump(mode="json", exclude=set(_NAME_FIELDS | {"evidence", "symptoms"}))
    own = _without_sentences(leaves(record, _UNSAID), incident)
    machine = [text for item in incident.evidence for text in _of_evidence(item)]
    machine += [clean(symptom.reason, 4000) for symptom in incident.symptoms]
    return [*own, *_component_names(incident)], machine


def _of_evidence(item: Evidence) -> list[str]:
    first, last = item.line, item.last_line
    lines = [str(number) for number in (first, last) if number is not None]
    lines += [str(last - first + 1)] if first is not None and last is not None else []
    return [item.evidence_id, clean(item.file, 400), *lines, clean(item.says, 4000), clean(item.excerpt, 4000)]  # fmt: skip


def _raw_names(incident: IncidentRecord) -> list[str]:
    record = incident.model_dump(mode="json", include=set(_NAME_FIELDS))
    values = [text for field in record.values() for text in _strings(field)]
    values += [symptom.component for symptom in incident.symptoms]
    return values + [item.file for item in incident.evidence]


def _component_names(incident: IncidentRecord) -> list[str]:
    """Ids of components and places, which lend their pieces and numbers too."""
    record = incident.model_dump(mode="json", include={"place", "far_place"})
    raw = [incident.isolated_component, incident.far_end, incident.fabric_or_switch_port]
    raw += [symptom.component for symptom in incident.symptoms]
    # A node with blanks in its name must not take the interface behind it along.
    raw += [re.split(r"[\s:]+", text)[-1] for text in raw if " " in text]
    shown = [clean(value, 200) for value in (*raw, *_strings(record))]
    return [value for value in shown if " " not in value or _NUMBERED.fullmatch(value)]


def _whole_names(incident: IncidentRecord) -> list[str]:
    """Names of one word, for their figures: a serial may be all digits."""
    return [
        value for value in (clean(raw, 200) for raw in _raw_names(incident)) if " " not in value
    ]


def _short_names(incident: IncidentRecord) -> list[str]:
    shown = [clean(value, 200) for value in _raw_names(incident)]
    return [value for value in shown if value.count(" ") < MAX_NAME_WORDS]


def _without_sentences(texts: Iterable[str], incident: IncidentRecord) -> list[str]:
    """The texts with every name of several words taken out of them."""
    spaced = quotable(incident)
    return [reduce(lambda text, name: text.replace(name, " "), spaced, text) for text in texts]


def _same_figures(
    incident: IncidentRecord, held: frozenset[Decimal] | set[Decimal]
) -> set[Decimal]:
    """Figures of the record that the evidence holds in another rounding."""
    record = incident.model_dump(
        mode="json", include={"numbers", "figures", "latency_us", "baseline_us"}
    )
    found = {
        each
        for value in _floats(record)
        if (forms := {Decimal(text) for text in spellings(value)}) & held
        for each in forms
    }
    timing = [incident.latency_us, incident.baseline_us]
    carried = [v is not None and bool({Decimal(t) for t in spellings(v)} & held) for v in timing]
    if all(carried) and incident.degradation_pct is not None:
        found |= set(
            collect([*spellings(incident.degradation_pct), incident.degradation_exact]).figures
        )
    return found


def _roundings(value: Decimal) -> set[str]:
    return spellings(float(value)) if value % 1 and abs(value.adjusted()) < 300 else set()


def _derived(incident: IncidentRecord) -> list[str]:
    """Other spellings of known facts: GPU, slot, unit and lane in words, times in short form."""
    place, far = incident.place, incident.far_place
    words = [places.near_end(incident), places.far_end(incident), places.port(incident)]
    words += [places.gpu(incident), places.node(incident), places.cable(incident)]
    words = _without_sentences(words, incident)
    lane = f"/lane-{incident.lane}"
    words += (
        [f"{incident.isolated_component.removesuffix(lane)}{lane}"]
        if incident.lane is not None
        else []
    )
    words += [f"lane {incident.lane}"] if incident.lane is not None else []
    words += [f"socket {end.socket}" for end in (place, far) if end.socket is not None]
    words += [f"rank {rank}" for rank in incident.affected_ranks]
    for end in (place, far):
        words += [f"rack {end.rack}"] + [f"rack {digits}" for digits in _rack_number(end.rack)]
        words += [f"row {end.row}", f"unit {end.unit} U{end.unit} {end.unit.lstrip('Uu')}"]
        words += [f"unit {end.unit.lstrip('Uu')}"]
    words = [text for text in words if text.count(" ") <= MAX_NAME_WORDS + 2]
    return [*words, *_derived_times(incident), *_counts(incident)]


def _rack_number(rack: str) -> list[str]:
    """The number of `12`, `r12` or `rack-12`, which people say as `rack 12`; none of `B07`."""
    found = re.fullmatch(r"(?:r|rack)?[ _-]?(\d{1,5})", rack.casefold())
    return [found[1]] if found else []


def _counts(incident: IncidentRecord) -> list[str]:
    held = (incident.evidence, incident.symptoms, incident.alternatives, incident.rules)
    return [str(len(items)) for items in (*held, incident.affected_runs, incident.affected_ranks)]


def _derived_times(incident: IncidentRecord) -> list[str]:
    seen = [at for at in (incident.first_seen, incident.last_seen) if at]
    return [spelling for at in seen for spelling in _times(at)]


def _times(at: datetime) -> list[str]:
    readings = [at, at.astimezone(UTC)] if at.tzinfo else [at]
    forms = (
        "%Y-%m-%d %H:%M:%S",
        "%H:%M",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%MZ",
        "%Y-%m-%dT%H:%M",
    )
    return [each.strftime(form) for each in readings for form in forms]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str) and value.strip():
        yield value


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _floats(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value


def _under(word: str, value: Any) -> Iterable[str]:
    """Strings under keys that hold this word, at any depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            if word in str(key) and isinstance(item, str):
                yield item
            else:
                yield from _under(word, item)
    elif isinstance(value, list):
        for item in value:
            yield from _under(word, item)
