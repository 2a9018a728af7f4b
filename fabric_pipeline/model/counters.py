"""The canonical counters: what each counts, its error class, its unit and where it saturates.

One row per counter; readers translate the many vendor spellings into these names. Limits live in
`detect`, because a limit is a judgement and a counter is not.
Sources: field-guide Appendix A and section 2.4 (NVML, DCGM, InfiniBand PMA, mlx5, kernel AER).
"""

from __future__ import annotations

from dataclasses import dataclass

# Error classes, worst last. A CRC alone never says how many bits were wrong (field-guide 2.4).
ERROR_CLASSES = (
    "corrected_single",
    "corrected_multi",
    "detected_retransmitted",
    "recovered_link",
    "uncorrected",
    "link_down",
)
BASES = ("measured", "reported", "proxy", "snapshot")


@dataclass(frozen=True, slots=True)
class CounterSpec:
    """One canonical counter.

    `kind`: cumulative (grows, resets), gauge (a state or level). `error_class`: "" when the counter
    counts no error of this link. `role`: `error` accuses this link, `upstream` was noticed here but
    arose elsewhere, `congestion` and `loss` are consequences, `traffic`, `state` and `quality` are
    context. `ceiling`: value at which classic tools stop counting, or None.
    """

    name: str
    kind: str
    role: str
    error_class: str = ""
    class_basis: str = ""
    unit: str = "events"
    ceiling: int | None = None
    says: str = ""


def _error(
    name: str, error_class: str, basis: str, says: str, ceiling: int | None = None
) -> CounterSpec:
    return CounterSpec(name, "cumulative", "error", error_class, basis, "events", ceiling, says)


