"""The facts of a ticket in the groups of the technician's sheet, each with its origin as a word.

Unlike the sheet, which leaves out what is empty, every field is here, so that a reviewer sees what no
source states. Origins come from `field_origins`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from fabric_pipeline.incidents.ticket import FIELD_ORIGINS, DraftText, Origin, TicketDraft
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.field_origins import LETTERS, MEANINGS, origins_by_path

_WORDS: dict[Origin, str] = {"ledger": "reported"}
_MONO = frozenset(
    {
        "node_serial", "asset_tag", "pci_address", "gpu_uuid", "gpu_serial", "gpu_part_number", "port_label", "link",
        "far_end", "fabric_or_switch_port", "cable_id", "far_place.port", "far_place.port_label", "far_place.serial",
        "cable.serial", "cable.part_number", "gpu_slot",
    }
)  # fmt: skip
# Groups and order of the technician's sheet; a path is a field, or a part of one.
GROUPS: dict[str, tuple[tuple[str, str], ...]] = {
    "Where to go": (
        ("Site", "site"), ("Hall", "hall"), ("Cage", "cage"), ("Row", "row"), ("Rack", "rack"), ("Unit", "unit"),
        ("Face", "face"), ("Node", "node"), ("Node serial", "node_serial"), ("Asset tag", "asset_tag"),
    ),
    "This end": (
        ("Link", "link"), ("Lane", "lane"), ("Port label", "port_label"), ("GPU index", "gpu_index"),
        ("GPU slot", "gpu_slot"), ("Socket", "socket"), ("PCI address", "pci_address"), ("GPU UUID", "gpu_uuid"),
        ("GPU serial", "gpu_serial"), ("GPU part number", "gpu_part_number"),
    ),
    "Far end": (
        ("Far end", "far_end"), ("Fabric or switch port", "fabric_or_switch_port"), ("Device", "far_place.device"),
        ("Slot", "far_place.slot"), ("Port", "far_place.port"), ("Port label", "far_place.port_label"),
        ("Site", "far_place.site"), ("Row", "far_place.row"), ("Rack", "far_place.rack"), ("Unit", "far_place.unit"),
        ("Serial", "far_place.serial"),
    ),
    "Cable": (
        ("Cable", "cable_id"), ("Medium", "cable.medium"), ("Length, m", "cable.length_m"),
        ("Connector", "cable.connector"), ("Colour", "cable.colour"), ("Serial", "cable.serial"),
        ("Part number", "cable.part_number"),
    ),
    "Service terms": (
        ("Priority", "priority"), ("Respond within", "sla"), ("When", "schedule"), ("Contact", "contact"),
        ("Customer reference", "customer_reference"), ("First seen", "first_seen"), ("Last seen", "last_seen"),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Badge:
    """Where a field comes from: the word, the letter that the sheet prints, and what it means."""

    origin: Origin
    word: str
    letter: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One field of a group; `value` is "" when no source states it."""

    label: str
    field: str
    value: str
    is_mono: bool
    badge: Badge


@dataclass(frozen=True, slots=True)
class Group:
    """The stated facts of a group, and the names of those that nothing states."""

    title: str
    facts: tuple[Fact, ...]
    missing: tuple[str, ...]


def groups_of(draft: TicketDraft) -> list[Group]:
    """All groups, each with its stated facts."""
    body = draft.model_dump(mode="python")
    found = []
    for title, entries in GROUPS.items():
        facts = [_fact(body, label, path) for label, path in entries]
        stated = tuple(fact for fact in facts if fact.value)
        found.append(Group(title, stated, tuple(fact.label for fact in facts if not fact.value)))
    return found


@cache
def badge(path: str) -> Badge:
    """The badge of a field, by its name or its path inside the ticket."""
    name = f"text.{path}" if path.partition(".")[0] in DraftText.model_fields else path
    return badge_of(origins_by_path().get(name) or FIELD_ORIGINS[path.partition(".")[0]])


def badge_of(origin: Origin) -> Badge:
    """The badge of an origin, for entries that carry their own."""
    return Badge(origin, _WORDS.get(origin, origin), LETTERS[origin], MEANINGS[origin])


def _fact(body: dict[str, Any], label: str, path: str) -> Fact:
    name, _, part = path.partition(".")
    value = body[name][part] if part else body[name]
    return Fact(label, name, _told(value), path in _MONO, badge(path))


def _told(value: Any) -> str:
    if value is None:
        return ""
    if hasattr(value, "strftime"):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    return f"{value:g}" if isinstance(value, float) else shown(str(value)).strip()
