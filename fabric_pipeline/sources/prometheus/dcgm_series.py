"""Turns samples of DCGM metrics into readings, Xid notes and statements of what is not known.

Both the text scrape and the answer of the query API come through here, so that one metric means
one thing. Names are translated in `dcgm_names`, places in `entity`.
"""

from __future__ import annotations

from fabric_pipeline.model.records import FabricEvent
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.prometheus.dcgm_names import Rule, rule_for
from fabric_pipeline.sources.prometheus.entity import Entities, Entity
from fabric_pipeline.sources.prometheus.exposition import BrokenLineError, Sample
from fabric_pipeline.sources.prometheus.gather import Gather
from fabric_pipeline.sources.prometheus.measure import (
    Measure,
    Metric,
    Outcome,
    Place,
    not_measured,
    nothing,
    plain_outcome,
)

_BER_ZERO = 4095  # mantissa 15, exponent 255: DCGM's and NVML's way to say zero
_EVENTS = frozenset({"xid", "xid_count", "sxid"})
_GROUPS = {"nvlink": "NVLink ", "switch": "NVSwitch ", "pcie": "PCIe "}
_LINK_TYPES = {"nvlink": "nvlink", "switch": "nvlink", "pcie": "pcie"}
# NVML_FI_DEV_NVLINK_GET_STATE; a sleeping link is a healthy link that saves power.
_NVLINK_STATES = {0: (0.0, "inactive"), 1: (1.0, "active"), 2: (1.0, "sleep")}
# DCGM_FI_DEV_NVSWITCH_LINK_STATUS; safe is the low-speed state before training.
_SWITCH_STATES = {0: (0.0, "off"), 1: (1.0, "safe"), 2: (1.0, "active"), 3: (0.0, "error")}
_HIDDEN_BER = (
    "the exporter prints this bit error rate with six decimals, so 0.000000 can hide any rate "
    "below 5e-7; only the raw field shows it"
)


class DcgmSeries:
    """Feeds the DCGM samples of one file into a `Gather`.

    `metrics` counts values by metric name for those that do not speak of the interconnect.
    """

    def __init__(self, gather: Gather, hints: Hints) -> None:
        self.metrics: dict[str, int] = {}
        self.doubts: set[str] = set()
        self._gather = gather
        self._entities = Entities(hints.node)
        self._events: dict[tuple[str, str, str, int], FabricEvent] = {}
        self._measures: dict[tuple[str, str], Measure | None] = {}

    def add(self, sample: Sample) -> None:
        """Use one sample; raises `BrokenLineError` for a value that its metric cannot have."""
        rule = rule_for(sample.name)
        if rule is not None and rule.decode in _EVENTS:
            self._event(sample, rule, self._entities.of(sample.label_text, sample.labels))
            return
        key = (sample.name, sample.label_text)
        if key not in self._measures:
            self._measures[key] = self.measure(sample.name, sample.labels)
        measure = self._measures[key]
        if measure is None:
            self.metrics[sample.name] = self.metrics.get(sample.name, 0) + 1
        else:
            self._gather.take(sample, measure, outcome(measure, sample.value, sample.value_text))

    def measure(self, name: str, labels: dict[str, str]) -> Measure | None:
        """What a series measures; None for one that measures no link. Not for events."""
        metric = metric_of(name)
        place = self.place(metric.shape if metric else (), labels)
        return Measure(metric, place) if metric else None

    def place(self, shape: tuple[object, ...], labels: dict[str, str]) -> Place:
        """Where the series of metrics of one shape measure; a missing host is noted as a doubt."""
        entity = self._entities.make(labels)
        if not entity.node:
            self.doubts.add(entity.doubt)
        interface, scope = _interface(shape, entity) if shape else ("", "link")
        state = entity.labels.get("link_status", "")
        return Place(
            entity.node,
            interface,
            scope,
            _device(interface),
            entity.origin,
            gpu_uuid=entity.uuid,
            state=state,
        )

    def _event(self, sample: Sample, rule: Rule, entity: Entity) -> None:
        """A gauge that shows the last Xid is a note that it happened, with no date."""
        if not entity.node:
            self.doubts.add(entity.doubt)
        device = entity.switch if rule.place == "switch" else entity.gpu
        reason = not_measured(sample.value, sample.value_text)
        if reason:
            self._gather.unknown(entity.node, device, sample.name, reason)
            return
        if not sample.value.is_integer() or sample.value < 0:
            raise BrokenLineError("an Xid or SXid is a whole number")
        count, code = 1, int(sample.value)
        if rule.decode == "xid_count":
            named = entity.labels.get("xid", entity.labels.get("err_code", ""))
            count, code = code, int(named) if named.isdecimal() and len(named) < 6 else 0
        if code == 0 or count == 0:
            return
        kind = "sxid" if rule.decode == "sxid" else "xid"
        key = (entity.node + entity.origin, device, kind, code)
        if key not in self._events:
            keeps = "keeps the last code" if rule.decode != "xid_count" else "sums up a period"
            reason = f"{sample.name} shows code {code}; such a metric {keeps} and has no dates"
            event = self._events[key] = _undated(sample, entity, device, kind, code, reason)
            self._gather.result.events.append(event)
        self._events[key].count = max(self._events[key].count, count)


