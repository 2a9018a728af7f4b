"""The plain list under each picture: degraded links with both ends, place, counter against its limit.

Also the incidents that sit on no link, and the nodes that said nothing: a picture must not hide them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
from fabric_pipeline.cli.text_layout import Lines, text, wrapped
from fabric_pipeline.workflows.fabric_view_model import (
    TROUBLE,
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
            lines += wrapped(f"{name}: {self._signs.name(incident.summary, 300)}", self._width, indent="  ")
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
        lines = self._head(link.state, incidents[0] if incidents else None)
        for other in incidents[1:]:
            said = f"also {other.incident_id} {other.severity} {self._signs.name(other.fault_type)}"
            lines.append(text("  ", (said, MUTED)))
        names = [self._signs.name(end.name, 120) for end in link.ends]
        widest = max(cell_len(name) for name in names)
        joints = (self._signs.near, self._signs.far) if link.b else ("  ",)
        for end, name, joint in zip(link.ends, names, joints, strict=True):
            lines += self._end(end, name, widest, joint)
        if link.b is None:
            lines.append(text("    ", ("far end not known", MUTED)))
        for incident in incidents:
            lines += self._symptoms(incident, link)
        rule = link.worst_reading.rule or next((e.reading.rule for e in link.ends if e.reading.rule), "")
        if rule:
            said = f"rule {self._signs.name(rule, 300)}"
            lines += wrapped(said, self._width, indent="    ", style=MUTED)
        return lines

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

    def _head(self, state: str, incident: IncidentView | None) -> Lines:
        colour = COLOURS.get(state, "")
        sign = f"{self._signs.states.get(state, ' ')} {word(state).upper():<8}"
        if incident is None:
            return [text((sign, colour), "  ", ("no incident: a rule fired, nothing is accused", MUTED))]
        fault = f"{self._signs.name(incident.fault_type)}, confidence {incident.confidence:.2f}"
        line = text((sign, colour), "  ", (incident.incident_id, TITLE), "  ")
        if line.cell_len + len(fault) <= self._width:
            return [line.append(fault)]
        return [line, *wrapped(fault, self._width, indent="  ")]

    def _end(self, end: End, name: str, widest: int, joint: str) -> Lines:
        where = place_text(*self._places.get(end.node or end.device, ("", "")), self._signs)
        counted = counter_text(end.reading, self._signs)
        share = end.reading.share
        style = COLOURS["critical"] if share is not None and share >= 1 else ""
        parts = [name.ljust(widest + len(name) - cell_len(name)), where.ljust(13)]
        if 4 + sum(cell_len(part) + 2 for part in parts) + len(counted) <= self._width:
            return [text("  ", (joint, MUTED), "  ".join(parts), "  ", (counted, style))]
        first, *rest = wrapped(f"{name} {where}".strip(), self._width - 4)
        return [
            text("  ", (joint, MUTED)).append_text(first),
            *(text("    ").append_text(line) for line in rest),
            *wrapped(counted, self._width, indent="      ", style=style),
        ]


def on_no_link(view: FabricView) -> list[IncidentView]:
    """Incidents with trouble whose id no link of the view carries."""
    carried = {i for link in view.links if link.state in TROUBLE for i in link.incidents}
    return [one for one in view.incidents if one.state and one.incident_id not in carried]


def state_counts(links: Iterable[Link], signs: Glyphs) -> list[Text]:
    """`▲ 1 critical` and so on: one piece per state that occurs, the worst first."""
    found: dict[str, int] = {}
    for link in links:
        found[link.state] = found.get(link.state, 0) + 1
    return [
        text((f"{signs.states[state]} ", COLOURS[state]), (f"{found[state]:,} {word(state)}", "" if state == "healthy" else COLOURS[state]))
        for state in ("critical", "warning", "watch", "no_data", "healthy")
        if state in found
    ]  # fmt: skip
