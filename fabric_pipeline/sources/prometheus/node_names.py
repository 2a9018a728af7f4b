"""The names of node_exporter metrics about links, and the canonical counter each stands for.

Covers the collectors infiniband, ethtool, pcidevice and the carrier part of netclass. How labels
name a port belongs to `node_series`.
Sources: field-guide 3e, node_exporter's collectors, NVIDIA's list of mlx5 counters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class NodeRule:
    """How to read one metric.

    `counter`: canonical name, "" to keep the value raw. `place`: `hca` (device and port),
    `netdev`, `pci`. `decode` names a value that is no plain number. `ceiling`: True when the
    counter stops at the ceiling of its canonical counter (classic InfiniBand port counters).
    """

    counter: str = ""
    place: str = "hca"
    kind: str = "cumulative"
    divisor: float = 1.0
    decode: str = ""
    ceiling: bool = False
    lane: int | None = None


def _port(counter: str) -> NodeRule:
    return NodeRule(counter, ceiling=True)


_INFINIBAND: dict[str, NodeRule] = {
    "symbol_error": _port("symbol_error"),
    "link_error_recovery": _port("link_error_recovery"),
    "link_downed": _port("link_downed"),
    "local_link_integrity_errors": _port("local_link_integrity"),
    "excessive_buffer_overrun_errors": _port("buffer_overrun"),
    "port_errors_received": _port("rx_errors"),
    "port_receive_remote_physical_errors": _port("rx_remote_physical"),
    "port_receive_switch_relay_errors": _port("rx_relay_errors"),
    "port_constraint_errors_received": _port("rx_constraint"),
    "port_constraint_errors_transmitted": _port("tx_constraint"),
    "port_discards_transmitted": _port("tx_discards"),
    "port_transmit_wait": _port("tx_wait"),
    "vl15_dropped": _port("vl15_dropped"),
    "port_data_received_bytes": NodeRule("rx_bytes"),
    "port_data_transmitted_bytes": NodeRule("tx_bytes"),
    "port_packets_received": NodeRule("rx_packets"),
    "port_packets_transmitted": NodeRule("tx_packets"),
    "out_of_sequence_packets_received": NodeRule("out_of_sequence"),
    "packet_sequence_errors": NodeRule("packet_seq_err"),
    "local_ack_timeout_errors": NodeRule("ack_timeout"),
    "rnr_nak_retry_packets_received": NodeRule("rnr_nak_retry"),
    "np_cnp_packets_sent": NodeRule("cnp"),
    "rp_cnp_packets_handled": NodeRule("cnp"),
    "out_of_buffer_drops": NodeRule("rx_drops"),
    "rx_icrc_encapsulated_errors": NodeRule("crc_phy"),
    "req_transport_retries_exceeded": NodeRule("retry_exceeded"),
    "req_rnr_retries_exceeded": NodeRule("retry_exceeded"),
    "state_id": NodeRule("link_up", kind="gauge", decode="state"),
    "physical_state_id": NodeRule("link_up", kind="gauge", decode="physical_state"),
    # Bytes per second to Gb/s
    "rate_bytes_per_second": NodeRule("speed_gbps", kind="gauge", divisor=1.25e8),
}

# Names of `ethtool -S`; node_exporter writes `received` and `transmitted` for `rx` and `tx`.
_ETHTOOL: dict[str, str] = {
    "rx_symbol_err_phy": "symbol_error",
    "rx_pcs_symbol_err_phy": "symbol_error",
    "rx_corrected_bits_phy": "corrected_bits",
    "rx_crc_errors_phy": "crc_phy",
    "rx_crc_errors": "crc_phy",
    "rx_crc_errors_nic": "crc_phy",
    "port_rx_crc_errors": "crc_phy",
    "rx_fec_uncorrectable": "fec_uncorrectable",
    "rx_fec_uncorrectable_errors": "fec_uncorrectable",
    "rx_fec_uncorrectable_blocks": "fec_uncorrectable",
    "fec_uncorrectable_errors": "fec_uncorrectable",
    "fec_uncorrectable_blocks": "fec_uncorrectable",
    "link_down_events_phy": "link_downed",
    "link_down_events": "link_downed",
    "rx_errors": "rx_errors",
    "rx_discards_phy": "rx_drops",
    "rx_out_of_buffer": "rx_drops",
    "rx_dropped": "rx_drops",
    "tx_discards_phy": "tx_discards",
    "rx_pause_ctrl_phy": "pause",
    "rx_global_pause": "pause",
    "rx_bytes_phy": "rx_bytes",
    "tx_bytes_phy": "tx_bytes",
    "rx_bytes": "rx_bytes",
    "tx_bytes": "tx_bytes",
    "rx_packets_phy": "rx_packets",
    "tx_packets_phy": "tx_packets",
    "rx_packets": "rx_packets",
    "tx_packets": "tx_packets",
}
_ETHTOOL_LANE = re.compile(r"rx_err_lane_(\d{1,2})_phy")
_ETHTOOL_TROUBLE = re.compile(r"err|discard|drop|pause|fec|crc|symbol|link_down|out_of_buffer")

_PCI: dict[str, NodeRule] = {
    "current_link_width": NodeRule("width", "pci", "gauge", decode="pci_width"),
    "max_link_width": NodeRule("width_max", "pci", "gauge", decode="pci_width"),
    "current_link_transfers_per_second": NodeRule("pcie_gen", "pci", "gauge", decode="pci_speed"),
    "max_link_transfers_per_second": NodeRule("pcie_gen_max", "pci", "gauge", decode="pci_speed"),
}

_NETWORK: dict[str, NodeRule] = {
    "carrier_down_changes": NodeRule("link_downed", "netdev"),
    "carrier_up_changes": NodeRule("", "netdev"),
    "carrier_changes": NodeRule("", "netdev"),
    "carrier": NodeRule("link_up", "netdev", "gauge", decode="carrier"),
}


@lru_cache(maxsize=4096)
def node_rule_for(name: str) -> NodeRule | None:
    """How to read a node_exporter metric; None when it does not speak of a link."""
    _, _, rest = name.partition("_")
    collector, _, stem = rest.partition("_")
    short = stem.removesuffix("_total")
    if collector == "infiniband":
        return _INFINIBAND.get(short, None if short == "info" else NodeRule())
    if collector == "ethtool":
        return _ethtool(short)
    if collector == "pcidevice":
        return _PCI.get(stem)
    return _NETWORK.get(short) if collector == "network" else None


def _ethtool(short: str) -> NodeRule | None:
    words = {"received": "rx", "transmitted": "tx"}
    statistic = "_".join(words.get(word, word) for word in short.split("_"))
    lane = _ETHTOOL_LANE.fullmatch(statistic)
    if lane:
        return NodeRule("corrected_bits", "netdev", lane=int(lane.group(1)))
    counter = _ETHTOOL.get(statistic, "")
    if counter or _ETHTOOL_TROUBLE.search(statistic):
        return NodeRule(counter, "netdev")
    return None
