"""Reader of `dcgmi diag -j`: results of DCGM's tests, of which only some touch the interconnect.

Only tests of PCIe and NVLink, and warnings that speak of them, measure the interconnect. Of other
tests, broken hardware is told as no link's and the rest goes to the facts. `Skip` is not measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    MAX_TEXT,
    FabricEvent,
    Reading,
    ReadResult,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.located_json import Document, Leaf, located_documents

_TITLE = re.compile(r'"DCGM (?:GPU )?Diagnostic"')
_LINK_TEST = re.compile(r"pci-?e|nvlink|nv_?bandwidth|nvswitch|interconnect", re.I)
_LINK_TEXT = re.compile(r"nvlink|nvswitch|\bpcie\b|pci express|replay", re.I)
_GPU = re.compile(r"\bgpu(?:s| id)?\s*:?\s*(\d{1,4})\b", re.I)
_LINK = re.compile(r"\blink\s+(\d{1,3})\b", re.I)
# DCGM's error severities (dcgm_errors.h): 2 isolate, 4 triage, 6 reset; 1 only asks to watch, 5 is
# a setting of the host such as persistence mode, and neither speaks of broken hardware.
_HARDWARE_SEVERITIES = frozenset({2, 4, 6})
_NOT_RUN = frozenset({"skip", "skipped", "not run", "not_run", "notrun", ""})


@dataclass(slots=True)
class DiagResult:
    """One result of one test: its status, whose it is, and what DCGM said."""

    line: int
    status: str = ""
    group: str = ""
    gpus: list[int] = field(default_factory=list)
    texts: list[tuple[int, str]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    severities: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Test:
    name: str = ""
    results: dict[int, DiagResult] = field(default_factory=dict)


class DcgmiDiagJsonReader:
    """Test results by GPU; failures of interconnect tests become events."""

    format_id: ClassVar[str] = "dcgmi_diag_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi diag -j",
        versions="an old schema without version, 4.2.3 and 4.5.2",
        recognised_by="the key `DCGM Diagnostic` or `DCGM GPU Diagnostic` with test results",
        gives=(
            "passed tests of PCIe and NVLink as link states, failed ones as events with the link "
            "they name"
        ),
        traps=(
            "Skip is not measured; it is no pass.",
            (
                "Tests of memory, power or settings say nothing of a link; of those only broken "
                "hardware becomes an event, and no link's."
            ),
            "A failed setting of the host, such as persistence mode, is a fact only.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the title key and test results."""
        if file.is_binary or not _TITLE.search(file.head):
            return 0
        return 92 if '"tests"' in file.head or '"test_categories"' in file.head else 60

    def read(self, file: SourceFile) -> ReadResult:
        """A raw reading for each interconnect result, an event for each failure or warning."""
        result = ReadResult()
        counts: dict[str, int] = {}
        for document in located_documents(file):
            for test in _tests(document).values():
                for outcome in test.results.values():
                    status = outcome.status or "without status"
                    counts[status] = counts.get(status, 0) + 1
                    tell(test.name, outcome, document, result)
            result.rejected.extend(document.refused())
        result.facts["diagnostic_results"] = counts
        return result


def _tests(document: Document) -> dict[tuple[str | int, ...], _Test]:
    tests: dict[tuple[str | int, ...], _Test] = {}
    for leaf in document.leaves:
        if "tests" not in leaf.path:
            continue
        at = leaf.path.index("tests") + 2
        test = tests.setdefault(leaf.path[:at], _Test())
        rest = leaf.path[at:]
        if rest[:1] in (("name",), ("test_name",)):
            test.name = str(leaf.value)[:120]
        elif rest[:1] == ("results",) and len(rest) >= 3 and isinstance(rest[1], int):
            outcome = test.results.setdefault(rest[1], DiagResult(leaf.line))
            _fill(outcome, str(rest[2]), rest[3:], leaf)
    return tests


