"""What a map is coloured by: health, share of the error limit, use, or width and speed, with its legend.

A mask turns a link end into a class of the style sheet. What is not known is hatched in every mask and
never takes the colour of a low figure.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fabric_pipeline.errors import UsageError
from fabric_pipeline.portal.map_summary import summary_of
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.fabric_masks import Figure, Key, utilisation, width_and_speed
from fabric_pipeline.workflows.fabric_view import view_signature
from fabric_pipeline.workflows.fabric_view_model import FabricView, Port

NAMES = ("health", "errors", "utilisation", "width")
WORDS = {
    "health": "Health",
    "errors": "Errors",
    "utilisation": "Use",
    "width": "Width, speed",
}
UNKNOWN = "mx"
# (class, upper bound of the share, words); portal.md section 4: grey below 2 % of the limit, red at 100 %.
_STEPS: dict[str, tuple[tuple[str, float, str], ...]] = {
    "errors": (
        ("m0", 0.02, "under 2 % of the limit"),
        ("e1", 0.25, "to 25 %"),
        ("e2", 0.5, "to 50 %"),
        ("e3", 1.0, "to 100 %"),
        ("e4", float("inf"), "past the limit"),
    ),
    "utilisation": (
        ("m0", 0.1, "under 10 % used"),
        ("u1", 0.3, "to 30 %"),
        ("u2", 0.6, "to 60 %"),
        ("u3", 0.9, "to 90 %"),
        ("u4", float("inf"), "over 90 %"),
    ),
    "width": (
        ("w2", 0.5, "half or less of what both ends could do"),
        ("w1", 0.999, "less than both ends could do"),
        ("m0", float("inf"), "all that both ends could do"),
    ),
}


@dataclass(frozen=True)
class Mask:
    """One way of colouring. `figures` by (node, interface); empty for health and errors."""

    name: str = "health"
    figures: Mapping[Key, Figure] = field(default_factory=dict)

    def css(self, port: Port) -> str:
        """Class of one link end: its state, or a step of the scale, or `mx` for unknown."""
        if self.name == "health":
            return port.state
        share = self.share(port)
        return UNKNOWN if share is None else self.step(share)

    def share(self, port: Port) -> float | None:
        """The figure of one link end, None when it is not known."""
        if self.name == "errors":
            reading = port.end.reading
            return None if reading.state == "no_data" else reading.share or 0.0
        figure = self.figures.get((port.end.node, port.end.interface))
        return figure.share if figure else None

    def step(self, share: float) -> str:
        """The class of a share."""
        return next(css for css, bound, _ in _STEPS[self.name] if share <= bound)

    def says(self, port: Port) -> str:
        """The figure of one link end in words, "" where the mask adds nothing."""
        figure = self.figures.get((port.end.node, port.end.interface))
        return figure.says if figure else ""

    def nodes(self, view: FabricView) -> dict[str, str]:
        """For a floor of nodes: the class of each node's worst end, `mx` where none is known."""
        if self.name == "health":
            return {node.name: node.state for node in view.nodes}
        shares = summary_of(view).worst_shares if self.name == "errors" else self._shares
        return {
            node.name: self.step(shares[node.name]) if node.name in shares else UNKNOWN
            for node in view.nodes
        }

    @cached_property
    def _shares(self) -> dict[str, float]:
        """By node the share that matters most: the busiest end, or the most reduced one."""
        worst = min if self.name == "width" else max
        found: dict[str, float] = {}
        for (node, _), figure in self.figures.items():
            if figure.share is not None:
                found[node] = worst(found.get(node, figure.share), figure.share)
        return found

    @property
    def legend(self) -> list[tuple[str, str]]:
        """(class, words) of the scale, empty for health, whose signs have their own legend."""
        if self.name == "health":
            return []
        return [(css, words) for css, _, words in _STEPS[self.name]] + [(UNKNOWN, "not known")]


def load_mask(settings: Settings, drop: str, name: str) -> Mask:
    """The mask of that name over one drop; UsageError for a name that there is not.

    What takes reading is read once until the tables of the drop are written again.
    """
    if name not in NAMES:
        raise UsageError(f"there is no mask {name!r}", f"take one of {', '.join(NAMES)}")
    if name not in _READ:
        return Mask(name)
    key = (settings.lake, drop, view_signature(settings.lake, drop), name)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    mask = Mask(name, _READ[name](settings, drop))
    with _lock:
        _kept[key] = mask
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return mask


_READ = {"utilisation": utilisation, "width": width_and_speed}
_MOST_KEPT = 6
_kept: OrderedDict[tuple[Path, str, int, str], Mask] = OrderedDict()
_lock = threading.Lock()
