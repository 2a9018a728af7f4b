"""Output of `lspci`: link width and speed from `-vv`, an inventory from the plain list.

Widths and speeds become state readings, sticky error bits become facts: they have no date and no
count, and a `(downgraded)` mark means little on management devices and spare ports. Judging that is
not done here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import (
    MAX_TEXT,
    Reading,
    ReadResult,
    RejectedLine,
    TopologyPart,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile

MAX_LINE = 4096
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_HEADER = re.compile(
    r"^(?:[^\s:]{1,80}:\s{1,4})?((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s{1,4}"
    r"([A-Za-z0-9][^:]{1,100}?)(?: \[([0-9a-f]{4})\])?:\s{1,4}(\S.{0,400})"
)
_MACHINE = re.compile(
    r'^((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s"([^"]{1,100})"\s"([^"]{1,200})"\s"([^"]{1,200})"'
)
_HALF_HEADER = re.compile(r"^(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b")
_LINK = re.compile(r"^\s{0,20}(LnkCap|LnkSta):\s{0,10}(.{0,400})")
_SPEED = re.compile(r"Speed\s{1,4}(unknown|[0-9.]{1,6}\s?GT/s)(?:\s\((\w{1,20})\))?", re.IGNORECASE)
_WIDTH = re.compile(r"Width\s{1,4}(?:x([0-9]{1,3})|(unknown))(?:\s\((\w{1,20})\))?", re.IGNORECASE)
_ERRORS = re.compile(r"^\s{0,20}(CESta|UESta|DevSta):\s{0,10}(.{0,400})")
_SET_BIT = re.compile(r"\b([A-Za-z][\w-]{1,20})\+")
_SERIAL = re.compile(
    r"\[SN\]\s{0,4}Serial number:\s{0,4}(\S{1,60})|Device Serial Number\s{1,4}(\S{1,60})"
)
_DENIED = re.compile(r"Capabilities: <access denied>")
_NUMA = re.compile(r"^\s{1,20}NUMA node:\s{0,4}(\d{1,4})")
# Raw rate of one lane by PCIe generation (PCI Express base specification).
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_ERROR_BITS = frozenset({"CorrErr", "NonFatalErr", "FatalErr", "UnsupReq"})


@dataclass(slots=True)
class _Device:
    """One device block: where it starts, what it is, and what its link lines said."""

    line: int
    pci: str
    kind: str
    name: str
    class_code: str = ""
    has_cap: bool = False
    has_sta: bool = False
    is_denied: bool = False
    bits: list[str] = field(default_factory=list)

    @property
    def interface(self) -> str:
        """Interface in the component grammar, "" for a block whose header is missing."""
        return f"pci-{self.pci}" if self.pci else ""

    @property
    def text(self) -> str:
        """The device in the words of the list."""
        return f"{self.kind}: {self.name}"[:MAX_TEXT] if self.kind else ""


def _clean_lines(file: SourceFile) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(file.lines, 1):
        yield number, _ANSI.sub("", raw[:MAX_LINE]).rstrip()


def _header(number: int, line: str) -> _Device | None:
    """The device of a header line, in the usual or in the machine-readable form."""
    if found := _HEADER.match(line):
        address, kind, code, name = found.groups()
        return _Device(number, normalise_pci(address), kind.strip(), name.strip(), code or "")
    if found := _MACHINE.match(line):
        address, kind, vendor, name = found.groups()
        return _Device(number, normalise_pci(address), kind, f"{vendor} {name}")
    return None


def _counts(head: str) -> tuple[int, int, int]:
    """Lines, device headers and link lines in the head of a file."""
    lines = [line[:MAX_LINE] for line in head.splitlines() if line.strip()]
    headers = sum(1 for line in lines if _HEADER.match(line) or _MACHINE.match(line))
    links = sum(1 for line in lines if _LINK.match(line) or _ERRORS.match(line))
    return len(lines), headers, links


class LspciVerboseReader:
    """Reads `lspci -vv` and `-vvv`."""

    format_id: ClassVar[str] = "lspci_verbose"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="lspci -vv, -vvv",
        versions="not stated",
        recognised_by="LnkCap, LnkSta or error status lines below device headers",
        gives=(
            "PCIe width, speed and generation of every link with their maxima; sticky error bits,"
            " NUMA nodes and serial numbers as facts"
        ),
        traps=(
            "Sticky error bits have no date and no count; they are facts, not events.",
            (
                "`(downgraded)` means little on idle GPUs, management devices and spare ports; it"
                " is kept as the tool's mark."
            ),
            "Without root the link state is denied: unknown, not healthy.",
            "An excerpt that begins below its header has no address.",
            "The output names no host and no time.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Link capability or status lines below device headers."""
        if file.is_binary:
            return 0
        lines, headers, links = _counts(file.head)
        if not links:
            return 60 if headers >= 2 and "\tCapabilities: " in file.head else 0
        return 95 if headers else 80 if links >= 0.3 * lines else 50

    def read(self, file: SourceFile) -> ReadResult:
        """One reading for each width and speed of a link."""
        result = ReadResult()
        block = _Block(result, file)
        for number, line in _clean_lines(file):
            block.feed(number, line)
        block.close()
        result.facts.update(block.facts())
        return result