def _fill(outcome: DiagResult, key: str, deeper: tuple[str | int, ...], leaf: Leaf) -> None:
    text = str(leaf.value)
    if key == "status":
        outcome.status, outcome.line = text[:40], leaf.line
    elif key == "entity_group":
        outcome.group = text[:40]
    elif key in ("entity_id", "gpu_id", "gpu_ids"):
        outcome.gpus = [int(n) for n in re.findall(r"\d{1,4}", text)[:64]]
    elif key in ("warnings", "warning") and isinstance(leaf.value, str):
        outcome.texts.append((leaf.line, text[:MAX_TEXT]))
    elif key == "warnings" and deeper:
        outcome.details[str(deeper[-1])] = leaf.value
        if deeper[-1] == "error_severity" and isinstance(leaf.value, int):
            outcome.severities.add(leaf.value)
    elif key == "info" and isinstance(leaf.value, str):
        outcome.details["info"] = text[:MAX_TEXT]


def tell(name: str, outcome: DiagResult, document: Document, result: ReadResult) -> None:
    """Add what one result of one test says: a reading, an event, an unknown fact or a note."""
    on_link = bool(_LINK_TEST.search(name)) or any(_LINK_TEXT.search(t) for _, t in outcome.texts)
    status = outcome.status.lower()
    places = _interfaces(name, outcome)
    place = places[0] if len(places) == 1 else ""
    if status in _NOT_RUN:
        if on_link:
            reason = f"the result is {outcome.status or 'missing'!r}"
            fact = UnknownFact(document.node, place, f"DCGM test {name}", reason)
            result.unknown.append(fact)
        return
    hurt = status == "fail" and bool(outcome.severities & _HARDWARE_SEVERITIES)
    if on_link and status == "pass":
        readings = (_reading(name, outcome, interface, document) for interface in places or [""])
        result.readings.extend(readings)
    elif status != "pass" and (on_link or hurt):
        result.events.append(_event(name, outcome, place, on_link, document))
    elif status != "pass":
        said = outcome.texts[0][1] if outcome.texts else ""
        note = {"test": name, "gpus": outcome.gpus, "status": outcome.status, "text": said}
        result.facts.setdefault("diagnostic_complaints", []).append(note)


def _reading(name: str, outcome: DiagResult, interface: str, document: Document) -> Reading:
    """A passed test of a link shows that it is up; a failed one is told as an event instead."""
    reading = Reading(outcome.line, f"DCGM test {name}", outcome.status, node=document.node)
    reading.interface, reading.kind, reading.time = interface, "gauge", document.time
    reading.entity_text = interface
    reading.link_type = "pcie" if interface.endswith("/pcie") else "nvlink"
    reading.counter, reading.value = "link_up", 1.0
    reading.state = f"DCGM test {name} passed"
    return reading


def _event(
    name: str, outcome: DiagResult, interface: str, on_link: bool, document: Document
) -> FabricEvent:
    line, text = outcome.texts[0] if outcome.texts else (outcome.line, f"{name}: {outcome.status}")
    kind = "diag_link_test_failed" if on_link else "diag_other_test_failed"
    event = FabricEvent(line, kind, text, document.node, interface)
    event.time = document.time
    event.role, event.severity = "cause", "warning"
    event.details = {"test": name, "status": outcome.status, "is_link": on_link, **outcome.details}
    if on_link:
        event.severity = "warning" if outcome.status.lower() == "fail" else "watch"
        event.reason = f"the DCGM test {name!r} of the interconnect ended with {outcome.status}"
    else:
        event.reason = f"the DCGM test {name!r} failed; it does not test the interconnect"
    return event


def _interfaces(name: str, outcome: DiagResult) -> list[str]:
    """Where a result belongs: the GPUs it names, and the link or PCIe as far as the words tell."""
    words = " ".join(text for _, text in outcome.texts)
    gpus = outcome.gpus if outcome.group in ("", "GPU") else []
    named = _GPU.search(words)
    if len(gpus) != 1 and named:
        gpus = [int(named[1])]
    about_nvlink = "nvlink" in f"{name} {words}".lower() or "bandwidth" in name.lower()
    link = _LINK.search(words) if about_nvlink else None
    if link:
        ending = f"/nvlink-{link[1]}"
    else:
        is_pcie = re.search(r"pci", f"{name} {words}", re.I) and not about_nvlink
        ending = "/pcie" if is_pcie else ""
    return [f"gpu{gpu}{ending}" for gpu in gpus]
