"""Messages of the NVIDIA drivers: Xid, GPU fallen off the bus, peer memory. SXid has its own module.

Lines of one event are folded here; whether an event is cause or consequence of another is not
decided here. Repeats stay separate events.
"""

from __future__ import annotations

import re
from typing import Any

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.kernel_log.frames import KernelLine, extend
from fabric_pipeline.sources.kernel_log.xid_catalog import register_class, xid_meaning

FOLD_LINES = 20  # lines of one loss report stand within this distance
FOLD_S = 5.0  # and within this time

_BDF_TEXT = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
FULL_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_XID = re.compile(
    r"\bXid\s?\(\s?(?:PCI:)?([^()]{0,40})\)\s?:\s?([0-9]{1,4})\b,?\s{0,4}(.*)", re.IGNORECASE
)
_XID_START = re.compile(r"\bNVRM:\s{0,4}Xid\b", re.IGNORECASE)
_NVLINK5 = re.compile(
    r"\b([A-Z][A-Z0-9_]{2,40})\s{1,4}(Fatal|Non-?fatal)\s{1,4}XC\s?(\d{1,3})\s{1,4}i\s?(\d{1,3})"
    r"\s{1,4}Link\s{1,4}(-?\d{1,3})\s{0,4}(?:[(\[]([^)\]]{0,200}))?",
    re.IGNORECASE,
)
_NVLINK_OLD = re.compile(
    r"NVLink\b.{0,80}?\blinks?\s{1,3}(\d{1,3})\s{0,3}(?:\(([^)]{0,200}))?", re.IGNORECASE
)
_LINK_WORD = re.compile(r"\blink\s{1,3}(\d{1,3})\b", re.IGNORECASE)
_GPU_WORD = re.compile(r"\bGPU\s?(\d{1,2})\b(?!:[0-9a-fA-F]{2})")
_PROCESS = re.compile(r"\bpid='?([^,']{1,40})'?(?:,\s?name=([^,]{1,60}))?")
_PREVIOUS = re.compile(r"caused by previous Xid (\d{1,4})", re.IGNORECASE)
_RECOVERY = re.compile(
    r"recovery action changed from .{0,60}?to (0x[0-9a-fA-F]{1,8} \([^)]{1,60}\))"
)
_HEX = re.compile(r"0x([0-9a-fA-F]{1,8})\b")

_IDENTITY = re.compile(rf"NVRM: GPU at (?:PCI:)?({_BDF_TEXT}): (GPU-[0-9a-fA-F-]{{8,40}})")
_SERIAL = re.compile(r"NVRM: GPU Board Serial Number:\s{0,4}(\S{0,40})")
_GPU_SERIAL = re.compile(rf"NVRM: GPU ({_BDF_TEXT}): GPU serial number is (\S{{1,40}}?)\.?$")
_LOST = re.compile(r"fallen off the bus", re.IGNORECASE)
_LOST_OPEN = re.compile(rf"NVRM: The NVIDIA (?:probed )?GPU ({_BDF_TEXT})", re.IGNORECASE)
_ANY_BDF = re.compile(rf"(?<![0-9a-fA-F:]){_BDF_TEXT}(?![0-9a-fA-F:])")
_LOST_TAIL = re.compile(r"NVRM: .{0,80}(?:GPU is on Board|critical error 79\b)")
_INIT_FAILED = re.compile(rf"NVRM: GPU ({_BDF_TEXT}): RmInitAdapter failed")
_PEERMEM = re.compile(
    r"\bnvidia[-_]peermem\b.{0,200}\b(?:error|invalid|fail(?:ed|ure)?|cannot)\b", re.IGNORECASE
)


def pci_interface(address: str) -> str:
    """`pci-<bdf>` of an address as the driver prints it, "" when it is no full address."""
    pci = normalise_pci(address)
    return f"pci-{pci}" if FULL_PCI.fullmatch(pci) else ""