class _Block:
    """Walks through device blocks and turns link lines into readings."""

    def __init__(self, result: ReadResult, file: SourceFile) -> None:
        self._result = result
        self._file = file
        self._device: _Device | None = None
        self._kinds: Counter[str] = Counter()
        self._sticky: dict[str, list[str]] = {}
        self._downgraded: dict[str, str] = {}
        self._numa: dict[str, int] = {}
        self._serials: dict[str, str] = {}

    def feed(self, number: int, line: str) -> None:
        """Use one line."""
        if (device := _header(number, line)) is not None:
            self.close()
            self._device = device
            self._kinds[device.kind] += 1
            return
        if found := _LINK.match(line):
            self._link(number, line, found.group(1), found.group(2))
            return
        if self._device is None:
            if _HALF_HEADER.match(line):
                self._reject(number, line, "a device header needs a class and a name")
            return
        self._detail(line, self._device)

    def _detail(self, line: str, device: _Device) -> None:
        if found := _ERRORS.match(line):
            bits = [
                b
                for b in _SET_BIT.findall(found.group(2))
                if found.group(1) != "DevSta" or b in _ERROR_BITS
            ]
            device.bits += [f"{found.group(1)}.{bit}" for bit in bits]
        elif found := _NUMA.match(line):
            self._numa[device.interface] = int(found.group(1))
        elif found := _SERIAL.search(line):
            self._serials[device.interface] = found.group(1) or found.group(2)
        elif _DENIED.search(line):
            device.is_denied = True

    def _reject(self, number: int, line: str, rule: str) -> None:
        self._result.rejected.append(RejectedLine(number, line[:MAX_TEXT], rule))

    def _link(self, number: int, line: str, which: str, text: str) -> None:
        device = self._device = self._device or self._nameless(number)
        speed, width = _SPEED.search(text), _WIDTH.search(text)
        if not speed and not width:
            self._reject(number, line, "a link line needs a speed or a width")
            return
        is_cap = which == "LnkCap"
        device.has_cap, device.has_sta = device.has_cap or is_cap, device.has_sta or not is_cap
        suffix = "_max" if is_cap else ""
        if width:
            value = float(width.group(1)) if width.group(1) else None
            self._add(number, which, width, f"width{suffix}", value)
        if speed:
            value = _rate(speed.group(1))
            self._add(number, which, speed, f"speed{suffix}_gbps", value)
            if value in _GENERATIONS:
                self._add(number, which, speed, f"pcie_gen{suffix}", float(_GENERATIONS[value]))

    def _nameless(self, number: int) -> _Device:
        """Stands for the device of an excerpt that begins below the header."""
        self._result.unknown.append(
            UnknownFact(
                self._file.hints.node, "", "PCI address", f"no device header above line {number}"
            )
        )
        return _Device(number, "", "", "")

    def _add(
        self, number: int, which: str, found: re.Match[str], counter: str, value: float | None
    ) -> None:
        """One reading; a mark such as `downgraded` is the last group of the pattern."""
        device = self._device
        if device is None:
            return
        mark = found.group(found.re.groups) or ""
        if mark == "downgraded":
            self._downgraded[device.interface or "unknown"] = device.text
        self._result.readings.append(
            Reading(
                line=number,
                counter_text=f"{which} {found.group(0).split()[0]}",
                value_text=found.group(0),
                entity_text=device.text,
                node=self._file.hints.node,
                interface=device.interface,
                link_type="pcie",
                counter=counter,
                value=value,
                kind="gauge",
                quality="ok" if value is not None else "not_supported",
                time=self._file.hints.time,
                state=mark,
            )
        )

    def close(self) -> None:
        """End of a device block."""
        device, self._device = self._device, None
        if device is None:
            return
        if device.bits:
            self._sticky[device.interface] = device.bits
        if device.is_denied or (device.has_cap and not device.has_sta):
            why = (
                "lspci was not run as root" if device.is_denied else "the block ends before LnkSta"
            )
            self._result.unknown.append(
                UnknownFact(self._file.hints.node, device.interface, "PCIe link state", why)
            )

    def facts(self) -> dict[str, Any]:
        """What people may want to look up: no counts and no dates belong to the sticky bits."""
        return {
            "devices": sum(self._kinds.values()),
            "device_classes": dict(self._kinds.most_common(40)),
            "sticky_error_bits": self._sticky,
            "downgraded": self._downgraded,
            "numa_node": self._numa,
            "device_serial": self._serials,
        }


