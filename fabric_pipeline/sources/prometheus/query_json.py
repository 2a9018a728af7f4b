"""Reader of answers of the Prometheus query API (`/api/v1/query`, `query_range`), also VictoriaMetrics.

Takes vectors, matrices and scalars, several answers in one file, bare lists of series, the lines of
VictoriaMetrics' export, and what can be saved of an answer that was cut off. What a metric means is
decided where the text scrapes are read too.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, ClassVar

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.prometheus.exposition import (
    BrokenLineError,
    Sample,
    label_text,
    parse_time,
    parse_value,
)
from fabric_pipeline.sources.prometheus.families import Families
from fabric_pipeline.sources.prometheus.json_text import JsonDocument, documents

_MAX_UNNAMED = 20  # nameless series kept as they stand
_RESULT = re.compile(r'"resultType"\s{0,20}:')
_SERIES = re.compile(r'"metric"\s{0,20}:\s{0,20}\{')
_VALUES = re.compile(r'"values?"\s{0,20}:\s{0,20}\[')
_FAILURE = re.compile(r'"errorType"\s{0,20}:')
_STATUS = re.compile(r'"status"\s{0,20}:\s{0,20}"(?:success|error)"')


class PrometheusQueryReader:
    """`{"status":"success","data":{"resultType":...,"result":[...]}}` and its relatives."""

    format_id: ClassVar[str] = "prometheus_query_json"
    version: ClassVar[str] = "1"
    set_wise: ClassVar[str] = "query_json"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="the query API of Prometheus and VictoriaMetrics",
        versions="Prometheus and VictoriaMetrics, versions not stated",
        recognised_by=(
            "JSON with status and resultType, bare lists of series, or the lines of "
            "VictoriaMetrics' export"
        ),
        gives=(
            "whatever the dcgm-exporter, node_exporter and NCCL Inspector series of the answer "
            "measure, with their time stamps"
        ),
        traps=(
            "An empty result is no data, not a clean fabric.",
            (
                "Series whose name a function such as rate() dropped keep no meaning and are "
                "facts only: ask for raw counters."
            ),
            "A partial answer, its warnings and a failed query are stated as unknown.",
            (
                "A range query repeats values at its step, so neighbouring equal values need not "
                "be two samples."
            ),
            "Of an answer that was cut the whole series are kept.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 for an answer of the API, 70 for bare series, 0 without JSON."""
        head = "" if file.is_binary else file.head
        if "{" not in head:
            return 0
        if _STATUS.search(head) and (_RESULT.search(head) or _FAILURE.search(head)):
            return 95
        if _RESULT.search(head) and '"result"' in head:
            return 90
        return 70 if _SERIES.search(head) and _VALUES.search(head) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All values of all series; a value's line is the line of its series where that is known."""
        families = Families(file.hints)
        answers = Answers(families, file.text)
        return answers.finish(families.finish())


