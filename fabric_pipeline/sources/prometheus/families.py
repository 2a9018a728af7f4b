"""What all readers of this family share: sending samples to the right interpreter, and closing.

A scrape can mix families (node_exporter serves text files of others), so every reader reads all of
them; the format id only says which family the file mostly holds.
"""

from __future__ import annotations

import re

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine
from fabric_pipeline.sources.base import Hints, SourceFile
from fabric_pipeline.sources.prometheus.dcgm_names import is_dcgm
from fabric_pipeline.sources.prometheus.dcgm_series import DcgmSeries, is_event
from fabric_pipeline.sources.prometheus.dcgm_series import metric_of as dcgm_metric
from fabric_pipeline.sources.prometheus.dcgm_series import outcome as dcgm_outcome
from fabric_pipeline.sources.prometheus.exposition import BrokenLineError, Exposition, Sample
from fabric_pipeline.sources.prometheus.gather import Gather
from fabric_pipeline.sources.prometheus.measure import Measure, Metric, Outcome, Place
from fabric_pipeline.sources.prometheus.nccl_series import NcclSeries
from fabric_pipeline.sources.prometheus.node_series import REMEMBERED, NodeSeries
from fabric_pipeline.sources.prometheus.node_series import metric_of as node_metric
from fabric_pipeline.sources.prometheus.node_series import outcome as node_outcome

_MAX_NAMES = 50  # other metrics listed by name in the facts
_DETECT_LINES = 3000
# No other exporter that knows these labels writes its names in capitals.
_DEVICE_LABELS = frozenset({"gpu", "nvlink", "nvswitch"})
_NUMBER = re.compile(
    r"[ \t]{1,20}(?:[-+]?Inf|NaN|[-+]?[0-9][0-9.eE+-]{0,40})(?:[ \t]{1,20}[0-9.]{1,20})?\s*$"
)


class Families:
    """Sends each sample to the interpreter of its family and sums up at the end.

    Bulk values do not come here one by one: `metric_of` and `place` say once what series measure, and
    only samples of the names that `is_single` knows are added.
    """

    def __init__(self, hints: Hints) -> None:
        self.gather = Gather(hints)
        self.node = NodeSeries(self.gather, hints)
        self._dcgm = DcgmSeries(self.gather, hints)
        self._nccl = NcclSeries(self.gather, hints)
        self._others: dict[str, int] = {}

    def add(self, sample: Sample) -> None:
        """Use one sample; raises `BrokenLineError` for a value that its metric cannot have."""
        name = sample.name
        if is_dcgm(name):
            self._dcgm.add(sample)
        elif name.startswith("node_"):
            self.node.add(sample)
        elif name.startswith("nccl_"):
            self._nccl.add(sample)
        else:
            _check_beginning(name, sample.labels)
            self.count_others(name, 1)

    def place(self, metric: Metric, labels: dict[str, str]) -> Place | None:
        """Where a series of a metric, and of all of its shape, measures; None for what has no link."""
        series = self._dcgm if metric.family == "dcgm" else self.node
        return series.place(metric.shape, labels)

    def check(self, name: str, labels: dict[str, str]) -> None:
        """Look at the labels of a metric that measures no link; raises `BrokenLineError`."""
        if is_dcgm(name):
            self._dcgm.place((), labels)
        elif not name.startswith("node_"):
            _check_beginning(name, labels)

    def count_others(self, name: str, count: int) -> None:
        """Count values of a metric that measures no link."""
        self._others[name] = self._others.get(name, 0) + count

    def finish(self, bulk_values: int = 0) -> ReadResult:
        """Everything that was read, with what is missing stated; `bulk_values` were read elsewhere."""
        self._nccl.finish()
        host = self.node.finish()
        result = self.gather.finish()
        result.topology = self.node.topology()
        doubts = self._dcgm.doubts | self.node.doubts | self._nccl.doubts
        if doubts and not host:
            self.gather.unknown("", "", "name of the host", "; ".join(sorted(doubts)[:_MAX_NAMES]))
        others = {**self._others, **self._dcgm.metrics, **self.node.metrics, **self._nccl.metrics}
        if others:
            result.facts["other_metrics"] = dict(sorted(others.items())[:_MAX_NAMES])
        if not result.understood and not bulk_values:
            named = ", ".join(sorted(others)[:5]) or "none"
            self.gather.unknown(
                "",
                "",
                "interconnect counters",
                f"no metric here measures a link (metrics: {named})",
            )
        return result


def is_single(name: str) -> bool:
    """True for metrics whose values say something together or once: events, host names, timings."""
    return name.startswith("nccl_") or name in REMEMBERED or (is_dcgm(name) and is_event(name))


def metric_of(name: str) -> Metric | None:
    """What the name of a metric says; None when it measures no link."""
    if is_dcgm(name):
        return dcgm_metric(name)
    return node_metric(name) if name.startswith("node_") else None


def outcome(measure: Measure, value: float, value_text: str) -> Outcome:
    """What one value of a series says; raises `BrokenLineError` for one it cannot have."""
    of_family = dcgm_outcome if measure.metric.family == "dcgm" else node_outcome
    return of_family(measure, value, value_text)


def _check_beginning(name: str, labels: dict[str, str]) -> None:
    if name.isupper() and not _DEVICE_LABELS.isdisjoint(labels):
        raise BrokenLineError("the name of the metric has lost its beginning")


def read_text(file: SourceFile) -> ReadResult:
    """Read a text file of any mix of the families."""
    families, exposition = Families(file.hints), Exposition()
    rejected = exposition.rejected
    for sample in exposition.samples(file.lines):
        try:
            families.add(sample)
        except BrokenLineError as broken:
            text = file.lines[(sample.line or 1) - 1][:MAX_TEXT]
            rejected.append(RejectedLine(sample.line, text, str(broken)))
    state_elided(exposition, families)
    result = families.finish()
    result.rejected.extend(rejected)
    if exposition.foreign_lines:
        result.facts["foreign_lines"] = exposition.foreign_lines
    return result


def state_elided(exposition: Exposition, families: Families) -> None:
    """State that series were left out where an ellipsis stands for them."""
    if exposition.elided_lines:
        reason = f"an ellipsis stands in line {exposition.elided_lines[0]}"
        families.gather.unknown("", "", "series that were left out", reason)


def family_score(file: SourceFile, metric: re.Pattern[str]) -> int:
    """0..95 by the share of value lines in the head whose metric matches `metric`.

    40 when only `# HELP` and `# TYPE` lines of the family are there, 0 for binary files.
    """
    if file.is_binary:
        return 0
    lines = hits = described = 0
    for line in file.head.split("\n", _DETECT_LINES)[:_DETECT_LINES]:
        text = line[:1000].lstrip()
        if text.startswith("#"):
            described += text.startswith(("# HELP ", "# TYPE ")) and bool(metric.search(text))
        elif text:
            lines += 1
            hits += _has_value(text, metric)
    if hits:
        return 30 + 65 * hits // lines
    return 40 if described else 0


def _has_value(text: str, metric: re.Pattern[str]) -> bool:
    """True when labels or a number follow the name, as they do in a scrape or a dump."""
    found = metric.search(text)
    if found is None:
        return False
    behind = text[found.end() :]
    if text.startswith('{__name__="'):
        return behind.startswith('"')
    return behind.startswith("{") or _NUMBER.match(behind) is not None
