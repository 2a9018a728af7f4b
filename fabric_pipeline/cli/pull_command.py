"""Command `pull`: telemetry of a Prometheus server as a drop. What is fetched is decided in `pull`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fabric_pipeline.cli.output import put, put_json, say
from fabric_pipeline.cli.progress_line import ProgressLine, progress_line
from fabric_pipeline.model.progress import Moment


def pull(
    prometheus: Annotated[
        str,
        typer.Option(
            "--prometheus",
            help="Address of the server; else FABRIC_PROMETHEUS_URL. Its token: FABRIC_PROMETHEUS_TOKEN.",
        ),
    ] = "",
    window: Annotated[str, typer.Option("--window", help="Length up to --to: 30m, 6h, 2d.")] = "1h",
    start: Annotated[str, typer.Option("--from", help="Begin, instead of --window.")] = "",
    end: Annotated[str, typer.Option("--to", help="End (ISO, UTC unless it says); now.")] = "",
    match: Annotated[
        str, typer.Option("--match", help='Label matchers, such as cluster="a",job=~"dcgm.*".')
    ] = "",
    site: Annotated[str, typer.Option("--site", help="Name of the site for the drop.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the drop; `pulled` in the home.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Fetch one window of interconnect counters, as the server stored them; goes on where it was stopped."""
    from datetime import UTC, datetime

    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.pull_telemetry import chosen_window, pull_once

    settings = load_settings()
    url = prometheus or settings.prometheus_url
    if not url:
        raise UsageError("no server is named", "say --prometheus http://HOST:9090")
    chosen = chosen_window(window, start, end, datetime.now(UTC))
    wanted = match or settings.prometheus_match
    with progress_line() as line:
        tell = partial(_shown, line) if line.is_shown_to_somebody else say
        done = pull_once(settings, url, chosen, match=wanted, site=site, folder=out, tell=tell)
    if json:
        put_json(
            {
                "drop": str(done.path),
                "metrics": done.metrics,
                "samples": done.samples,
                "answers": done.answers,
                "reused": done.reused,
                "without_samples": done.silent,
                "warnings": done.warnings,
            }
        )
        return
    put(str(done.path))
    if done.answers or done.reused:
        kept = f", {done.reused} of them from before" if done.reused else ""
        say(
            f"{done.samples:,} samples of {done.metrics} metrics in {done.answers + done.reused} answers{kept}"
        )
    for warning in done.warnings[:5]:
        say(f"the server warns: {warning}")
    say(f"next: fabric-pipeline run {done.path}")


def _shown(line: ProgressLine, words: str) -> None:
    line(Moment(words, "pull"))  # one work from beginning to end, so that its seconds add up