def is_event(name: str) -> bool:
    """True for a metric that shows a code instead of measuring something."""
    rule = rule_for(name)
    return rule is not None and rule.decode in _EVENTS


def metric_of(name: str) -> Metric | None:
    """What the name of a metric says; None when it does not speak of the interconnect."""
    rule = rule_for(name)
    if rule is None:
        return None
    group = _GROUPS.get(rule.place, "")
    return Metric(
        family="dcgm",
        name=name,
        link_type=_LINK_TYPES.get(rule.place, ""),
        counter=rule.counter,
        kind=rule.kind,
        what=f"{group}{rule.counter or 'value'} ({rule.family})" if group else name,
        shape=(rule.place, rule.link, rule.lane is None),
        lane=rule.lane,
        decode=rule.decode,
        divisor=rule.divisor,
    )


def outcome(measure: Measure, value: float, value_text: str) -> Outcome:
    """What one value of a DCGM series says; raises `BrokenLineError` for one it cannot have."""
    metric = measure.metric
    if reason := not_measured(value, value_text):
        return nothing(measure, reason)
    if metric.decode == "ber_printed" and value == 0:
        return nothing(measure, _HIDDEN_BER)
    if metric.decode == "ber_raw":
        return Outcome(_bit_error_rate(value), metric.counter)
    if metric.decode in ("nvlink_state", "switch_state"):
        return _link_state(measure, value)
    if metric.kind == "cumulative" and not 0 <= value < float("inf"):
        raise BrokenLineError("a counter is a number from 0 up")
    if value in (float("inf"), float("-inf")):
        raise BrokenLineError("an infinite value measures nothing")
    if metric.decode == "pcie_level" and value == 0:
        return nothing(measure, "a PCIe generation or width of 0 says that it was not read")
    return plain_outcome(measure, value)


def _undated(
    sample: Sample, entity: Entity, device: str, kind: str, code: int, reason: str
) -> FabricEvent:
    labels = entity.labels
    details = {name: labels[name] for name in ("err_msg", "pci_bus_id") if labels.get(name)}
    if entity.uuid:
        details["gpu_uuid"] = entity.uuid
    return FabricEvent(
        line=sample.line or 1,
        kind=kind,
        text=f"{sample.name}{{{entity.text}}} {sample.value_text}"[:2000],
        node=entity.node,
        interface=device,
        code=code,
        role="context",
        severity="watch",
        reason=reason,
        details=details,
    )


def _interface(shape: tuple[object, ...], entity: Entity) -> tuple[str, str]:
    """Interface and scope: a link, a lane of a port, or a sum that names no link."""
    place, named, is_whole = shape
    if place == "pcie":
        return (f"{entity.gpu}/pcie" if entity.gpu else ""), "link"
    if place == "gpu":
        return entity.gpu, "link"
    if place == "none":
        return "", "link"
    link = named if named is not None else entity.link
    if place == "switch" or (entity.switch and not entity.gpu):
        if link is None:
            return entity.switch, "switch_sum"
        port = f"{entity.switch}/port-{link}" if entity.switch else f"port-{link}"
        return port, "link" if is_whole else "lane"
    if link is None:
        return entity.gpu, "gpu_sum"
    return (f"{entity.gpu}/nvlink-{link}" if entity.gpu else f"nvlink-{link}"), "link"


def _link_state(measure: Measure, value: float) -> Outcome:
    states = _SWITCH_STATES if measure.metric.decode == "switch_state" else _NVLINK_STATES
    if value == -1:
        return nothing(measure, "the state is -1, unknown")
    if not value.is_integer():
        raise BrokenLineError("a link state is a whole number")
    known = states.get(int(value))
    if known is None or measure.place.scope != "link":
        # A code of a later version, or a state that is not said of one link.
        return Outcome(value, "", f"state {int(value)}")
    return Outcome(known[0], measure.metric.counter, known[1])


def _bit_error_rate(value: float) -> float:
    """Unpack mantissa (bits 8-11) and negative exponent (bits 0-7) of 10."""
    if not value.is_integer() or not 0 <= value <= _BER_ZERO:
        raise BrokenLineError("a raw bit error rate is a whole number of 12 bits")
    raw = int(value)
    if raw == _BER_ZERO:
        return 0.0
    return float(f"{raw >> 8}e-{raw & 0xFF}")


def _device(interface: str) -> str:
    """The GPU or switch of an interface; a PCI address keeps its colons."""
    return interface.partition("/")[0]
