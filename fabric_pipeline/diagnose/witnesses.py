"""What several instruments say of one link, side by side: agreement as evidence, contradiction in words.

Nothing is averaged or added here, and no verdict is taken: one instrument was counted before, and this is
what the others say. A difference that time explains, such as a counter that grew, is no contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import Reading, UnknownFact
from fabric_pipeline.model.topology import Topology

# `nvidia-smi nvlink -e` and DCGM print one NVML counter under two names (field-guide Appendix A).
SAME_COUNTER = {"crc_flit": "crc"}
# Both ends of a link must agree on these; what either end counts is its own.
OF_THE_LINK = ("link_up", "width", "speed_gbps")
COMPARED_STATES = (*OF_THE_LINK, "pcie_gen")
_SAME_MOMENT = timedelta(minutes=5)
_LEAST_DIFFERENCE, _LEAST_RATIO = 8.0, 1.1  # below these, counters differ by the moment of reading
_SPEED_TOLERANCE = 0.05  # tools round: EDR is 100 or 103.125 Gb/s
_MOST_TOLD = 50
_LOG_RULE = "event.link_down"
_TOOLS = {
    "nvidia_smi": "nvidia-smi", "dcgmi": "dcgmi", "dcgm_exporter": "dcgm-exporter", "node_exporter": "node_exporter",
    "sysfs": "sysfs", "ethtool": "ethtool", "mlxlink": "mlxlink", "ibdiagnet2": "ibdiagnet2", "lspci": "lspci",
    "prometheus_query": "Prometheus", "fabric_counters": "the table of counters", "kernel_log": "the kernel log",
    "ibnetdiscover": "ibnetdiscover",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Witness:
    """The last word of one instrument on one counter or state of one link end."""

    node: str
    interface: str
    lane: int | None
    counter: str
    format: str
    file: str
    line: int | None
    value: float
    time: datetime | None = None
    state: str = ""

    @property
    def says(self) -> str:
        """Value with its place, as a person looks it up."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{tool_of(self.format)} says {self.value_text} ({place})"

    @property
    def value_text(self) -> str:
        """`1200`, or `down` for a link state."""
        if self.counter == "link_up":
            return "up" if self.value else "down"
        return f"{self.value:.10g}"


def settled(
    states: Sequence[Reading], formats: Mapping[str, str], topology: Topology
) -> list[Reading]:
    """States under one name for each end; of instruments that disagree only the worse one is left.

    Two tools at an unknown distance in time are no history: the better one is not taken for an earlier
    state of the link. What it says is told as a contradiction.
    """
    groups: dict[tuple[str, str, str], dict[str, list[Reading]]] = {}
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    named = [_under_its_name(one, topology, kept) for one in states]
    for one in named:
        if one.counter in COMPARED_STATES and one.value is not None and one.lane is None:
            said = groups.setdefault((one.node, one.interface, one.counter), {})
            said.setdefault(formats.get(one.file, ""), []).append(one)
    dropped: set[int] = set()
    for (_, _, counter), said in groups.items():
        if len(said) < 2:
            continue
        last = [_witness(form, readings[-1]) for form, readings in said.items()]
        if _disagree(counter, last):
            worst = min(last, key=lambda one: one.value)
            dropped |= {id(r) for form, rs in said.items() if form != worst.format for r in rs}
    return [one for one in named if id(one) not in dropped]


def _under_its_name(
    reading: Reading, topology: Topology, kept: dict[tuple[str, str], tuple[str, str]]
) -> Reading:
    """The reading under the kept name of its end; `kept` remembers names, as each end has many readings."""
    end = reading.node, reading.interface
    if end not in kept:
        component = component_id(*end)
        name = topology.resolve(component)
        parsed = parse_component(name)
        kept[end] = end if name == component else (parsed.node, parsed.interface)
    node, interface = kept[end]
    return reading if (node, interface) == end else replace(reading, node=node, interface=interface)


def _witness(format_id: str, reading: Reading) -> Witness:
    return Witness(
        reading.node, reading.interface, reading.lane, reading.counter, format_id, reading.file, reading.line,
        reading.value or 0.0, reading.time, reading.state,
    )  # fmt: skip


def tool_of(format_id: str) -> str:
    """The tool behind a format id, as people call it."""
    found = next((tool for start, tool in _TOOLS.items() if format_id.startswith(start)), "")
    return found or format_id.replace("_", " ")


def contradictions(
    witnesses: Sequence[Witness], topology: Topology
) -> dict[tuple[str, str], list[Witness]]:
    """(link end or link, counter) -> witnesses that cannot all be right, in the order of the drop."""
    found = {}
    for (place, counter, _), said in _by_place(witnesses, topology).items():
        if len({_instrument(one, topology) for one in said}) > 1 and _disagree(counter, said):
            found[place, counter] = said
    return found


def told(found: Mapping[tuple[str, str], Sequence[Witness]]) -> list[UnknownFact]:
    """Each contradiction as something that is not known, and beyond fifty how many there are."""
    facts = []
    for (place, counter), said in list(found.items())[:_MOST_TOLD]:
        parsed = parse_component(place)
        facts.append(UnknownFact(parsed.node, parsed.interface, counter, _in_words(said)))
    if len(found) > _MOST_TOLD:
        reason = f"instruments disagree on {len(found)} counters or states; the first {_MOST_TOLD} are listed"
        facts.append(UnknownFact("", "", "which instrument is right", reason))
    return facts


