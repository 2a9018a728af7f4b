"""Names of SuperBench figures that say something about an interconnect, a launch or a step.

Splits `benchmark/metric:rank` into operation, size, device and unit. Figures of pure arithmetic are left
alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabric_pipeline.model.records import CollectiveTiming
from fabric_pipeline.sources.collectives.op_names import op_name

_COLLECTIVE = re.compile(
    r"^(?:nccl|rccl)-bw[^/]{0,60}/([a-z]{4,20})_(\d{1,15})_(busbw|algbw|time)(?::(\d{1,5}))?$"
)
_IB = re.compile(
    r"^(ib-(?:loopback|traffic|validation)[^/]{0,60})/(IB_[a-z]{2,10}|ib_\w{2,30}?_bw)_(\d{1,15})_Avg_?(\S{0,20})$"
)
_COPY = re.compile(
    r"^(mem-bw|gpu-copy-bw[^/]{0,60}|gpu-sm-copy-bw|nvbandwidth[^/]{0,60})/([\w.-]{2,60}?)(?::(\d{1,5}))?$"
)
_LAUNCH = re.compile(r"^kernel-launch[^/]{0,60}/((?:event|wall)_overhead)(?::(\d{1,5}))?$")
_STEP = re.compile(
    r"^([\w.-]{1,80}(?:/[\w.-]{1,80})?/(?:steptime|step_time)_\w{1,60})(?::(\d{1,5}))?$"
)
_COST = re.compile(
    r"^(pytorch-(?:computation-communication-overlap|sharding-matmul)[^/]{0,60}/\w{1,60})(?::(\d{1,5}))?$"
)


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure: which timing it belongs to and what it says there.

    `field` is `busbw` (scaled to GB/s by `scale`), `time` (scaled to us) or `beside` for figures that
    follow from the others.
    """

    op: str
    field: str
    scale: float
    unit_kind: str
    bytes: int | None = None
    gpu: int | None = None
    variant: str = ""

    def put(self, timing: CollectiveTiming, value: float) -> None:
        """Write the value into the timing it belongs to."""
        if self.field == "busbw":
            timing.busbw_gbs = value * self.scale
        elif self.field == "time" and value > 0:
            timing.duration_us = value * self.scale
            timing.unit_kind = self.unit_kind


def parse_metric(key: str) -> Metric | None:
    """The meaning of one key, or None for figures that are no timing and no bandwidth."""
    if len(key) > 250:
        return None
    collective, hca, copy = _COLLECTIVE.match(key), _IB.match(key), _COPY.match(key)
    if collective:
        op, size, what, rank = collective.groups()
        field = {"busbw": "busbw", "time": "time", "algbw": "beside"}[what]
        return Metric(op_name(op), field, 1.0, "collective", int(size), variant=rank or "")
    if hca:
        test, name, size, device = hca.groups()
        # perftest prints MB/s of 10^6 bytes when SuperBench runs it.
        return Metric(f"{test}/{name}", "busbw", 1e-3, "bandwidth", int(size), variant=device)
    if copy:
        test, name, gpu = copy.groups()
        return Metric(f"{test}/{name}", "busbw", 1.0, "bandwidth", None, _gpu(gpu), gpu or "")
    return _compute(key)


def _compute(key: str) -> Metric | None:
    """Launch overheads and step times, both in milliseconds."""
    launch = _LAUNCH.match(key)
    if launch:
        name, gpu = launch.groups()
        return Metric(f"kernel-launch/{name}", "time", 1e3, "compute", None, _gpu(gpu), gpu or "")
    step = _STEP.match(key) or _COST.match(key)
    if step:
        name, gpu = step.groups()
        return Metric(name, "time", 1e3, "compute", None, _gpu(gpu), gpu or "")
    return None


def _gpu(text: str | None) -> int | None:
    return int(text) if text else None