class Answers:
    """Walks the documents of a text and feeds their samples to the families.

    `None` in the place of a series stands for one that is read elsewhere.
    """

    def __init__(self, families: Families, text: str) -> None:
        self._families = families
        self._rejected: list[RejectedLine] = []
        self._unnamed: list[dict[str, Any]] = []
        self._line_starts = [found.end() for found in re.finditer("\n", text)]
        self._series_starts = [found.start() for found in _SERIES.finditer(text)]
        self._seen = 0
        for document in documents(text):
            self._take(document)
        if self._unnamed:
            reason = "the query's function dropped the metric name, so the values keep no meaning"
            families.gather.unknown("", "", "series without a metric name", reason)

    def _take(self, document: JsonDocument) -> None:
        """Use one JSON value; anything of unknown shape is stated, not dropped."""
        line = self._line_at(document.start)
        if document.broken:
            self._reject(line, document.excerpt, document.broken)
        for answer in document.values:
            self._answer(line, answer)

    def finish(self, result: ReadResult) -> ReadResult:
        """The families' result with the refused parts and the nameless series."""
        result.rejected.extend(self._rejected)
        if self._unnamed:
            result.facts["unnamed_series"] = self._unnamed
        return result

    def _answer(self, line: int, answer: Any) -> None:
        if isinstance(answer, list):
            for item in answer:
                self._answer(line, item)
            return
        if not isinstance(answer, dict):
            self._reject(line, str(answer), "an answer of the query API is a JSON object")
            return
        if "metric" in answer:
            self._series(line, answer)
            return
        self._complaints(line, answer)
        data = answer.get("data", answer)
        result = data.get("result") if isinstance(data, dict) else data
        kind = data.get("resultType", "") if isinstance(data, dict) else ""
        if kind in ("scalar", "string"):
            self._nameless({}, [result])
        elif not isinstance(result, list):
            if answer.get("status") != "error":
                self._reject(line, str(answer), "an answer holds a list of series under result")
        elif not result:
            reason = "the query succeeded and found no series: no data, not a clean fabric"
            self._families.gather.unknown("", "", "everything the query asked for", reason)
        else:
            for series in result:
                if series is not None:
                    self._series(line, series)

    def _complaints(self, line: int, answer: dict[str, Any]) -> None:
        unknown = self._families.gather.unknown
        if answer.get("isPartial") is True:
            unknown("", "", "part of the answer", "the server marks its answer as partial")
        for key in ("warnings", "infos"):
            notes = answer.get(key)
            if isinstance(notes, list) and notes:
                unknown("", "", f"what the {key} of the answer concern", str(notes)[:MAX_TEXT])
        if answer.get("status") == "error":
            reason = f"the query failed in line {line}: {answer.get('error', '')}"
            unknown("", "", "everything the query asked for", reason[:MAX_TEXT])

    def _series(self, line: int, series: Any) -> None:
        if not isinstance(series, dict) or not isinstance(series.get("metric"), dict):
            self._reject(line, str(series), "a series holds its labels under metric")
            return
        line = self._next_line(line)
        labels = {str(name): str(value) for name, value in series["metric"].items()}
        pairs = list(_pairs(series))
        name = labels.pop("__name__", "")
        if not name:
            self._nameless(labels, pairs)
            return
        text = label_text(labels)
        if not pairs:
            self._reject(line, f"{name}{{{text}}}", "a series holds a value or a list of values")
        for pair in pairs:
            self._sample(line, name, text, labels, pair)

    def _sample(self, line: int, name: str, series: str, labels: dict[str, str], pair: Any) -> None:
        shown = json.dumps(pair, separators=(",", ":"), ensure_ascii=False)
        try:
            stamp, text = time_and_value(pair)
            value = parse_value(text)
            shown = f"{text} {stamp}"
            self._families.add(Sample(line, name, series, labels, value, text, stamp))
        except BrokenLineError as broken:
            self._reject(line, f"{name}{{{series}}} {shown}", str(broken))

    def _nameless(self, labels: dict[str, str], pairs: list[Any]) -> None:
        if len(self._unnamed) < _MAX_UNNAMED:
            self._unnamed.append({"labels": labels, "values": pairs[:3]})

    def _reject(self, line: int, text: str, rule: str) -> None:
        self._rejected.append(RejectedLine(line, text[:MAX_TEXT], rule))

    def _line_at(self, offset: int) -> int:
        return bisect_right(self._line_starts, offset) + 1

    def _next_line(self, line: int) -> int:
        """Series are met in the order in which their `"metric"` keys stand in the text."""
        if self._seen < len(self._series_starts):
            line = self._line_at(self._series_starts[self._seen])
        self._seen += 1
        return line


def _pairs(series: dict[str, Any]) -> Iterator[Any]:
    """Pairs of time and value under `value`, `values`, or `values` and `timestamps` (export)."""
    if "value" in series:
        yield series["value"]
    values, stamps = series.get("values"), series.get("timestamps")
    if isinstance(values, list) and isinstance(stamps, list):
        yield from (
            [stamp / 1000 if _is_number(stamp) else stamp, value]
            for stamp, value in zip(stamps, values, strict=False)
        )
    elif isinstance(values, list):
        yield from values


def time_and_value(pair: Any) -> tuple[str, str]:
    """Text of the time in seconds and of the value; raises `BrokenLineError`."""
    if not isinstance(pair, list) or len(pair) != 2:
        raise BrokenLineError("a value stands with its time in a list of two")
    stamp, value = str(pair[0]), str(pair[1])
    if parse_time(stamp) is None:
        raise BrokenLineError("the time is not a number of seconds")
    if isinstance(pair[1], bool) or len(value) > 400:
        raise BrokenLineError("the value is not a number")
    return stamp, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
