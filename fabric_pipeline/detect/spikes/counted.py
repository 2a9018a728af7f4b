"""What is judged and what a rule says: a count with its surroundings in, a rule hit out.

The groups of counters that rules speak of stand here too; the rules are in `interval_rules` and `rules`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fabric_pipeline.model.counters import COUNTERS

REPLAYS = frozenset({"replay", "pcie_replay"})
CRC = frozenset({"crc", "crc_flit", "crc_data", "crc_single_bit", "crc_multi_bit"})
RETRAINS = frozenset({"recovery", "link_error_recovery", "pcie_replay_rollover"})
AER = frozenset({"aer_correctable"})
# What FEC repaired: a margin without any published limit, never trouble by itself.
QUALITY = frozenset(name for name, spec in COUNTERS.items() if spec.role == "quality")
# Links whose errors past correction are judged per bit moved.
BER_LINKS = frozenset({"infiniband", "roce", "ethernet"})


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted at one link end: an interval with exposure, or a snapshot without.

    `in_12h` and `in_24h` are the most events of any half day and day that ends in the interval, those
    of earlier intervals included; `is_largest` says that no interval of its series holds more;
    `persistent_windows` the most windows with errors of any 30. `window_*`,
    `expected` and `q_value` describe its most surprising window, `sibling_*` the whole series' rate
    where it is an outlier among its siblings. `whole_total` is where the counter stands, when `events` are
    what it grew by between captures without a time span.
    """

    counter: str
    error_class: str
    link_type: str
    events: float
    exposure_s: float | None = None
    samples: int = 1
    is_largest: bool = True
    persistent_windows: int = 0
    window_events: float = 0.0
    window_s: float = 0.0
    expected: float = 0.0
    q_value: float = 1.0
    bytes_moved: float | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    sibling_log10_p: float = 0.0
    siblings: int = 0
    sibling_per_hour: float = 0.0
    sibling_limit_per_hour: float | None = None
    sibling_median_per_hour: float = 0.0
    in_12h: float = 0.0
    in_24h: float = 0.0
    whole_total: float | None = None

    @property
    def is_quality(self) -> bool:
        """True for what FEC repaired."""
        return self.counter in QUALITY

    @property
    def per_hour(self) -> float | None:
        """Errors per observed hour; None without a time span."""
        return self.events * 3600 / self.exposure_s if self.exposure_s else None


@dataclass(frozen=True, slots=True)
class RuleHit:
    """One rule that fired. `severity` is what the rule alone would say."""

    rule_id: str
    severity: str
    says: str
    value: str
    limit: str
    source: str

    def as_dict(self) -> dict[str, str]:
        """For storage."""
        return asdict(self)
