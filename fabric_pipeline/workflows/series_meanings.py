"""Rows of the small tables by which bulk values of Prometheus series become readings.

A metric row says what a name means, a place row what labels mean (but for the number of a link) to
metrics of one shape, an outcome row what a value says that is no plain number. All ask the readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading
from fabric_pipeline.sources.prometheus.dcgm_names import is_dcgm
from fabric_pipeline.sources.prometheus.exposition import (
    BrokenLineError,
    parse_labels,
    parse_value,
)
from fabric_pipeline.sources.prometheus.families import Families, metric_of, outcome
from fabric_pipeline.sources.prometheus.measure import Measure, Metric, Place
from fabric_pipeline.sources.prometheus.series_sql import TABLES
from fabric_pipeline.workflows.staged_rows import refusal

Row = tuple[Any, ...]


def _columns(table: str) -> list[tuple[str, str]]:
    return [(n, type_.upper()) for n, type_ in (part.split() for part in TABLES[table].split(", "))]


METRIC_COLUMNS = _columns("bulk_metrics")
PLACE_COLUMNS = _columns("bulk_places")
OUTCOME_COLUMNS = _columns("bulk_outcomes")
_STATED = [name for name, _ in (*METRIC_COLUMNS, *PLACE_COLUMNS)]


class Meanings:
    """Makes the rows of metrics, then those of places; places of one stem one after the other."""

    def __init__(self, families: Families) -> None:
        self._families = families
        self._sockets = families.node.sockets()
        # One metric, or the name of one that measures no link, for each shape; its number is its place.
        self._shapes: dict[Row, Metric | str] = {}
        self._numbers: dict[Row, int] = {}
        self._things: dict[Row, int] = {}
        self._places = 0
        self._stem: str | None = None
        self._labels: dict[str, str] = {}
        self._rule: str | None = None

    def metric(self, name_id: int, name: str) -> Row:
        """The row of a name."""
        m = metric_of(name)
        if m is None:
            shape: Row = ("", is_dcgm(name), name.startswith("node_"), name.isupper())
            return (name_id, name, self._number(shape, name), *[None] * (len(METRIC_COLUMNS) - 3))
        return (
            name_id, name, self._number((m.family, m.shape), m), m.family, m.link_type, m.counter, m.kind, m.what, m.lane, m.decode, m.divisor,
            m.ceiling, m.counter in COUNTERS,
        )  # fmt: skip

    def place(self, stem_id: int, stem: str, shape_id: int) -> Row:
        """The row of labels as metrics of one shape see them; `rule` says why they are refused."""
        self._read(stem)
        self._places += 1
        head = (self._places, shape_id, stem_id)
        place, rule = None, self._rule
        if rule is None:
            try:
                place = self._look(list(self._shapes.values())[shape_id])
            except BrokenLineError as broken:
                rule = str(broken)
        if place is None:
            return (*head, rule, *[None] * (len(PLACE_COLUMNS) - 4))
        return (*head, None, *self._placed(place))

    def _look(self, metric: Metric | str) -> Place | None:
        if isinstance(metric, Metric):
            return self._families.place(metric, self._labels)
        self._families.check(metric, self._labels)
        return None

    def _placed(self, p: Place) -> Row:
        # Before the host is looked up, as the reader of small files tells things apart.
        thing = self._things.setdefault((p.origin, p.node, p.scope), len(self._things))
        node = p.node or (self._families.node.host_of(p) if p.doubt else "")
        socket = self._sockets.get((node, p.interface))
        node = node or self._families.node.host
        return (thing, node, p.interface, p.scope, p.node, p.device, p.gpu_uuid, p.state, socket)

    def _number(self, shape: Row, metric: Metric | str) -> int:
        self._shapes.setdefault(shape, metric)
        return self._numbers.setdefault(shape, len(self._numbers))

    def _read(self, stem: str) -> None:
        if stem == self._stem:
            return
        self._stem, self._labels, self._rule = stem, {}, None
        try:
            self._labels = parse_labels(stem)
            self._labels.pop("__name__", "")
        except BrokenLineError as broken:
            self._rule = str(broken)


def outcome_row(families: Families, row: Sequence[Any]) -> Row:
    """What a value says; `row` is a row of a metric and one of a place, then device and value text."""
    stated, value_text = dict(zip(_STATED, row, strict=False)), row[-1]
    measure = _measure({**stated, "device": row[-2]})
    key = (stated["name_id"], stated["place_id"], value_text)
    try:
        said = outcome(measure, parse_value(value_text), value_text)
    except BrokenLineError as broken:
        return (*key, None, "", "", "ok", str(broken), None)
    families.gather.state_reason(measure, said)
    reading = Reading(None, stated["name"], value_text, counter=said.counter, value=said.value)
    refused = refusal(reading, said.quality)
    return (*key, said.value, said.counter, said.state, said.quality, None, refused)


def _measure(stated: dict[str, Any]) -> Measure:
    """What is measured, with the host as the labels name it."""
    keys = ("family", "name", "link_type", "counter", "kind", "what", "lane", "decode", "divisor")
    metric = Metric(shape=(), ceiling=stated["ceiling"], **{key: stated[key] for key in keys})
    where = ("interface", "scope", "device", "gpu_uuid", "state")
    place = Place(node=stated["label_node"], **{key: stated[key] for key in where})
    return Measure(metric, place)
