"""Nodes, switches, service facts and spares of several sources laid together, entry by entry.

Each value remembers the file that stated it first, so that a difference names both. Links are merged in
`topology`, names before in `topology_names`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.topology_conflicts import Conflicts
from fabric_pipeline.model.topology_links import as_guid

# Keys by which sources name the devices of a node, the most telling first, and fields that cannot differ.
_NAMING = {
    "gpus": ("gpu", "uuid", "pci"),
    "nics": ("hca", "pci", "name"),
    "nvswitches": ("nvswitch", "pci", "name"),
    "pcie_switches": ("pcie_switch", "pci", "name"),
}
_STEADY = frozenset({"uuid", "serial", "slot", "socket", "pci", "pcie_switch", "part_number"})
# What only says how a source came to name an entry.
# The LID changes whenever a subnet is set up anew.
_UNSAID = frozenset({"inventory", "is_device", "stated_in", "lid"})


class Entries:
    """Merges entries into dictionaries of their own; what readers made stays as it is."""

    def __init__(self, conflicts: Conflicts) -> None:
        self._conflicts = conflicts
        self._origin: dict[tuple[int, str], str] = {}
        self._first_in: dict[int, str] = {}  # the file that first named a device, by its entry

    def texts(self, place: str, known: dict[str, Any], new: dict[str, Any], source: str) -> None:
        """Plain fields: the first source that states one wins."""
        for key, value in new.items():
            if value in (None, ""):
                continue
            if known.get(key) in (None, ""):
                known[key] = value
                self._origin[id(known), key] = source
            elif not says_same(key, known[key], value):
                first = (known[key], self._origin.get((id(known), key), ""))
                self._conflicts.differ(f"{place}: {key}", first, (value, source))

    def entry(self, name: str, old: dict[str, Any], new: dict[str, Any], source: str) -> None:
        """One node or switch: plain fields, fields by name, and lists of devices."""
        for key, value in new.items():
            if value in (None, "", []):
                continue
            if key in _UNSAID:
                old.setdefault(key, value)
            elif isinstance(value, dict) and isinstance(old.get(key), dict):
                self.texts(f"{name} {key}", old[key], value, source)
            elif isinstance(value, list) and isinstance(old.get(key, []), list):
                old[key] = self._items((name, key), old.get(key, []), value, source)
            elif isinstance(value, dict) and key not in old:
                old[key] = {}
                self.texts(f"{name} {key}", old[key], value, source)
            else:
                self.texts(name, old, {key: value}, source)

    def settle(self, name: str, node: dict[str, Any]) -> None:
        """Entries of a node that only a later source showed to be one device become one."""
        for key, naming in _NAMING.items():
            items = node.get(key)
            if not isinstance(items, list) or _by_first(items, naming):
                continue
            kept: list[Any] = []
            index: Index = {}
            for item in items:
                known = _known(index, item, naming) if isinstance(item, dict) else None
                if known is None:
                    kept.append(item)
                    _enter(index, item, naming)
                else:
                    source = self._first_in.get(id(item), "")
                    self._complete((name, key), known, item, source)
                    _enter(index, known, naming)
            node[key] = kept

    def _items(
        self, place: tuple[str, str], old: list[Any], new: list[Any], source: str
    ) -> list[Any]:
        """Devices of both lists; what is said of one device by two sources becomes one entry."""
        naming: tuple[str, ...] = _NAMING.get(place[1], ())
        if not old and _are_distinct(new, naming[:1]):
            return [self._own(item, source) for item in new]
        merged = list(old)
        by_first = _by_first(merged, naming)
        index: Index | None = None
        for item in new:
            known = (
                by_first.get(item.get(naming[0])) if by_first and isinstance(item, dict) else None
            )
            if known is not None:
                self._complete(place, known, item, source)
                continue
            index = _index(merged, naming) if index is None else index
            known = _known(index, item, naming) if isinstance(item, dict) else None
            if known is None:
                if item not in merged:
                    own = self._own(item, source) if isinstance(item, dict) else item
                    merged.append(own)
                    _enter(index, own, naming)
                continue
            self._complete(place, known, item, source)
            _enter(index, known, naming)
        return merged

    def _own(self, item: dict[str, Any], source: str) -> dict[str, Any]:
        own = dict(item)
        if source:
            self._first_in[id(own)] = source
        return own

    def _complete(
        self, place: tuple[str, str], known: dict[str, Any], item: dict[str, Any], source: str
    ) -> None:
        naming: tuple[str, ...] = _NAMING.get(place[1], ())
        which = next(f"{key} {known[key]}" for key in naming if known.get(key) is not None)
        for key, value in item.items():
            if known.get(key) in (None, ""):
                known[key] = value
                self._origin[id(known), key] = source
            elif (
                key in _STEADY and value not in (None, "") and not says_same(key, known[key], value)
            ):
                stated = self._first_in.get(id(known), "")
                first = (known[key], self._origin.get((id(known), key), stated))
                self._conflicts.differ(f"{place[0]}: {key} of {which}", first, (value, source))


Index = dict[tuple[str, Any], dict[str, Any]]


def _by_first(items: list[Any], naming: tuple[str, ...]) -> dict[Any, dict[str, Any]]:
    """Devices by the first naming key, {} unless all have it and no two say the same."""
    if not items or not naming:
        return {}
    found = {
        value: item
        for item in items
        if isinstance(item, dict) and isinstance(value := item.get(naming[0]), str | int)
    }
    return found if len(found) == len(items) else {}


def _named(item: dict[str, Any], key: str) -> Any:
    value = item.get(key)
    return normalise_pci(str(value)) if key == "pci" and value is not None else value


def _index(items: Iterable[Any], naming: tuple[str, ...]) -> Index:
    index: Index = {}
    for item in items:
        _enter(index, item, naming)
    return index


def _enter(index: Index, item: Any, naming: tuple[str, ...]) -> None:
    for key in naming if isinstance(item, dict) else ():
        value = _named(item, key)
        if isinstance(value, str | int):
            index.setdefault((key, value), item)


def _known(index: Index, item: dict[str, Any], naming: tuple[str, ...]) -> dict[str, Any] | None:
    """The entry that says the same under the first of the naming keys that both have."""
    for key in naming:
        value = _named(item, key)
        known = index.get((key, value)) if isinstance(value, str | int) else None
        if known is not None and _is_one(known, item, naming):
            return known
    return None


def _is_one(a: Any, b: Any, naming: tuple[str, ...]) -> bool:
    """True when the first of the naming keys that both entries have says the same."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return False
    shared = [key for key in naming if a.get(key) is not None and b.get(key) is not None]
    return bool(shared) and bool(_named(a, shared[0]) == _named(b, shared[0]))


def _are_distinct(items: list[Any], naming: tuple[str, ...]) -> bool:
    """True when every entry has the first naming key and no two say the same, as one source lists them."""
    names = [item.get(name) for item in items for name in naming if isinstance(item, dict)]
    plain = all(isinstance(name, str | int) for name in names)
    return plain and naming != ("pci",) and len(names) == len(items) == len(set(names))


def says_same(key: str, a: Any, b: Any) -> bool:
    """True for one value in two spellings: `U12` and 12, `Front` and `front`, 400 and 400.0."""
    if a == b:
        return True
    if key == "pci":
        return normalise_pci(str(a)) == normalise_pci(str(b))
    if key == "guid":
        return as_guid(str(a)) == as_guid(str(b)) != ""
    left, right = (str(value).strip().casefold() for value in (a, b))
    if key == "unit":
        left, right = (
            text.removeprefix("ru").removeprefix("u").lstrip("0") for text in (left, right)
        )
    return left == right
