"""Fetching telemetry of a Prometheus server into drops: one window on request, or every full hour that is missing.

Shared by the command `pull` and the scheduled job. How a window is fetched is `pull.window`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.pull.plan import Stretch, duration, instant, matchers
from fabric_pipeline.pull.server import Server
from fabric_pipeline.pull.window import Pulled, Wish, drop_name, pull_window
from fabric_pipeline.settings import Settings

HOUR = timedelta(hours=1)
# Scrapes are written some seconds late, and remote storage later; a window is asked for once it is settled.
SETTLE = timedelta(minutes=2)
# After a longer pause the older hours are left to a person: fabric-pipeline pull --from --to.
CATCH_UP_HOURS = 24


def chosen_window(window: str, start: str, end: str, now: datetime) -> Stretch:
    """The window that was asked for: its length up to `end` (default now), or from `start` to `end`."""
    until = instant(end) if end else now.astimezone(UTC).replace(microsecond=0)
    if until > now:
        raise UsageError(f"{end} lies ahead", "a window ends now or earlier")
    after = instant(start) if start else until - duration(window)
    if after >= until:
        raise UsageError(f"{start} is not before {end or 'now'}", "name the earlier time first")
    return Stretch(after, until)


def pull_once(
    settings: Settings,
    url: str,
    window: Stretch,
    *,
    match: str = "",
    site: str = "",
    folder: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Pulled:
    """Fetch one window into a drop below `folder` (default: `pulled` in the home)."""
    server = Server(url, settings.prometheus_token)
    try:
        wish = Wish(window, matchers(match), site)
        return pull_window(server, wish, folder or settings.pulled, tell=tell)
    finally:
        server.close()


def missing_hours(settings: Settings, now: datetime) -> Iterator[Stretch]:
    """Full hours that have settled and were not fetched, oldest first, at most a day back.

    Only hours after the first one that is there: a new site begins with the last full hour.
    """
    settled = (now.astimezone(UTC) - SETTLE).replace(minute=0, second=0, microsecond=0)
    hours = [Stretch(settled - HOUR * (n + 1), settled - HOUR * n) for n in range(CATCH_UP_HOURS)][
        ::-1
    ]
    there = [(settings.pulled / drop_name(hour)).is_dir() for hour in hours]
    first = there.index(True) if any(there) else len(hours) - 1
    yield from (
        hour
        for at, (hour, is_there) in enumerate(zip(hours, there, strict=True))
        if at >= first and not is_there
    )


def pull_missing_hours(
    settings: Settings, now: datetime, tell: Callable[[str], None] = lambda _: None
) -> list[Pulled]:
    """Fetch every missing hour from the configured server.

    An hour of which the server holds nothing is told and does not keep the later ones back. Raises
    UsageError when no server is configured, NotFoundError when it held nothing of any missing hour.
    """
    if not settings.prometheus_url:
        raise UsageError("no server is configured", "set FABRIC_PROMETHEUS_URL")
    done: list[Pulled] = []
    empty: list[NotFoundError] = []
    url, match = settings.prometheus_url, settings.prometheus_match
    for hour in missing_hours(settings, now):
        try:
            done.append(pull_once(settings, url, hour, match=match, tell=tell))
        except NotFoundError as problem:
            empty.append(problem)
            tell(f"{drop_name(hour)}: {problem}")
    if empty and not done:
        raise empty[-1]
    return done
