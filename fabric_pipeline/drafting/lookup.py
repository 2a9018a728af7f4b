"""What a drafter may ask about the fabric around an incident: the questions, not the answers.

The workflows answer from the lake and the ledger, tests from memory. Every answer is plain data that
`drafting.facts` bounds and cleans before a model sees it; nothing here can change anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class FabricLookup(Protocol):
    """Read-only questions about one drop. Unknown components and serials give empty answers."""

    def neighbours(self, component: str) -> list[dict[str, Any]]:
        """Links of the device that this component belongs to.

        Keys: `component`, `far_end`, `link_type`, `cable_id`, `part`, `errors` (counted in the drop,
        None when no counter of the link was read) and `is_accused`.
        """
        ...

    def counters(self, component: str) -> list[dict[str, Any]]:
        """Counters of one link end over the drop.

        Keys: `counter`, `events` (None: not countable), `first_seen`, `last_seen`, `per_hour`,
        `measured_hours`, `quality` and `siblings_median` (None when there are no siblings).
        """
        ...

    def shared_components(self, components: Sequence[str]) -> list[dict[str, Any]]:
        """Parts that at least two of these links have in common, the one that most share first.

        Keys: `shared`, `kind` (`gpu`, `nvswitch`, `pcie_switch`, `nic`, `twin_port_plug`, `switch`,
        `cable`, `node`, `rack`), `links` (those asked for that it carries), `links_in_all`, `clean_links`.
        """
        ...

    def straggler_timeline(self, component: str) -> list[dict[str, Any]]:
        """Slow intervals of the runs that cross this link, oldest first.

        Keys: `run`, `start`, `end`, `latency_us`, `baseline_us`, `errors_in_it`.
        """
        ...

    def earlier_tickets(self, serial: str) -> list[dict[str, Any]]:
        """Tickets in which this serial was accused, taken out or put in, newest first.

        Keys: `ticket_id`, `how`, `link`, `at`, `state`.
        """
        ...
