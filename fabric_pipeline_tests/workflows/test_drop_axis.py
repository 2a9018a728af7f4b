"""When each drop was measured and what it found; the order is that of the data, not of the reading."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from fabric_pipeline.workflows.drop_axis import drop_after, drop_before, drop_marks, in_time
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, incident


def drop(home: Path, name: str, days: float, *, is_timed: bool = True) -> Lake:
    lake = Lake(home, name)
    quiet = {"counter": "replay", "kind": "cumulative", "scope": "link", "value": 0.0, "delta": 0.0, "elapsed_s": 3600.0, "quality": "ok"}  # fmt: skip
    rows = [
        lake._row("link_counters", node="ada-01", interface="gpu0/nvlink-1", link_type="nvlink", sample=n,
                  ts=START + timedelta(days=days, hours=n) if is_timed else None, **quiet)
        for n in (0, 2)
    ]  # fmt: skip
    return lake.write("link_counters", rows)


def test_a_mark_says_when_and_what(tmp_path: Path) -> None:
    lake = drop(tmp_path, "d1", 0).spikes()
    lake.incidents(
        incident(1, "ada-01:gpu0/nvlink-1", "CRITICAL"),
        incident(2, "ada-01:gpu0/nvlink-2", "CRITICAL", role="symptom"),
        incident(3, "ada-01:gpu0/nvlink-3", "WARNING"),
        incident(4, "ada-01:gpu0/nvlink-4", "WATCH", role="context"),
        incident(5, "ada-02", "INFO", role="context", fault_type="no_data"),
        incident(6, "none", "INFO", fault_type="nominal"),
    )
    (mark,) = drop_marks(lake.settings, ["d1"])
    assert (mark.start, mark.end) == (START, START + timedelta(hours=2))
    assert (mark.critical, mark.warning, mark.watch, mark.silent) == (1, 1, 1, 1)
    assert (mark.state, mark.is_judged) == ("critical", True)


def test_a_drop_that_nobody_judged_is_not_healthy(tmp_path: Path) -> None:
    lake = drop(tmp_path, "d1", 0)
    assert [one.state for one in drop_marks(lake.settings, ["d1"])] == ["no_data"]
    lake.judged()
    assert [one.state for one in drop_marks(lake.settings, ["d1"])] == ["healthy"]


def test_drops_stand_in_the_order_of_their_data(tmp_path: Path) -> None:
    for name, days in (("c", 2), ("a", 0), ("b", 1)):
        lake = drop(tmp_path, name, days).judged()
    marks = drop_marks(lake.settings, ["c", "a", "b"])
    assert [one.drop for one in marks] == ["c", "a", "b"]
    assert [one.drop for one in in_time(marks)] == ["a", "b", "c"]
    assert [drop_before(marks, name) for name in "abc"] == [None, "a", "b"]
    assert [drop_after(marks, name) for name in "abc"] == ["b", "c", None]


def test_a_drop_without_times_has_no_neighbours(tmp_path: Path) -> None:
    drop(tmp_path, "a", 0).judged()
    lake = drop(tmp_path, "z", 0, is_timed=False).judged()
    marks = drop_marks(lake.settings, ["a", "z"])
    assert [one.drop for one in in_time(marks)] == ["a"]
    assert (marks[1].start, drop_before(marks, "z"), drop_after(marks, "z")) == (None, None, None)


def test_a_drop_that_is_not_there_yet_is_a_mark_without_anything(tmp_path: Path) -> None:
    lake = drop(tmp_path, "a", 0)
    mark = drop_marks(lake.settings, ["a", "coming"])[1]
    assert (mark.start, mark.is_judged, mark.state) == (None, False, "no_data")
