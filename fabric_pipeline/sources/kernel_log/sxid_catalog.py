"""What the NVSwitch driver's SXid numbers mean, seen alone: fatal or not, which part, a plain phrase.

A severity word on the log line always wins over this table. Source: error tables of NVIDIA's Fabric
Manager user guide; numbers not listed there are placed by their family (thousands).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SxidMeaning:
    """One code. `is_fatal` is None when neither table nor family tells; `per_port` says whether
    the engine instance of such an error is an NVLink port of the switch.
    """

    code: int
    is_fatal: bool | None
    per_port: bool
    says: str


_FAMILIES: dict[int, tuple[str, bool]] = {
    10: ("host interface error", False),
    11: ("ingress error", True),
    12: ("egress error", True),
    14: ("tag state error", True),
    15: ("routing table error", True),
    16: ("NVLink transaction layer error", True),
    19: ("NVLink transaction layer error", True),
    20: ("NVLink data link error", True),
    21: ("address filter error", True),
    22: ("Minion link controller error", True),
    23: ("crossbar error", False),
    24: ("source tracking error", True),
    25: ("NVLink IP link error", True),
    26: ("NVLink IP common error", False),
    27: ("power or clock error", False),
    28: ("multicast error", True),
    29: ("reduction error", True),
    30: ("security engine error", False),
}

_NON_FATAL = {
    11004: "ingress access refused", 11012: "ingress ECC soft limit", 11021: "ingress ECC soft limit",
    11022: "ingress ECC soft limit", 11023: "ingress ECC soft limit", 12021: "egress ECC soft limit",
    12023: "egress ECC soft limit", 12028: "egress non-posted privilege error",
    15008: "routing ECC soft limit", 15011: "routing ECC soft limit", 20009: "short error rate on receive",
    20012: "link reset by software", 22012: "Minion link interrupt", 22013: "Minion link request interrupt",
    24006: "source tracking ECC soft limit", 28006: "multicast time-out",
}  # fmt: skip
_FATAL = {
    10001: "host privilege error", 10003: "host privilege time-out", 11001: "ingress invalid command",
    11009: "ingress invalid address", 11013: "ingress header ECC", 12001: "egress crossbar overflow",
    12002: "egress packet route", 12022: "egress data ECC", 14017: "tag state ECC",
    19084: "heartbeat time-out", 20001: "transmit replay limit reached", 20034: "LTSSM fault up",
    22003: "Minion watchdog", 22011: "Minion fatal link interrupt", 23001: "crossbar overflow",
    24001: "source tracking data ECC", 24002: "source tracking data ECC", 24003: "source tracking ECC",
    24007: "source tracking time-out", 25001: "NVLink IP fatal",
}  # fmt: skip


def sxid_meaning(code: int) -> SxidMeaning:
    """The row of a code, or what its family tells."""
    family, per_port = _FAMILIES.get(code // 1000, ("unlisted NVSwitch error", False))
    if code in _NON_FATAL:
        return SxidMeaning(code, False, per_port, _NON_FATAL[code])
    if code in _FATAL:
        return SxidMeaning(code, True, per_port, _FATAL[code])
    return SxidMeaning(code, None, per_port, family)
