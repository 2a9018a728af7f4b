"""How much an archive may ask of the machine, and the errors that say which bound it broke.

What is counted is what was really read and written, never what a header states. Which archive or
entry an error sets aside is decided by its class; walking through archives is done in `unpack`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for one delivered archive with all archives inside it.

    `entries`: a thousand hosts with twenty captures each. `total_bytes` and `entry_bytes`: what a disk
    beside a pipeline spares; readers hold a text file in memory, so that one file may be 1 GiB.
    `ratio`: scrapes of a busy host pack some 50 times with gzip and 100 times with bzip2 or xz, those of
    an idle one 150 times with gzip (measured on 600 scrapes of 64 series); deflate cannot pass 1,032, and
    archives made to fill disks come near it. Idle scrapes can pass the ratio with bzip2 (800) and xz
    (4,000), so that the first `slack_bytes` of an archive are free of it; readers take that much at once.
    `archives` inside one another: a support bundle in a zip. `seconds`: 16 GiB of bzip2 take some ten
    minutes.
    `header_bytes`: longest run of headers before one entry of a tar; `directory_bytes`: list of the
    entries of a zip. `memory_bytes`: dictionary of xz, whose largest preset needs 65 MiB.
    """

    entries: int = 20_000
    total_bytes: int = 16 << 30
    entry_bytes: int = 1 << 30
    ratio: int = 500
    slack_bytes: int = 256 * MIB
    archives: int = 2
    seconds: float = 900.0
    header_bytes: int = MIB
    directory_bytes: int = 12 * MIB
    memory_bytes: int = 128 * MIB


LIMITS = Limits()


class RefusedError(Exception):
    """Something is not opened; `rule` says why and what to do, for a person."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


class EntryError(RefusedError):
    """One entry is set aside; the others are read."""


class EndsEarlyError(RefusedError):
    """The archive stops being one: what was complete before is read, the rest is not there."""


class ArchiveError(RefusedError):
    """One archive is set aside with all that was taken out of it."""


class DeliveryError(RefusedError):
    """The delivered archive is set aside with all archives in it."""


class PassingError(DeliveryError):
    """As `DeliveryError`, for a reason of this machine: the next attempt may succeed."""


@dataclass(slots=True)
class Meter:
    """What one delivered archive has used up; what was set aside again stays counted."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    entries: int = 0
    written: int = 0
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = self.clock() + self.limits.seconds

    def tick(self) -> None:
        """Called before each read; raises PassingError when the time is up."""
        if self.clock() > self._end:
            raise PassingError(
                f"unpacking took longer than {self.limits.seconds:.0f} s and was stopped; unpack it "
                "and drop the folder"
            )

    def entry(self) -> None:
        """One more entry, of whatever kind."""
        self.entries += 1
        if self.entries > self.limits.entries:
            raise DeliveryError(self.too_many())

    def wrote(self, size: int) -> None:
        """So many more bytes were unpacked."""
        self.written += size
        if self.written > self.limits.total_bytes:
            raise DeliveryError(
                f"more than {self.limits.total_bytes} bytes when unpacked, not opened; unpack it and "
                "drop the folder"
            )

    def too_many(self) -> str:
        """The rule on the number of entries."""
        return f"more than {self.limits.entries} entries, not opened; split it or drop the folder"


def bomb_rule(limits: Limits) -> str:
    """The rule on the ratio."""
    return (
        f"grows more than {limits.ratio} times when unpacked, as archives made to fill disks do; "
        "unpack it by hand if you trust it and drop the folder"
    )
