"""Tickets from faults that no shipped drop holds, each with its dossier and sheet, for `data/examples`.

Synthetic drops are made, taken through the stages of the pipeline with the rules drafter, and what a user
would find is copied. All times are fixed, so the same code gives the same bytes.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from demo.shipped_examples import as_json, diagnose
from fabric_pipeline.cli.ticket_text import ticket_text
from fabric_pipeline.settings import Settings, project_root
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.synth.generate import generate
from fabric_pipeline.synth.scenario import SCENARIOS
from fabric_pipeline.workflows.dispatch_stages import incidents_for_dossiers
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline.workflows.ticket_sheet import sheet_of

FAULTS = ("link-flap", "pcie-replay-storm", "width-downgrade")
AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SEED = 4


def write_examples(folder: Path, faults: tuple[str, ...] = FAULTS) -> list[Path]:
    """Write one folder for each fault below `folder`, replacing an earlier one; returns the folders."""
    written = []
    for fault in faults:
        with TemporaryDirectory() as scratch:
            written.append(_example(fault, Path(scratch), folder / fault))
    return written


def _example(fault: str, scratch: Path, target: Path) -> Path:
    """The heaviest ticket of one synthetic drop, as it waits for a person."""
    drop = scratch / fault
    generate(SCENARIOS[fault](), drop, seed=SEED, answer_key=scratch / "answer.json")
    settings = Settings(root=project_root(), home=scratch / "home")
    ledger = Ledger(settings.ledger)
    drop_id = diagnose(settings, drop, AT)
    record = incidents_for_dossiers(settings, drop_id)[0]
    ticket = next(row for row in ledger.tickets(drop_id) if row.incident_id == record.incident_id)
    stored = ledger.current_draft(ticket.ticket_id)
    if stored.draft is None:
        raise AssertionError(f"{ticket.ticket_id}: the draft was not made")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    dossier = build_dossier(settings, ledger, record, AT)
    shutil.copytree(dossier.path, target / "dossier")
    sheet = sheet_of(settings, ledger, ticket.ticket_id)
    (target / "sheet.html").write_text(sheet, encoding="utf-8", newline="\n")
    text = ticket_text(stored.draft)
    (target / "ticket.txt").write_text(text + "\n", encoding="utf-8", newline="\n")
    body = as_json(stored.draft.model_dump(mode="json"))
    (target / "ticket.json").write_text(body, encoding="utf-8", newline="\n")
    return target
