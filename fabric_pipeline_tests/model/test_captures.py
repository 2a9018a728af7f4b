"""What file names say of captures: series, order, times, and which files are of one machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fabric_pipeline.model.captures import in_capture_order, machines, series_name, stated_time

SMI, SYSFS, DMESG = "nvidia_smi_nvlink_errors", "sysfs_infiniband_grep", "kernel_log"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("before.txt", "after.txt"),
        ("pre_reseat/nvlink.txt", "post_reseat/nvlink.txt"),
        ("1.txt", "10.txt"),
        ("run_a/perfquery.txt", "run_b/perfquery.txt"),
        ("t0-eth0.txt", "t1-eth0.txt"),
        ("gn07/2024-05-07T09:00:00Z/q.txt", "gn07/2024-05-07T10:00:00Z/q.txt"),
        ("nvlink_20240507-0900.txt", "nvlink_20240507-1000.txt"),
    ],
)
def test_captures_of_one_thing_form_a_series(one: str, other: str) -> None:
    assert series_name(one) == series_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("n07.txt", "n08.txt"),
        ("gpu-node-07.txt", "gpu-node-08.txt"),
        ("10.0.0.7.txt", "10.0.0.8.txt"),
        ("ip-10-0-0-7.txt", "ip-10-0-0-8.txt"),
        ("mlx5_0.txt", "mlx5_1.txt"),
        ("A.txt", "B.txt"),
        ("rank_0.txt", "rank_1.txt"),
        ("before.txt", "1.txt"),
    ],
)
def test_names_of_machines_and_devices_form_none(one: str, other: str) -> None:
    assert series_name(one) != series_name(other)


def test_names_give_the_order_that_a_shell_does_not() -> None:
    given = ["after.txt", "before.txt", "s/10.txt", "s/2.txt", "s/1.txt", "topology.json"]
    assert in_capture_order(given) == [
        "before.txt", "after.txt", "s/1.txt", "s/2.txt", "s/10.txt", "topology.json",
    ]  # fmt: skip
    rotated = ["kern.log.1", "kern.log.3"]
    assert in_capture_order(rotated) == ["kern.log.3", "kern.log.1"]
    unordered = ["later-one.csv", "z.csv", "a.csv"]
    assert in_capture_order(unordered) == unordered


@pytest.mark.parametrize(
    ("name", "hour"),
    [
        ("nvlink_20240507-110000.txt", 9),
        ("2024-05-07T09:00:00Z/q.txt", 9),
        ("2024-01-01_00-00/2024-05-07_11-00-00/q.txt", 9),
        ("q-2024-05-07T14:30+0530.txt", 9),
        ("q_2024-05-07.txt", None),
        ("q_20241399-0900.txt", None),
        ("q-20240231-0900.txt", None),
        ("job1202405071100.txt", None),
    ],
)
def test_a_name_states_a_time_only_with_date_and_clock(name: str, hour: int | None) -> None:
    expected = None if hour is None else datetime(2024, 5, 7, hour, tzinfo=UTC)
    assert stated_time(name, timezone(timedelta(hours=2))) == expected


def test_files_of_several_tools_are_one_machine() -> None:
    assert machines({"e.txt": SMI, "dmesg.txt": DMESG, "sys.txt": SYSFS}, []) == {}
    assert machines({"before.txt": SMI, "after.txt": SMI}, []) == {}


def test_files_of_one_tool_without_a_series_may_be_two_machines() -> None:
    apart = machines({"A.txt": SMI, "B.txt": SMI, "dmesg.txt": DMESG}, [])
    assert len(set(apart.values())) == 3, "the log may be of either, so it joins neither"


def test_the_same_device_makes_one_machine() -> None:
    files = {"A.txt": SMI, "B.txt": SMI}
    assert machines(files, [("A.txt", "GPU-1"), ("B.txt", "GPU-1")]) == {}
    assert len(machines(files, [("A.txt", "GPU-1"), ("B.txt", "GPU-2")])) == 2


def test_folders_hold_machines_together() -> None:
    files = {"x/e.txt": SMI, "x/dmesg": DMESG, "y/e.txt": SMI, "y/dmesg": DMESG}
    apart = machines(files, [])
    assert apart["x/e.txt"] == apart["x/dmesg"] != apart["y/e.txt"] == apart["y/dmesg"]


def test_captures_that_name_no_device_stand_alone() -> None:
    files = {"ethtool.txt": "ethtool_stats", "mlxlink.txt": "mlxlink_text"}
    assert machines(files, [], set(files)) == {"ethtool.txt": "ethtool.txt", "mlxlink.txt": "mlxlink.txt"}  # fmt: skip
    series = {"before.txt": "ethtool_stats", "after.txt": "ethtool_stats"}
    assert machines(series, [], set(series)) == {}
