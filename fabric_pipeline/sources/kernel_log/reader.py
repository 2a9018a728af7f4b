"""The public door of the kernel log format: which files it takes and how it reads them.

Lines are handed to the message parsers in turn; lines that no parser knows are no part of the fabric
and are only counted. Judging events is `diagnose.event_roles`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import ClassVar

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.fabricmanager import nvswitch_error, switch_addresses
from fabric_pipeline.sources.kernel_log.aer import AerParser
from fabric_pipeline.sources.kernel_log.frames import BOOT_MARK, MAX_LINE, FrameReader, KernelLine
from fabric_pipeline.sources.kernel_log.journal_export import export_records, is_export
from fabric_pipeline.sources.kernel_log.mlx5 import LinkParser
from fabric_pipeline.sources.kernel_log.nvidia import NvidiaParser
from fabric_pipeline.sources.kernel_log.nvswitch import NvswitchParser

_RELEVANT = (
    r"NVRM|Xid|fallen off|peermem|AER:|PCIe|\bDPC:|pciehp|Hardware Error\]|mlx[45]_|[Mm]odule event"
    r"|^\s{0,40}event(?:\[error\])?: module"
    r"|\bLink (?:[Uu]p|[Dd]own|is)|link status|carrier|NVSwitch|PORT_|NETDEV WATCHDOG"
)
_INTEREST = re.compile(f"{_RELEVANT}|{BOOT_MARK}")
# A line without any of these matches `_INTEREST` nowhere; looking for words is many times as fast.
_WORDS = (
    "NVRM", "Xid", "fallen off", "peermem", "AER:", "PCIe", "DPC:", "pciehp", "Hardware Error]", "mlx4_",
    "mlx5_", "odule event", ": module", "Link ", "link status", "carrier", "NVSwitch", "PORT_", "NETDEV W",
    "Linux version", "BOOT_IMAGE", "Booting Linux", "-- Boot", "-- Reboot", "Coldplug All",
    "systemd-journald", "Switching root", "systemd-udev", "TPM2 PCR",
)  # fmt: skip
# A PCI address, which `10:15:30.25` of a time stamp is not. Begins at the colon, which is found fast.
_HEX = "[0-9a-fA-F]"
_BEFORE = (f"{_HEX}{{4}}:", f"[^{_HEX[1:-1]}]:", f"[^{_HEX[1:-1]}:]", "^")
_ADDRESS = re.compile(
    f":(?:{'|'.join(f'(?<={before}{_HEX}{{2}}:)' for before in _BEFORE)}){_HEX}{{2}}\\.[0-7]"
)
_BITS = re.compile(r"\s{0,80}\[\s{0,3}\d{1,2}\]\s")
# Said by nobody else: these mark a kernel log even without any frame.
_OWN = re.compile(
    r"NVRM: |SXid \(PCI|nvidia-nvswitch\d|pcieport [0-9a-f]{4}:|PCIe Bus Error: |nvidia[-_]peermem "
    r"|mlx5_core[: ]|[Pp]ort module event|\(slave [\w.-]{1,15}\): link status|\[Hardware Error\]: "
)
_KERNEL_FRAME = re.compile(
    r"\skernel:\s|^\[\s*[+<]?\s*\d{1,10}\.\d{3,9}|^\d{1,4},\d{1,20},\d{1,20},[^;]{1,60};|^<\d{1,3}>\["
    r"|:\s+kern:\s+\w{3,8}:\s+\[|\"_TRANSPORT\"\s?:\s?\"kernel\"|\"SYSLOG_IDENTIFIER\"\s?:\s?\"kernel\""
    r"|^\[[^\W\d_]{2,5}\.? [^\W_]{3,5}\.? {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4}\]|\ssystemd\[1\]: "
    r"|\ssystemd-networkd\[\d|\sNetworkManager\[\d|^\s*\d{1,10}\.\d{6}\]\s"
)
_SCORED_LINES = 400


class KernelLogReader:
    """Reads dmesg, journal, syslog, kmsg and their relatives."""

    format_id: ClassVar[str] = "kernel_log"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"events", "topology"})
    # All that `is_of_interest`; blanks and digits may be such as only Python knows.
    wanted_lines: ClassVar[str] = "|".join(
        (
            *map(re.escape, _WORDS),
            rf"(?:{'|'.join(_BEFORE)}){_HEX}{{2}}:{_HEX}{{2}}\.[0-7]",
            r"^[^!-~]*\[[^!-/:-~]{1,5}\]",
        )
    )
    note: ClassVar[FormatNote] = FormatNote(
        tool="dmesg, journalctl (also -o json and -o export), syslog, /dev/kmsg, container logs",
        versions=(
            "plain, ISO, delta and boot-relative stamps, months in several languages; drivers "
            "570.158 and 570.195 in two files"
        ),
        recognised_by="the share of lines with a kernel's frame or a driver's own words",
        gives=(
            "Xid with link and meaning, SXid, lost GPUs, PCIe AER in old and new wording, DPC and"
            " APEI records, port and module events of network drivers"
        ),
        traps=(
            "Xids that follow from others (such as 145) never accuse alone.",
            (
                "An AER report is charged to the device that its detail lines name, not to the "
                "port that received it."
            ),
            "A link message of driver, RDMA layer and bonding within a second is one event.",
            "A syslog line has no year: it orders events and gives no absolute time.",
            "`Link -1` means the whole GPU and names no link.",
            "Virtual interfaces are left out and management cards are marked: neither is fabric.",
            "A redacted address stays unknown; a driver fault blames no link.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """By the share of lines with a kernel's frame or a driver's words in the head of the file."""
        if file.is_binary:
            return 0
        lines = [ln[:MAX_LINE] for ln in file.head.splitlines()[:_SCORED_LINES] if ln.strip()]
        if not lines:
            return 0
        own = sum(1 for line in lines if _OWN.search(line))
        if is_export(file):
            return 90 if own or "\n_TRANSPORT=kernel" in file.head else 0
        framed = sum(1 for line in lines if _KERNEL_FRAME.search(line))
        share = max(own, framed) / len(lines)
        if own and share >= 0.2:
            return 90
        if framed and share >= 0.5:
            return 80
        if own:
            return 50
        return 30 if framed else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Events of the whole file, in the order in which they begin."""
        result = ReadResult()
        frames = FrameReader(file.hints)
        nvidia, switch, aer, links = (
            NvidiaParser(result), NvswitchParser(result), AerParser(result), LinkParser(result),
        )  # fmt: skip
        parsers = (nvidia.feed, switch.feed, aer.feed, links.feed)
        span = _Span()
        uses_delta = "[  +" in file.head or "[+" in file.head
        for number, shown, raw in _numbered(file, lambda: uses_delta or span.is_open):
            found = is_of_interest(raw[:MAX_LINE])
            if not (found or uses_delta or span.is_open):
                span.last_raw = (number, raw)
                continue
            line = frames.read(number, raw)
            if shown is not raw:
                line.raw = shown[:MAX_TEXT].rstrip()
            span.add(line)
            if not found or any(feed(line) for feed in parsers):
                continue
            if event := nvswitch_error(line):
                result.events.append(event)
            elif "\ufffd" in raw:
                rule = "the line holds bytes that are not valid text"
                result.rejected.append(RejectedLine(number, line.raw, rule))
        span.close(frames)
        aer.finish()
        links.finish()
        result.events.sort(key=lambda event: (event.line, event.last_line or 0))
        result.topology = switch_addresses(result.events)
        _add_span(result, span)
        _add_facts(result, file.line_count)
        return result


