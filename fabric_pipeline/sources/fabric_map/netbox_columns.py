"""Columns of NetBox exports and imports under one name each, and what single cells mean.

Tables of NetBox 3 and 4 head their columns for people (`Device A`), imports for machines
(`side_a_device`); both are reduced to words joined by `_` and looked up here. Which export a file is
follows from its columns alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fabric_pipeline.sources.infiniband.guids import normalise_guid

_ALIASES = {
    "device_a": ("side_a_device", "termination_a_device", "side_a", "termination_a_parent"),
    "device_b": ("side_b_device", "termination_b_device", "side_b", "termination_b_parent"),
    "port_a": ("termination_a", "side_a_name", "termination_a_name", "a_terminations", "interface_a"),
    "port_b": ("termination_b", "side_b_name", "termination_b_name", "b_terminations", "interface_b"),
    "type_a": ("side_a_type", "termination_a_type"),
    "type_b": ("side_b_type", "termination_b_type"),
    "role": ("device_role",),
    "device_type": ("type", "model"),
    "serial": ("serial_number", "cf_serial", "cf_serial_number", "cable_serial"),
    "part": ("part_number", "cf_part_number", "cable_part_number"),
    "position": ("position_u",),
    "face": ("rack_face",),
    "height": ("u_height", "height_u"),
    "colour": ("color",),
    "colour_name": ("color_name",),
    "guid": ("wwn", "cf_guid"),
}  # fmt: skip
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}
CABLES, DEVICES, INTERFACES, RACKS = "cables", "devices", "interfaces", "racks"
_ENDS = {"device_a", "port_a", "device_b", "port_b"}
_METRES = {"km": 1000.0, "m": 1.0, "cm": 0.01, "mi": 1609.344, "ft": 0.3048, "in": 0.0254}
_LENGTH_UNITS = {
    "kilometers": "km", "meters": "m", "centimeters": "cm", "miles": "mi", "feet": "ft", "inches": "in",
}  # fmt: skip
_LENGTH = re.compile(r"^(\d{1,7}(?:\.\d{1,6})?)\s{0,5}([A-Za-z]{0,12})$")
# The palette that NetBox offers (its ColorChoices); other colours keep their six digits.
_COLOURS = {
    "aa1409": "dark red", "f44336": "red", "e91e63": "pink", "ffe4e1": "rose", "ff66ff": "fuchsia",
    "9c27b0": "purple", "673ab7": "dark purple", "3f51b5": "indigo", "2196f3": "blue", "03a9f4": "light blue",
    "00bcd4": "cyan", "009688": "teal", "00ffff": "aqua", "2f6a31": "dark green", "4caf50": "green",
    "8bc34a": "light green", "cddc39": "lime", "ffeb3b": "yellow", "ffc107": "amber", "ff9800": "orange",
    "ff5722": "dark orange", "795548": "brown", "c0c0c0": "light grey", "9e9e9e": "grey",
    "607d8b": "dark grey", "111111": "black", "ffffff": "white",
}  # fmt: skip
_MEDIA = (
    (re.compile(r"\bdac\b|^dac-|direct attach", re.I), "DAC"),
    (re.compile(r"\baoc\b|active optical", re.I), "AOC"),
    (re.compile(r"^mmf|multi-?mode", re.I), "MMF"),
    (re.compile(r"^smf|single-?mode", re.I), "SMF"),
)
_SWITCH_ROLE = re.compile(r"switch|leaf|spine|\bcore\b|\btor\b", re.I)
_TIER = re.compile(r"leaf|spine|core", re.I)
# Devices and cables that are not in their place (yet, or any more).
NOT_IN_PLACE = frozenset({"planned", "decommissioning", "inventory"})
_ABSENT = frozenset({"", "-", "\u2014", "none", "null", "n/a"})


def column_names(header: Sequence[str], *, is_cable: bool = False) -> list[str]:
    """Header cells under our names, "" for a second column of one name; `Type` of a cable stays `type`."""
    found: list[str] = []
    for cell in header:
        word = re.sub(r"[^a-z0-9]{1,300}", "_", cell.strip().lower()[:300]).strip("_")
        name = word if is_cable and word == "type" else _NAMES.get(word, word)
        found.append("" if name in found else name)
    return found


def kind_of(header: Sequence[str]) -> str:
    """Which export a header belongs to, "" for none of them."""
    names = set(column_names(header))
    if names >= _ENDS:
        return CABLES
    if names >= {"device", "name", "device_type"} and names & {"enabled", "mtu", "mac_address"}:
        return INTERFACES
    if (
        names >= {"name", "site"}
        and names & {"height", "facility_id"}
        and "device_type" not in names
    ):
        return RACKS
    is_device = names >= {"name", "site", "role", "device_type"}
    return DEVICES if is_device and names & {"rack", "position", "serial", "asset_tag"} else ""


def cell(row: Mapping[str, str], name: str) -> str:
    """A cell, "" when the export has no value there (it writes a dash, or nothing)."""
    text = row.get(name, "").strip()
    return "" if text.lower() in _ABSENT else text[:300]


def length_m(text: str, unit: str) -> float | None:
    """Metres of `2 m`, `2.00 Meters` or `2` with a unit of its own; None when no unit is stated."""
    found = _LENGTH.match(text)
    if found is None:
        return None
    word = (found[2] or unit).strip().lower()
    factor = _METRES.get(_LENGTH_UNITS.get(word, word))
    return None if factor is None else round(float(found[1]) * factor, 3)


def colour(row: Mapping[str, str]) -> str:
    """Name of a colour, its six digits when NetBox's palette lacks it."""
    digits = cell(row, "colour").lower().removeprefix("#")
    return _COLOURS.get(digits) or cell(row, "colour_name").lower() or digits


def medium(text: str) -> str:
    """`DAC`, `AOC`, `MMF` or `SMF`; other kinds of cable as NetBox names them."""
    return next((name for pattern, name in _MEDIA if pattern.search(text)), text)


def position(text: str) -> str:
    """Rack unit without the `.0` of newer versions."""
    return text.removesuffix(".0")


def is_switch_role(text: str) -> bool:
    """True for roles such as `Leaf switch` or `Spine`."""
    return bool(_SWITCH_ROLE.search(text))


def tier(role: str) -> str:
    """`leaf`, `spine` or `core` of a role, "" when it names none."""
    found = _TIER.search(role)
    return found[0].lower() if found else ""


def guid(text: str) -> str:
    """A GUID that a site keeps as WWN (`0c:42:a1:03:00:12:34:56` or without colons), "" for none."""
    plain = text.replace(":", "").replace("-", "")
    return normalise_guid(plain) if len(plain.removeprefix("0x")) == 16 else ""
