"""Commands `run` and `publish`: the main job and the way out, both through Dagster."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabric_pipeline.cli.completion import drop_names
from fabric_pipeline.cli.output import plain, put, put_json, put_table, say
from fabric_pipeline.cli.progress_line import ProgressLine, progress_line
from fabric_pipeline.model.progress import Moment

if TYPE_CHECKING:
    from fabric_pipeline.workflows.summary import DropSummary, Summary


def run(
    drops: Annotated[
        list[Path] | None,
        typer.Argument(help="Drop folders or files; none means all in data/drops."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Read drops again even if nothing changed.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    engine: Annotated[
        str,
        typer.Option("--engine", help="Where shards are worked on: local or dask [FABRIC_ENGINE]."),
    ] = "",
    dask_address: Annotated[
        str,
        typer.Option(
            "--dask-address",
            help="Scheduler of a Dask cluster, tcp://host:port or tls://host:port.",
        ),
    ] = "",
    dask_workers: Annotated[
        int,
        typer.Option(
            "--dask-workers",
            min=0,
            help="Workers to start on this machine; 0 means as many as it has room for.",
        ),
    ] = 0,
) -> None:
    """Process drops through Dagster and say what was found.

    Exit code 1 when a run or a part of one failed, 0 otherwise, whatever was found.
    """
    from fabric_pipeline.engine.choose import with_engine
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.launch_jobs import launch
    from fabric_pipeline.workflows.run_drops import plan
    from fabric_pipeline.workflows.summary import summarise

    settings = with_engine(load_settings(), engine, dask_address, dask_workers)
    with progress_line() as line:
        planned = plan(settings, drops or [], datetime.now(UTC), force=force, tell=line)
        line.clear()
        for one in planned:
            say(f"{plain(one.path.name)}: {plain(one.note)}")
        wanted = list(dict.fromkeys(one.drop_id for one in planned if one.must_run))
        line(Moment("starting", "start"))
        outcomes = launch(settings, "diagnose", wanted, _Progress(line, len(wanted)).hear)
    failed = [outcome for outcome in outcomes if not outcome.success]
    for outcome in failed:
        say(f"{outcome.drop}: run {outcome.run_id} failed: {plain(outcome.error)}")
    summary = summarise(settings, [one.drop_id for one in planned if one.drop_id])
    if json:
        put_json({**summary.as_json(), "failed": [outcome.drop for outcome in failed]})
    else:
        _put_summary(summary)
    is_partial = any(one.account.uncounted for one in summary.drops)
    if failed or is_partial or any(not one.drop_id for one in planned):
        raise typer.Exit(1)


def publish(
    drop: Annotated[
        str | None,
        typer.Argument(
            help="Drop id; none means every drop with an approved ticket.",
            autocompletion=drop_names,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was published as JSON.")] = False,
) -> None:
    """Write approved tickets to the outbox. Refuses (exit code 5) when nothing is approved."""
    from fabric_pipeline.errors import GateError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.launch_jobs import launch

    settings = load_settings()
    ledger = Ledger(settings.ledger)
    if drop is not None:
        ledger.drop(drop)  # an unknown name is said to be unknown, not unapproved
    rows = ledger.tickets(drop)
    wanted = sorted({row.drop for row in rows if row.state == "approved"})
    if not wanted:
        waiting = [row.ticket_id for row in rows if row.state == "awaiting"]
        published = [row.ticket_id for row in rows if row.state == "published"]
        if published and not waiting:
            say("everything that was approved has been published already")
            if json:
                put_json([])
            return
        raise GateError(
            f"nothing is approved; {len(waiting)} ticket(s) wait for a person",
            "review one first: fabric-pipeline review TICKET --approve --reviewer NAME",
        )
    known = {publication.seq for publication in ledger.publications()}
    with progress_line() as line:
        outcomes = launch(settings, "publish", wanted, _Progress(line, len(wanted)).hear)
    new = [publication for publication in ledger.publications() if publication.seq not in known]
    rows_out = [(p.ticket_id, p.drop, p.reviewer, settings.outbox / p.outbox_file) for p in new]
    if json:
        put_json(
            [
                dict(zip(("ticket", "drop", "reviewer", "file"), map(str, row), strict=True))
                for row in rows_out
            ]
        )
    else:
        put_table(("ticket", "drop", "approved by", "written to"), rows_out, widest=120)
    if not all(outcome.success for outcome in outcomes):
        for outcome in outcomes:
            say(
                f"{outcome.drop}: {plain(outcome.error)}"
                if outcome.error
                else f"{outcome.drop}: done"
            )
        raise typer.Exit(5)


class _Progress:
    """What a run says: at a terminal on the one line, elsewhere a line a step and no figures."""

    def __init__(self, line: ProgressLine, runs: int) -> None:
        self._line, self._runs, self._ended = line, runs, 0

    def hear(self, event: dict[str, Any]) -> None:
        """One event of the child process."""
        kind, drop = event["event"], event["drop"]
        if kind == "progress":
            moment = Moment(**event["moment"])
            self._line(replace(moment, words=self._words(drop, moment.words)))
        elif kind == "step":
            step = event["step"]
            words = f"step {event['number']} of {event['of']}, {step.replace('_', ' ')}"
            if not self._line.is_shown_to_somebody:
                say(f"{drop}: {step}")
            self._line(Moment(self._words(drop, words), step))
        elif kind == "started":
            self._tell(f"{drop}: started")
            self._line(Moment(self._words(drop, "starting"), "start"))
        elif kind == "waiting":
            self._tell(f"{drop}: another run of it is at work ({event['by']}), waiting for its end")
        else:
            self._ended += 1
            word = "done" if event["success"] else "FAILED"
            self._tell(f"{drop}: {word} in {event['seconds']:.1f} s (run {event['run_id'][:8]})")
            self._line(Moment("finishing", "finish"))

    def _tell(self, text: str) -> None:
        self._line.clear()
        say(plain(text))

    def _words(self, drop: str, words: str) -> str:
        place = f"drop {self._ended + 1} of {self._runs}, " if self._runs > 1 else ""
        return f"{place}{drop}: {words}"


def _put_summary(summary: Summary) -> None:
    accounts = [one.account for one in summary.drops]
    put(
        f"{len(summary.drops)} drop(s) read: {sum(a.accepted for a in accounts):,} readings accepted, "
        f"{sum(a.quarantined for a in accounts):,} quarantined"
    )
    for one in summary.drops:
        _put_drop(one)
    put()
    for note in summary.lives:
        put(f"{note.state:<9} {plain(note.component)}  ({plain(note.reason)})")
    if summary.lives:
        put()
    if summary.waiting:
        put(f"{len(summary.waiting)} ticket(s) wait for a person:")
        put_table(
            ("ticket", "priority", "title"),
            [(r.ticket_id, r.priority, r.title) for r in summary.waiting],
            widest=100,
        )
    else:
        put("No ticket waits for a person.")
    if summary.costs.line:
        put(summary.costs.line)
    put()
    put(f"audit database  {summary.audit}")
    put("next            fabric-pipeline tickets            read the drafts")
    put("                fabric-pipeline review TICKET      approve or reject one")
    put("                fabric-pipeline topology           see where it is")
    put('                fabric-pipeline audit query "select * from drop_overview"')
    put(
        "                fabric-pipeline dev                the portal, and lineage in the Dagster UI"
    )


def _put_drop(one: DropSummary) -> None:
    put()
    put(
        f"{one.drop}: {one.account.accepted:,} accepted, {one.account.quarantined:,} quarantined from {one.files} file(s)"
    )
    for problem in one.problems[:10]:
        put(f"  note      {plain(problem)}")
    for record in one.accusing:
        slower = (
            f", {record.degradation_pct:.1f} % slower" if record.degradation_pct is not None else ""
        )
        put(
            f"  {record.severity:<9} {plain(record.isolated_component)}  ({record.fault_type}{slower}, confidence {record.confidence:.2f})"
        )
    for record in one.other_causes:
        put(
            f"  {record.severity:<9} {plain(record.isolated_component)}  (no link: {plain(record.summary)})"
        )
    if not one.accusing and not one.other_causes:
        watched = sum(record.severity == "WATCH" for record in one.records)
        silent = [record for record in one.records if record.fault_type == "no_data"]
        put(f"  no fault found{f'; {watched} link(s) to watch' if watched else ''}")
        for record in silent:
            put(f"  no data   {plain(record.isolated_component)}")
