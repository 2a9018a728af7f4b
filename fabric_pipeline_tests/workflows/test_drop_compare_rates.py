"""Worse, better, repaired, quiet or not known: judged by errors per measured hour and by what people reported."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.store.ledger import Ledger, LinkCheck, RepairReport
from fabric_pipeline.workflows.drop_compare import compare_drops, compare_link
from fabric_pipeline.workflows.drop_compare_model import ChangedIncident, LinkComparison
from fabric_pipeline.workflows.drop_compare_rates import Rate, counter_changes, judged, rate_words
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, all_ends, incident, topology

LINK, FAR = "ada-01:gpu1/nvlink-2", "ada-01:nvswitch-0/port-5"
NEAR = ("ada-01", "gpu1/nvlink-2")
HOUR = 3600.0
DAY = timedelta(days=1)


def lake(home: Path, drop: str, *series: list[dict[str, Any]], accused: bool, at: datetime = START, severity: str = "WARNING") -> Lake:  # fmt: skip
    """One drop: all ends quiet for two hours, but LINK's near end as the readings say."""
    made = Lake(home, drop).topology(topology()).judged()
    quiet = {"counter": "replay", "kind": "cumulative", "scope": "link", "value": 0.0, "delta": 0.0, "elapsed_s": HOUR, "quality": "ok"}  # fmt: skip
    rows = [
        made._row("link_counters", node=node, interface=interface, link_type="nvlink", sample=n, ts=at + timedelta(hours=n), **quiet)
        for node, interface in all_ends(topology()) if (node, interface) != NEAR for n in (1, 2)
    ]  # fmt: skip
    for readings in series:
        rows += [
            made._row("link_counters", node=NEAR[0], interface=NEAR[1], link_type="nvlink", sample=n,
                      ts=at + timedelta(hours=n), **(quiet | reading))
            for n, reading in enumerate(readings, 1)
        ]  # fmt: skip
    made.write("link_counters", rows)
    if accused:
        made.incidents(incident(1, LINK, severity, drop=drop))
    return made


def steps(*deltas: float | None, **changes: Any) -> list[dict[str, Any]]:
    return [{"delta": delta, "value": 5.0, **changes} for delta in deltas]


def change(home: Lake) -> ChangedIncident:
    views = [load_fabric_view(home.settings, drop) for drop in ("a", "b")]
    (found,) = compare_drops(home.settings, *views).incidents
    return found


def focus(home: Lake, component: str = LINK) -> LinkComparison:
    a, b = (load_fabric_view(home.settings, drop) for drop in ("a", "b"))
    return compare_link(home.settings, a, b, component, compare_drops(home.settings, a, b))


def test_more_errors_an_hour_are_worse_though_the_severity_is_the_same(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(50.0, 50.0), accused=True)
    found = change(lake(tmp_path, "b", steps(600.0), accused=True, at=START + DAY))
    assert (found.change, found.says) == ("worse", f"replay at {LINK}: 50/h in 120 min to 600/h in 60 min")  # fmt: skip


def test_more_errors_in_more_time_are_not_worse(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(50.0), accused=True)
    found = change(lake(tmp_path, "b", steps(50.0, 50.0, 50.0, 50.0), accused=True, at=START + DAY))
    assert found.change == "ongoing"
    assert "50/h in 60 min to 50/h in 240 min" in found.says


def test_twice_a_handful_is_chance(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(2.0), accused=True)
    assert change(lake(tmp_path, "b", steps(4.0), accused=True, at=START + DAY)).change == "ongoing"


def test_fewer_errors_an_hour_are_better_while_the_fault_is_there(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(5000.0), accused=True)
    found = change(lake(tmp_path, "b", steps(200.0), accused=True, at=START + DAY))
    assert found.change == "better"


def test_a_counter_that_was_set_back_is_neither_better_nor_repaired(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(5000.0), accused=True)
    reset = steps(0.0, 0.0, quality="reset")
    found = change(lake(tmp_path, "b", reset, accused=False, at=START + DAY))
    assert found.change == "not_measured"
    again = change(lake(tmp_path, "b", reset, accused=True, at=START + DAY))
    assert again.change == "ongoing"
    shown = focus(lake(tmp_path, "b", reset, accused=False, at=START + DAY))
    assert rate_words(shown.counters[0].after) == "no time counted, 2 resets left out"


def test_a_counter_that_is_not_read_any_more_says_nothing_though_the_far_end_is(tmp_path: Path) -> None:  # fmt: skip
    lake(tmp_path, "a", steps(5000.0), accused=True)
    found = change(lake(tmp_path, "b", accused=False, at=START + DAY))
    assert (found.change, found.says) == ("not_measured", f"replay at {LINK}, which erred, was not read")  # fmt: skip


