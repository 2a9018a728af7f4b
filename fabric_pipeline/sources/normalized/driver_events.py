"""What the vendor catalogues say of an Xid, SXid or AER event that a site has put into normalized form.

The text is read by the parsers of the kernel log, so that an event means the same whether it comes as
a log line or as a row. Rows of other kinds are not touched here; nothing here weighs events.
"""

from __future__ import annotations

import re

from fabric_pipeline.model.components import device_of, gpu_index, nvlink_index, port_index
from fabric_pipeline.model.records import FabricEvent, ReadResult
from fabric_pipeline.sources.kernel_log.frames import KernelLine
from fabric_pipeline.sources.kernel_log.nvidia import NvidiaParser
from fabric_pipeline.sources.kernel_log.nvswitch import NvswitchParser
from fabric_pipeline.sources.kernel_log.sxid_catalog import sxid_meaning
from fabric_pipeline.sources.kernel_log.xid_catalog import xid_meaning

# Spellings of the AER kinds -> canonical kind, and whether the kind itself says fatal.
_AER_KINDS: dict[str, tuple[str, bool | None]] = {
    "aer_corrected": ("aer_corrected", False),
    "aer_correctable": ("aer_corrected", False),
    "aer_uncorrected": ("aer_uncorrected", None),
    "aer_uncorrectable": ("aer_uncorrected", None),
    "aer_fatal": ("aer_uncorrected", True),
    "aer_nonfatal": ("aer_uncorrected", False),
    "aer_non_fatal": ("aer_uncorrected", False),
}
_SEVERITY = re.compile(r"\b(non|not)?[-_\s]?fatal\b", re.IGNORECASE)
# The driver's own form: `Xid (PCI:0000:5d:00): 149, ...`
_DRIVER_FORM = re.compile(
    r"\bS?Xid\s?\((?:PCI:)?([^()]{0,40})\)\s?:\s?\d{1,6}\b,?\s{0,4}(.*)", re.IGNORECASE
)
_CODE = re.compile(r"\bS?Xid\b(?:\s?\([^()]{0,44}\)\s?:)?\s{0,3}(\d{1,6})\b", re.IGNORECASE)
_SWITCH = re.compile(r"nvswitch-?(\d{1,3})")


def add_catalogue_words(event: FabricEvent) -> None:
    """Fill role, severity, reason and `details` of an Xid, SXid, AER or lost-GPU event in place.

    A missing code is taken from the text, a missing link from the text to the interface.
    """
    if event.kind in ("xid", "sxid"):
        _add_code(event)
        _place(event)
    elif event.kind in _AER_KINDS:
        _weigh_aer(event)
        _place(event)
    elif event.kind == "gpu_lost":
        event.details.update(subject="pcie", is_link=True)
        _place(event)


def _add_code(event: FabricEvent) -> None:
    """Look the code up, reading the text as the driver's line."""
    if event.code is None and (found := _CODE.search(event.text)):
        event.code = int(found.group(1))
    if event.code is None:
        event.role, event.severity = "context", "watch"
        event.reason = f"an {event.kind.replace('xid', 'Xid')} event without its number"
        event.details.update(subject="unknown", is_link=False)
    elif event.kind == "xid":
        _weigh_xid(event, event.code)
    else:
        _weigh_sxid(event, event.code)


def _weigh_xid(event: FabricEvent, code: int) -> None:
    meaning = xid_meaning(code)
    event.role, event.severity, event.reason = meaning.role, meaning.severity, meaning.says
    event.details.update(subject=meaning.subject, is_link=meaning.is_link)
    address, body = _driver_parts(event)
    result = ReadResult()
    NvidiaParser(result).feed(_line(event, f"NVRM: Xid (PCI:{address}): {code}, {body}"))
    for read in result.events:
        event.role, event.severity, event.reason = read.role, read.severity, read.reason
        event.details.update(read.details)
        link = read.details.get("link")
        if not event.interface:
            event.interface = read.interface
        elif link is not None and link >= 0 and _is_whole_gpu(event.interface):
            event.interface = f"{event.interface}/nvlink-{link}"
    if (link := nvlink_index(event.interface)) is not None:
        event.details["link"] = link


def _weigh_sxid(event: FabricEvent, code: int) -> None:
    meaning = sxid_meaning(code)
    event.reason = meaning.says
    event.details.update(subject="nvlink", is_link=True, per_port=meaning.per_port)
    address, body = _driver_parts(event)
    number = _SWITCH.search(event.text)
    head = f"nvidia-nvswitch{number.group(1) if number else ''}: SXid (PCI:{address}): {code}"
    result = ReadResult()
    NvswitchParser(result).feed(_line(event, f"{head}, {body or meaning.says}"))
    for read in result.events:
        event.details.update(read.details)
        event.details.pop("parts", None)
        _take_switch(event, read)
    if meaning.is_fatal is not None:
        event.details.setdefault("is_fatal", meaning.is_fatal)
    if found := _SEVERITY.search(event.text):  # the word on the line wins over the catalogue
        event.details["is_fatal"] = found.group(1) is None
    is_fatal = bool(event.details.get("is_fatal"))
    event.role, event.severity = ("cause", "critical") if is_fatal else ("context", "watch")


def _take_switch(event: FabricEvent, read: FabricEvent) -> None:
    """The row's own component decides; the text only adds a port to a switch named without one."""
    if not event.interface:
        event.interface = read.interface
    elif _is_whole_switch(event.interface) and port_index(read.interface) is not None:
        event.interface = f"{event.interface}/port-{port_index(read.interface)}"
    event.details["switch"] = device_of(event.interface)
    if (port := port_index(event.interface)) is not None:
        event.details["link"] = port


def _is_whole_gpu(interface: str) -> bool:
    return "/" not in interface and interface.startswith(("gpu", "pci-"))


def _is_whole_switch(interface: str) -> bool:
    return "/" not in interface and interface.startswith(("nvswitch", "pci-"))


def _weigh_aer(event: FabricEvent) -> None:
    event.kind, is_fatal = _AER_KINDS[event.kind]
    found = _SEVERITY.search(event.text)
    if is_fatal is None and found:
        is_fatal = found.group(1) is None
    is_corrected = event.kind == "aer_corrected"
    event.reason = "PCIe errors were corrected" if is_corrected else "PCIe errors not corrected"
    event.details.update(subject="pcie", is_link=True)
    if is_fatal is not None:  # an uncorrected error of unstated severity is taken for fatal
        event.details["is_fatal"] = is_fatal
    accuses = is_fatal is not False
    event.role, event.severity = ("cause", "critical") if accuses else ("context", "watch")


def _place(event: FabricEvent) -> None:
    """Address and index of the device, as the kernel log states them."""
    device = device_of(event.interface)
    if device.startswith("pci-"):
        event.details["pci"] = device.removeprefix("pci-")
    if (gpu := gpu_index(event.interface)) is not None:
        event.details["gpu"] = gpu


def _driver_parts(event: FabricEvent) -> tuple[str, str]:
    """PCI address and what the driver says behind the number; without its form the whole text."""
    text = event.text.replace("\n", " ").replace("\r", " ")
    found = _DRIVER_FORM.search(text)
    address, body = (found.group(1), found.group(2)) if found else ("", text)
    device = device_of(event.interface)
    if device.startswith("pci-"):
        address = device.removeprefix("pci-")
    return address, body


def _line(event: FabricEvent, message: str) -> KernelLine:
    return KernelLine(event.line, event.text, message, event.node)
