"""Rules on PCIe links of one node: fewer lanes or a lower generation than equals or than before.

Below its maximum alone is no fault: idle GPUs lower the generation, clouds and boards give fewer
lanes. What accuses is an equal link of the same capture, or the same link earlier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fabric_pipeline.detect.link_state.history import (
    NodeStates,
    State,
    evidence_of,
    product_of,
    same_place,
    since_of,
    words_of,
)
from fabric_pipeline.detect.link_state.thresholds import LinkStateLimits
from fabric_pipeline.detect.state_words import since
from fabric_pipeline.model.components import component_id, device_of, gpu_index, link_type_of
from fabric_pipeline.model.findings import Finding


@dataclass(frozen=True, slots=True)
class _Quantity:
    """What is compared: counters of now and at most, words, and how a value is printed."""

    counter: str
    maximum: str
    kind: str
    noun: str
    form: str

    def show(self, value: float) -> str:
        return self.form.format(f"{value:g}")


_WIDTH = _Quantity("width", "width_max", "width_downgrade", "width", "x{}")
_SPEEDS = (
    _Quantity("pcie_gen", "pcie_gen_max", "speed_downgrade", "generation", "generation {}"),
    _Quantity("speed_gbps", "speed_max_gbps", "speed_downgrade", "speed", "{} Gb/s"),
)


@dataclass(frozen=True, slots=True)
class _Link:
    """One PCIe link: its latest and best value of a quantity, and its maximum (None: unknown).

    `since` is the first state of the present spell below the best value.
    """

    interface: str
    now: State
    best: State
    since: State
    maximum: float | None
    group: str

    @property
    def is_below(self) -> bool:
        return self.maximum is not None and self.now.value < self.maximum


def pcie_findings(states: NodeStates, limits: LinkStateLimits) -> list[Finding]:
    """Findings on the PCIe links of a node, one a link and quantity at most."""
    findings = _width_findings(states, limits)
    for quantity in _SPEEDS:
        known = {finding.component for finding in findings if finding.kind == quantity.kind}
        found = _speed_findings(states, quantity, limits)
        findings.extend(f for f in found if f.component not in known)
    return findings


def _links(states: NodeStates, quantity: _Quantity) -> list[_Link]:
    links = []
    only = _only_product(states)
    for interface in states.interfaces(quantity.counter):
        history = states.series[interface, quantity.counter]
        kind = history[-1].reading.link_type or link_type_of(interface)
        if kind != "pcie" or history[-1].value <= 0:
            continue
        maximum = states.value(interface, quantity.maximum)
        now = history[-1].reading
        same = [state for state in history if same_place(states.node, state.reading, now)]
        best = max(same, key=lambda state: state.value)
        product = product_of(now) or (only if gpu_index(interface) is not None else "")
        group = f"{product}|{maximum}" if product or gpu_index(interface) is not None else interface
        since_when = since_of(same, best.value)
        links.append(_Link(interface, history[-1], best, since_when, maximum, group))
    return links


def _only_product(states: NodeStates) -> str:
    """The model of the node's GPUs where one is stated, for tools that state none; "" for several."""
    models = {
        product_of(state.reading)
        for (interface, _), history in states.series.items()
        for state in history
        if gpu_index(interface) is not None
    } - {""}
    return models.pop() if len(models) == 1 else ""


# --- width -----------------------------------------------------------------------------------


def _width_findings(states: NodeStates, limits: LinkStateLimits) -> list[Finding]:
    links = _links(states, _WIDTH)
    findings: list[Finding] = []
    for link in links:
        peers = [other for other in links if other is not link and other.group == link.group]
        wider = [other for other in peers if other.now.value > link.now.value]
        if link.best.value > link.now.value:
            findings.append(_worse_than_before(states.node, link, _WIDTH))
        elif link.is_below and len(wider) >= max(limits.full_siblings_needed, len(peers) / 2):
            findings.append(_worse_than_peers(states.node, link, wider, _WIDTH, "warning"))
        elif link.is_below and wider:
            findings.append(_worse_than_peers(states.node, link, wider, _WIDTH, "watch"))
        elif link.is_below:
            findings.append(_below_maximum(states.node, link, len(peers)))
    return findings