class NvidiaParser:
    """Collects the events of the GPU driver. `feed` returns True when the line was used."""

    def __init__(self, result: ReadResult) -> None:
        self._result = result
        self._serials: dict[tuple[str, str], str] = {}
        self._uuids: dict[tuple[str, str], str] = {}
        self._last_identity: tuple[str, str] = ("", "")
        self._lost: dict[tuple[str, str], FabricEvent] = {}
        self._half_lost: tuple[KernelLine, str] | None = None

    def feed(self, line: KernelLine) -> bool:
        """Use one line."""
        return (
            self._xid(line)
            or self._identity(line)
            or self._fallen(line)
            or self._peermem(line)
            or self._init_failed(line)
        )

    # -- Xid ---------------------------------------------------------------------------------

    def _xid(self, line: KernelLine) -> bool:
        found = _XID.search(line.message)
        if not found:
            if not _XID_START.search(line.message):
                return False
            self._result.rejected.append(
                RejectedLine(line.number, line.raw, "an Xid line needs a device and a number")
            )
            return True
        address, code, body = found.group(1), int(found.group(2)), found.group(3)
        details = _xid_details(code, body)
        event = self._place(line, address, code, details)
        meaning = xid_meaning(code)
        event.code, event.role, event.severity = code, meaning.role, meaning.severity
        event.reason = meaning.says
        _weigh_nvlink(event)
        if code == 79:
            self._fold_into_79(line, event)
        self._result.events.append(event)
        return True

    def _place(
        self, line: KernelLine, address: str, code: int, details: dict[str, Any]
    ) -> FabricEvent:
        """Event at the GPU, or at the NVLink when the line names one."""
        device = pci_interface(address)
        gpu = details.get("gpu")
        if not device:
            self._result.unknown.append(
                UnknownFact(
                    line.node,
                    f"gpu{gpu}" if gpu is not None else "",
                    "PCI address of the GPU",
                    f"the Xid {code} line {line.number} states no full PCI address ({address!r}), "
                    "so the identity and serial number of the GPU stay unknown",
                )
            )
            device = f"gpu{gpu}" if gpu is not None else ""
        else:
            details["pci"] = device.removeprefix("pci-")
            self._add_identity(line.node, details)
        link = details.get("link")
        interface = device
        if link is not None and link >= 0:
            interface = f"{device}/nvlink-{link}" if device else f"nvlink-{link}"
        return line.event("xid", interface, details=details)

    def _add_identity(self, node: str, details: dict[str, Any]) -> None:
        key = (node, str(details["pci"]))
        if key in self._uuids:
            details["gpu_uuid"] = self._uuids[key]
        if key in self._serials:
            details["serial"] = self._serials[key]

    # -- identity of the board, printed around an Xid -----------------------------------------

    def _identity(self, line: KernelLine) -> bool:
        if found := _IDENTITY.search(line.message):
            pci = normalise_pci(found.group(1))
            self._last_identity = (line.node, pci)
            self._uuids[self._last_identity] = found.group(2)
            self._result.facts.setdefault("gpu_uuid", {})[f"pci-{pci}"] = found.group(2)
            return True
        if found := _GPU_SERIAL.search(line.message):
            self._note_serial((line.node, normalise_pci(found.group(1))), found.group(2))
            self._extend_lost(line, normalise_pci(found.group(1)))
            return True
        if found := _SERIAL.search(line.message):
            if self._last_identity[1]:
                self._note_serial(self._last_identity, found.group(1))
            return True
        return False

    def _note_serial(self, key: tuple[str, str], serial: str) -> None:
        if serial.strip("0"):
            self._serials[key] = serial
            self._result.facts.setdefault("gpu_serial", {})[f"pci-{key[1]}"] = serial
            return
        fact = UnknownFact(
            key[0],
            f"pci-{key[1]}",
            "serial number of the GPU board",
            f"the driver prints {serial or 'nothing'!r}, which is no serial number",
        )
        if fact not in self._result.unknown:
            self._result.unknown.append(fact)

    # -- GPU fallen off the bus ----------------------------------------------------------------

    def _fallen(self, line: KernelLine) -> bool:
        if found := _LOST_OPEN.search(line.message):
            self._half_lost = (line, normalise_pci(found.group(1)))
            if not _LOST.search(line.message):
                return True
        if not _LOST.search(line.message):
            return self._lost_tail(line)
        start, pci = self._lost_place(line)
        if pci and self._extend_lost(line, pci):
            return True
        event = start.event(
            "gpu_lost",
            f"pci-{pci}" if pci else "",
            role="cause",
            severity="critical",
            reason="the GPU has fallen off the bus",
            details={"pci": pci, "subject": "pcie", "is_link": True},
        )
        if start is not line:
            extend(event, line)
        if pci:
            self._add_identity(line.node, event.details)
        self._lost[(line.node, pci)] = event
        self._half_lost = None
        self._result.events.append(event)
        return True

    def _lost_place(self, line: KernelLine) -> tuple[KernelLine, str]:
        """First line and address of a loss report: on the line itself or up to four lines above."""
        found = _ANY_BDF.search(line.message)
        if self._half_lost and line.number - self._half_lost[0].number <= 4:
            return self._half_lost
        return line, normalise_pci(found.group(0)) if found else ""

    def _lost_tail(self, line: KernelLine) -> bool:
        if not _LOST_TAIL.search(line.message):
            return False
        found = _ANY_BDF.search(line.message)
        pci = normalise_pci(found.group(0)) if found else ""
        near = [key for key in self._lost if key[0] == line.node and (not pci or key[1] == pci)]
        return bool(near) and self._extend_lost(line, near[-1][1])

    def _extend_lost(self, line: KernelLine, pci: str) -> bool:
        """Add the line to an open loss report of the same GPU; False when there is none near."""
        event = self._lost.get((line.node, pci))
        if event is None or line.number - (event.last_line or event.line) > FOLD_LINES:
            return False
        gap = line.gap_s(event)
        if gap is not None and gap > FOLD_S:
            return False
        extend(event, line)
        return True

    def _fold_into_79(self, line: KernelLine, event: FabricEvent) -> None:
        """A loss report without number just before becomes part of the Xid 79."""
        pci = str(event.details.get("pci", ""))
        earlier = self._lost.get((line.node, pci))
        if earlier is not None and earlier.kind == "gpu_lost" and self._extend_lost(line, pci):
            event.line, event.text = earlier.line, earlier.text
            self._result.events.remove(earlier)
        self._lost[(line.node, pci)] = event

    # -- other -----------------------------------------------------------------------------------

    def _peermem(self, line: KernelLine) -> bool:
        if not _PEERMEM.search(line.message):
            return False
        self._result.events.append(
            line.event(
                "peermem_error",
                role="cause",
                severity="warning",
                reason="the nvidia-peermem module reports an error",
                details={"subject": "driver", "is_link": False},
            )
        )
        return True

    def _init_failed(self, line: KernelLine) -> bool:
        found = _INIT_FAILED.search(line.message)
        if not found:
            return False
        self._result.events.append(
            line.event(
                "gpu_init_failed",
                pci_interface(found.group(1)),
                role="cause",
                severity="warning",
                reason="the driver could not start the GPU",
                details={
                    "pci": normalise_pci(found.group(1)),
                    "subject": "gpu",
                    "is_link": False,
                },
            )
        )
        return True


