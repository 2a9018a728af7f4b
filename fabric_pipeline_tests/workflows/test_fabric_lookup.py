"""Questions about an invented fabric in a real small lake, and about serials in a real ledger."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from fabric_pipeline.errors import UsageError
from fabric_pipeline.incidents.record import Place
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_repairs import RepairReport
from fabric_pipeline.workflows.fabric_lookup import MAX_ROWS, lake_lookup
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, incident, topology
from fabric_pipeline_tests.workflows.lookup_rows import (
    BAD,
    asked,
    candidate,
    counter_row,
    erring_lake,
    slow,
)

HOSTILE = (
    "'; drop table link_counters; --",
    'x" or 1=1 --',
    "ada-01:gpu0/nvlink-0' union select * from read_csv('/etc/passwd') --",
    "$node",
    "<script>alert(1)</script>",
    "",
    ":",
    "unknown:unknown",
    "ada-01:gpu0/nvlink-0\0x",
    "\u202eada-01",
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return erring_lake(tmp_path)


def test_neighbours_are_the_links_of_the_device_with_the_accused_one_first(lake: Lake) -> None:
    with asked(lake) as lookup:
        rows = lookup.neighbours("ada-01:gpu1/nvlink-2/lane-1")
    assert [row["component"] for row in rows] == [
        "ada-01:gpu1/nvlink-2",
        "ada-01:gpu1/nvlink-0",
        "ada-01:gpu1/nvlink-1",
        "ada-01:gpu1/nvlink-3",
        "ada-01:gpu1/nvlink-4",
        "ada-01:gpu1/nvlink-5",
        "ada-01:gpu1/pcie",
    ]
    assert rows[0] == {
        "component": "ada-01:gpu1/nvlink-2", "far_end": "ada-01:nvswitch-0/port-5", "link_type": "nvlink", "cable_id": "",
        "part": "board", "errors": 50.0, "is_accused": True,
    }  # fmt: skip
    assert [row["errors"] for row in rows[1:]] == [0.0] * 6
    assert not any(row["is_accused"] for row in rows[1:])


def test_a_link_of_which_nothing_was_read_has_no_count_and_is_not_clean(tmp_path: Path) -> None:
    part = topology()
    made = Lake(tmp_path).topology(part)
    made.write("link_counters", counter_row(("ada-01", "gpu0/nvlink-0"), "replay", [None, None]))
    with asked(made) as lookup:
        rows = lookup.neighbours("ada-01:gpu0")
        shared = lookup.shared_components(["ada-01:gpu0/nvlink-0", "ada-01:gpu0/nvlink-1"])
        counters = lookup.counters("ada-01:gpu0/nvlink-0")
    assert [row["errors"] for row in rows] == [None] * 7
    assert {
        (row["clean_links"], row["unmeasured_links"]) for row in shared if row["kind"] == "gpu"
    } == {(0, 7)}
    assert counters[0]["events"] is None
    assert counters[0]["quality"] == "listed without a value: not measured"


def test_counters_have_rate_time_and_the_median_of_the_siblings(lake: Lake) -> None:
    with asked(lake) as lookup:
        (row,) = lookup.counters("ada-01:gpu1/nvlink-2")
    assert row == {
        "counter": "replay", "lane": None, "events": 40.0, "first_seen": "2031-05-06T08:00:00+00:00",
        "last_seen": "2031-05-06T08:30:00+00:00", "per_hour": 40.0, "measured_hours": 1.0, "quality": "ok",
        "siblings_median": 0.0, "last_value": 45.0,
    }  # fmt: skip


def test_totals_without_a_second_reading_are_totals_and_have_no_rate(tmp_path: Path) -> None:
    made = Lake(tmp_path).topology(topology())
    made.write(
        "link_counters",
        counter_row(BAD, "replay", [8900], ts=None)
        + counter_row(("ada-01", "gpu1/nvlink-3"), "replay", [3], ts=None),
    )
    with asked(made) as lookup:
        (row,) = lookup.counters("ada-01:gpu1/nvlink-2")
    assert (row["events"], row["per_hour"], row["measured_hours"], row["siblings_median"]) == (
        8900.0,
        None,
        None,
        3.0,
    )
    assert row["quality"] == "a total since an unknown time, no rate"


def test_one_reading_among_others_that_were_read_twice_is_no_growth(tmp_path: Path) -> None:
    made = Lake(tmp_path).topology(topology())
    made.write(
        "link_counters",
        counter_row(BAD, "replay", [8900])
        + counter_row(("ada-01", "gpu1/nvlink-3"), "replay", [3, 3]),
    )
    with asked(made) as lookup:
        (row,) = lookup.counters("ada-01:gpu1/nvlink-2")
    assert (row["events"], row["quality"]) == (None, "read once, so no growth is known")


def test_a_reset_makes_a_count_a_lower_bound_and_is_no_error(tmp_path: Path) -> None:
    made = Lake(tmp_path).topology(topology())
    rows = counter_row(BAD, "replay", [900, 900])
    rows += counter_row(
        BAD, "replay", [None, None, 2], delta=2.0, elapsed_s=1800.0, quality="reset"
    )[2:]
    made.write("link_counters", rows)
    with asked(made) as lookup:
        (row,) = lookup.counters("ada-01:gpu1/nvlink-2")
    assert (row["events"], row["quality"]) == (2.0, "at least this (reset)")


def test_a_state_is_shown_with_its_value_and_not_counted(tmp_path: Path) -> None:
    made = Lake(tmp_path).topology(topology())
    made.write(
        "link_counters",
        counter_row(
            ("ada-01", "mlx5_0/pcie"), "width", [16, 8], kind="gauge", delta=None, link_type="pcie"
        ),
    )
    with asked(made) as lookup:
        (row,) = lookup.counters("ada-01:mlx5_0/pcie")
    assert (row["events"], row["last_value"], row["quality"]) == (
        None,
        8.0,
        "a state, not countable",
    )


def test_the_timeline_has_slow_intervals_of_runs_that_cross_the_link_with_its_errors(
    lake: Lake,
) -> None:
    lake.write(
        "stragglers",
        [
            slow("here", 35, ["ada-01", "ada-02"]),
            slow("here", 62, ["ada-01"]),
            slow("away", 40, ["bob-01"]),
            slow("off", 41, ["ada-01"]),
            slow("late", 300, ["ada-01"]),
        ],
    )
    lake.write(
        "straggler_correlations", [candidate("off", BAD, "no"), candidate("here", BAD, "yes")]
    )
    with asked(lake) as lookup:
        rows = lookup.straggler_timeline("ada-01:gpu1/nvlink-2")
        from_far = lookup.straggler_timeline("ada-01:nvswitch-0/port-5")
    assert rows == from_far
    assert [(row["run"], row["errors_in_it"]) for row in rows] == [
        ("here", 24.0),
        ("here", 26.0),
        ("late", None),
    ]
    assert (rows[0]["start"], rows[0]["latency_us"], rows[0]["baseline_us"]) == (
        "2031-05-06T07:35:00+00:00",
        900.0,
        300.0,
    )


def test_long_answers_say_how_many_rows_were_left_off(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    ends = [("", f"leaf-0/port-{number}") for number in range(1, 65)]
    rows = [
        row
        for end in ends
        for row in counter_row(end, "symbol_error", [0, 1], link_type="infiniband")
    ]
    made.write("link_counters", rows)
    made.write("stragglers", [slow("r", minute, ["n1"]) for minute in range(60)])
    made.write("straggler_correlations", [candidate("r", ends[0], "yes")])
    with asked(made) as lookup:
        near = lookup.neighbours("unknown:leaf-0/port-1")
        timeline = lookup.straggler_timeline("unknown:leaf-0/port-1")
    assert (len(near), near[-1]["left_off"]) == (MAX_ROWS, 64 - MAX_ROWS)
    assert (len(timeline), timeline[-1]["left_off"]) == (MAX_ROWS, 60 - MAX_ROWS)
    assert timeline[-1]["start"] == "2031-05-06T07:59:00+00:00", "the newest are kept"


def test_hostile_and_unknown_components_give_empty_answers(lake: Lake) -> None:
    with asked(lake) as lookup:
        for text in HOSTILE:
            assert lookup.neighbours(text) == [], text
            assert lookup.counters(text) == [], text
            assert lookup.shared_components([text, text, "ada-01:gpu1/nvlink-2"]) == [], text
            assert lookup.straggler_timeline(text) == [], text
            assert lookup.earlier_tickets(text) == [], text
        assert len(lookup.counters("ada-01:gpu1/nvlink-2")) == 1, "the tables are still there"


def test_hostile_names_of_a_fabric_are_data(tmp_path: Path) -> None:
    name = "n'1\"; drop table x; --<b>"
    made = Lake(tmp_path).topology(topology((name,)))
    made.write("link_counters", counter_row((name, "gpu0/nvlink-0"), "replay", [0, 9]))
    made.write("stragglers", [slow("r'); --", 35, [name])])
    with asked(made) as lookup:
        near = lookup.neighbours(f"{name}:gpu0/nvlink-0")
        (count,) = lookup.counters(f"{name}:gpu0/nvlink-0")
        (timeline,) = lookup.straggler_timeline(f"{name}:gpu0/nvlink-0")
    assert (near[0]["component"], near[0]["errors"]) == (f"{name}:gpu0/nvlink-0", 9.0)
    assert (count["events"], timeline["run"]) == (9.0, "r'); --")


def test_a_drop_without_tables_gives_empty_answers_and_a_bad_drop_id_is_refused(
    tmp_path: Path,
) -> None:
    made = Lake(tmp_path)
    with asked(made) as lookup:
        assert lookup.neighbours("ada-01:gpu0") == []
        assert lookup.shared_components(["ada-01:gpu0/nvlink-0", "ada-01:gpu0/nvlink-1"]) == []
    with (
        pytest.raises(UsageError),
        lake_lookup(made.settings, "../other", Ledger(made.settings.ledger)),
    ):
        pass


def test_several_threads_may_ask_at_once(lake: Lake) -> None:
    with asked(lake) as lookup, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lookup.counters, ["ada-01:gpu1/nvlink-2"] * 40))
    assert all(answer == answers[0] and answer for answer in answers)


def test_tickets_that_accused_a_serial_in_other_drops(lake: Lake) -> None:
    ledger = Ledger(lake.settings.ledger)
    accused = Place(node="ada-01", gpu=1, gpu_serial="S'1")
    earlier = incident(
        7, "ada-01:gpu1/nvlink-4", "CRITICAL", place=accused, drop="d0", first_seen=START
    )
    here = incident(
        8, "ada-01:gpu1/nvlink-2", "CRITICAL", place=accused, first_seen=START + timedelta(days=3)
    )
    ledger.record_incidents("d0", [earlier], START)
    ledger.record_incidents("d1", [here], START + timedelta(days=3))
    with asked(lake) as lookup:
        (row,) = lookup.earlier_tickets(" S'1 ")
        assert lookup.earlier_tickets("S") == []
    assert row == {
        "ticket_id": "T-000000000007", "how": "accused", "link": "ada-01:gpu1/nvlink-4", "at": "2031-05-06T07:00:00+00:00", "state": "",
    }  # fmt: skip


def test_repairs_in_which_a_serial_came_out_or_went_in_newest_first(lake: Lake) -> None:
    ledger = Ledger(lake.settings.ledger)
    for days, old, new in ((1, "S1", "S2"), (2, "S2", "S3"), (3, "", "S9"), (4, "S2", "S2")):
        at = START + timedelta(days=days)
        report = RepairReport(
            incident_id="INC-000000000007", ticket_id="T-000000000007", component="ada-01:gpu1/nvlink-4", action="replace_gpu_board",
            step=3, part="board", old_serial=old, new_serial=new, repaired_by="technician-2", repaired_at=at,
        )  # fmt: skip
        ledger.record_repair(report, at)
    with asked(lake) as lookup:
        rows = lookup.earlier_tickets("S2")
    assert [(row["how"], row["at"]) for row in rows] == [
        ("taken_out", "2031-05-08T07:00:00+00:00"),
        ("put_in", "2031-05-07T07:00:00+00:00"),
    ]
    assert {row["link"] for row in rows} == {"ada-01:gpu1/nvlink-4"}
