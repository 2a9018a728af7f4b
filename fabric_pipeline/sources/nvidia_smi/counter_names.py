"""Canonical names for the counters that `nvidia-smi nvlink` and `dcgmi nvlink` print in words.

A row without a canonical partner is kept under its own words. Codes of dmon columns stand in
`dcgmi.dmon`.
Sources: field-guide section 3c and Appendix A; nvidia-smi manual, section nvlink.
"""

from __future__ import annotations

import re

TOTAL_RECOVERIES = "link recovery total"  # successful + failed: used only where no parts are given

_NAMES = {
    "replay": "replay",
    "recovery": "recovery",
    "crc": "crc",
    "crc flit": "crc_flit",
    "flit crc": "crc_flit",
    "crc data": "crc_data",
    "data crc": "crc_data",
    "ecc": "ecc",
    "ecc data": "ecc",
    "tx packets": "tx_packets",
    "rx packets": "rx_packets",
    "tx bytes": "tx_bytes",
    "rx bytes": "rx_bytes",
    "malformed packet": "rx_malformed",
    "rx malformed packet": "rx_malformed",
    "buffer overrun": "buffer_overrun",
    "rx buffer overrun": "buffer_overrun",
    "rx": "rx_errors",
    "rx remote": "rx_remote_physical",
    "rx general": "rx_general",
    "local link integrity": "local_link_integrity",
    "tx discards": "tx_discards",
    "link recovery successful": "recovery",
    "link recovery failed": "recovery_failed",
    "effective": "effective_error",
    "symbol": "symbol_error",
    "rx symbol": "symbol_error",
    "effective ber": "effective_ber",
    "symbol ber": "symbol_ber",
    "raw ber": "raw_ber",
    "plr rcv uncorrectable code": "plr_uncorrectable",
    "plr rcv uncorrectable codes": "plr_uncorrectable",
    "plr xmit retry blocks": "plr_retry",
    "plr xmit retry codes": "plr_retry",
    "link down": "link_downed",
    "physical link down": "link_downed",
}
_FEC_BIN = re.compile(
    r"^fec (?:errors?|history) ([0-9]{1,2})$"
)  # NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0..15
_LAST_FEC_BIN = 15
KIB_ROWS = {
    "data tx": "tx_bytes",
    "data rx": "rx_bytes",
}  # of `nvlink -gt d`; raw rows add protocol
_TOTALS = frozenset({"total link recovery", "link recovery", "link recovery total"})
_TAIL = re.compile(r"\s(?:errors?|events?|counter|count)$")
_LANE = re.compile(r"[,:]?\s{0,8}\blane\s{0,8}(\d{1,2})\b\s{0,8}:?\s{0,8}", re.I)
CLASSIC = ("Replay Errors", "Recovery Errors", "CRC Errors")  # rows of a link before Blackwell


def split_lane(words: str) -> tuple[str, int | None]:
    """Counter words without their lane, and the lane (`CRC Errors Lane 2` -> `CRC Errors`, 2)."""
    found = _LANE.search(words)
    if not found:
        return words.strip(), None
    rest = f"{words[: found.start()]} {words[found.end() :]}".strip()
    return rest, int(found[1])


def canonical_counter(words: str) -> str:
    """Canonical name of printed counter words, `TOTAL_RECOVERIES`, or "" when there is none."""
    plain = re.sub(r"[\s_-]+", " ", words.strip().lower())
    fec_bin = _FEC_BIN.match(plain)
    if fec_bin and int(fec_bin[1]) <= _LAST_FEC_BIN:
        return f"fec_bin_{int(fec_bin[1])}"
    while True:
        shorter = _TAIL.sub("", plain)
        if shorter == plain:
            break
        plain = shorter
    if plain in _TOTALS:
        return TOTAL_RECOVERIES
    if plain == "raw ber total":
        return "raw_ber"
    return _NAMES.get(plain) or KIB_ROWS.get(plain, "")


def merged_counters(words: str) -> list[str]:
    """Printed names in a merged row: `Replay/Recovery/CRC Errors` gives three."""
    parts = [part.strip() for part in words.split("/")]
    if len(parts) == 1 or not all(canonical_counter(part) for part in parts):
        return [words.strip()]
    return [
        part if part.lower().endswith(("error", "errors")) else f"{part} Errors" for part in parts
    ]