def _xid_details(code: int, body: str) -> dict[str, Any]:
    """What the text behind the number says; absent parts are missing keys."""
    meaning = xid_meaning(code)
    details: dict[str, Any] = {"subject": meaning.subject, "is_link": meaning.is_link}
    if found := _GPU_WORD.search(body):
        details["gpu"] = int(found.group(1))
    if (found := _PROCESS.search(body)) and found.group(2) and "unknown" not in found.group(2):
        details["process"] = found.group(2)
    if found := _PREVIOUS.search(body):
        previous = xid_meaning(int(found.group(1)))
        details["previous_xid"] = previous.code
        details["previous_meaning"] = {
            "role": previous.role,
            "severity": previous.severity,
            "reason": previous.says,
            "is_link": previous.is_link,
            "subject": previous.subject,
        }
    if found := _RECOVERY.search(body):
        details["recovery_action"] = found.group(1)
    if found := _NVLINK5.search(body):
        details.update(_nvlink5_details(found))
    elif found := _NVLINK_OLD.search(body):
        details["link"] = int(found.group(1))
        details["words"] = [int(word, 16) for word in _HEX.findall(found.group(2) or "")]
        details["is_fatal"] = "fatal" in body.lower() and "non-fatal" not in body.lower()
        details.update(subject="nvlink", is_link=True)
    elif meaning.subject == "nvlink" and (found := _LINK_WORD.search(body)):
        details["link"] = int(found.group(1))
    return details


def _nvlink5_details(found: re.Match[str]) -> dict[str, Any]:
    """Unit, severity word, flags, link and words of the form used since NVLink 5."""
    words = [int(word, 16) for word in _HEX.findall(found.group(6) or "")]
    details: dict[str, Any] = {
        "unit": found.group(1).upper(),
        "is_fatal": found.group(2).lower() == "fatal",
        "is_contained": found.group(3) == "0",
        "link": int(found.group(5)),
        "words": words,
        "subject": "nvlink",
        "is_link": True,
    }
    if words:
        details["subcode"] = words[0] >> 20 & 0x3F  # bits 20 to 25 of the first word
    return details


def _weigh_nvlink(event: FabricEvent) -> None:
    """Severity words, register bits and `Link -1` change what an NVLink code means alone."""
    details = event.details
    if not details.get("is_link") or details["subject"] != "nvlink":
        return
    if event.code not in (74, 145, 149) and details.get("is_fatal") and "words" in details:
        event.role, event.severity = (
            "cause",
            "warning" if event.code in range(144, 151) else "critical",
        )
    if event.code == 74 and details.get("words"):
        details["register_class"], details["register_bits"] = register_class(details["words"])
        if details["register_class"] in ("ignored", "secondary", "corrected"):
            event.role, event.severity = "context", "watch"
    if details.get("is_fatal") is False and event.code != 145:
        event.role, event.severity = "context", "watch"
    if details.get("link") == -1:
        details["scope"] = "whole GPU"
