"""The grammar of one `Link ...` row of `nvidia-smi nvlink`, and of the lines around such rows.

A row is taken apart here; what it means for which GPU is put together in `nvlink_capture`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabric_pipeline.sources.nvidia_smi.values import is_not_measured

MAX_LINK = 255  # no NVIDIA device has more links; larger numbers are damage

GPU_HEADER = re.compile(r"^\s{0,20}GPU\s{1,4}(?P<gpu>\d{1,4})\s{0,4}:\s?(?P<rest>.{0,400})$")
UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I)
ELLIPSIS = re.compile(
    r"^[\[<(]? ?(?:\. ?\. ?\.[. ]{0,20}|\u2026"
    r"|-{0,20} ?(?:snip(?:ped)?|truncated|omitted|cut) ?-{0,20})"
    r"(?: ?\(?(?:truncated|omitted|snip(?:ped)?)\)?)? ?[\])>]?$",
    re.I,
)
ALL_INACTIVE = re.compile(r"\ball\s+links\s+are\s+in-?active\b", re.I)
NO_NVLINK = re.compile(r"does not have or support nvlink|nvlink (?:is )?not supported", re.I)
BARE_REFUSAL = re.compile(r"^\s*not supported\.?\s*$", re.I)
LOST = re.compile(r"\bGPU is lost\b|fallen off the bus|determine the device handle", re.I)
COMPLAINT = re.compile(
    r"^\s*(?:NVML\s?:|Unable to (?:retrieve|determine|get)|NVIDIA-SMI has failed"
    r"|No devices were found)",
    re.I,
)
NAMED_PCI = re.compile(r"GPU\s?([0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7])", re.I)
LANE_ROW = re.compile(r"^\s*Lane\s+(?P<lane>\d{1,2})\s*[:,]\s*(?P<rest>.{1,200})$", re.I)
ROW_REMAINS = re.compile(
    r"GB/s|\bErrors?\s*:|<inactive>|Remote Device|supported:|\bBER:|recovery (?:successful|failed)",
    re.I,
)

_LIST = r"\d{1,4}(?:\s{0,3}(?:[-\u2013,&]|and)\s{0,3}\d{1,4}){0,40}"
_ROW = re.compile(rf"^\s*Links?\s+(?P<links>{_LIST})\s{{0,3}}(?P<mark>[:,])\s*(?P<rest>.*)$", re.I)
_ROW_START = re.compile(r"^\s*Links?\s+\d", re.I)
_REMOTE = re.compile(
    r"^(?:Remote Device\s+)?(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])"
    r"(?:\s*:\s*Link\s+(?P<link>\d{1,3}))?\s*$",
    re.I,
)
_SPEED = re.compile(r"^(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?)\s{0,2}(?P<unit>[GM]B/s)\b")
_STATE = re.compile(
    r"^<?\s*(?P<word>in-?active|active|disabled|sleep(?:ing)?|up|down|off)\s*>?$", re.I
)
_CLEAN = re.compile(r"^(?:no errors?|clean|all (?:zero|clear)|0 errors)\.?$", re.I)
_UP_WORDS = frozenset({"active", "up", "sleep", "sleeping"})


@dataclass(frozen=True, slots=True)
class NvlinkRow:
    """One row taken apart.

    `kind`: `speed` (value in GB/s), `state` (value is the word), `counter`, `clean` (the row says
    only that there were no errors), `capability`, `remote` (name is the far link or ""), `heading`
    (`Link 3:` alone). `name` and `value` are texts as they stand in the row.
    """

    links: tuple[int, ...]
    kind: str
    name: str
    value: str

    @property
    def is_up(self) -> bool:
        """For `state` rows: True when the word means a working link (a sleeping one works)."""
        return self.value.strip("<> ").lower() in _UP_WORDS


def parse_row(text: str) -> NvlinkRow | str | None:
    """The row, None when the line is no row, or the rule in words when the row cannot be read."""
    if not _ROW_START.match(text):
        return None
    found = _ROW.match(text)
    if not found:
        return "the row ends before its colon"
    links = expand_links(found["links"])
    if links is None:
        return f"{found['links'][:60]!r} is no list of link numbers"
    rest = found["rest"].strip()
    if found["mark"] == ",":
        lane = LANE_ROW.match(rest)
        return _lane_counter(links, lane) if lane else _capability(links, rest)
    return _classify(links, rest)


def expand_links(text: str) -> tuple[int, ...] | None:
    """`0-2, 4-5` -> (0, 1, 2, 4, 5); None when a range runs backwards or out of bounds."""
    numbers: list[int] = []
    for part in re.split(r"\s*(?:,|&|and)\s*", text.strip()):
        low, _, high = part.replace("\u2013", "-").partition("-")
        if not low.strip().isdecimal() or (high and not high.strip().isdecimal()):
            return None
        first, last = int(low), int(high) if high else int(low)
        if first > last or last > MAX_LINK:
            return None
        numbers.extend(range(first, last + 1))
    return tuple(dict.fromkeys(numbers))


def _lane_counter(links: tuple[int, ...], lane: re.Match[str]) -> NvlinkRow | str:
    """A row of `-ec`, such as `Link 0, Lane 2: CRC Error: 5`."""
    name, mark, value = lane["rest"].rpartition(":")
    if not mark or not value.strip():
        return "the row of a lane has no count"
    return NvlinkRow(links, "counter", f"{name.strip()} Lane {lane['lane']}", value.strip())


def _capability(links: tuple[int, ...], rest: str) -> NvlinkRow | str:
    name, mark, value = rest.rpartition(":")
    if not mark or value.strip().lower() not in ("true", "false", "n/a"):
        return "the capability row has no value true or false"
    return NvlinkRow(links, "capability", name.strip(), value.strip())


def _classify(links: tuple[int, ...], rest: str) -> NvlinkRow | str:
    if not rest:
        return NvlinkRow(links, "heading", "", "")
    remote = _REMOTE.match(rest)
    if remote:
        return NvlinkRow(links, "remote", remote["link"] or "", remote["pci"])
    speed = _SPEED.match(rest)
    if speed:
        factor = 1.0 if speed["unit"].upper().startswith("G") else 0.001
        return NvlinkRow(links, "speed", rest, str(float(speed["number"]) * factor))
    if _STATE.match(rest) or is_not_measured(rest):
        return NvlinkRow(links, "state", "", rest)
    if _CLEAN.match(rest):
        return NvlinkRow(links, "clean", "", rest)
    name, mark, value = rest.rpartition(":")
    if mark and name.strip() and value.strip():
        return NvlinkRow(links, "counter", name.strip(), value.strip())
    return "the row holds neither a speed, a state nor a counter with its value"