def is_of_interest(text: str) -> bool:
    """True when a message parser, or the clock since boot, may have a use for the line."""
    for word in _WORDS:
        if word in text:
            if _INTEREST.search(text):
                return True
            break
    return bool(_ADDRESS.search(text) or _BITS.match(text))


def _numbered(file: SourceFile, needs_all: Callable[[], bool]) -> Iterator[tuple[int, str, str]]:
    """Number, line as it stands and line as it is read; a journal export is read by records."""
    if is_export(file):
        yield from export_records(file.numbered())
        return
    for number, line in file.numbered(needs_all):
        yield number, line, line


class _Span:
    """First and last moment of the file, so that rates can be set against the time observed."""

    def __init__(self) -> None:
        self.first: KernelLine | None = None
        self.last: KernelLine | None = None
        self.last_raw: tuple[int, str] | None = None

    @property
    def is_open(self) -> bool:
        """True until a first time stamp was seen."""
        return self.first is None

    def add(self, line: KernelLine) -> None:
        """Take note of a line with a clock."""
        if line.seconds is None and line.time is None:
            return
        self.first = self.first or line
        self.last = line

    def close(self, frames: FrameReader) -> None:
        """Look at the last line of the file even when it told nothing else."""
        if self.last_raw and (self.last is None or self.last_raw[0] > self.last.number):
            self.add(frames.read(*self.last_raw))

    @property
    def seconds(self) -> float | None:
        """Time between the first and the last line, None without a common clock."""
        if self.first is None or self.last is None:
            return None
        return self.last.gap_s(self.first.event("span"))


def _add_span(result: ReadResult, span: _Span) -> None:
    seconds = span.seconds
    if seconds is None:
        return
    result.facts["observed_s"] = round(seconds, 3)
    for event in result.events:
        if event.kind == "aer_corrected":
            event.details["observed_s"] = seconds


def _add_facts(result: ReadResult, lines: int) -> None:
    result.facts["lines"] = lines
    counts: Counter[str] = Counter()
    for event in result.events:
        name = f"{event.kind} {event.code}" if event.code is not None else event.kind
        counts[name] += event.count
    result.facts["event_counts"] = dict(sorted(counts.items()))
    if any(not event.node for event in result.events):
        result.unknown.append(
            UnknownFact("", "", "host name", "the log lines do not say which host wrote them")
        )
    if result.events and all(event.time is None for event in result.events):
        result.unknown.append(
            UnknownFact("", "", "absolute time", "the time stamps state no year, or there are none")
        )
