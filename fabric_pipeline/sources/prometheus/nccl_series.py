"""Turns samples of the NCCL Inspector's Prometheus output into timings of collectives.

Each value is the mean of all operations of one kind and size range since the last dump; it names a
GPU's view, never a link. The inspector's JSON has a reader of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fabric_pipeline.model.records import CollectiveTiming
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.prometheus.entity import Entities, Entity
from fabric_pipeline.sources.prometheus.exposition import BrokenLineError, Sample
from fabric_pipeline.sources.prometheus.gather import Gather
from fabric_pipeline.sources.prometheus.measure import not_measured

_METRIC = re.compile(
    r"nccl_(?P<kind>collective|p2p)_(?P<slow>slow_event_)?exec_time_"
    r"(?P<statistic>sum_|min_|max_|p\d{2}_|)microseconds"
)
_BANDWIDTH = frozenset({"nccl_bus_bandwidth_gbs", "nccl_p2p_bus_bandwidth_gbs"})
_COUNTS = frozenset({"nccl_collective_count", "nccl_p2p_count"})
_LOST = frozenset({"nccl_collectives_dropped_total", "nccl_p2p_dropped_total"})
_UNKNOWN = frozenset({"", "unknown"})
_EVENT_LABELS = frozenset({"percentile_samples"})  # labels that only some lines of a bucket carry


def is_nccl(name: str) -> bool:
    """True for a metric of NCCL Inspector that is read."""
    return bool(_METRIC.fullmatch(name)) or name in _BANDWIDTH | _COUNTS | _LOST


@dataclass(slots=True)
class _Bucket:
    """The lines of one size range: means, sums and counts that stand under equal labels."""

    line: int | None
    entity: Entity
    values: dict[str, float] = field(default_factory=dict)


class NcclSeries:
    """Feeds the samples of one file into a `Gather` once all lines of a bucket are known."""

    def __init__(self, gather: Gather, hints: Hints) -> None:
        self.metrics: dict[str, int] = {}
        self.doubts: set[str] = set()
        self._gather = gather
        self._entities = Entities(hints.node)
        self._open: dict[frozenset[tuple[str, str]], _Bucket] = {}
        self._order: dict[frozenset[tuple[str, str]], int] = {}

    def add(self, sample: Sample) -> None:
        """Use one sample; raises `BrokenLineError` for a value that its metric cannot have."""
        entity = self._entities.of(sample.label_text, sample.labels)
        found = _METRIC.fullmatch(sample.name)
        if not_measured(sample.value, sample.value_text):
            self._gather.unknown(entity.node, "", sample.name, "the value is no number")
        elif found and found["slow"]:
            self._timing(sample.line, entity, _positive(sample), None, " slow_event")
        elif found:
            self._keep(sample, entity, found["statistic"] or "mean_")
        elif sample.name in _BANDWIDTH:
            self._keep(sample, entity, "bandwidth")
        elif sample.name in _COUNTS:
            self._keep(sample, entity, "count")
        elif sample.name in _LOST and sample.value > 0:
            what = f"{sample.value:.0f} operations that {sample.name} counts"
            self._gather.unknown(entity.node, "", what, "overwritten before they were written out")
        else:
            self.metrics[sample.name] = self.metrics.get(sample.name, 0) + 1

    def finish(self) -> None:
        """Write out the buckets that are still open."""
        for key in list(self._open):
            self._close(key)

    def _keep(self, sample: Sample, entity: Entity, statistic: str) -> None:
        pairs = frozenset(pair for pair in entity.labels.items() if pair[0] not in _EVENT_LABELS)
        bucket = self._open.get(pairs)
        if bucket is not None and statistic in bucket.values:
            self._close(pairs)
            bucket = None
        if bucket is None:
            bucket = self._open[pairs] = _Bucket(sample.line, entity)
        bucket.values[statistic] = _positive(sample)

    def _close(self, key: frozenset[tuple[str, str]]) -> None:
        bucket = self._open.pop(key)
        values = bucket.values
        duration = values.get("mean_")
        if duration is None and values.get("count"):
            duration = values["sum_"] / values["count"] if "sum_" in values else None
        if duration is None:
            duration = values.get("p50_")
        if not duration:
            what = f"duration of {_op(bucket.entity.labels) or 'an operation'}"
            self._gather.unknown(bucket.entity.node, "", what, "no line states its mean time")
            return
        sequence = self._order[key] = self._order.get(key, -1) + 1
        timing = self._timing(bucket.line, bucket.entity, duration, values.get("bandwidth"), "")
        timing.seq = timing.seq or sequence

    def _timing(
        self,
        line: int | None,
        entity: Entity,
        duration_us: float,
        busbw_gbs: float | None,
        suffix: str,
    ) -> CollectiveTiming:
        labels = entity.labels
        if not entity.node:
            self.doubts.add(entity.doubt)
        timing = CollectiveTiming(
            line=line,
            op=_op(labels),
            duration_us=duration_us,
            run=_named(labels, "slurm_job_id", "slurm_job"),
            communicator=_named(labels, "comm_id", "comm_name"),
            seq=_whole(labels, "sequence", "coll_sn", "p2p_sn") or 0,
            bytes=_whole(labels, "msg_size_bytes", "message_size_bytes", "coll_msg_size_bytes"),
            rank=_whole(labels, "rank"),
            ranks=_whole(labels, "nranks", "n_ranks"),
            node=entity.node,
            gpu=_gpu(entity),
            start=_start(labels.get("start_timestamp_us", "")),
            busbw_gbs=busbw_gbs,
            variant=_variant(labels) + suffix,
        )
        self._gather.result.timings.append(timing)
        return timing


def _positive(sample: Sample) -> float:
    if not 0 <= sample.value < float("inf"):
        raise BrokenLineError("a time, rate or count is a number from 0 up")
    return sample.value


def _op(labels: dict[str, str]) -> str:
    return labels.get("collective") or labels.get("p2p_operation", "")


def _variant(labels: dict[str, str]) -> str:
    """Size range, algorithm and peer: rows that differ in these must not be compared."""
    peer = labels.get("peer") or labels.get("p2p_peer")
    parts = [
        labels.get("message_size", ""),
        labels.get("algo_proto", ""),
        f"peer {peer}" if peer else "",
    ]
    return " ".join(part for part in parts if part)


def _named(labels: dict[str, str], *names: str) -> str:
    return next((labels[n] for n in names if labels.get(n, "").lower() not in _UNKNOWN), "")


def _whole(labels: dict[str, str], *names: str) -> int | None:
    for name in names:
        text = labels.get(name, "")
        if text.isdecimal() and text.isascii() and len(text) < 19:
            return int(text)
    return None


def _gpu(entity: Entity) -> int | None:
    text = (entity.labels.get("gpu") or entity.labels.get("gpu_device_id", "")).lower()
    digits = text.removeprefix("gpu")
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 5 else None


def _start(text: str) -> datetime | None:
    if not text.isdecimal() or not 15 <= len(text) <= 17:
        return None
    return datetime.fromtimestamp(int(text) / 1e6, UTC)
