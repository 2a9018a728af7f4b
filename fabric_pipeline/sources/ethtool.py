"""Reads `ethtool -S`: driver statistics of one network interface, `name: number` a line.

Physical-layer counters of the common drivers get canonical names; errors per lane are counted
before FEC, so they are corrected bits of that lane. Everything else is kept uninterpreted.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading, ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import (
    body_lines,
    count_hits,
    reject,
    stamped,
    typed_command,
)
from fabric_pipeline.sources.infiniband.ports import PortRef

_ROW = re.compile(
    r"^\s*(?:\[\d{1,4}\]:\s*)?(?P<name>\w[\w.-]{1,80}?)\s*:\s*(?P<value>-?[0-9]{1,20})\s*$"
)
_LOOSE = re.compile(r"^\s*\w{0,60}_phy\s*:")
_LANE = re.compile(r"^rx_(?:err|errs)_lane_(\d{1,2})_phy$")
_INTERFACE = re.compile(r"^(?:-S|--statistics)\s+([\w.@-]{1,40})")
_HEADING = re.compile(r"^\s*(?:NIC|FEC) statistics(?: for (?P<interface>[\w.@-]{1,40}))?:\s*$")
_MINE = re.compile(
    r"^\s*(?:[rt]x_\w{2,50}_phy|link_down_events_phy|rx_err_lane_\d_phy|module_unplug|"
    r"[rt]x_prio\d_\w{3,30}|[rt]x_queue_\w{3,40}|[rt]x_packets|[rt]x_bytes|"
    r"rx_(?:crc|fcs|symbol)_err\w{0,20}|rx_out_of_buffer|outbound_pci_stalled_\w{2,12}):\s*\d"
)

# Driver spelling -> canonical counter. mlx5: NVIDIA "Understanding mlx5 ethtool counters";
# bnxt_en and ice: the kernel's own statistics tables.
_NAMES = {
    "rx_crc_errors_phy": "crc_phy",
    "rx_crc_errors": "crc_phy",
    "rx_fcs_err_frames": "crc_phy",
    "rx_crc_errors.nic": "crc_phy",
    "rx_symbol_err_phy": "symbol_error",
    "rx_pcs_symbol_err": "symbol_error",
    "rx_corrected_bits_phy": "corrected_bits",
    "rx_corrected_bits": "corrected_bits",
    "link_down_events_phy": "link_downed",
    "link_down_events": "link_downed",
    "rx_discards_phy": "rx_drops",
    "rx_out_of_buffer": "rx_drops",
    "tx_discards_phy": "tx_discards",
    "rx_pause_ctrl_phy": "pause",
    "rx_fec_uncorrectable_blocks": "fec_uncorrectable",
    "fec_uncorrectable_errors": "fec_uncorrectable",
    "rx_fec_uncorrectable_errors": "fec_uncorrectable",
    "tx_bytes_phy": "tx_bytes",
    "rx_bytes_phy": "rx_bytes",
    "tx_packets_phy": "tx_packets",
    "rx_packets_phy": "rx_packets",
}


class EthtoolStatsReader:
    """Reader of `ethtool -S` listings."""

    format_id: ClassVar[str] = "ethtool_stats"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ethtool -S",
        versions="mlx5 driver, versions not stated; names of bnxt_en and ice",
        recognised_by="the heading `NIC statistics`, or several rows of known counters",
        gives=(
            "symbol errors, CRC, drops, discards, pause, link-down events, uncorrectable blocks, "
            "traffic, errors of each lane"
        ),
        traps=(
            "Errors of a lane are counted before error correction, so they are corrected bits.",
            "Statistics without a canonical counter are kept uninterpreted.",
            "A listing without its command does not say which interface it is.",
            "No time stamps: one listing tells no rate.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the heading or several known counters."""
        hits = count_hits(file, _MINE, 4)
        if count_hits(file, _HEADING, 1):
            return 92
        return {0: 0, 1: 45, 2: 70, 3: 80}.get(hits, 88)

    def read(self, file: SourceFile) -> ReadResult:
        """All counters; several interfaces in one file stay apart."""
        result = ReadResult()
        port = PortRef(file.hints.node, "", "", "ethernet")
        for number, line in body_lines(file, result):
            command = typed_command(line, "ethtool")
            heading = _HEADING.match(line)
            if command:
                found = _INTERFACE.match(command.arguments)
                port = _port(file.hints.node or command.host, found.group(1) if found else "")
            elif heading:
                port = _port(port.node, heading.group("interface") or port.interface)
            elif row := _ROW.match(line):
                result.readings.append(
                    _reading(number, row.group("name"), row.group("value"), port)
                )
            elif _LOOSE.match(line):
                reject(result, number, line, "the value of a counter is missing or no number")
        return stamped(result, file)


def _port(node: str, interface: str) -> PortRef:
    return PortRef(node, interface, interface, "ethernet")


def _reading(line: int, name: str, text: str, port: PortRef) -> Reading:
    lane = _LANE.match(name)
    if lane:
        return port.reading(
            line,
            name,
            text,
            counter="corrected_bits",
            value=float(text),
            lane=int(lane.group(1)),
            scope="lane",
        )
    counter = _NAMES.get(name, "")
    kind = COUNTERS[counter].kind if counter else "cumulative"
    return port.reading(line, name, text, counter=counter, value=float(text), kind=kind)
