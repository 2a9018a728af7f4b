"""One queried GPU, whether `nvidia-smi -q` printed it as text or as XML, turned into records.

The two readers collect fields under the names used here; which GPU index a record has is decided
here too, because a query of one GPU still says how many are attached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import (
    FabricEvent,
    Reading,
    ReadResult,
    RejectedLine,
    UnknownFact,
)
from fabric_pipeline.sources.nvidia_smi.values import (
    is_not_measured,
    kind_of,
    parse_count,
    state_words,
)

# field name -> canonical counter; the maxima are handled apart, the rest is kept raw
_PCIE_COUNTERS = {
    "replays": "pcie_replay",
    "replay_rollovers": "pcie_replay_rollover",
    "gen_current": "pcie_gen",
    "width_current": "width",
    "width_max": "width_max",
}
_GEN_MAXIMA = ("gen_max", "gen_device_max", "gen_host_max")
_RAW = ("gen_device_current", "tx", "rx")
_WIDTH = re.compile(r"^x?([0-9]{1,2})x?$")
# What a GPU tells of its NVLink fabric (nvmlGpuFabricInfo_v3), and the words for a whole one.
_FABRIC = (
    "fabric_state",
    "fabric_status",
    "fabric_health",
    "fabric_bandwidth",
    "fabric_route_recovery",
    "fabric_route",
    "fabric_access_recovery",
    "fabric_configuration",
)
# NVML says these two of the hardware; the rest may be a setting, a daemon or a moment of start-up.
_HURT_FABRIC = frozenset({("fabric_bandwidth", "degraded"), ("fabric_route", "true")})
_WHOLE_FABRIC = frozenset({"", "completed", "success", "full", "healthy", "false", "no", "none"})
_NO_SERIAL = re.compile(r"^0*$|^n/?a$|^\[|^unknown", re.I)


@dataclass(slots=True)
class Field:
    """One printed value: its text, the words in front of it and its line (1-based)."""

    text: str
    words: str
    line: int


@dataclass(slots=True)
class QueriedGpu:
    """One GPU of a query. `fields` holds the values by the names of this module.

    `order` counts the GPUs of one query from 0; `attached` is how many the host says it has.
    `chosen` is the index that the typed command selected, if any.
    """

    node: str
    time: datetime | None
    pci: str
    order: int
    line: int
    fields: dict[str, Field] = field(default_factory=dict)
    attached: int | None = None
    listed: int = 0
    chosen: int | None = None

    def text(self, name: str) -> str:
        """Value text of a field, "" when it is missing or not measured."""
        found = self.fields.get(name)
        return "" if found is None or is_not_measured(found.text) else found.text

    @property
    def index(self) -> int | None:
        """GPU index: chosen by the command, else by order in a full list, else the minor number.

        A list of some GPUs of a host says nothing by its order; without a minor number the index
        then stays unknown.
        """
        if self.chosen is not None and self.listed == 1:
            return self.chosen
        if self.attached is None or self.attached == self.listed:
            return self.order
        minor = self.text("minor_number")
        return int(minor) if minor.isdecimal() and len(minor) < 5 else None

    @property
    def interface(self) -> str:
        """`gpu<N>`, or `pci-<bdf>` when the index is not known."""
        if self.index is not None:
            return f"gpu{self.index}"
        return f"pci-{normalise_pci(self.pci)}" if self.pci else ""


def add_records(gpu: QueriedGpu, result: ReadResult) -> None:
    """Add the readings, refused lines, events and facts of one GPU to `result`."""
    link = f"{gpu.interface}/pcie".lstrip("/")
    for name, counter in _PCIE_COUNTERS.items():
        _add(gpu, name, counter, link, result)
    for name in _RAW:
        _add(gpu, name, "", link, result)
    _add_gen_max(gpu, link, result)
    _add_performance_state(gpu, result)
    if not any(name in gpu.fields for name in _PCIE_COUNTERS):
        reason = "the query lists no link, width or replay values for this GPU"
        result.unknown.append(UnknownFact(gpu.node, link, "PCIe link", reason))
    _add_fabric(gpu, result)
    result.facts.setdefault("gpus", {})[f"{gpu.node or 'unknown'}:{gpu.interface}"] = _facts(gpu)


def topology_entry(gpu: QueriedGpu) -> dict[str, Any]:
    """The GPU as a topology node lists it; a serial number of zeros is none."""
    entry: dict[str, Any] = {} if gpu.index is None else {"gpu": gpu.index}
    if gpu.pci:
        entry["pci"] = normalise_pci(gpu.pci)
    for name in ("uuid", "serial"):
        text = gpu.text(name)
        if text and not _NO_SERIAL.match(text):
            entry[name] = text
    return entry


def _add(gpu: QueriedGpu, name: str, counter: str, link: str, result: ReadResult) -> None:
    found = gpu.fields.get(name)
    if found is None:
        return
    value, quality = _value(found.text, counter)
    if value is None and quality == "ok":
        rule = f"{found.words} reads {found.text[:60]!r}, which is no number"
        result.rejected.append(RejectedLine(found.line, found.text[:200], rule))
        return
    reading = _reading(gpu, found, link, counter)
    reading.value, reading.quality = value, quality
    if name in _RAW:
        reading.kind = "gauge"
    result.readings.append(reading)


def _value(text: str, counter: str) -> tuple[float | None, str]:
    if is_not_measured(text):
        return None, "not_supported"
    width = _WIDTH.match(text) if counter in ("width", "width_max") else None
    number = float(width[1]) if width else parse_count(text.split()[0] if text.split() else "")
    if number == 0 and counter in ("width", "width_max", "pcie_gen"):
        return None, "not_supported"  # a virtual machine hides the link behind zeros
    return number, "ok"


def _reading(gpu: QueriedGpu, found: Field, interface: str, counter: str) -> Reading:
    product = gpu.text("name")
    label = f"GPU {gpu.pci}" if gpu.index is None else f"GPU {gpu.index}"
    return Reading(
        line=found.line,
        counter_text=found.words,
        value_text=found.text[:200],
        entity_text=f"{label}: {product}" if product else label,
        node=gpu.node,
        interface=interface,
        link_type="pcie",
        counter=counter,
        kind=kind_of(counter),
        time=gpu.time,
        gpu_uuid=gpu.text("uuid"),
        state=_circumstances(gpu) if counter in ("width", "pcie_gen") else "",
    )


def _circumstances(gpu: QueriedGpu) -> str:
    """What bears on a narrow or slow link: a virtual machine, and the product."""
    mode = gpu.text("virtualization")
    return state_words(f"virtualization {mode}" if mode else "", gpu.text("name"))


def _add_gen_max(gpu: QueriedGpu, link: str, result: ReadResult) -> None:
    """The highest generation both ends allow is the lowest of the stated maxima."""
    known: list[tuple[float, Field]] = []
    for name in _GEN_MAXIMA:
        found = gpu.fields.get(name)
        value = None if found is None else _value(found.text, "")[0]
        if found is not None and value:
            known.append((value, found))
    if not known:
        _add(gpu, "gen_max", "pcie_gen_max", link, result)
        return
    value, found = min(known, key=lambda pair: pair[0])
    reading = _reading(gpu, found, link, "pcie_gen_max")
    reading.value = value
    result.readings.append(reading)


def _add_performance_state(gpu: QueriedGpu, result: ReadResult) -> None:
    found = gpu.fields.get("performance_state")
    if found is None:
        return
    reading = _reading(gpu, found, gpu.interface, "performance_state")
    reading.link_type, reading.state = "", found.text[:20]
    level = re.match(r"^P([0-9]{1,2})$", found.text)
    if level:
        reading.value = float(level[1])
    else:
        reading.quality = "not_supported"
    result.readings.append(reading)


def _add_fabric(gpu: QueriedGpu, result: ReadResult) -> None:
    """What the GPU says of its NVLink fabric, told as an event when it is less than complete."""
    for name in _FABRIC:
        found = gpu.fields.get(name)
        text = gpu.text(name)
        if found is None or text.lower() in _WHOLE_FABRIC:
            continue
        event = FabricEvent(
            found.line, name, f"{found.words}: {text[:200]}", gpu.node, gpu.interface
        )
        is_hurt = (name, text.lower()) in _HURT_FABRIC
        event.role = "cause" if is_hurt else "context"
        event.severity, event.time = "warning" if is_hurt else "watch", gpu.time
        event.reason = f"the GPU says of its NVLink fabric: {found.words} {text[:60]}"
        result.events.append(event)


def _facts(gpu: QueriedGpu) -> dict[str, Any]:
    names = (
        "name", "serial", "uuid", "performance_state", "utilization", "virtualization",
        "recovery_action", "fabric_clique", "fabric_cluster",
    )  # fmt: skip
    facts: dict[str, Any] = {name: gpu.text(name) for name in names if gpu.text(name)}
    if _NO_SERIAL.match(facts.get("serial", "")):
        facts.pop("serial", None)
    if gpu.pci:
        facts["pci"] = normalise_pci(gpu.pci)
    return facts
