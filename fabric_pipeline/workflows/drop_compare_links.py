"""Differences between the links of two drops: other far ends, cables, serials, data and speeds.

Only what both drops state is compared: a drop without a topology re-cables nothing. Values in, values out;
current widths and speeds are read by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fabric_pipeline.model.components import natural_key
from fabric_pipeline.workflows.drop_compare_model import ChangedLink, LinkChange
from fabric_pipeline.workflows.drop_compare_rows import Differing
from fabric_pipeline.workflows.fabric_view_model import End, FabricView, Link

Key = tuple[str, str]
Speeds = Mapping[Key, Mapping[str, float]]
Serials = Mapping[Key, str]
_UNITS = {"width": "lanes", "speed_gbps": "Gb/s", "pcie_gen": "generation", "link_up": "link"}
_SERIALS = ("serial", "uuid")
# More links of one node or switch are said in one line.
_MOST_SINGLE = 6


def changed_links(a: FabricView, b: FabricView, differing: Differing) -> list[ChangedLink]:
    """Every difference of topology and of data between the links of two views."""
    before, after = _by_end(differing.before), _by_end(differing.after)
    both = a.has_topology and b.has_topology
    found: list[ChangedLink] = []
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            found += _one_sided(key, old, new, both)
        else:
            found += _two_sided(key, old, new, both)
    found = [*_without_far_ends(found, before, after), *_data_changes(differing)]
    if both:
        found += _serials(a, b)
    return sorted(found, key=lambda one: (natural_key(one.component), one.change))


def changed_speeds(before: Speeds, after: Speeds) -> list[ChangedLink]:
    """States of link ends that were read in both drops and differ."""
    found = []
    for key in before.keys() & after.keys():
        for state, unit in _UNITS.items():
            old, new = before[key].get(state), after[key].get(state)
            if old is None or new is None or old == new:
                continue
            words = (
                (_up(old), _up(new))
                if state == "link_up"
                else (f"{old:g} {unit}", f"{new:g} {unit}")
            )
            found.append(ChangedLink("speed", _name(key), *words, state.replace("_gbps", "")))
    return sorted(found, key=lambda one: (natural_key(one.component), one.what))


def changed_cable_serials(before: Serials, after: Serials) -> list[ChangedLink]:
    """Link ends whose cable has another serial number, where both drops state one."""
    return [
        ChangedLink("cable", _name(key), before[key], after[key], "cable serial")
        for key in sorted(before.keys() & after.keys())
        if before[key] != after[key]
    ]


def _up(value: float) -> str:
    return "up" if value else "down"


def _by_end(links: Iterable[Link]) -> dict[Key, tuple[Link, End, End | None]]:
    found: dict[Key, tuple[Link, End, End | None]] = {}
    for link in links:
        found.setdefault((link.a.node, link.a.interface), (link, link.a, link.b))
        if link.b is not None:
            found.setdefault((link.b.node, link.b.interface), (link, link.b, link.a))
    return found


Placed = tuple[Link, End, End | None]


def _one_sided(
    key: Key, old: Placed | None, new: Placed | None, both: bool
) -> Iterator[ChangedLink]:
    one = old or new
    if one is None or (not both and not _is_measured(one)):
        return
    change, words = ("gone", _far(one)) if old else ("added", _far(one))
    pair = (words, "") if old else ("", words)
    yield ChangedLink("gone" if change == "gone" else "added", _name(key), *pair)


def _two_sided(key: Key, old: Placed, new: Placed, both: bool) -> Iterator[ChangedLink]:
    name = _name(key)
    if both and old[2] is not None and new[2] is not None and _far(old) != _far(new):
        yield ChangedLink("recabled", name, _far(old), _far(new))
    if old[1] is old[0].a:
        for what, before, after in (
            ("cable", old[0].cable_id, new[0].cable_id),
            ("part", old[0].part, new[0].part),
        ):
            if both and before and after and before != after:
                yield ChangedLink("cable", name, before, after, what)


def _without_far_ends(
    found: Iterable[ChangedLink], before: Mapping[Key, Placed], after: Mapping[Key, Placed]
) -> list[ChangedLink]:
    """Each re-cabled or missing link once, by its near end; its far end says the same again."""
    near = {
        _name((one[1].node, one[1].interface))
        for one in (*before.values(), *after.values())
        if one[1] is one[0].a
    }
    kept = []
    for one in found:
        if one.change in ("recabled", "gone", "added") and one.component not in near:
            continue
        kept.append(one)
    return kept


def _data_changes(differing: Differing) -> Iterator[ChangedLink]:
    """Links that were measured at either end in one drop and at none in the other, many of a device as one."""
    after = {(link.a.node, link.a.interface): link for link in differing.after}
    groups: dict[tuple[LinkChange, str], list[tuple[Link, Link]]] = {}
    for old in differing.before:
        new = after.get((old.a.node, old.a.interface))
        if new is None or (old.state == "no_data") == (new.state == "no_data"):
            continue
        change: LinkChange = "gained_data" if old.state == "no_data" else "lost_data"
        groups.setdefault((change, old.a.node or old.a.device), []).append((old, new))
    for (change, owner), pairs in groups.items():
        if len(pairs) > _MOST_SINGLE:
            words = (f"{len(pairs):,} links measured", f"{len(pairs):,} links without data")
            yield ChangedLink(
                change,
                owner,
                *(words if change == "lost_data" else words[::-1]),
                "links",
                len(pairs),
            )
            continue
        for old, new in pairs:
            yield ChangedLink(change, old.a.name, _word(old.state), _word(new.state))


def silenced_ends(differing: Differing) -> tuple[int, int]:
    """Ends (lost, gained) whose data came or went while the link's other end kept the link measured."""
    before, after = _by_end(differing.before), _by_end(differing.after)
    lost = gained = 0
    for key in before.keys() & after.keys():
        old, new = before[key], after[key]
        if "no_data" in (old[0].state, new[0].state):
            continue
        lost += _is_measured(old) and not _is_measured(new)
        gained += _is_measured(new) and not _is_measured(old)
    return lost, gained


def _serials(a: FabricView, b: FabricView) -> Iterator[ChangedLink]:
    before, after = dict(_serial_numbers(a)), dict(_serial_numbers(b))
    for key in before.keys() & after.keys():
        if before[key] != after[key]:
            yield ChangedLink("serial", key[0], before[key], after[key], key[1])


def _serial_numbers(view: FabricView) -> Iterator[tuple[Key, str]]:
    for node in view.nodes:
        if node.serial:
            yield (node.name, "node serial"), node.serial
        for device in node.devices.values():
            for fact in _SERIALS:
                if device.facts.get(fact):
                    yield (f"{node.name}:{device.name}", fact), str(device.facts[fact])
    for switch in view.switches:
        if switch.serial:
            yield (switch.name, "switch serial"), switch.serial


def _is_measured(one: Placed) -> bool:
    return one[1].reading.state != "no_data"


def _word(state: str) -> str:
    return state.replace("_", " ")


def _far(one: Placed) -> str:
    return one[2].name if one[2] is not None else "far end not known"


def _name(key: Key) -> str:
    node, interface = key
    return f"{node}:{interface}" if node else interface
