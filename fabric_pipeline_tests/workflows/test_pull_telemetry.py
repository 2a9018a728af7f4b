"""Which windows are fetched: the one that was asked for, or the hours that are missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.pull.plan import Stretch
from fabric_pipeline.pull.window import Pulled, drop_name
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows import pull_telemetry
from fabric_pipeline.workflows.inbox import scan_all
from fabric_pipeline.workflows.pull_telemetry import (
    CATCH_UP_HOURS,
    chosen_window,
    missing_hours,
    pull_missing_hours,
)

NOW = datetime(2026, 3, 4, 12, 5, 30, 99, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(root=tmp_path, home=tmp_path / "home")


def test_a_window_ends_now_or_where_it_was_said() -> None:
    assert chosen_window("1h", "", "", NOW).until == NOW.replace(microsecond=0)
    said = chosen_window("1h", "2026-03-04T08:00", "2026-03-04T09:30", NOW)
    assert said.seconds == 5400
    for start, end in (("2026-03-04T09:00", "2026-03-04T08:00"), ("", "2026-03-04T13:00")):
        with pytest.raises(UsageError):
            chosen_window("1h", start, end, NOW)


def test_a_new_site_begins_with_the_last_full_hour(settings: Settings) -> None:
    (hour,) = missing_hours(settings, NOW)
    assert (hour.after.hour, hour.until.hour) == (11, 12)
    (early,) = missing_hours(settings, NOW.replace(minute=1))
    assert early.until.hour == 11  # the hour before has not settled yet


def test_holes_are_filled_from_the_first_hour_on(settings: Settings) -> None:
    (hour,) = missing_hours(settings, NOW - timedelta(hours=4))
    (settings.pulled / drop_name(hour)).mkdir(parents=True)
    assert [one.until.hour for one in missing_hours(settings, NOW)] == [9, 10, 11, 12]
    later = NOW + timedelta(hours=CATCH_UP_HOURS + 5)
    assert len(list(missing_hours(settings, later))) == 1  # too long ago: a new beginning


def test_a_scheduled_pull_needs_a_server(settings: Settings) -> None:
    with pytest.raises(UsageError, match="FABRIC_PROMETHEUS_URL"):
        pull_missing_hours(settings, NOW)


def test_an_empty_hour_does_not_keep_the_later_ones_back(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = missing_hours(settings, NOW - timedelta(hours=3))
    (settings.pulled / drop_name(first)).mkdir(parents=True)
    silent = {10}

    def answers(settings: Settings, url: str, hour: Stretch, **_: object) -> Pulled:
        if hour.until.hour in silent:
            raise NotFoundError("no sample in this window", "look at the window")
        return Pulled(settings.pulled / drop_name(hour))

    monkeypatch.setattr(pull_telemetry, "pull_once", answers)
    told: list[str] = []
    configured = replace(settings, prometheus_url="http://127.0.0.1:9")
    done = pull_missing_hours(configured, NOW, told.append)
    assert [one.path.name[5:18] for one in done] == ["20260304T1100", "20260304T1200"]
    assert len(told) == 1
    assert "no sample" in told[0]
    silent |= {11, 12}
    with pytest.raises(NotFoundError):
        pull_missing_hours(configured, NOW)


def test_pulled_drops_wait_beside_delivered_ones(settings: Settings) -> None:
    for folder in (
        settings.inbox / "delivered",
        settings.pulled / "pull-1",
        settings.pulled / ".x.partial",
    ):
        folder.mkdir(parents=True)
        (folder / "a.log").write_text("x")
    assert [entry.path.name for entry in scan_all(settings)] == ["delivered", "pull-1"]