_SPECS = (
    # NVLink
    _error("crc_single_bit", "corrected_single", "reported", "CRC errors with one wrong bit"),
    _error("crc_multi_bit", "corrected_multi", "reported", "CRC errors with several wrong bits"),
    _error("crc", "detected_retransmitted", "proxy", "CRC errors of unstated kind", 65535),
    _error("crc_flit", "detected_retransmitted", "proxy", "flits received with a bad CRC"),
    _error("crc_data", "detected_retransmitted", "proxy", "data packets received with a bad CRC"),
    _error("replay", "detected_retransmitted", "proxy", "NVLink replays"),
    _error("recovery", "recovered_link", "reported", "NVLink recoveries"),
    _error("recovery_failed", "link_down", "reported", "NVLink recoveries that failed"),
    _error("ecc", "uncorrected", "reported", "NVLink ECC errors, correction not stated"),
    _error("plr_retry", "detected_retransmitted", "measured", "physical-layer retransmissions"),
    _error("plr_uncorrectable", "uncorrected", "measured", "physical-layer codes beyond repair"),
    _error("rx_malformed", "detected_retransmitted", "proxy", "NVLink packets received malformed"),
    _error(
        "rx_general",
        "detected_retransmitted",
        "proxy",
        "NVLink packets received with a wrong header",
    ),
    _error("effective_error", "uncorrected", "measured", "errors left after correction"),
    _error("link_fatal", "uncorrected", "reported", "fatal errors of an NVSwitch port"),
    *(
        CounterSpec(
            f"fec_bin_{symbols}",
            "cumulative",
            "quality" if symbols else "traffic",
            "corrected_multi" if symbols > 1 else "corrected_single" if symbols else "",
            "measured" if symbols else "",
            "code words",
            says=f"code words with {symbols} symbols repaired by FEC",
        )
        for symbols in range(16)
    ),
    # PCIe
    _error("pcie_replay", "detected_retransmitted", "proxy", "PCIe replays"),
    _error(
        "pcie_replay_rollover",
        "recovered_link",
        "reported",
        "PCIe replay counter rollovers (link retrained)",
    ),
    _error("aer_correctable", "detected_retransmitted", "proxy", "AER correctable errors"),
    _error("aer_nonfatal", "uncorrected", "reported", "AER uncorrectable non-fatal errors"),
    _error("aer_fatal", "uncorrected", "reported", "AER uncorrectable fatal errors"),
    # InfiniBand, RoCE, Ethernet
    _error("symbol_error", "uncorrected", "measured", "symbol errors past any FEC", 65535),
    _error(
        "link_error_recovery", "recovered_link", "reported", "successful link error recoveries", 255
    ),
    _error("link_downed", "link_down", "reported", "times the link went down", 255),
    _error("rx_errors", "detected_retransmitted", "proxy", "packets received with an error", 65535),
    _error(
        "local_link_integrity",
        "uncorrected",
        "reported",
        "local physical errors over the threshold",
        15,
    ),
    _error("fec_uncorrectable", "uncorrected", "measured", "FEC code words beyond repair"),
    _error("crc_phy", "detected_retransmitted", "proxy", "frames with a bad check sequence"),
    _error("rx_lane_error", "uncorrected", "measured", "symbol errors of one lane past FEC"),
    CounterSpec(
        "corrected_bits",
        "cumulative",
        "quality",
        "corrected_single",
        "measured",
        "bits",
        None,
        "bits repaired by FEC",
    ),
    CounterSpec(
        "rx_remote_physical",
        "cumulative",
        "upstream",
        says="errors marked by a device further up",
        ceiling=65535,
    ),
    CounterSpec(
        "buffer_overrun", "cumulative", "congestion", says="receive buffer overruns", ceiling=15
    ),
    CounterSpec(
        "vl15_dropped", "cumulative", "congestion", says="management packets dropped", ceiling=65535
    ),
    CounterSpec(
        "rx_relay_errors",
        "cumulative",
        "congestion",
        says="packets the switch could not forward",
        ceiling=65535,
    ),
    CounterSpec(
        "tx_discards",
        "cumulative",
        "congestion",
        says="packets dropped before sending",
        ceiling=65535,
    ),
    CounterSpec(
        "tx_constraint", "cumulative", "congestion", says="packets not sent by rule", ceiling=255
    ),
    CounterSpec(
        "rx_constraint", "cumulative", "congestion", says="packets refused by rule", ceiling=255
    ),
    CounterSpec(
        "tx_wait",
        "cumulative",
        "congestion",
        unit="ticks",
        says="time without credits to send",
        ceiling=4294967295,
    ),
    CounterSpec("rx_drops", "cumulative", "congestion", says="packets dropped for lack of buffers"),
    CounterSpec("cnp", "cumulative", "congestion", says="congestion notifications"),
    CounterSpec("pause", "cumulative", "congestion", says="pause frames"),
    CounterSpec("out_of_sequence", "cumulative", "loss", says="packets out of order"),
    CounterSpec("packet_seq_err", "cumulative", "loss", says="sequence errors answered by NAK"),
    CounterSpec("ack_timeout", "cumulative", "loss", says="acknowledgements that never came"),
    CounterSpec(
        "rnr_nak_retry", "cumulative", "loss", says="receiver-not-ready retries (slow receiver)"
    ),
    CounterSpec(
        "retry_exceeded", "cumulative", "loss", says="transfers given up after all retries"
    ),
    CounterSpec("tx_bytes", "cumulative", "traffic", unit="bytes", says="bytes sent"),
    CounterSpec("rx_bytes", "cumulative", "traffic", unit="bytes", says="bytes received"),
    CounterSpec("tx_packets", "cumulative", "traffic", unit="packets", says="packets sent"),
    CounterSpec("rx_packets", "cumulative", "traffic", unit="packets", says="packets received"),
    # States and levels
    CounterSpec("link_up", "gauge", "state", unit="1 up, 0 down", says="link state"),
    CounterSpec("width", "gauge", "state", unit="lanes", says="current link width"),
    CounterSpec("width_max", "gauge", "state", unit="lanes", says="widest both ends allow"),
    CounterSpec("speed_gbps", "gauge", "state", unit="Gb/s", says="current link speed"),
    CounterSpec("speed_max_gbps", "gauge", "state", unit="Gb/s", says="fastest both ends allow"),
    CounterSpec("pcie_gen", "gauge", "state", unit="generation", says="current PCIe generation"),
    CounterSpec(
        "pcie_gen_max",
        "gauge",
        "state",
        unit="generation",
        says="highest PCIe generation both ends allow",
    ),
    CounterSpec(
        "performance_state",
        "gauge",
        "state",
        unit="P0 busy .. P15 idle",
        says="GPU performance state",
    ),
    CounterSpec(
        "port_identity",
        "gauge",
        "state",
        unit="1 present",
        says="the hardware behind a port name; `state` holds `<tool>: <identity in words>`",
    ),
    CounterSpec(
        "base_lid", "gauge", "state", unit="LID", says="LID of a port, kept when it goes down"
    ),
    CounterSpec("sm_lid", "gauge", "state", unit="LID", says="LID of the port's subnet manager"),
    CounterSpec("carrier_up_count", "gauge", "state", says="times an interface got its carrier"),
    CounterSpec("carrier_down_count", "gauge", "state", says="times an interface lost its carrier"),
    CounterSpec(
        "fabric_check_errors",
        "gauge",
        "state",
        unit="findings",
        says="errors a fabric-wide check counted, not of one link",
    ),
    CounterSpec("raw_ber", "gauge", "quality", unit="errors/bit", says="bit error rate before FEC"),
    CounterSpec(
        "effective_ber", "gauge", "quality", unit="errors/bit", says="bit error rate after FEC"
    ),
    CounterSpec(
        "symbol_ber", "gauge", "quality", unit="errors/bit", says="symbol error rate after FEC"
    ),
    CounterSpec("throughput_mbps", "gauge", "traffic", unit="MB/s", says="traffic level"),
    CounterSpec("tx_throughput_mbps", "gauge", "traffic", unit="MB/s", says="traffic level sent"),
    CounterSpec(
        "rx_throughput_mbps", "gauge", "traffic", unit="MB/s", says="traffic level received"
    ),
)

COUNTERS: dict[str, CounterSpec] = {spec.name: spec for spec in _SPECS}
STATE_COUNTERS = tuple(spec.name for spec in _SPECS if spec.role == "state")

# DCGM's way to say blank, not found, not supported, not permitted: 64-bit, 32-bit and double forms
# (DCGM dcgm_fields.h; samples trap 1).
BLANK_VALUES = frozenset(
    {float(v) for v in range(9223372036854775792, 9223372036854775796)}
    | {float(v) for v in range(2147483632, 2147483636)}
    | {140737488355328.0, 140737488355329.0, 140737488355330.0, 140737488355331.0}
)


def is_blank(value: float) -> bool:
    """True for the numbers by which DCGM says that nothing was measured."""
    return value in BLANK_VALUES
