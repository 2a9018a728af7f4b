"""Port messages of network drivers, bonding, RDMA and network daemons: link up or down, cable, module.

The driver, the bonding driver and the RDMA layer each tell of the same change under their own name;
lines about one port within a second are one event. Virtual interfaces are no fabric and left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import FabricEvent, ReadResult
from fabric_pipeline.sources.kernel_log.frames import KernelLine, extend
from fabric_pipeline.sources.kernel_log.port_names import PortNames, is_virtual

FOLD_S = 1.0  # bonding and RDMA follow the driver within some 100 ms; syslog counts whole seconds
FOLD_LINES = 4  # the same without any clock

_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_NETDEV = r"[A-Za-z][\w.@-]{0,14}"
_DRIVER_LINK = re.compile(
    rf"\bmlx[45]_(?:core|en)\b:?\s{{1,4}}(?:(?P<bdf>{_BDF}):?\s{{1,4}})?(?:(?P<netdev>{_NETDEV})"
    r"(?: \([a-z ]{1,30}\))?:\s{1,4})?Link (?P<state>up|down)\b",
    re.IGNORECASE,
)
_RDMA_LINK = re.compile(
    rf"(?:(?P<bdf>{_BDF}):?\s{{1,4}})?\b(?P<rdma>(?:mlx[45]|bnxt_re|hfi1|irdma|rocep?)[\w-]{{0,20}}):"
    r"\s{1,4}[Pp]ort:? ?(?P<port>\d{1,3})[: ]\s{0,3}Link (?P<state>\w{2,12})",
)
_HFI = re.compile(
    rf"(?:(?P<bdf>{_BDF}):\s{{1,4}})?(?P<rdma>hfi1_\d{{1,3}}): logical state changed to "
    r"PORT_(?P<state>ACTIVE|DOWN|INIT)"
)
_NIC_LINK = re.compile(
    rf"\b(?P<driver>[a-z][\w-]{{1,20}}):?\s{{1,4}}(?P<bdf>{_BDF}):?\s{{1,4}}(?:(?P<netdev>{_NETDEV}):\s)?"
    r".{0,60}?\bNIC Link is (?P<state>Up|Down)",
    re.IGNORECASE,
)
_BOND = re.compile(
    rf"\b(?P<bond>[\w.-]{{1,15}}): (?:\(slave (?P<slave>{_NETDEV})\): )?"
    rf"link status definitely (?P<state>down|up)(?: for interface (?P<old>{_NETDEV}))?"
)
_CARRIER = re.compile(rf"^(?P<netdev>{_NETDEV}): (?P<state>Lost|Gained) carrier")
_NM = re.compile(
    rf"device \((?P<netdev>{_NETDEV})\): carrier: link (?P<state>disconnected|connected)"
)
_MODULE = re.compile(
    rf"(?:(?P<bdf>{_BDF}):?\s.{{0,60}}?)?[Pp]ort module event(?:\[error\])?: module (?P<module>\d{{1,3}}), "
    r"(?P<what>[^,]{1,60})(?:, (?P<error>.{1,200}))?",
)
_MODULE_OLD = re.compile(
    rf"(?:(?P<bdf>{_BDF}):?\s.{{0,60}}?)?Module (?P<module>\d{{1,3}}), status: (?P<what>[\w ]{{1,60}})(?P<error>)"
)
_POWER = re.compile(rf"(?P<bdf>{_BDF}):?\s.{{0,60}}?Detected insufficient power on the PCIe slot")
_HEALTH = re.compile(
    rf"(?P<bdf>{_BDF}):?\s.{{0,80}}?(?:health compromised|Fatal error detected|device is in error state)",
    re.IGNORECASE,
)
_HOT = re.compile(rf"(?P<bdf>{_BDF}):?\s.{{0,60}}?High temperature on sensors with bit set")
_WATCHDOG = re.compile(rf"NETDEV WATCHDOG: (?P<netdev>{_NETDEV}) \((?P<driver>[\w-]{{1,20}})\)")
_STATES = {
    "down": "down", "lost": "down", "disconnected": "down", "error": "down",
    "up": "up", "active": "up", "gained": "up", "connected": "up",
    "init": "init", "initialize": "init", "armed": "init",
}  # fmt: skip
# Drivers of management and desktop cards: their links are no part of a GPU fabric.
_HOST_DRIVERS = frozenset(
    [
        "igb",
        "igc",
        "ixgbe",
        "e1000",
        "e1000e",
        "tg3",
        "r8169",
        "r8152",
        "be2net",
        "bnx2",
        "bnx2x",
        "atlantic",
    ]
)
_FABRIC_DRIVERS = frozenset({"mlx5", "mlx4", "rdma", "bnxt_en"})


@dataclass(slots=True)
class _Signal:
    """One line about one port, with the source that speaks."""

    line: KernelLine
    state: str
    source: str
    is_fabric: bool | None
    bdf: str = ""
    netdev: str = ""
    rdma: str = ""


@dataclass(slots=True)
class _PortState:
    """Last change of a port, for folding."""

    event: FabricEvent
    line: KernelLine
    sources: list[str] = field(default_factory=list)


class LinkParser:
    """Collects port events. `feed` returns True when the line was used; `finish` folds and names."""

    def __init__(self, result: ReadResult) -> None:
        self._result = result
        self._names = PortNames()
        self._signals: list[_Signal] = []
        self._half: KernelLine | None = None  # a module message that was wrapped behind its head
        self._modules: list[tuple[FabricEvent, KernelLine, str]] = []

    def feed(self, line: KernelLine) -> bool:
        """Use one line."""
        self._names.learn(line.node, line.message)
        return (
            self._driver(line)
            or self._bonding(line)
            or self._daemon(line)
            or self._module(line)
            or self._device(line)
        )

    def finish(self) -> None:
        """Give every port one name and fold the lines of one change into one event."""
        states: dict[tuple[str, str], _PortState] = {}
        for signal in self._signals:
            self._fold(signal, states)
        for event, line, bdf in self._modules:
            event.interface = event.interface or self._names.name(line.node, bdf=bdf)

    # -- lines ----------------------------------------------------------------------------------

    def _add(
        self,
        line: KernelLine,
        found: re.Match[str],
        source: str,
        is_fabric: bool | None,
        netdev: str = "",
        rdma: str = "",
    ) -> bool:
        state = _STATES.get(found["state"].lower())
        if state is None:
            return False
        bdf = found.groupdict().get("bdf") or ""
        pci = normalise_pci(bdf) if bdf else ""
        self._names.join(line.node, pci, netdev, rdma)
        self._signals.append(_Signal(line, state, source, is_fabric, pci, netdev, rdma))
        return True

    def _driver(self, line: KernelLine) -> bool:
        if found := _RDMA_LINK.search(line.message) or _HFI.search(line.message):
            port = found.groupdict().get("port") or "1"
            return self._add(line, found, "rdma", True, rdma=f"{found['rdma']}/{port}")
        if found := _DRIVER_LINK.search(line.message):
            return self._add(line, found, "mlx5", True, netdev=_plain(found["netdev"]))
        if found := _NIC_LINK.search(line.message):
            driver = found["driver"].lower()
            is_fabric = False if driver in _HOST_DRIVERS else driver in _FABRIC_DRIVERS or None
            return self._add(line, found, driver, is_fabric, netdev=_plain(found["netdev"]))
        return False

    def _bonding(self, line: KernelLine) -> bool:
        found = _BOND.search(line.message)
        if not found:
            return False
        netdev = _plain(found["slave"] or found["old"])
        return (
            not netdev
            or is_virtual(netdev)
            or self._add(line, found, "bonding", None, netdev=netdev)
        )

    def _daemon(self, line: KernelLine) -> bool:
        found = _NM.search(line.message)
        if line.program == "systemd-networkd":
            found = _CARRIER.search(line.message)
        if not found:
            return False
        netdev = _plain(found["netdev"])
        return is_virtual(netdev) or self._add(line, found, "daemon", None, netdev=netdev)

    def _module(self, line: KernelLine) -> bool:
        start, text = line, line.message
        if self._half and line.number == self._half.number + 1:
            start, text = self._half, f"{self._half.message} {line.message}"
        self._half = line if line.message.lower().endswith("port module") else None
        found = _MODULE.search(text) or _MODULE_OLD.search(text)
        if not found:
            return self._half is not None
        what, error = found["what"].strip().lower(), (found["error"] or "").strip()
        kind, severity, says = _module_kind(what, error)
        event = start.event(
            kind,
            severity=severity,
            reason=says,
            details={
                "module": int(found["module"]),
                "driver_words": ", ".join(w for w in (found["what"].strip(), error) if w),
                "subject": "port",
                "is_link": True,
            },
        )
        if start is not line:
            extend(event, line)
        bdf = normalise_pci(found["bdf"]) if found["bdf"] else ""
        self._modules.append((event, line, bdf))
        self._result.events.append(event)
        return True

    def _device(self, line: KernelLine) -> bool:
        if found := _POWER.search(line.message):
            self._note(line, "pcie_slot_power_low", found["bdf"], "watch", "too little slot power")
        elif found := _HOT.search(line.message):
            says = "temperature sensors of the network card are above their limit"
            self._note(line, "nic_over_temperature", found["bdf"], "watch", says)
        elif "mlx5_core" in line.message and (found := _HEALTH.search(line.message)):
            self._note(
                line, "nic_failed", found["bdf"], "warning", "the network card does not answer"
            )
        elif found := _WATCHDOG.search(line.message):
            if found["driver"].startswith("mlx"):
                event = line.event("tx_timeout", severity="watch", reason="a send queue timed out")
                event.interface = found["netdev"]
                self._result.events.append(event)
        else:
            return False
        return True

    def _note(self, line: KernelLine, kind: str, bdf: str, severity: str, says: str) -> None:
        event = line.event(kind, severity=severity, reason=says)
        event.role = "cause" if severity == "warning" else "context"
        event.details.update(subject="port", is_link=True, pci=normalise_pci(bdf))
        self._modules.append((event, line, normalise_pci(bdf)))
        self._result.events.append(event)

    # -- folding ---------------------------------------------------------------------------------

    def _fold(self, signal: _Signal, states: dict[tuple[str, str], _PortState]) -> None:
        node = signal.line.node
        name = self._names.name(node, signal.bdf, signal.netdev, signal.rdma)
        last = states.get((node, name))
        if last is not None and self._is_same(last, signal):
            extend(last.event, signal.line)
            last.sources.append(signal.source)
            last.event.details["sources"] = last.sources
            if signal.is_fabric is not None:
                last.event.details["is_fabric"] = signal.is_fabric
            return
        event = signal.line.event(
            f"link_{signal.state}",
            name,
            severity="watch" if signal.state == "down" else "info",
            reason=f"the link went {signal.state}",
            details={
                "sources": [signal.source],
                "is_fabric": signal.is_fabric or self._names.is_fabric(node, name),
                "subject": "port",
                "is_link": True,
            },
        )
        if signal.is_fabric is False:
            event.details["is_fabric"] = False
        event.details.update(self._names.other_names(node, name))
        states[(node, name)] = _PortState(event, signal.line, [signal.source])
        self._result.events.append(event)

    @staticmethod
    def _is_same(last: _PortState, signal: _Signal) -> bool:
        """True when the signal repeats, from another source, the change that was just told."""
        if last.event.kind != f"link_{signal.state}" or signal.source in last.sources:
            return False
        gap = signal.line.gap_s(last.event)
        if gap is None:
            return signal.line.number - (last.event.last_line or 0) <= FOLD_LINES
        return gap <= FOLD_S


def _plain(netdev: str | None) -> str:
    return (netdev or "").partition("@")[0]


def _module_kind(what: str, error: str) -> tuple[str, str, str]:
    """Kind, severity alone and words of a module event; the error text decides, not `Cable error`."""
    text = f"{what} {error}".lower()
    if "temperature" in text:
        return "module_over_temperature", "watch", "the module reports high temperature"
    if "unplugged" in what:
        return "cable_unplugged", "watch", "the cable or module was unplugged"
    if "plugged" in what:
        return "cable_plugged", "info", "a cable or module was plugged in"
    if "power" in text:
        return "module_without_power", "watch", f"the module gets no power ({error or what})"
    if "error" in what:
        return "cable_error", "watch", f"the driver reports a cable error ({error or 'no detail'})"
    return "module_event", "info", f"module event: {what}"
