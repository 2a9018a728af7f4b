"""Command `tickets repaired`: say what was done at the rack, so that later drops can tell if it helped."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from fabric_pipeline.cli.completion import ticket_names
from fabric_pipeline.cli.output import plain, put, put_json, say


def repaired(
    target: Annotated[
        str,
        typer.Argument(
            help="Ticket or incident id.", metavar="TICKET", autocompletion=ticket_names
        ),
    ],
    action: Annotated[
        str, typer.Option("--action", help="Action of the ticket's repair order, or `other`.")
    ],
    by: Annotated[str, typer.Option("--by", help="Who did it.")],
    step: Annotated[
        int | None, typer.Option("--step", help="Step, when the order has the action twice.")
    ] = None,
    part: Annotated[str, typer.Option("--part", help="Part, when it is not the order's.")] = "",
    old_serial: Annotated[
        str, typer.Option("--old-serial", help="Serial of the part taken out.")
    ] = "",
    new_serial: Annotated[
        str, typer.Option("--new-serial", help="Serial of the part put in.")
    ] = "",
    at: Annotated[
        str | None,
        typer.Option("--at", help="When it was finished, ISO with time zone; now when left out."),
    ] = None,
    note: Annotated[str, typer.Option("--note", help="What else should be known.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Record a repair. The fault counts as repaired until later drops verify it or show it again."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.lifecycle import life_lines, life_of
    from fabric_pipeline.workflows.report_repair import RepairWords, parse_time, report_repair

    ledger = Ledger(load_settings().ledger)
    when = parse_time(at) if at else None
    words = RepairWords(action, by, step, part, old_serial, new_serial, when, note)
    recorded = report_repair(ledger, target, words, datetime.now(UTC))
    report = recorded.row.report
    for remark in recorded.remarks:
        say(f"note: {plain(remark)}")
    if json:
        life = life_of(ledger, report.incident_id)
        body = {name: getattr(report, name) for name in report.__slots__}
        body |= {"repaired_at": report.repaired_at.isoformat(), "seq": recorded.row.seq}
        put_json(body | {"remarks": recorded.remarks, "state": life.state, "reason": life.reason})
        return
    put(f"{report.ticket_id}: repair {recorded.row.seq} recorded")
    for line in life_lines(ledger, report.incident_id):
        put(f"  {plain(line)}")
    say("to see if it helped, put a drop of 30 minutes under load into the inbox and run it")
