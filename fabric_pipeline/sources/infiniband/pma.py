"""Counter names of the InfiniBand performance management attributes and their spellings.

Tools write one counter in many ways (`SymbolErrorCounter`, `SymbolErrors`, `symbol_error`); all are
reduced to letters and digits in lower case and looked up here. Widths are those of the classic
PortCounters attribute, where a counter stops at its ceiling instead of wrapping
(rdma-core libibmad/fields.c; InfiniBand Architecture 16.1.3.5).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CounterName:
    """Canonical counter, its classic ceiling, and the factor to the canonical unit."""

    counter: str
    ceiling: int | None = None
    factor: int = 1


_BITS4, _BITS8, _BITS16, _BITS32 = 15, 255, 65535, 4294967295
_WORD_BYTES = 4  # PortXmitData and PortRcvData count 32-bit words

_NAMES: dict[str, tuple[str, ...]] = {
    "symbol_error": ("symbolerrorcounter", "symbolerrors", "symbolerror"),
    "link_error_recovery": (
        "linkerrorrecoverycounter",
        "linkerrorrecovery",
        "linkrecovers",
        "linkerrorrecovercounter",
    ),
    "link_downed": ("linkdownedcounter", "linkdowned", "linkdowncounter"),
    "rx_errors": ("portrcverrors", "rcverrors", "portlocalphysicalerrors"),
    "rx_remote_physical": ("portrcvremotephysicalerrors", "rcvremotephyserrors"),
    "rx_relay_errors": ("portrcvswitchrelayerrors", "rcvswrelayerrors"),
    "tx_discards": ("portxmitdiscards", "portxmitdiscard", "xmtdiscards"),
    "tx_constraint": ("portxmitconstrainterrors", "xmtconstrainterrors"),
    "rx_constraint": ("portrcvconstrainterrors", "rcvconstrainterrors"),
    "local_link_integrity": ("locallinkintegrityerrors", "linkintegrityerrors"),
    "buffer_overrun": (
        "excessivebufferoverrunerrors",
        "excessivebuffererrors",
        "excbufoverrunerrors",
        "portbufferoverrunerrors",
    ),
    "vl15_dropped": ("vl15dropped",),
    "tx_wait": ("portxmitwait", "xmtwait"),
    "tx_bytes": ("portxmitdata", "xmtdata"),
    "rx_bytes": ("portrcvdata", "rcvdata"),
    "tx_packets": ("portxmitpkts", "portxmitpackets", "xmtpkts"),
    "rx_packets": ("portrcvpkts", "portrcvpackets", "rcvpkts"),
    "fec_uncorrectable": ("portfecuncorrectableblockcounter",),
    # RDMA counters of mlx5 under hw_counters
    "out_of_sequence": ("outofsequence",),
    "packet_seq_err": ("packetseqerr",),
    "ack_timeout": ("localacktimeouterr",),
    "rnr_nak_retry": ("rnrnakretryerr",),
    "retry_exceeded": ("reqtransportretriesexceeded", "reqrnrretriesexceeded"),
    "rx_drops": ("outofbuffer",),
    "cnp": ("npcnpsent",),
}
_CEILINGS = {
    "symbol_error": _BITS16,
    "link_error_recovery": _BITS8,
    "link_downed": _BITS8,
    "rx_errors": _BITS16,
    "rx_remote_physical": _BITS16,
    "rx_relay_errors": _BITS16,
    "tx_discards": _BITS16,
    "tx_constraint": _BITS8,
    "rx_constraint": _BITS8,
    "local_link_integrity": _BITS4,
    "buffer_overrun": _BITS4,
    "vl15_dropped": _BITS16,
    "tx_wait": _BITS32,
}
_TABLE = {
    spelling: CounterName(
        counter,
        _CEILINGS.get(counter),
        _WORD_BYTES if counter in ("tx_bytes", "rx_bytes") else 1,
    )
    for counter, spellings in _NAMES.items()
    for spelling in spellings
}
_UNMAPPED = CounterName("")


def counter_name(text: str) -> CounterName:
    """What a tool's counter name stands for; the canonical name is "" when nothing fits."""
    key = "".join(char for char in text.lower() if char.isalnum())
    return _TABLE.get(key, _UNMAPPED)


def is_saturated(name: CounterName, value: float, is_wide: bool = False) -> bool:
    """True when a classic counter stands at its ceiling; 64-bit counters never do."""
    return not is_wide and name.ceiling is not None and value == name.ceiling
