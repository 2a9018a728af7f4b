"""The line of long work: figures from what was measured, none where nothing is known."""

from __future__ import annotations

import signal

import pytest

from fabric_pipeline.cli.progress_line import progress_line
from fabric_pipeline.model.pace import Pace
from fabric_pipeline.model.progress import Moment

GB = 10**9


class Clock:
    """Seconds that stand until they are moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def moment(files: int, size: int, of_size: int = 10 * GB, work: str = "read") -> Moment:
    return Moment(f"reading f{files}", work, files, 5, size, of_size)


def test_rate_and_time_left_come_from_what_is_done(clock: Clock) -> None:
    pace = Pace(clock)
    pace.hear(moment(0, 0))
    assert pace.words() == "reading f0   0 of 5 files   0.0 of 10.0 GB"
    clock.now += 10
    pace.hear(moment(1, 2 * GB))
    assert pace.words() == "reading f1   1 of 5 files   2.0 of 10.0 GB   200.0 MB/s   40 s left"
    clock.now += 15  # while one file is read, the time left goes down
    assert pace.words().endswith("   200.0 MB/s   25 s left")
    clock.now += 60  # it takes longer than the others: nothing is promised any more
    assert pace.words().endswith("   200.0 MB/s   85 s so far")


def test_nothing_is_promised_before_something_is_known(clock: Clock) -> None:
    pace = Pace(clock)
    pace.hear(moment(0, 0))
    clock.now += 30  # a single large file: no rate, and no share of it
    assert pace.words() == "reading f0   0 of 5 files   0.0 of 10.0 GB   30 s so far"
    clock.now += 0.5
    pace.hear(moment(1, GB // 100))  # a thousandth tells nothing of the rest
    assert "left" not in pace.words()
    pace.hear(Moment("judging what was read", "judge"))
    clock.now += 4
    assert pace.words() == "judging what was read   4 s so far"


def test_without_a_total_there_is_a_rate_and_no_end(clock: Clock) -> None:
    pace = Pace(clock)
    pace.hear(Moment("unpacking a.zip", "unpack", size=0))
    clock.now += 4
    pace.hear(Moment("unpacking a.zip", "unpack", size=2 * GB))
    assert pace.words() == "unpacking a.zip   2.0 GB   500.0 MB/s   4 s so far"


def test_another_kind_of_work_is_measured_anew(clock: Clock) -> None:
    pace = Pace(clock)
    pace.hear(moment(0, 0, work="hash"))
    clock.now += 5
    pace.hear(moment(5, 10 * GB, work="hash"))
    pace.hear(moment(0, 0))
    clock.now += 10
    pace.hear(moment(1, GB))
    assert "100.0 MB/s   1 min 30 s left" in pace.words()


def test_sigterm_ends_long_work_like_ctrl_c(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with progress_line() as line:
        line(moment(0, 0))
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
    assert capfd.readouterr().err == ""
