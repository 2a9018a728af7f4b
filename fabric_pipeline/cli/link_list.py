"""The plain list under each picture: degraded links with both ends, place, counter against its limit.

Also the incidents that sit on no link, and the nodes that said nothing: a picture must not hide them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from fabric_pipeline.cli.fabric_style import (
    COLOURS,
    MUTED,
    TITLE,
    Glyphs,
    counter_text,
    place_text,
    plural,
    word,
)
from fabric_pipeline.cli.text_layout import Lines, padded, text, wrapped
from fabric_pipeline.model.components import component_id, parse_component
from fabric_pipeline.workflows.fabric_view_model import (
    End,
    FabricView,
    IncidentView,
    Link,
    NodeView,
)

_MOST_SERIOUS = 40
_MOST_WATCHED = 12
_MOST_NAMES = 12


class LinkList:
    """Writes the list for one picture; looks up incidents and places in the view."""

    def __init__(self, view: FabricView, signs: Glyphs, width: int) -> None:
        """`width` is that of the terminal."""
        self._signs = signs
        self._width = width
        self._incidents = {one.incident_id: one for one in view.incidents}
        self._places = {node.name: (node.rack, node.unit) for node in view.nodes}
        self._places |= {switch.name: (switch.rack, switch.unit) for switch in view.switches}

    def degraded(self, links: Sequence[Link]) -> Lines:
        """The links with trouble, worst first; the many on watch are counted, not all listed."""
        serious = [link for link in links if link.state != "watch"]
        watched = [link for link in links if link.state == "watch"]
        lines: Lines = []
        for link in serious[:_MOST_SERIOUS] + watched[:_MOST_WATCHED]:
            lines += [text()] if lines else []
            lines += self._entry(link)
        hidden = max(0, len(serious) - _MOST_SERIOUS) + max(0, len(watched) - _MOST_WATCHED)
        if hidden:
            lines += [text(), text((f"and {plural(hidden, 'more link')}: see --json", MUTED))]
        return lines

    def elsewhere(self, incidents: Iterable[IncidentView]) -> Lines:
        """Incidents with trouble that no link carries, such as a slow GPU or a shared switch."""
        lines: Lines = []
        for incident in incidents:
            head = self._head(incident.state, incident)
            lines += head
            name = self._signs.name(incident.component, 120)
            lines += wrapped(
                f"{name}: {self._signs.name(incident.summary, 300)}", self._width, indent="  "
            )
        return lines

    def silent(self, nodes: Sequence[NodeView]) -> Lines:
        """One sentence on the nodes without any data."""
        if not nodes:
            return []
        names = [self._signs.name(node.name) or "(name not known)" for node in nodes[:_MOST_NAMES]]
        more = f" and {len(nodes) - _MOST_NAMES} more" if len(nodes) > _MOST_NAMES else ""
        said = f"No data from {', '.join(names)}{more}: nothing can be said of these links, neither good nor bad."
        first, *rest = wrapped(said, self._width - 2)
        sign = text((f"{self._signs.states['no_data']} ", COLOURS["no_data"]))
        return [sign.append_text(first), *(text("  ").append_text(line) for line in rest)]

    def _entry(self, link: Link) -> Lines:
        incidents = [self._incidents[i] for i in link.incidents if i in self._incidents]
        own = [one for one in incidents if not _only_follows(link, one)]
        lines = self._head(link.state, next(iter(own or incidents), None), is_own=bool(own))
        for other in own[1:]:
            said = f"also {other.incident_id} {other.severity} {self._signs.name(other.fault_type)}"
            lines.append(text("    ", (said, MUTED)))
        lines += self._ends(link)
        if own and not any(end.reading.counter for end in link.ends):
            said = self._signs.name(own[0].summary, 300)
            lines += wrapped(said, self._width, indent="    ")
        for incident in own:
            lines += self._symptoms(incident, link)
        rules = [end.reading.rule for end in link.ends if end.reading.rule]
        rule = link.worst_reading.rule or next(iter(rules), "")
        if rule:
            said = f"rule {self._signs.name(rule, 300)}"
            lines += wrapped(said, self._width, indent="    ", style=MUTED)
        return lines

    def _ends(self, link: Link) -> Lines:
        names = [self._signs.name(end.name, 120) for end in link.ends]
        places = [self._place(end) for end in link.ends]
        columns = (max(map(cell_len, names)), max(map(cell_len, places)))
        joints = (self._signs.near, self._signs.far) if link.b else ("  ",)
        lines: Lines = []
        for end, name, where, joint in zip(link.ends, names, places, joints, strict=True):
            lines += self._end(end, (name, where), columns, joint)
        known = [
            "" if link.b else "far end not known",
            f"cable {link.cable_id}" if link.cable_id else "",
        ]
        said = self._signs.name(", ".join(filter(None, known)), 120)
        return [*lines, *wrapped(said, self._width, indent="    ", style=MUTED)]

    def _symptoms(self, incident: IncidentView, link: Link) -> Lines:
        """What else shows the fault, apart from the two ends themselves."""
        ends = tuple(end.component for end in link.ends)
        seen = [
            f"{self._signs.name(component, 120)} ({self._signs.name(kind)})"
            for component, kind in incident.symptoms
            if not component.startswith(ends)
        ]
        if not seen:
            return []
        more = f" and {len(seen) - _MOST_NAMES} more" if len(seen) > _MOST_NAMES else ""
        said = f"follows from it: {', '.join(seen[:_MOST_NAMES])}{more}"
        return wrapped(said, self._width, indent="    ", style=MUTED)

    def _head(self, state: str, incident: IncidentView | None, *, is_own: bool = True) -> Lines:
        """State, incident and fault; for a link that only shows another's fault, which one."""
        sign = (f"{self._signs.states.get(state, ' ')} {word(state).upper():<8}", COLOURS[state])
        if incident is None:
            return [text(sign, "  ", ("no incident: a rule fired, nothing is accused", MUTED))]
        if is_own:
            said = f"{self._signs.name(incident.fault_type)}, confidence {incident.confidence:.2f}"
        else:
            said = (
                f"follows from {self._signs.name(incident.component.removeprefix('unknown:'), 120)}"
            )
        line = text(sign, "  ", (incident.incident_id, TITLE), "  ")
        if line.cell_len + cell_len(said) <= self._width:
            return [line.append(said)]
        return [line, *wrapped(said, self._width, indent="  ")]

    def _place(self, end: End) -> str:
        return place_text(*self._places.get(end.node or end.device, ("", "")), self._signs)

    def _end(self, end: End, names: tuple[str, str], columns: tuple[int, int], joint: str) -> Lines:
        """One end: its name and place, then what it counted, on one line where that fits."""
        counted = counter_text(end.reading, self._signs)
        share = end.reading.share
        style = COLOURS["critical"] if share is not None and share >= 1 else ""
        line = text("  ", (joint, MUTED))
        for name, column in zip(names, columns, strict=True):
            if column:
                line.append_text(padded(text(name), column)).append("  ")
        if line.cell_len + cell_len(counted) <= self._width:
            return [line.append(counted, style)]
        first, *rest = wrapped(" ".join(names).strip(), self._width - 4)
        return [
            text("  ", (joint, MUTED)).append_text(first),
            *(text("    ").append_text(line) for line in rest),
            *wrapped(counted, self._width, indent="      ", style=style),
        ]


