"""A fabric held in memory around `incidents.nvlink_incident`, and one whose look-ups all fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Rows = list[dict[str, Any]]


class SmallFabric:
    """Two links of GPU 6 on NVSwitch 2, one earlier ticket. `asked` holds the questions in order."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []

    def neighbours(self, component: str) -> Rows:
        self.asked.append(("neighbours", component))
        return [_link(13, 27, 31407, True), _link(12, 26, 0, False)]

    def counters(self, component: str) -> Rows:
        self.asked.append(("counters", component))
        row = {"counter": "crc_flit", "events": 31407, "per_hour": 4244.2, "measured_hours": 7.4}
        return [row | {"quality": "ok", "siblings_median": 0, "first_seen": "2026-03-14T02:17:00Z"}]

    def shared_components(self, components: Sequence[str]) -> Rows:
        self.asked.append(("shared_components", tuple(components)))
        shared = {"shared": "trn-b07-n03:nvswitch-2", "kind": "nvswitch", "links": list(components)}
        return [shared | {"links_in_all": 16, "clean_links": 15}]

    def straggler_timeline(self, component: str) -> Rows:
        self.asked.append(("straggler_timeline", component))
        slow = {"run": "run-442", "start": "2026-03-14T03:10:05Z", "latency_us": 1399.25}
        return [slow | {"end": "2026-03-14T03:10:35Z", "baseline_us": 832.0, "errors_in_it": 911}]

    def earlier_tickets(self, serial: str) -> Rows:
        self.asked.append(("earlier_tickets", serial))
        if serial != "1654822003117":
            return []
        return [
            {"ticket_id": "T-0f0f0f0f0f0f", "how": "put_in", "link": "trn-b01-n01:gpu2/nvlink-3"}
        ]


class BrokenFabric:
    """Nothing can be looked up."""

    def __getattr__(self, name: str) -> Any:
        def fails(_asked: object) -> Rows:
            raise OSError(f"disk gone while {name}")

        return fails


def _link(number: int, port: int, errors: int, accused: bool) -> dict[str, Any]:
    return {
        "component": f"trn-b07-n03:gpu6/nvlink-{number}",
        "far_end": f"trn-b07-n03:nvswitch-2/port-{port}",
        "link_type": "nvlink",
        "errors": errors,
        "is_accused": accused,
    }
