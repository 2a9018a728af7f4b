"""Which incidents a drop is asked about in a long history, and which drops are a link's past."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.ledger import DropSpan, Ledger, LinkCheck, RepairReport
from fabric_pipeline.workflows.followed_links import (
    FOLLOW,
    PAST_DROPS,
    Accused,
    followed,
    note_settled,
    past_drops,
    spans_of_cluster,
    to_check_again,
)

START = datetime(2031, 3, 4, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
INCIDENT = "INC-00000000000c"
ROW = (
    "SELECT e.* REPLACE ('{drop}' AS \"drop\", 'n1' AS node, 'gpu0/nvlink-2' AS interface, "
    "make_timestamptz({micros}::BIGINT) AS ts) FROM ({empty}) AS e RIGHT JOIN range(1) ON true"
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(root=tmp_path, home=tmp_path / "home")


@pytest.fixture
def ledger(settings: Settings) -> Ledger:
    return Ledger(settings.ledger)


def fault(drop: str, start: datetime, incident: str = INCIDENT) -> IncidentRecord:
    return IncidentRecord(
        incident_id=incident, drop=drop, isolated_component="n1:gpu0/nvlink-2", far_end="n9:gpu0/nvlink-1",
        fault_type="physical_link_degradation", severity="WARNING", ticket_priority="normal", action_code="reseat",
        action_text="reseat", summary="errors", confidence=0.9, first_seen=start, last_seen=start + HOUR,
    )  # fmt: skip


def measured(settings: Settings, drop: str, at: datetime) -> DropSpan:
    """A drop with one reading of the link."""
    sql = ROW.format(
        drop=drop, micros=int(at.timestamp() * 1e6), empty=TABLES["link_counters"].empty_sql()
    )
    lake.write_table(connect(), sql, settings.lake, "link_counters", drop)
    return DropSpan(drop, "larch", at, at + HOUR)


def quiet(ledger: Ledger, drop: str, start: datetime) -> None:
    check = LinkCheck(
        INCIDENT, drop, "n1:gpu0/nvlink-2", "clean", start, start + HOUR, 3600.0
    )  # fmt: skip
    ledger.record_link_checks([check], start)


def names(found: list[Accused]) -> list[str]:
    return [one.record.incident_id for one in found]


def test_a_quiet_fault_is_settled_after_a_while_and_a_repair_opens_it_again(
    settings: Settings, ledger: Ledger
) -> None:
    ledger.record_incidents("d0", [fault("d0", START)], START)
    quiet(ledger, "d1", START + 2 * HOUR)
    young = measured(settings, "young", START + FOLLOW)
    old = measured(settings, "old", START + FOLLOW + timedelta(days=2))
    before = measured(settings, "before", START + timedelta(days=3))
    ledger.record_spans([DropSpan("d0", "larch", START, START + HOUR), young, old, before])
    known = followed(settings, ledger, "old", "larch", old)
    assert names(known) == [INCIDENT]
    note_settled(ledger, known, young)
    assert ledger.settled([INCIDENT]) == {}
    note_settled(ledger, known, old)
    assert names(followed(settings, ledger, "old", "larch", old)) == []
    assert names(followed(settings, ledger, "before", "larch", before)) == [INCIDENT]
    repair = RepairReport(INCIDENT, "", "c", "other", None, "", "", "", "technician-2", START)
    ledger.record_repair(repair, START)
    assert names(followed(settings, ledger, "old", "larch", old)) == [INCIDENT]
    note_settled(ledger, known, old)
    ledger.record_incidents("d2", [fault("d2", START + 2 * FOLLOW)], START)
    assert ledger.settled([INCIDENT]) == {}


def test_a_fault_that_nobody_measured_since_stays_followed(
    settings: Settings, ledger: Ledger
) -> None:
    ledger.record_incidents("d0", [fault("d0", START)], START)
    old = measured(settings, "old", START + 10 * FOLLOW)
    ledger.record_spans([DropSpan("d0", "larch", START, START + HOUR), old])
    known = followed(settings, ledger, "old", "larch", old)
    note_settled(ledger, known, old)
    assert names(followed(settings, ledger, "old", "larch", old)) == [INCIDENT]


def test_other_clusters_and_unknown_nodes_are_not_asked_about(
    settings: Settings, ledger: Ledger
) -> None:
    ledger.record_incidents("d0", [fault("d0", START)], START)
    elsewhere = fault("e0", START, "INC-00000000000d")
    ledger.record_incidents("e0", [elsewhere], START)
    other_node = fault("d0", START, "INC-00000000000e").model_copy(
        update={"isolated_component": "n7:gpu0/nvlink-2", "far_end": ""}
    )
    ledger.record_incidents("d3", [other_node], START)
    own = measured(settings, "own", START + HOUR)
    ledger.record_spans(
        [own, DropSpan("d0", "larch", START, None), DropSpan("e0", "oak", START, None)]
    )
    ledger.record_spans([DropSpan("d3", "larch", START, None)])
    assert names(followed(settings, ledger, "own", "larch", own)) == [INCIDENT]


def test_only_drops_since_the_first_error_are_looked_at_again(
    settings: Settings, ledger: Ledger
) -> None:
    long_ago, now = START, START + 3 * FOLLOW
    ledger.record_incidents("own", [fault("own", long_ago)], START)
    spans = {
        one.drop: one
        for one in (
            DropSpan("own", "larch", now, now + HOUR),
            DropSpan("too-old", "larch", START + HOUR, START + 2 * HOUR),
            DropSpan("recent", "larch", now - FOLLOW + HOUR, now - FOLLOW + 2 * HOUR),
            DropSpan("checked", "larch", now - HOUR, now),
        )
    }
    quiet(ledger, "checked", now - HOUR)
    record = fault("own", long_ago)
    known = [Accused(record, record.first_seen, (), frozenset({"own"}))]
    assert list(to_check_again(ledger, "own", spans, known)) == ["recent"]


def test_the_past_of_a_link_is_the_newest_drops_before_the_fault() -> None:
    spans = {
        f"d{hour:03d}": DropSpan(f"d{hour:03d}", "larch", START + hour * HOUR, None)
        for hour in range(PAST_DROPS + 20)
    }
    spans["timeless"] = DropSpan("timeless", "larch", None, None)
    found = past_drops(spans, START + (PAST_DROPS + 10) * HOUR)
    assert [found[0].drop, found[-1].drop, len(found)] == ["d033", "d010", PAST_DROPS]


def test_drops_read_before_spans_were_recorded_are_measured_once(
    settings: Settings, ledger: Ledger
) -> None:
    for day, drop in enumerate(("a", "b", "c")):
        measured(settings, drop, START + timedelta(days=day))
    asked: list[str] = []

    def cluster_of(drop: str) -> str | None:
        asked.append(drop)
        return None if drop == "c" else "larch"

    spans = spans_of_cluster(settings, ledger, "b", cluster_of)
    assert {drop: one.first for drop, one in spans.items()} == {
        "a": START, "b": START + timedelta(days=1),
    }  # fmt: skip
    asked.clear()
    spans_of_cluster(settings, ledger, "b", cluster_of)
    assert set(asked) == {"b"}
