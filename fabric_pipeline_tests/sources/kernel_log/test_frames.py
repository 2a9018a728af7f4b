"""Time stamps, hosts and programs around a message, in the forms that log daemons write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.kernel_log.frames import FrameReader

MESSAGE = "NVRM: something happened"


def read(line: str, hints: Hints | None = None):
    return FrameReader(hints or Hints()).read(1, line)


@pytest.mark.parametrize(
    ("line", "node", "program", "seconds"),
    [
        (f"[ 4711.000250] {MESSAGE}", "", "", 4711.00025),
        (f"[    1.500000][  T412] {MESSAGE}", "", "", 1.5),
        (f"[   12.500000 <    0.000844>] {MESSAGE}", "", "", 12.5),
        (f" 4428.423595] {MESSAGE}", "", "", 4428.423595),
        (f"6,3964,206764307,-;{MESSAGE}", "", "", 206.764307),
        (f"<4>[   12.500000] {MESSAGE}", "", "", 12.5),
        (f"kern  :err   : [   12.500000] {MESSAGE}", "", "", 12.5),
        (f"Sep  3 16:18:04 box7 kernel: [68185.875052] {MESSAGE}", "box7", "kernel", 68185.875052),
        (f"Apr  9 21:05:38.106121 leaf2 INFO kernel: [601.214044] {MESSAGE}", "leaf2", "kernel", 601.214044),
        (f"[ 1234.567890] box7 kernel: {MESSAGE}", "box7", "kernel", 1234.56789),
        (f"box7: [ 1234.567890] {MESSAGE}", "box7", "", 1234.56789),
        (f"kernel: [123.456000] {MESSAGE}", "", "kernel", 123.456),
        (f"\x1b[33m[   12.500000] \x1b[0m{MESSAGE}", "", "", 12.5),
        (f"> [   12.500000] {MESSAGE}", "", "", 12.5),
        (f"/var/log/kern.log:12:[   12.500000] {MESSAGE}", "", "", 12.5),
    ],
)  # fmt: skip
def test_boot_clock_frames(line: str, node: str, program: str, seconds: float) -> None:
    found = read(line)
    assert (found.message, found.node, found.program) == (MESSAGE, node, program)
    assert found.seconds == pytest.approx(seconds)
    assert found.clock == "boot"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"[Sun Feb 23 16:24:18 2025] {MESSAGE}", datetime(2025, 2, 23, 16, 24, 18, tzinfo=UTC)),
        (f"[So Mär 23 16:24:18 2025] {MESSAGE}", datetime(2025, 3, 23, 16, 24, 18, tzinfo=UTC)),
        (f"[2025-02-23T16:24:18,5+01:00] {MESSAGE}", datetime(2025, 2, 23, 15, 24, 18, 500000, tzinfo=UTC)),
        (f"2025-02-14T05:03:41.25Z box7 kernel: {MESSAGE}", datetime(2025, 2, 14, 5, 3, 41, 250000, tzinfo=UTC)),
        (f"Fri 2024-01-05 10:11:12 UTC box7 kernel: {MESSAGE}", datetime(2024, 1, 5, 10, 11, 12, tzinfo=UTC)),
        (f"Feb 23 16:24:18 2025 box7 kernel: {MESSAGE}", datetime(2025, 2, 23, 16, 24, 18, tzinfo=UTC)),
        (f"1739509421.5 box7 kernel: {MESSAGE}", datetime(2025, 2, 14, 5, 3, 41, 500000, tzinfo=UTC)),
        (f"2024-08-21T18:35:35.1Z stdout F {MESSAGE}", datetime(2024, 8, 21, 18, 35, 35, 100000, tzinfo=UTC)),
        (f"10.0.0.7: kern: warning: [2026-04-22T21:25:20.4Z]: {MESSAGE}", datetime(2026, 4, 22, 21, 25, 20, 400000, tzinfo=UTC)),
        (f"[Feb 25 2025 13:59:45] {MESSAGE}", datetime(2025, 2, 25, 13, 59, 45, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_frames_with_a_full_date_give_absolute_time(line: str, expected: datetime) -> None:
    found = read(line)
    assert found.message == MESSAGE
    assert found.time == expected


@pytest.mark.parametrize(
    "stamp",
    [
        "jan. 29 20:50:17",
        "janv. 29 20:50:17",
        "29 ene 20:50:17",
        "1月 29 20:50:17",
        "янв 29 20:50:17",
    ],
)
def test_syslog_without_year_in_any_language_orders_but_has_no_time(stamp: str) -> None:
    found = read(f"{stamp} box7 kernel: {MESSAGE}")
    assert (found.node, found.message, found.time) == ("box7", MESSAGE, None)
    assert found.clock == "calendar"
    assert found.seconds == pytest.approx(28 * 86400 + 20 * 3600 + 50 * 60 + 17)


def test_unknown_month_name_still_gives_host_and_message() -> None:
    found = read(f"quux 29 20:50:17 box7 kernel: {MESSAGE}")
    assert (found.node, found.message, found.time, found.seconds) == ("box7", MESSAGE, None, None)


def test_delta_stamps_add_up_over_lines() -> None:
    reader = FrameReader(Hints())
    reader.read(1, f"[  +1.000000] {MESSAGE}")
    found = reader.read(2, f"[  +0.500000] {MESSAGE}")
    assert (found.seconds, found.clock, found.since_boot_s) == (1.5, "delta", None)


def test_local_time_uses_the_time_zone_of_the_drop() -> None:
    hints = Hints(timezone=timezone(timedelta(hours=2)))
    found = read(f"[Sun Feb 23 16:24:18 2025] {MESSAGE}", hints)
    assert found.time == datetime(2025, 2, 23, 14, 24, 18, tzinfo=UTC)


def test_host_of_the_drop_wins_over_the_line() -> None:
    assert read(f"Sep 3 16:18:04 box7 kernel: {MESSAGE}", Hints(node="box9")).node == "box9"


def test_journal_json_gives_host_time_and_boot_clock() -> None:
    found = read(
        '{"MESSAGE":"NVRM: something happened","_HOSTNAME":"box7","SYSLOG_IDENTIFIER":"kernel",'
        '"__REALTIME_TIMESTAMP":"1739509421500000","_SOURCE_MONOTONIC_TIMESTAMP":"7250000"}'
    )
    assert (found.node, found.program, found.message) == ("box7", "kernel", MESSAGE)
    assert found.time == datetime(2025, 2, 14, 5, 3, 41, 500000, tzinfo=UTC)
    assert (found.seconds, found.since_boot_s) == (7.25, 7.25)


def test_container_json_is_unwrapped_down_to_the_dmesg_stamp() -> None:
    found = read(
        '{"log":"[   12.500000] NVRM: something happened\\n","time":"2024-08-21T18:35:35Z"}'
    )
    assert (found.message, found.seconds) == (MESSAGE, 12.5)
    assert found.time == datetime(2024, 8, 21, 18, 35, 35, tzinfo=UTC)


@pytest.mark.parametrize(
    "message",
    [
        "mlx5_core enp1s0f0np0: Link down",
        "nvidia-nvswitch2: SXid (PCI:0000:06:00.0): 20034, Fatal",
        "pcieport 0000:00:03.0: AER: device recovery failed",
        "{1}[Hardware Error]: event severity: corrected",
    ],
)
def test_a_message_without_frame_is_left_alone(message: str) -> None:
    found = read(message)
    assert (found.message, found.node, found.time, found.seconds) == (message, "", None, None)


def test_boot_marker_starts_the_boot_clock_of_a_syslog() -> None:
    reader = FrameReader(Hints())
    reader.read(1, "Sep 3 16:18:00 box7 kernel: Linux version 6.1.0")
    assert reader.read(2, f"Sep 3 16:18:30 box7 kernel: {MESSAGE}").since_boot_s == 30.0


@given(
    seconds=st.integers(0, 10**9),
    micros=st.integers(0, 999999),
    host=st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True).filter(lambda h: h != "localhost"),
    words=st.lists(st.from_regex(r"[A-Za-z]{1,8}", fullmatch=True), min_size=1, max_size=6),
)
def test_rendered_line_reads_back_equal(
    seconds: int, micros: int, host: str, words: list[str]
) -> None:
    message = "NVRM: " + " ".join(words)
    found = read(f"Feb 14 05:03:41 {host} kernel: [{seconds:5d}.{micros:06d}] {message}")
    assert (found.node, found.message) == (host, message)
    assert found.seconds == pytest.approx(seconds + micros / 1e6)


@given(st.text(max_size=300))
def test_any_text_is_taken_without_an_error(text: str) -> None:
    assert read(text).number == 1