def _worse_than_before(node: str, link: _Link, quantity: _Quantity) -> Finding:
    now, best = quantity.show(link.now.value), quantity.show(link.best.value)
    began = since(link.since.reading)
    before = "before that" if began else "in an earlier capture"
    reason = f"The PCIe link {link.interface} runs at {now}{began} and ran at {best} {before}"
    replaced = {link.now.reading.gpu_uuid, link.best.reading.gpu_uuid} - {""}
    reason += "; the GPU in this slot has been exchanged since." if len(replaced) > 1 else "."
    return _finding(node, link, quantity, "warning", reason, [link.since, link.now, link.best])


def _worse_than_peers(
    node: str, link: _Link, better: list[_Link], quantity: _Quantity, severity: str
) -> Finding:
    now, maximum = quantity.show(link.now.value), quantity.show(link.maximum or 0)
    usual = quantity.show(better[0].now.value)
    others = f"{len(better)} equal GPU{'s run' if len(better) > 1 else ' runs'} at {usual}"
    reason = f"The PCIe link {link.interface} runs at {now} of {maximum}, while {others}"
    if severity == "watch":
        reason += "; with so few equals the wiring of the board may be the reason."
    else:
        reason += " in the same capture."
    return _finding(node, link, quantity, severity, reason, [link.now, better[0].now])


def _below_maximum(node: str, link: _Link, peers: int) -> Finding:
    now, maximum = _WIDTH.show(link.now.value), _WIDTH.show(link.maximum or 0)
    words = words_of(link.now.reading)
    where = f" ({words})" if words else ""
    equals = f"as do {peers} equal GPUs" if peers else "and no equal GPU is there to compare with"
    reason = (
        f"The PCIe link {link.interface} runs at {now} of {maximum}{where}, {equals}; boards and "
        "virtual machines give fewer lanes by design, so this alone is no fault."
    )
    severity = "info" if peers else "watch"
    return _finding(node, link, _WIDTH, severity, reason, [link.now])


# --- generation and speed --------------------------------------------------------------------


def _speed_findings(
    states: NodeStates, quantity: _Quantity, limits: LinkStateLimits
) -> Iterable[Finding]:
    links = _links(states, quantity)
    busy = {link.interface: _is_busy(states, link.interface, limits) for link in links}
    for link in links:
        if not link.is_below:
            continue
        peers = [o for o in links if o is not link and o.group == link.group and busy[o.interface]]
        faster = [other for other in peers if other.now.value > link.now.value]
        enough = len(faster) >= max(limits.full_siblings_needed, len(peers) / 2)
        if busy[link.interface] and enough:
            yield _worse_than_peers(states.node, link, faster, quantity, "warning")
        elif busy[link.interface] and faster:
            yield _worse_than_peers(states.node, link, faster, quantity, "watch")
        else:
            yield _resting(states, link, quantity, busy[link.interface])


def _is_busy(states: NodeStates, interface: str, limits: LinkStateLimits) -> bool:
    """True when the GPU's performance state says that it works; unknown counts as resting."""
    state = states.value(device_of(interface), "performance_state")
    return state is not None and state <= limits.busy_performance_state_max


def _resting(states: NodeStates, link: _Link, quantity: _Quantity, busy: bool) -> Finding:
    now, maximum = quantity.show(link.now.value), quantity.show(link.maximum or 0)
    level = states.value(device_of(link.interface), "performance_state")
    reason = f"The PCIe link {link.interface} runs at {now} of {maximum}"
    if busy:
        reason += (
            f" in P{level:g} and no equal GPU runs faster; slot or platform may set the limit."
        )
    elif level is None:
        reason += "; whether the GPU works or rests is not stated, and a resting one lowers it."
    else:
        reason += f" in P{level:g}; a resting GPU lowers it to save power."
    severity = "watch" if busy else "info"
    return _finding(states.node, link, quantity, severity, reason, [link.now])


def _finding(
    node: str, link: _Link, quantity: _Quantity, severity: str, reason: str, states: list[State]
) -> Finding:
    accused = severity in ("warning", "critical")
    most = max(link.maximum or 0.0, link.best.value)
    return Finding(
        component_id(node, link.interface),
        quantity.kind if accused else f"{quantity.noun}_below_maximum",
        severity,
        "cause" if accused else "context",
        reason,
        evidence=evidence_of(states, most),
        is_link=accused,
        first_seen=link.since.reading.time,
        last_seen=link.now.reading.time,
        numbers={
            f"{quantity.noun}_now": link.now.value,
            f"{quantity.noun}_max": link.maximum,
            f"{quantity.noun}_before": link.best.value,
        },
        rules=[f"link_state.pcie_{quantity.kind}" if accused else "link_state.pcie_below_maximum"],
    )