def add_witnesses(
    findings: Iterable[Finding], witnesses: Sequence[Witness], topology: Topology
) -> None:
    """Put what others say of a counter beside the finding that rests on it, each with its own value.

    It is no further evidence for the fault: the same errors read twice are the same errors.
    """
    by_link: dict[str, list[list[Witness]]] = {}
    for (place, _, _), said in _by_place(witnesses, topology).items():
        by_link.setdefault(topology.link_key(place), []).append(said)
    for finding in findings:
        if finding.accuses and not finding.machine:
            for said in by_link.get(topology.link_key(topology.resolve(finding.component)), ()):
                _add(finding, said)


def note_links_up(
    findings: Iterable[Finding],
    states: Sequence[Reading],
    formats: Mapping[str, str],
    topology: Topology,
) -> list[UnknownFact]:
    """Where a log leaves a link down and a tool sees it up, later or at no stated time: both are told."""
    left_down = [finding for finding in findings if _is_left_down(finding)]
    up: dict[str, Reading] = {}
    for reading in states if left_down else ():
        if reading.counter == "link_up" and reading.value and formats.get(reading.file):
            end = component_id(reading.node, reading.interface)
            up[topology.link_key(topology.resolve(end))] = reading
    facts = []
    for finding in left_down:
        seen = up.get(topology.link_key(topology.resolve(finding.component)))
        if seen is not None and not _is_before(seen, finding):
            facts.append(_note_up(finding, seen, formats[seen.file]))
    return facts


def _is_left_down(finding: Finding) -> bool:
    is_told_by_log = finding.kind == "link_down" and _LOG_RULE in finding.rules
    return is_told_by_log and finding.accuses and not finding.machine


def _is_before(seen: Reading, finding: Finding) -> bool:
    return bool(seen.time and finding.last_seen and seen.time < finding.last_seen)


def _note_up(finding: Finding, seen: Reading, format_id: str) -> UnknownFact:
    one = _witness(format_id, seen)
    when = f"{seen.time:%Y-%m-%d %H:%M:%S} UTC" if seen.time else "a time that is not stated"
    said = f"the log leaves the link down, {one.says} at {when}: it may have come back"
    finding.reason += f" Witnesses disagree on link_up: {said}."
    excerpt = f"{seen.interface}: link_up {one.value_text} ({tool_of(format_id)})"
    finding.evidence.append(EvidenceRef(seen.file, seen.line, excerpt=excerpt))
    place = parse_component(finding.component)
    return UnknownFact(place.node, place.interface, "link_up", said)


def _add(finding: Finding, said: Sequence[Witness]) -> None:
    cited = {(ref.file, ref.line) for ref in finding.evidence}
    if not any((one.file, one.line) in cited for one in said):
        return  # the finding does not rest on this counter
    finding.evidence += [
        EvidenceRef(one.file, one.line, excerpt=f"{one.interface}: {one.counter} {one.value_text} ({tool_of(one.format)})")
        for one in said
        if (one.file, one.line) not in cited
    ]  # fmt: skip
    if _disagree(said[0].counter, said):
        finding.reason += f" Witnesses disagree on {said[0].counter}: {_in_words(said)}."


def _in_words(said: Sequence[Witness]) -> str:
    counter = said[0].counter
    when = "" if all(one.time for one in said) else " at times that are not all stated"
    rule = "the worse one is judged" if counter in COMPARED_STATES else "one of them is counted"
    listed = ", ".join(
        one.says if _is_one_end(said) else f"{one.says} at {component_id(one.node, one.interface)}"
        for one in said
    )
    return f"{listed}{when}; {rule}, nothing is averaged"


def _is_one_end(said: Sequence[Witness]) -> bool:
    return len({(one.node, one.interface) for one in said}) == 1


def _by_place(
    witnesses: Sequence[Witness], topology: Topology
) -> dict[tuple[str, str, int | None], list[Witness]]:
    """What is said of one thing: of a link for states, of one end of it for counters."""
    groups: dict[tuple[str, str, int | None], list[Witness]] = {}
    for one in witnesses:
        end = topology.resolve(component_id(one.node, one.interface))
        place = topology.link_key(end) if one.counter in OF_THE_LINK else end
        counter = SAME_COUNTER.get(one.counter, one.counter)
        groups.setdefault((place, counter, one.lane), []).append(one)
    return {key: said for key, said in groups.items() if len(said) > 1}


def _instrument(one: Witness, topology: Topology) -> tuple[str, str]:
    return one.format, topology.resolve(component_id(one.node, one.interface))


def _disagree(counter: str, said: Sequence[Witness]) -> bool:
    return any(
        _differ(counter, one, other) for at, one in enumerate(said) for other in said[at + 1 :]
    )


def _differ(counter: str, one: Witness, other: Witness) -> bool:
    low, high = sorted((one, other), key=lambda w: w.value)
    if counter in COMPARED_STATES:
        if one.time and other.time and abs(one.time - other.time) > _SAME_MOMENT:
            return False
        tolerance = _SPEED_TOLERANCE * high.value if counter == "speed_gbps" else 0.0
        return high.value - low.value > tolerance
    if one.file == other.file and one.counter != other.counter:
        return False  # one tool that lists two counters means two counters
    is_far = high.value - low.value >= _LEAST_DIFFERENCE and high.value > _LEAST_RATIO * low.value
    grew = bool(low.time and high.time and high.time - low.time > _SAME_MOMENT)
    return is_far and not grew and COUNTERS[one.counter].kind == "cumulative"
