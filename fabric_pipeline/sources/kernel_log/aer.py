"""PCIe error reports of the kernel: AER in its old and new wording, DPC, APEI records, hot-plug links.

One report of several lines is one event, charged to the device that the detail lines name and not to
the port that received the message. Functions of one device share its link, so they are folded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine
from fabric_pipeline.sources.kernel_log.frames import KernelLine, extend

FOLD_LINES = 25  # a report with four bits, header dump and recovery stays below this
FOLD_S = 5.0

_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_DEVICE = re.compile(rf"(?P<driver>[\w.-]{{1,40}})\s{{1,4}}(?P<bdf>{_BDF}):?\s{{0,8}}(?P<rest>.*)")
_HEADER = re.compile(
    r"(?:AER:\s{0,4})?(?P<many>Multiple )?(?P<word>Correct(?:ed|able)|Uncorrect(?:ed|able))"
    r"(?: \((?P<fatal>Non-?Fatal|Fatal)\))? error (?:message )?received(?: from)?:?\s{0,4}"
    rf"(?:(?P<source>{_BDF})|id=(?P<id>[0-9a-fA-F]{{4}}))?",
    re.IGNORECASE,
)
_DETAIL = re.compile(
    r"PCIe Bus Error:\s{0,4}(?:severity=)?(?P<word>Correct(?:ed|able)|Uncorrect(?:ed|able))"
    r"[^,(]{0,20}(?:\((?P<fatal>Non-?Fatal|Fatal)\))?(?:,\s{0,4}type=(?P<layer>[^,]{1,60}))?"
    r"(?:,\s{0,4}(?:id=(?P<id>[0-9a-fA-F]{4}))?\(?(?P<agent>[A-Za-z ]{1,30}) ID\)?)?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"device \[(?P<vendor>[0-9a-fA-F]{4}):(?P<device>[0-9a-fA-F]{4})\] error "
    r"status/mask=(?P<status>[0-9a-fA-F]{1,8})/(?P<mask>[0-9a-fA-F]{1,8})"
)
_BIT = re.compile(
    r"\[\s{0,3}(\d{1,2})\]\s{0,4}([A-Za-z][\w /-]{0,60}?)\s{0,30}(\([^)]{0,60}\))?(?=\s*(?:\[|$))"
)
_BARE_BITS = re.compile(r"\[\s{0,3}\d{1,2}\]\s{1,4}[A-Za-z]")
_APEI_STATUS = re.compile(r"aer_(?:cor_|uncor_)?status: 0x([0-9a-fA-F]{1,8})")
_APEI_AGENT = re.compile(r"aer_layer=([^,]{1,40}), aer_agent=([\w ]{1,40})")
_RECOVERY = re.compile(
    r"(?P<unable>can't recover|no AER-aware driver)|device recovery (?P<result>failed|successful)"
    r"|(?P<other>link has been reset|broadcast \w{1,30} message|TLP Header|HeaderLog"
    r"|can't find device of ID|Error of this Agent|recovery (?:started|done))",
    re.IGNORECASE,
)
_DPC = re.compile(r"DPC:\s{0,3}containment event", re.IGNORECASE)
_DPC_MORE = re.compile(r"\bDPC:|\bEDR:", re.IGNORECASE)
_HOTPLUG = re.compile(r"pciehp: Slot\(([^)]{1,20})\): Link (Down|Up)", re.IGNORECASE)
_LIMITED = re.compile(
    r"([\d.]{1,10}) Gb/s available PCIe bandwidth, limited by (.{1,40}?) link at "
    rf"({_BDF}) \(capable of ([\d.]{{1,10}}) Gb/s"
)
_APEI = re.compile(r"\[Hardware Error\]:\s{0,8}(.*)")
_APEI_SEVERITY = re.compile(r"event severity: (corrected|recoverable|fatal|info)", re.IGNORECASE)
_APEI_DEVICE = re.compile(rf"device_id: ({_BDF})")


@dataclass(slots=True)
class _Report:
    """The report that is being read: who received it and the events made so far."""

    line: KernelLine
    is_corrected: bool
    is_fatal: bool | None
    source: str
    is_multiple: bool = False
    is_dpc: bool = False
    header: KernelLine | None = None
    events: dict[str, FabricEvent] = field(default_factory=dict)


@dataclass(slots=True)
class _Apei:
    """An APEI record under way; it becomes an event when its device is named."""

    line: KernelLine
    severity: str
    is_pcie: bool = False
    event: FabricEvent | None = None


class AerParser:
    """Collects PCIe error events. `feed` returns True when the line was used."""

    def __init__(self, result: ReadResult) -> None:
        self._result = result
        self._report: _Report | None = None
        self._apei: _Apei | None = None
        self._bdf = ""  # device of the last detail line

    def feed(self, line: KernelLine) -> bool:
        """Use one line."""
        if found := _APEI.search(line.message):
            return self._apei_line(line, found.group(1))
        found = _DEVICE.search(line.message)
        if not found:
            is_bits = self._report is not None and _BARE_BITS.match(line.message)
            return bool(is_bits) and self._part(line, line.message, self._bdf)
        bdf, rest = normalise_pci(found["bdf"]), found["rest"]
        return (
            self._header(line, rest, bdf)
            or self._detail(line, rest, bdf)
            or self._part(line, rest, bdf)
            or self._recovery(line, found["driver"], bdf, rest)
            or self._dpc(line, rest, bdf)
            or self._other(line, rest, bdf)
        )

    def finish(self) -> None:
        """Close the last report."""
        self._close()

    # -- a report ------------------------------------------------------------------------------

    def _header(self, line: KernelLine, rest: str, receiver: str) -> bool:
        found = _HEADER.match(rest)
        if not found:
            return False
        source = (
            normalise_pci(found["source"]) if found["source"] else _from_id(found["id"], receiver)
        )
        dpc = self._report if self._report and self._report.is_dpc else None
        if dpc and not dpc.events and self._is_near(line, dpc):
            dpc.source = source or dpc.source
            return True
        self._close()
        self._report = _Report(
            line,
            is_corrected=found["word"].lower().startswith("c"),
            is_fatal=_is_fatal(found["fatal"]),
            source=source or receiver,
            is_multiple=bool(found["many"]),
            header=line,
        )
        return True

    def _detail(self, line: KernelLine, rest: str, bdf: str) -> bool:
        found = _DETAIL.search(rest)
        if not found:
            return False
        report = self._report
        if report is None or not self._is_near(line, report) or bdf in report.events:
            self._close()
            report = self._report = _Report(
                line,
                is_corrected=found["word"].lower().startswith("c"),
                is_fatal=_is_fatal(found["fatal"]),
                source=bdf,
            )
        self._bdf = bdf
        sibling = report.events.get(bdf[:-1])
        if sibling is not None:
            sibling.details.setdefault("siblings", []).append(bdf)
            extend(sibling, line)
            return True
        event = self._event(report.header or line, report, bdf)
        if event.line != line.number:
            extend(event, line)
        event.details["layer"] = (found["layer"] or "").strip()
        event.details["agent"] = (found["agent"] or "").strip()
        return True

    def _event(self, start: KernelLine, report: _Report, bdf: str) -> FabricEvent:
        kind = "aer_corrected" if report.is_corrected else "aer_uncorrected"
        is_fatal = report.is_fatal or report.is_dpc
        event = start.event(
            kind,
            f"pci-{bdf}",
            role="context" if not is_fatal else "cause",
            severity="critical" if is_fatal and not report.is_corrected else "watch",
            reason="PCIe errors were corrected"
            if report.is_corrected
            else "PCIe errors not corrected",
            details={
                "subject": "pcie",
                "is_link": True,
                "is_fatal": bool(is_fatal) and not report.is_corrected,
                "is_multiple": report.is_multiple,
                "source": report.source,
                "bits": [],
            },
        )
        if report.is_dpc:
            event.details["dpc"] = True
        report.header = None
        report.events[bdf[:-1]] = event  # functions of one device share the link
        report.events[bdf] = event
        self._result.events.append(event)
        return event

    def _part(self, line: KernelLine, rest: str, bdf: str) -> bool:
        """Status line, error bits and layer of the report under way."""
        status, apei, agent = (
            _STATUS.search(rest),
            _APEI_STATUS.search(rest),
            _APEI_AGENT.search(rest),
        )
        bits = (
            _BIT.findall(rest)
            if rest.lstrip().removeprefix("AER:").lstrip().startswith("[")
            else []
        )
        if not (status or apei or agent or bits):
            return False
        event = self._report.events.get(bdf[:-1]) if self._report else None
        if event is None or self._report is None or not self._is_near(line, self._report):
            self._result.rejected.append(
                RejectedLine(
                    line.number,
                    line.raw,
                    "the error report this line belongs to is not in the file",
                )
            )
            return True
        extend(event, line)
        if status:
            event.details.update(
                status=status["status"],
                mask=status["mask"],
                id=f"{status['vendor']}:{status['device']}",
            )
        if apei:
            event.details["status"] = apei.group(1)
        if agent:
            event.details.update(layer=agent.group(1), agent=agent.group(2).removesuffix(" ID"))
        names = [name.strip() for _, name, _ in bits]
        event.details["bits"] += [n for n in names if n not in event.details["bits"]]
        firsts = [name.strip() for _, name, note in bits if "first" in note.lower()]
        if firsts:
            event.details["first_bit"] = firsts[0]
        return True

    def _recovery(self, line: KernelLine, driver: str, bdf: str, rest: str) -> bool:
        found = _RECOVERY.search(rest)
        if not found:
            return False
        event = self._last_event(line)
        if event is None:
            if not found["other"]:
                self._result.facts.setdefault("pcie_recovery_without_report", []).append(
                    line.number
                )
            return bool(found["unable"] or found["result"])
        extend(event, line)
        if found["result"]:
            event.details["recovery"] = found["result"].lower()
        if found["unable"] and not bdf.endswith(event.interface[-4:]):
            affected = event.details.setdefault("affected", [])
            affected.append({"driver": driver, "pci": bdf})
        return True

    def _last_event(self, line: KernelLine) -> FabricEvent | None:
        report = self._report
        if report is None or not report.events or not self._is_near(line, report):
            return None
        return next(reversed(report.events.values()))

    def _is_near(self, line: KernelLine, report: _Report) -> bool:
        last = next(reversed(report.events.values())) if report.events else None
        number = (last.last_line or last.line) if last else report.line.number
        if line.number - number > FOLD_LINES or line.node != report.line.node:
            return False
        if last is not None and (gap := line.gap_s(last)) is not None:
            return gap <= FOLD_S
        return True

    def _close(self) -> None:
        """A report whose detail lines never came still is one event, of the device it names."""
        report, self._report = self._report, None
        if report is not None and not report.events:
            event = self._event(report.line, report, report.source)
            event.details["no_detail_lines"] = True

    # -- other PCIe messages ---------------------------------------------------------------------

    def _dpc(self, line: KernelLine, rest: str, bdf: str) -> bool:
        if _DPC.search(rest):
            self._close()
            self._report = _Report(line, False, True, bdf, is_dpc=True, header=line)
            return True
        return bool(_DPC_MORE.search(rest))

    def _other(self, line: KernelLine, rest: str, bdf: str) -> bool:
        if found := _HOTPLUG.search(rest):
            is_up = found.group(2).lower() == "up"
            self._result.events.append(
                line.event(
                    "pcie_link_up" if is_up else "pcie_link_down",
                    f"pci-{bdf}",
                    severity="info" if is_up else "watch",
                    reason=f"the link of PCIe slot {found.group(1)} went {found.group(2).lower()}",
                    details={"slot": found.group(1), "subject": "pcie", "is_link": True},
                )
            )
            return True
        if found := _LIMITED.search(rest):
            self._result.events.append(
                line.event(
                    "pcie_bandwidth_limited",
                    f"pci-{bdf}",
                    severity="watch",
                    reason=f"{found.group(1)} of {found.group(4)} Gb/s PCIe bandwidth, "
                    f"limited by the {found.group(2)} link at {found.group(3)}",
                    details={"limited_at": normalise_pci(found.group(3)), "subject": "pcie"},
                )
            )
            return True
        return False

    # -- APEI --------------------------------------------------------------------------------------

    def _apei_line(self, line: KernelLine, rest: str) -> bool:
        if found := _APEI_SEVERITY.search(rest):
            self._apei = _Apei(line, found.group(1).lower())
            return True
        if self._apei is None or line.number - self._apei.line.number > FOLD_LINES * 2:
            return False
        self._apei.is_pcie = self._apei.is_pcie or "section_type: PCIe error" in rest
        if self._apei.is_pcie and (found := _APEI_DEVICE.search(rest)):
            self._close()
            severity, start = self._apei.severity, self._apei.line
            self._report = _Report(
                start,
                is_corrected=severity in ("corrected", "info"),
                is_fatal=severity == "fatal",
                source=normalise_pci(found.group(1)),
                header=start,
            )
            event = self._event(start, self._report, self._report.source)
            extend(event, line)
            event.details["apei"] = True
            self._apei.event = event
        elif self._apei.event is not None:
            extend(self._apei.event, line)
            if found := _APEI_STATUS.search(rest):
                self._apei.event.details.setdefault("status", found.group(1))
        return self._apei.is_pcie


def _is_fatal(word: str | None) -> bool | None:
    return None if word is None else word.lower() == "fatal"


def _from_id(text: str | None, receiver: str) -> str:
    """Device of the old `id=00e5` form: bus, then five bits of device and three of function."""
    if not text:
        return ""
    number = int(text, 16)
    domain = receiver.partition(":")[0]
    return f"{domain}:{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"