def _only_follows(link: Link, incident: IncidentView) -> bool:
    """True when the link is among the incident's symptoms and is not its own link."""
    ends = {end.component for end in link.ends}
    named = {_plain(incident.component), _plain(incident.far_end)}
    return not ends & named and bool(ends & {_plain(name) for name, _ in incident.symptoms})


def _plain(component: str) -> str:
    """The component id without its lane."""
    parsed = parse_component(component)
    return component_id(parsed.node, parsed.interface)


def on_no_link(view: FabricView) -> list[IncidentView]:
    """Incidents with trouble whose id no link of the view carries."""
    carried = {i for link in view.links.in_trouble() for i in link.incidents}
    return [one for one in view.incidents if one.state and one.incident_id not in carried]


def state_counts(links: Iterable[Link], signs: Glyphs) -> list[Text]:
    """`▲ 1 critical` and so on: one piece per state that occurs, the worst first."""
    return state_sums(Counter(link.state for link in links), signs)


def state_sums(found: Mapping[str, int], signs: Glyphs) -> list[Text]:
    """As `state_counts`, for links that are counted already."""
    return [
        text((f"{signs.states[state]} ", COLOURS[state]), (f"{found[state]:,} {word(state)}", "" if state == "healthy" else COLOURS[state]))
        for state in ("critical", "warning", "watch", "no_data", "healthy")
        if found.get(state)
    ]  # fmt: skip
