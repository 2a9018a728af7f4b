"""What counters tell beside the link's own errors: congestion, loss on the path, trouble upstream.

None of these findings is about a cable of this port. Only packet loss in the millions on a RoCE
path is a warning, and it names the port as the place where it was noticed.
"""

from __future__ import annotations

from fabric_pipeline.detect.port_counters import thresholds as t
from fabric_pipeline.detect.port_counters.counts import Count, PortCounts
from fabric_pipeline.detect.port_counters.wording import evidence_of, listed, numbers_of
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.findings import Finding

_LOSS = ("out_of_sequence", "packet_seq_err", "ack_timeout", "retry_exceeded")
_BEYOND_REORDERING = ("packet_seq_err", "ack_timeout", "retry_exceeded")


def context_findings(port: PortCounts, far_end: str, is_accused: bool) -> list[Finding]:
    """Context of one port; `is_accused` tells whether its own errors already accuse it."""
    made = []
    loss = _loss(port)
    if loss is not None:
        made.append(loss)
    upstream = port.counts.get("rx_remote_physical")
    if upstream is not None and upstream.amount > 0:
        made.append(_upstream(port, upstream, far_end))
    congestion = [
        count
        for count in port.counts.values()
        if COUNTERS[count.counter].role == "congestion"
        and count.amount > t.CONTEXT_LIMITS.get(count.counter, float("inf"))
    ]
    if congestion and not is_accused:
        made.append(_congestion(port, congestion))
    return made


def _congestion(port: PortCounts, counts: list[Count]) -> Finding:
    return Finding(
        port.component,
        "congestion",
        "info",
        "context",
        f"{listed(counts)}: congestion, routing or a slow receiver, no fault of this link.",
        evidence=evidence_of(counts),
        is_link=False,
        class_basis="snapshot",
        numbers=numbers_of(counts),
        rules=[t.RULE_CONGESTION],
    )


def _upstream(port: PortCounts, count: Count, far_end: str) -> Finding:
    return Finding(
        port.component,
        "errors_marked_upstream",
        "watch",
        "symptom",
        f"{listed([count])}: a device further up had already marked these packets as bad, so the "
        "trouble lies on an earlier link.",
        evidence=evidence_of([count]),
        far_end=far_end,
        class_basis="snapshot",
        numbers=numbers_of([count]),
        rules=[t.RULE_UPSTREAM],
    )


def _loss(port: PortCounts, limits: t.SnapshotLimits = t.LIMITS) -> Finding | None:
    """Lost packets: timeouts and sequence errors beyond what reordering explains."""
    counts = [port.counts[name] for name in _LOSS if name in port.counts]
    counts = [count for count in counts if count.amount > 0]
    total = sum(count.amount for count in counts)
    support = sum(port.amount(name) for name in _BEYOND_REORDERING)
    if total < limits.loss_watch:
        return None
    # InfiniBand repairs loss in the link layer, and adaptive routing reorders packets by design
    is_warning = (
        port.link_type == "roce" and total >= limits.loss_events and support >= limits.loss_support
    )
    return Finding(
        port.component,
        "packet_loss",
        "warning" if is_warning else "watch",
        "cause" if is_warning else "context",
        f"{listed(counts)}: packets are lost on the path of this port. Congestion or a bad link "
        "anywhere on the path can do that, so no cable is named.",
        evidence=evidence_of(counts),
        is_link=False,
        class_basis="snapshot",
        numbers=numbers_of(counts),
        rules=[t.RULE_LOSS],
        alternatives=["missing flow control on the switches", "a bad link elsewhere on the path"],
    )
