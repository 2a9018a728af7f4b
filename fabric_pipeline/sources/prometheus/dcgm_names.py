"""The names of DCGM metrics in all their spellings, and the canonical counter each stands for.

Covers the lower-case names of exporter 1.x, DCGM 3 to 4.5 (`*_ERROR_COUNT_TOTAL`) and 4.6 on
(`*_ERROR_TOTAL`, `*_PER_LINK_TOTAL`). What a label says about place belongs to `entity`.
Sources: field-guide Appendix A, DCGM `dcgm_fields.h` and its block of deprecated names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Rule:
    """How to read one metric.

    `counter`: canonical name, "" to keep the value raw. `place`: `nvlink`, `pcie`, `gpu`,
    `switch`, or `none`. The value divided by `divisor` is in the counter's unit. `decode` names a value
    that is no plain number (see `dcgm_series`). `link` and `lane` are numbers found in the name.
    `family` is the name without link or lane number.
    """

    counter: str = ""
    place: str = "nvlink"
    kind: str = "cumulative"
    divisor: float = 1.0
    decode: str = ""
    link: int | None = None
    lane: int | None = None
    family: str = ""


_GAUGE = Rule(kind="gauge")
_PCIE = Rule(place="pcie")
_PCIE_GAUGE = Rule(place="pcie", kind="gauge")
_SWITCH = Rule(place="switch")
_BYTES_PER_SECOND = 1e6  # to MB/s

_TABLE: dict[str, Rule] = {
    # NVLink up to Hopper
    "NVLINK_CRC_FLIT_ERROR": Rule("crc_flit"),
    "NVLINK_FLIT_CRC_ERROR": Rule("crc_flit"),
    "NVLINK_CRC_DATA_ERROR": Rule("crc_data"),
    "NVLINK_DATA_CRC_ERROR": Rule("crc_data"),
    "NVLINK_REPLAY_ERROR": Rule("replay"),
    "NVLINK_RECOVERY_ERROR": Rule("recovery"),
    # The data-link counters of Hopper; nearly the names of the four above, other fields
    "NVLINK_CRC_ERROR": Rule("crc"),
    "NVLINK_ERROR_DL_CRC": Rule("crc"),
    "NVLINK_REPLAY": Rule("replay"),
    "NVLINK_ERROR_DL_REPLAY": Rule("replay"),
    "NVLINK_RECOVERY": Rule("recovery"),
    "NVLINK_ERROR_DL_RECOVERY": Rule("recovery"),
    "NVLINK_ECC_DATA_ERROR": Rule("ecc"),
    "NVLINK_ECC_ERROR": Rule("ecc"),
    # NVLink 5 (Blackwell), summed over the links of a GPU
    "NVLINK_TX_PACKET": Rule("tx_packets"),
    "NVLINK_RX_PACKET": Rule("rx_packets"),
    "NVLINK_TX_BYTES": Rule("tx_bytes"),
    "NVLINK_RX_BYTES": Rule("rx_bytes"),
    "NVLINK_RX_ERROR": Rule("rx_errors"),
    "NVLINK_RX_MALFORMED_PACKET_ERROR": Rule("rx_errors"),
    "NVLINK_RX_PACKET_MALFORMED": Rule("rx_errors"),
    "NVLINK_RX_GENERAL_ERROR": Rule("rx_errors"),
    "NVLINK_RX_BUFFER_OVERRUN_ERROR": Rule("buffer_overrun"),
    "NVLINK_RX_PACKET_DROPPED": Rule("buffer_overrun"),
    "NVLINK_RX_REMOTE_ERROR": Rule("rx_remote_physical"),
    "NVLINK_LOCAL_LINK_INTEGRITY_ERROR": Rule("local_link_integrity"),
    "NVLINK_INTEGRITY_ERROR": Rule("local_link_integrity"),
    "NVLINK_TX_DISCARD": Rule("tx_discards"),
    "NVLINK_LINK_RECOVERY_SUCCESSFUL_EVENT": Rule("recovery"),
    "NVLINK_RECOVERY_SUCCESSFUL": Rule("recovery"),
    "NVLINK_LINK_RECOVERY_FAILED_EVENT": Rule("recovery_failed"),
    "NVLINK_RECOVERY_FAILED": Rule("recovery_failed"),
    "NVLINK_RX_SYMBOL_ERROR": Rule("symbol_error"),
    "NVLINK_EFFECTIVE_ERROR": Rule("effective_error"),
    "NVLINK_SYMBOL_BER": Rule("symbol_ber", kind="gauge", decode="ber_raw"),
    "NVLINK_SYMBOL_BER_RAW": Rule("symbol_ber", kind="gauge", decode="ber_raw"),
    "NVLINK_SYMBOL_BER_FLOAT": Rule("symbol_ber", kind="gauge", decode="ber_printed"),
    "NVLINK_SYMBOL_BER_RATIO": Rule("symbol_ber", kind="gauge", decode="ber_printed"),
    "NVLINK_EFFECTIVE_BER": Rule("effective_ber", kind="gauge", decode="ber_raw"),
    "NVLINK_EFFECTIVE_BER_RAW": Rule("effective_ber", kind="gauge", decode="ber_raw"),
    "NVLINK_EFFECTIVE_BER_FLOAT": Rule("effective_ber", kind="gauge", decode="ber_printed"),
    "NVLINK_EFFECTIVE_BER_RATIO": Rule("effective_ber", kind="gauge", decode="ber_printed"),
    # Registers of one link (PRM)
    "NVLINK_PPCNT_RECOVERY_TOTAL_SUCCESSFUL_EVENT": Rule("recovery"),
    "NVLINK_PPCNT_RECOVERY_SUCCESSFUL": Rule("recovery"),
    "NVLINK_PPCNT_PHYSICAL_SUCCESSFUL_RECOVERY_EVENT": Rule("recovery"),
    "NVLINK_PPCNT_PHYSICAL_RECOVERY_SUCCESSFUL": Rule("recovery"),
    "NVLINK_PPCNT_PHYSICAL_LINK_DOWN_COUNTER": Rule("link_downed"),
    "NVLINK_PPCNT_PHYSICAL_LINK_DOWN": Rule("link_downed"),
    "NVLINK_PPCNT_PLR_RCV_UNCORRECTABLE_CODE": Rule("plr_uncorrectable"),
    "NVLINK_PPCNT_PLR_RX_CODE_UNCORRECTABLE": Rule("plr_uncorrectable"),
    "NVLINK_PPCNT_PLR_XMIT_RETRY_CODE": Rule("plr_retry"),
    "NVLINK_PPCNT_PLR_TX_RETRY_CODE": Rule("plr_retry"),
    "NVLINK_PPCNT_PLR_XMIT_RETRY_EVENT": Rule("plr_retry"),
    "NVLINK_PPCNT_PLR_TX_RETRY_EVENT": Rule("plr_retry"),
    "NVLINK_PPCNT_IBPC_PORT_XMIT_WAIT": Rule("tx_wait"),
    "NVLINK_PPCNT_IBPC_TX_WAIT": Rule("tx_wait"),
    "NVLINK_PPCNT_RECOVERY_TIME_SINCE_LAST": _GAUGE,
    "NVLINK_PPCNT_RECOVERY_TIME_BETWEEN_LAST_TWO": _GAUGE,
    "NVLINK_PPRM_OPER_RECOVERY": _GAUGE,
    "NVLINK_GET_STATE": Rule("link_up", kind="gauge", decode="nvlink_state"),
    "NVLINK_LINK_STATUS": Rule("link_up", kind="gauge", decode="nvlink_state"),
    "NVLINK_ERROR": _GAUGE,
    "GPU_NVLINK_ERROR": _GAUGE,
    # Traffic: DCGM reports MB/s although exporter configurations call these counters
    "NVLINK_BANDWIDTH": Rule("throughput_mbps", kind="gauge"),
    "NVLINK_THROUGHPUT": Rule("throughput_mbps", kind="gauge"),
    "NVLINK_TX_BANDWIDTH": Rule("tx_throughput_mbps", kind="gauge"),
    "NVLINK_TX_THROUGHPUT": Rule("tx_throughput_mbps", kind="gauge"),
    "NVLINK_RX_BANDWIDTH": Rule("rx_throughput_mbps", kind="gauge"),
    "NVLINK_RX_THROUGHPUT": Rule("rx_throughput_mbps", kind="gauge"),
    "NVLINK_THROUGHPUT_BYTES_PER_SECOND": Rule(
        "throughput_mbps", kind="gauge", divisor=_BYTES_PER_SECOND
    ),
    "PROF_NVLINK_TX_BYTES": Rule("tx_throughput_mbps", kind="gauge", divisor=_BYTES_PER_SECOND),
    "PROF_NVLINK_RX_BYTES": Rule("rx_throughput_mbps", kind="gauge", divisor=_BYTES_PER_SECOND),
    "PROF_NVLINK_TX_BYTES_TOTAL": Rule("tx_bytes"),
    "PROF_NVLINK_RX_BYTES_TOTAL": Rule("rx_bytes"),
    "PROF_PCIE_TX_BYTES": Rule("tx_throughput_mbps", "pcie", "gauge", _BYTES_PER_SECOND),
    "PROF_PCIE_RX_BYTES": Rule("rx_throughput_mbps", "pcie", "gauge", _BYTES_PER_SECOND),
    "PROF_PCIE_TX_BYTES_TOTAL": Rule("tx_bytes", "pcie"),
    "PROF_PCIE_RX_BYTES_TOTAL": Rule("rx_bytes", "pcie"),
    # PCIe of the GPU
    "PCIE_REPLAY": Rule("pcie_replay", "pcie"),
    "PCIE_REPLAY_COUNTER": Rule("pcie_replay", "pcie"),
    "PCIE_CORRECTABLE_ERROR": Rule("aer_correctable", "pcie"),
    "PCIE_LINK_GEN": Rule("pcie_gen", "pcie", "gauge", decode="pcie_level"),
    "PCIE_MAX_LINK_GEN": Rule("pcie_gen_max", "pcie", "gauge", decode="pcie_level"),
    "PCIE_LINK_WIDTH": Rule("width", "pcie", "gauge", decode="pcie_level"),
    "PCIE_MAX_LINK_WIDTH": Rule("width_max", "pcie", "gauge", decode="pcie_level"),
    # Versions disagree whether these are KB, KB/s or bytes: kept raw
    "PCIE_TX_THROUGHPUT": _PCIE_GAUGE,
    "PCIE_RX_THROUGHPUT": _PCIE_GAUGE,
    # NVSwitch
    "NVSWITCH_LINK_REPLAY_ERROR": Rule("replay", "switch"),
    "NVSWITCH_LINK_RECOVERY_ERROR": Rule("recovery", "switch"),
    "NVSWITCH_LINK_FLIT_ERROR": Rule("crc_flit", "switch"),
    "NVSWITCH_LINK_CRC_ERROR": Rule("crc", "switch"),
    "NVSWITCH_LINK_ECC_ERROR": Rule("ecc", "switch"),
    "NVSWITCH_LINK_FATAL_ERROR": Rule("link_fatal", "switch"),
    "NVSWITCH_LINK_STATUS": Rule("link_up", "switch", "gauge", decode="switch_state"),
    "NVSWITCH_LINK_THROUGHPUT_TX": Rule(place="switch", kind="gauge"),
    "NVSWITCH_LINK_THROUGHPUT_RX": Rule(place="switch", kind="gauge"),
    # States and events of the GPU or switch
    "PSTATE": Rule("performance_state", "gpu", "gauge"),
    "GPU_PSTATE": Rule("performance_state", "gpu", "gauge"),
    "XID_ERROR": Rule(place="gpu", decode="xid"),
    "EXP_XID_ERROR": Rule(place="gpu", decode="xid_count"),
    "NVSWITCH_FATAL_ERROR": Rule(place="switch", decode="sxid"),
    "SXID_FATAL_ERROR": Rule(place="switch", decode="sxid"),
    "NVSWITCH_NON_FATAL_ERROR": Rule(place="switch", decode="sxid"),
    "SXID_NON_FATAL_ERROR": Rule(place="switch", decode="sxid"),
}
_TABLE |= {f"NVLINK_FEC_HISTORY_{errors}": Rule(f"fec_bin_{errors}") for errors in range(16)}

# Interconnect metrics without a canonical counter are kept raw; all else is no interconnect.
_RAW: tuple[tuple[str, Rule], ...] = (
    ("NVSWITCH_LINK_LATENCY", Rule(place="switch", kind="gauge")),
    ("NVSWITCH_LINK_NON_FATAL_ERROR", _SWITCH),
    ("NVSWITCH_THROUGHPUT", Rule(place="switch", kind="gauge")),
    ("NVLINK", Rule()),
    ("PCIE", _PCIE),
    ("PROF_NVLINK", _GAUGE),
    ("PROF_PCIE", _PCIE_GAUGE),
    ("C2C_LINK", Rule(place="gpu")),
    ("PROF_C2C", Rule(place="gpu", kind="gauge")),
    ("CONNECTX", Rule(place="none", kind="gauge")),
    ("EXP_P2P_STATUS", Rule(place="gpu", kind="gauge")),
)
_NO_INTERCONNECT = ("CONNECTX_TEMP", "CONNECTX_DEVICE_TEMP", "NVLINK_P2P")

_PREFIXES = (("DCGM_FI_DEV_", ""), ("DCGM_FI_", ""), ("DCGM_EXP_", "EXP_"), ("DCGM_", ""))
_NUMBER = re.compile(r"_L(?:ANE)?(\d{1,2})(?=_|$)", re.IGNORECASE)
_PLURAL = re.compile(r"(ERROR|PACKET|CODE|EVENT|DISCARD)S(?=_|$)")
_SUFFIXES = ("_TOTAL", "_COUNT", "_PER_LINK")


def is_dcgm(name: str) -> bool:
    """True for a metric that some version of DCGM or its exporter names so."""
    return name.startswith(("DCGM_", "dcgm_"))


@lru_cache(maxsize=4096)
def rule_for(name: str) -> Rule | None:
    """How to read a DCGM metric; None when it does not speak of the interconnect."""
    stem = _stem(name)
    if not stem or stem.startswith(_NO_INTERCONNECT):
        return None
    number = _NUMBER.search(stem)
    if number:
        stem = stem[: number.start()] + stem[number.end() :]
    rule = _look_up(stem)
    if rule is None:
        return None
    # `_L<n>` counts links for a GPU's fields and lanes for those of an NVSwitch.
    index = int(number.group(1)) if number else None
    family = _NUMBER.sub("", name)
    if rule.place == "switch":
        return replace(rule, lane=index, family=family)
    return replace(rule, link=index, family=family)


def _stem(name: str) -> str:
    """Upper-case name without prefix, plural and the `COUNT_` that newer versions leave out."""
    upper = name.upper()
    for prefix, instead in _PREFIXES:
        if upper.startswith(prefix):
            stem = instead + upper[len(prefix) :]
            stem = stem.replace("NVLINK_COUNT_", "NVLINK_").replace("PCIE_COUNT_", "PCIE_")
            return _PLURAL.sub(r"\1", stem)
    return ""


def _look_up(stem: str) -> Rule | None:
    """The rule of the exact name, then of shorter ones, then of the group it belongs to."""
    short = stem
    while short not in _TABLE:
        suffix = next((end for end in _SUFFIXES if short.endswith(end)), "")
        if not suffix:
            return next((rule for start, rule in _RAW if stem.startswith(start)), None)
        short = short.removesuffix(suffix)
    return _TABLE[short]