def _rate(text: str) -> float | None:
    number = text.lower().removesuffix("gt/s").strip()
    try:
        return float(number)
    except ValueError:
        return None


class LspciListReader:
    """Reads the one-line-a-device list: an inventory, nothing measured."""

    format_id: ClassVar[str] = "lspci_list"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="lspci, lspci -nn, -mm",
        versions="not stated",
        recognised_by="mostly lines of one device each, and no link state anywhere",
        gives="GPUs, NVSwitches and network cards by PCI address",
        traps=("It has no width, speed or error; those stay unknown.",),
    )

    def score(self, file: SourceFile) -> int:
        """Most lines are device headers and none tells a link state."""
        if file.is_binary:
            return 0
        lines, headers, links = _counts(file.head)
        if links or not headers or "\tCapabilities: " in file.head:
            return 0
        return 90 if headers >= 0.5 * lines else 40

    def read(self, file: SourceFile) -> ReadResult:
        """GPUs, NVSwitches and network cards by PCI address."""
        result = ReadResult()
        devices: list[_Device] = []
        for number, line in _clean_lines(file):
            device = _header(number, line)
            if device is not None:
                devices.append(device)
            elif _HALF_HEADER.match(line):
                rule = "a device header needs a class and a name"
                result.rejected.append(RejectedLine(number, line[:MAX_TEXT], rule))
        result.topology = TopologyPart(nodes=[_node(file.hints.node, devices)] if devices else [])
        result.facts["devices"] = len(devices)
        result.facts["device_classes"] = dict(Counter(d.kind for d in devices).most_common(40))
        result.unknown.append(
            UnknownFact(
                file.hints.node,
                "",
                "PCIe link state",
                "a device list tells no width, speed or error",
            )
        )
        return result


def _node(node: str, devices: list[_Device]) -> dict[str, Any]:
    gpus = [
        d
        for d in devices
        if _is_nvidia(d) and d.kind in ("3D controller", "VGA compatible controller")
    ]
    switches = [d for d in devices if _is_nvidia(d) and d.kind == "Bridge"]
    nics = [d for d in devices if _is_nic(d)]
    return {
        "node": node,
        "gpus": [{"pci": d.pci, "model": d.name} for d in gpus],
        "nvswitches": [{"pci": d.pci} for d in switches],
        "nics": [{"pci": d.pci, "model": d.name} for d in nics],
    }


def _is_nvidia(device: _Device) -> bool:
    return "nvidia" in device.name.lower()


def _is_nic(device: _Device) -> bool:
    kind = device.kind.lower()
    return kind.startswith("infiniband") or (
        kind in ("ethernet controller", "network controller") and "mellanox" in device.name.lower()
    )
