"""What was measured of which kind of link, and in words what was not: the ground of a "healthy".

Pure: counts are handed in. Unknown is not healthy, so whatever says "healthy" says beside it how far
the measurements reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NVLINK, GPU_SUMS, PCIE, PORT = "NVLink", "GPU sum of NVLinks", "PCIe link", "network port"
_MANY = {
    NVLINK: "NVLinks",
    GPU_SUMS: "sums over the NVLinks of a GPU",
    PCIE: "PCIe links",
    PORT: "network ports",
}


@dataclass(frozen=True, slots=True)
class KindCoverage:
    """One kind of link: how many ends were read, and what of them.

    `with_errors` counts ends with at least one error counter, `most_counters` the error counters of the
    best measured end, `with_state` those whose state, width or speed was read, `with_growth` those whose
    error counters were read twice or over a span, `with_repairs` those of which only what was repaired
    (corrected bits, bit error rates before correction) was read.
    """

    kind: str
    links: int
    with_errors: int = 0
    most_counters: int = 0
    with_state: int = 0
    with_growth: int = 0
    with_repairs: int = 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """All that was measured; `timings` are durations of collectives and steps, `events` log events."""

    kinds: tuple[KindCoverage, ...] = ()
    timings: int = 0
    events: int = 0

    def of(self, kind: str) -> KindCoverage | None:
        """The coverage of one kind, None when nothing of it was read."""
        return next((one for one in self.kinds if one.kind == kind), None)


def measured_words(coverage: Coverage) -> list[str]:
    """Such as `144 NVLinks: 3 error counters each, state`; [] when nothing was measured."""
    said = [_kind_words(one) for one in coverage.kinds]
    if coverage.timings:
        said.append(
            _count(
                coverage.timings,
                "timing of collectives or steps",
                "timings of collectives or steps",
            )
        )
    if coverage.events:
        said.append(_count(coverage.events, "event of logs", "events of logs"))
    return said


def unmeasured_words(coverage: Coverage) -> list[str]:
    """What a look at the whole would need and was not in the files, one phrase each."""
    said = []
    for one in coverage.kinds:
        said += _gaps(one)
    seen = {one.kind for one in coverage.kinds}
    absent = [
        _MANY[kind]
        for kind in (NVLINK, PCIE, PORT)
        if kind not in seen and not (kind == NVLINK and GPU_SUMS in seen)
    ]
    if absent:
        said.append(_listed(absent))
    if not coverage.timings:
        said.append("how long collectives take")
    if not coverage.events:
        said.append("kernel and driver events")
    return said


def _kind_words(one: KindCoverage) -> str:
    parts = []
    if one.with_errors:
        counters = _count(one.most_counters, "error counter", "error counters")
        if one.with_errors < one.links:
            parts.append(f"{counters} on {one.with_errors:,}")
        else:
            parts.append(counters + (" each" if one.links > 1 else ""))
    elif one.with_repairs:
        parts.append("repaired errors only")
    if one.with_state:
        share = "" if one.with_state == one.links else f" on {one.with_state:,}"
        parts.append(f"state{share}")
    return f"{_count(one.links, one.kind, _MANY[one.kind])}: {', '.join(parts) or 'traffic only'}"


def _gaps(one: KindCoverage) -> list[str]:
    many = _MANY[one.kind]
    if one.kind == GPU_SUMS:
        return ["errors of each single NVLink"]
    if not one.with_errors:
        return [f"errors of the {many}"]
    gaps = [] if one.with_state else [f"state and speed of the {many}"]
    if not one.with_growth:
        gaps.append(f"whether counts of the {many} grow (one reading each)")
    return gaps


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
