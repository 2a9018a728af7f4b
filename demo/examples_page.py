"""The page that opens `data/examples`: what each drop held, what was found, and where to read on.

Every figure on it is read from the run, the answer keys and the files beside it; links are relative, so that
the page works in any viewer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from demo.audit_answers import Answer, cell, rows_in_words
from demo.planted import Drop, read_key, told_of
from demo.shipped_examples import REASON, REVIEWER, drops_of, incidents_of
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, TicketRow

_INTRO = """# Example outputs

What the pipeline makes of the drops that come with it and of further synthetic faults, and what an auditor
reads afterwards. `make examples` writes everything here, this page included; the tests compare it.
All telemetry is generated, so it is known what is in it: the answer keys are in [data/answers](../answers), and
the pipeline never sees them. The drafts are those of the rules drafter: no key, no model.

`make run` finds the same in your own checkout; times, hashes of the ledger and decisions are then yours."""


def index_page(settings: Settings, found: list[Answer], folder: Path) -> str:
    """The page; `folder` is that of the examples, in which the other faults lie already."""
    parts = [_INTRO, "## What was in each drop, and what was found", *_drops(settings)]
    parts += ["## Tickets", *_tickets(settings)]
    parts += ["## Questions of an auditor", *_questions(found)]
    parts += ["## Other faults", *_others(folder / "other_faults"), "## Check it", _CHECK]
    return "\n\n".join(parts) + "\n"


_CHECK = """```
sha256sum -c manifest-sha256.txt               # in a dossier: every byte, without our software
fabric-pipeline dossier verify DOSSIER         # diagnoses again from the folder alone
make examples && git diff --stat data/examples # writes all of this again: nothing differs
```

Dossiers name the versions of Python and packages that they were built with; with others, those lines differ."""


def _drops(settings: Settings) -> Iterator[str]:
    lines = ["| drop | what was put in | what the pipeline says | |", "|---|---|---|---|"]
    days = set()
    for name in drops_of(settings):
        drop = Drop(settings, name, read_key(settings, name), incidents_of(settings, name))
        days.add(drop.key["window"]["start"][:10])
        window = " to ".join(drop.key["window"][end][11:16] for end in ("start", "end"))
        head = (
            f"**{name}**, {window}<br>[drop](../drops/{name}), [key](../answers/{name}.json), "
            f"[{len(drop.records)} records](shipped_drops/{name}/incidents.json)"
        )
        for row in told_of(drop):
            lines.append(f"| {head} | {row.planted} | {row.said} | {row.judgement} |")
            head = ""
    yield "\n".join(lines)
    yield (
        "A record *to watch* says that a link errs and that nothing is slowed by it; it opens no ticket. Times "
        f"are in UTC, all of {' and '.join(sorted(days))}."
    )


def _tickets(settings: Settings) -> Iterator[str]:
    ledger = Ledger(settings.ledger)
    lines = ["| ticket | what | stands | read |", "|---|---|---|---|"]
    for name in drops_of(settings):
        for row in ledger.tickets(name):
            why = verdict(ledger.review_state(row.ticket_id, row.draft_sha256)).why
            lines.append(_ticket(name, row, why))
    yield "\n".join(lines)
    yield (
        f'One was approved by {REVIEWER} ("{REASON}") and published to the outbox, a folder that stands for '
        "ticket systems. The sheet of a ticket that waits bears the bar NOT APPROVED, and publishing it is refused "
        "for the reason above. In JSON and text every field says where it comes from."
    )


def _ticket(drop: str, row: TicketRow, why: str) -> str:
    place = f"shipped_drops/{drop}"
    links = [
        f"[text]({place}/tickets/{row.ticket_id}.txt)",
        f"[JSON]({place}/tickets/{row.ticket_id}.json)",
        f"[technician's sheet]({place}/sheets/{row.ticket_id}.html)",
        f"[dossier]({place}/dossiers/{row.incident_id}--{drop}/data/README.txt)",
    ]
    stands = f"waits for a person; publishing is refused: {why}"
    if row.published_at:
        links.append(f"[outbox]({place}/outbox/{row.ticket_id})")
        stands = f"approved by {row.reviewer} at {row.reviewed_at:%H:%M}, published at {row.published_at:%H:%M}"
    return f"| {row.ticket_id} | {cell(row.title)} | {stands} | {', '.join(links)} |"


def _questions(found: list[Answer]) -> Iterator[str]:
    yield "Each is SQL to `audit.duckdb`; [all answers on one page](audit/README.md)."
    lines = ["| question | answer | |", "|---|---|---|"]
    for one in found:
        links = f"[SQL](audit/{one.name}.sql), [CSV](audit/{one.name}.csv)"
        lines.append(f"| {one.asks} {one.why} | {rows_in_words(one)} | {links} |")
    yield "\n".join(lines)


def _others(folder: Path) -> Iterator[str]:
    yield "Each ticket waits for a person; one drop each, made by `fabric-pipeline synth`."
    lines = ["| fault | ticket | read |", "|---|---|---|"]
    for path in sorted(folder.iterdir()):
        draft = json.loads((path / "ticket.json").read_text(encoding="utf-8"))
        place = f"other_faults/{path.name}"
        lines.append(
            f"| {path.name} | {cell(draft['text']['title'])} | [text]({place}/ticket.txt), "
            f"[JSON]({place}/ticket.json), [technician's sheet]({place}/sheet.html), "
            f"[dossier]({place}/dossier/data/README.txt) |"
        )
    yield "\n".join(lines)
