"""Reader of NetBox CSV exports: cables, devices, interfaces and racks.

One file holds one kind, told by its header (`netbox_columns`). Whether a device is a host or a switch
is settled beside the other sources, in `model.topology_names`.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from fabric_pipeline.model.components import link_type_of
from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.fabric_map import netbox_columns as columns
from fabric_pipeline.sources.fabric_map.netbox_columns import cell

_LONGEST_LINE = 20_000  # characters; comments in an export are long, but no page
_SHOWN_RACKS = 500
_PORT_KINDS = ("interface", "frontport", "front port", "rearport", "rear port")


class NetboxCsvReader:
    """Reads the four kinds of export; yields places, ports and the ends of cables."""

    format_id: ClassVar[str] = "netbox_csv"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="NetBox, CSV export of cables, devices, interfaces or racks",
        versions="columns of the tables of NetBox 3 and 4, and of their import forms",
        recognised_by=(
            "a header with both ends of a cable (`Device A`, `Termination A`, ... or "
            "`side_a_device`, ...), or the columns of devices, interfaces or racks"
        ),
        gives=(
            "both ends, label, kind, length and colour of each cable; site, room, rack, unit, face, "
            "serial number and asset tag of each device; labels of ports"
        ),
        traps=(
            "A cable plan says what should be plugged: it measures nothing.",
            "Planned and decommissioned devices and cables are left out and counted.",
            "A cable with several terminations at one end does not say which goes where, so it is refused.",
            "Power and console cables are no links and are left out.",
            "An export lists a whole site: a device without telemetry is not taken for silent.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure by the header alone, which no other table has."""
        return 90 if not file.is_binary and columns.kind_of(_header(file.head)) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Topology by the kind of the export; rows without a name or an end are refused."""
        result = ReadResult()
        kind = columns.kind_of(_header(file.head))
        taken = _Taken(result)
        for number, text, row in _rows(file, kind, result):
            taken.take(kind, number, text, row)
        told = {"kind": kind, "rows": taken.rows, **taken.left_out}
        result.facts["netbox"] = told
        if taken.racks:
            result.facts["racks"] = taken.racks[:_SHOWN_RACKS]
        part = taken.part
        if part.nodes or part.switches or part.links:
            result.topology = part
        return result


class _Taken:
    """What the rows of one file give, row by row."""

    def __init__(self, result: ReadResult) -> None:
        self.part = TopologyPart()
        self.racks: list[dict[str, str]] = []
        self.left_out: Counter[str] = Counter()
        self.rows = 0
        self._result = result
        self._devices: dict[str, dict[str, Any]] = {}
        self._sites: set[str] = set()

    def take(self, kind: str, line: int, text: str, row: dict[str, str]) -> None:
        """One row of an export."""
        self.rows += 1
        status = cell(row, "status").lower()
        if status in columns.NOT_IN_PLACE:
            self.left_out[f"left_out_{status}"] += 1
        elif kind == columns.CABLES:
            self._cable(line, text, row)
        elif kind == columns.DEVICES:
            self._device(line, text, row)
        elif kind == columns.INTERFACES:
            self._interface(row)
        else:
            keys = ("name", "site", "location", "height", "serial", "asset_tag", "facility_id")
            self.racks.append({key: cell(row, key) for key in keys if cell(row, key)})

    def _refuse(self, line: int, text: str, rule: str) -> None:
        self._result.rejected.append(RejectedLine(line, text[:MAX_TEXT], rule))

    def _cable(self, line: int, text: str, row: dict[str, str]) -> None:
        kinds = [cell(row, f"type_{side}").lower() for side in "ab"]
        if any(kind and not any(word in kind for word in _PORT_KINDS) for kind in kinds):
            self.left_out["left_out_no_network_port"] += 1
            return
        ends = {
            side: {"device": cell(row, f"device_{side}"), "port": cell(row, f"port_{side}")}
            for side in "ab"
        }
        if not all(end["device"] and end["port"] for end in ends.values()):
            self._refuse(line, text, "a cable without a device and a port at both ends")
            return
        if any("," in end["port"] for end in ends.values()):
            rule = "several terminations at one end: which goes where is not stated"
            self._refuse(line, text, rule)
            return
        self._places(row)
        stated = {
            "cable": cell(row, "label"),
            "medium": columns.medium(cell(row, "type")),
            "length_m": columns.length_m(cell(row, "length"), cell(row, "length_unit")),
            "colour": columns.colour(row),
            "cable_serial": cell(row, "serial"),
            "cable_part_number": cell(row, "part"),
            "netbox_id": cell(row, "id"),
        }
        link = {key: value for key, value in stated.items() if value not in ("", None)}
        # Twisted pair carries Ethernet; what runs over the other kinds is said by the ports.
        kind = "ethernet" if cell(row, "type").lower().startswith("cat") else ""
        self.part.links.append({**ends, **({"type": kind} if kind else {}), **link})

    def _places(self, row: dict[str, str]) -> None:
        """Rack and room of both ends, which newer exports of cables can list."""
        for side in "ab":
            place = {"rack": cell(row, f"rack_{side}"), "hall": cell(row, f"location_{side}")}
            if any(place.values()):
                self._entry(cell(row, f"device_{side}")).update(
                    {key: value for key, value in place.items() if value}
                )

    def _device(self, line: int, text: str, row: dict[str, str]) -> None:
        name, role = cell(row, "name"), cell(row, "role")
        if not name:
            self._refuse(line, text, "a device without a name")
            return
        stated = {
            "hall": cell(row, "location"),
            "rack": cell(row, "rack"),
            "unit": columns.position(cell(row, "position")),
            "face": cell(row, "face").lower(),
            "serial": cell(row, "serial"),
            "asset_tag": cell(row, "asset_tag"),
            "platform": cell(row, "device_type"),
        }
        known = {key: value for key, value in stated.items() if value}
        self._sites.add(cell(row, "site"))
        self.part.site = next(iter(self._sites)) if len(self._sites) == 1 else ""
        if columns.is_switch_role(role):
            level = columns.tier(role)
            self.part.switches.append({"name": name, **({"tier": level} if level else {}), **known})
        else:
            self._entry(name).update(known)

    def _interface(self, row: dict[str, str]) -> None:
        device, name, label = (cell(row, key) for key in ("device", "name", "label"))
        if not device or not name:
            return
        guid = columns.guid(cell(row, "guid"))
        if link_type_of(f"{name}/1") == "infiniband" or link_type_of(name) == "infiniband":
            nic = {"hca": name.partition("/")[0], "port_label": label, "guid": guid}
            nics = self._entry(device).setdefault("nics", [])
            nics.append({key: value for key, value in nic.items() if value})
        elif label:
            self._entry(device).setdefault("port_labels", {})[name] = label

    def _entry(self, device: str) -> dict[str, Any]:
        if device not in self._devices:
            self._devices[device] = {"node": device, "inventory": True, "is_device": True}
            self.part.nodes.append(self._devices[device])
        return self._devices[device]


def _header(head: str) -> list[str]:
    line = next((line for line in head.split("\n", 20)[:20] if line.strip()), "")
    return _cells(line.rstrip("\r"), _delimiter(line)) if len(line) <= _LONGEST_LINE else []


def _delimiter(line: str) -> str:
    return ";" if ";" in line and "," not in line else ","


def _cells(text: str, delimiter: str) -> list[str]:
    """The cells of one row; [] when the text is no CSV."""
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return []


def _rows(
    file: SourceFile, kind: str, result: ReadResult
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Rows below the header with the line they begin on; cells may hold line feeds."""
    names: list[str] = []
    delimiter = ","
    for number, text in _records(file.lines, result):
        delimiter = delimiter if names else _delimiter(text)
        cells = _cells(text, delimiter)
        if not names:
            names = columns.column_names(cells, is_cable=kind == columns.CABLES)
        elif not cells or len(cells) > len(names):
            rule = f"{len(cells)} cells under a header of {len(names)}"
            result.rejected.append(RejectedLine(number, text[:MAX_TEXT], rule))
        else:
            named = zip(names, cells, strict=False)
            yield number, text, {name: value for name, value in named if name}


def _records(lines: list[str], result: ReadResult) -> Iterator[tuple[int, str]]:
    """Lines with content, those joined that an open quote holds together."""
    start, size, is_open = 0, 0, False
    held: list[str] = []
    for number, line in enumerate(lines, 1):
        start = start if held else number
        held.append(line)
        size += len(line) + 1
        is_open ^= bool(line.count('"') % 2)
        if is_open and size <= _LONGEST_LINE:
            continue
        text = "\n".join(held)
        if size > _LONGEST_LINE:
            rule = f"a row longer than {_LONGEST_LINE:,} characters"
            result.rejected.append(RejectedLine(start, text[:MAX_TEXT], rule))
        elif text.strip():
            yield start, text
        held, size, is_open = [], 0, False
    if held:
        rule = "a quote that does not close; the file is cut"
        result.rejected.append(RejectedLine(start, "\n".join(held)[:MAX_TEXT], rule))