def test_no_error_in_too_short_a_time_says_nothing(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(20.0), accused=True)
    found = change(lake(tmp_path, "b", steps(0.0, elapsed_s=120.0), accused=False, at=START + DAY))
    assert found.change == "not_measured"
    assert "too short" in found.says
    longer = change(lake(tmp_path, "b", steps(0.0, 0.0), accused=False, at=START + DAY))
    assert (longer.change, longer.says) == ("quiet", f"was warning, replay at {LINK}: 20/h in 60 min to 0/h in 120 min")  # fmt: skip


def checked(home: Lake, verdict: str, *, repaired_at: datetime | None) -> Ledger:
    ledger = Ledger(home.settings.ledger)
    ledger.record_incidents("a", [incident(1, LINK, "WARNING", drop="a", first_seen=START, last_seen=START + timedelta(hours=1))], START)  # fmt: skip
    start = START + DAY
    ledger.record_link_checks(
        [LinkCheck("INC-000000000001", "b", LINK, verdict, start, start + timedelta(hours=2), 7200.0 if verdict == "clean" else 60.0)], start,
    )  # fmt: skip
    if repaired_at is not None:
        ledger.record_repair(
            RepairReport("INC-000000000001", "T-1", LINK, "replace", 3, "cable", "S-1", "S-2", "technician-2", repaired_at), repaired_at,
        )  # fmt: skip
    return ledger


@pytest.mark.parametrize(
    ("verdict", "repaired_after", "expected"),
    [
        ("clean", timedelta(hours=9), "repaired"),
        ("clean", timedelta(days=3), "quiet"),  # reported after the later drop: not its doing
        ("clean", None, "quiet"),
        ("unmeasured", timedelta(hours=9), "not_measured"),
        ("dirty", timedelta(hours=9), "better"),
    ],
)
def test_repaired_needs_a_report_and_a_clean_measurement(
    tmp_path: Path, verdict: str, repaired_after: timedelta | None, expected: str
) -> None:
    lake(tmp_path, "a", steps(5000.0, 5000.0), accused=True)
    later = lake(tmp_path, "b", steps(0.0, 0.0), accused=False, at=START + DAY)
    checked(later, verdict, repaired_at=START + repaired_after if repaired_after else None)
    found = change(later)
    assert found.change == expected
    if expected == "repaired":
        assert found.says == "replace of 2031-05-06 16:00 UTC, then measured clean for 120 min"


def test_missing_data_is_never_repaired(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(5000.0), accused=True)
    silent = Lake(tmp_path, "b").topology(topology()).judged()
    silent.counters([end for end in all_ends(topology()) if end[0] != "ada-01"])
    checked(silent, "unmeasured", repaired_at=START + timedelta(hours=9))
    assert change(silent).change == "not_measured"


def test_one_link_in_both_drops(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(5000.0), accused=True)
    found = focus(lake(tmp_path, "b", steps(10.0), accused=True, at=START + DAY), f"{LINK}/lane-1")
    assert found.component == LINK
    assert [one.verdict for one in found.counters] == ["better", "same"]
    assert [one.component for one in found.counters] == [LINK, FAR]
    assert [one.incident_id for one in found.incidents] == ["INC-000000000001"]
    with pytest.raises(NotFoundError, match="neither drop"):
        focus(lake(tmp_path, "b", accused=True), "nowhere:gpu0/nvlink-1")


def test_a_link_that_only_one_drop_knows_is_said(tmp_path: Path) -> None:
    lake(tmp_path, "a", steps(5000.0), accused=True)
    Lake(tmp_path, "b").counters([("bob-01", "gpu0/nvlink-0")]).judged()
    found = focus(Lake(tmp_path, "b"))
    assert (found.a is not None, found.b) == (True, None)
    assert {one.verdict for one in found.counters} == {"not_measured"}


def test_what_rose_outweighs_what_fell() -> None:
    key, other = ("n:gpu0/nvlink-1", "replay"), ("n:gpu0/nvlink-1", "crc_single_bit")
    changes = counter_changes(
        {key: Rate(5000.0, HOUR), other: Rate(0.0, HOUR)},
        {key: Rate(5.0, HOUR), other: Rate(400.0, HOUR)},
    )
    verdict = judged(changes)
    assert verdict is not None
    assert verdict[0] == "worse"
    assert judged(counter_changes({other: Rate(0.0, HOUR)}, {})) is None
