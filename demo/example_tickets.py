"""Five tickets from five different faults, each with its dossier and sheet, for `data/examples`.

`python -m demo.example_tickets data/examples` makes the synthetic drops, takes them through the stages
of the pipeline with the rules drafter, and copies what a user would find. All times are fixed, so the
same code gives the same bytes.
"""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from fabric_pipeline.cli.ticket_text import ticket_text
from fabric_pipeline.settings import Settings, project_root
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.synth.generate import generate
from fabric_pipeline.synth.scenario import SCENARIOS
from fabric_pipeline.workflows.dispatch_stages import incidents_for_dossiers
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline.workflows.draft_drop import draft_stage
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    incident_stage,
    ingest_stage,
    link_counters_stage,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.inbox import claim
from fabric_pipeline.workflows.ticket_sheet import sheet_of

FAULTS = (
    "crc-multibit-lane",
    "ib-marginal-cable",
    "pcie-replay-storm",
    "link-flap",
    "width-downgrade",
)
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
    drop_id = claim(ledger, drop, AT).drop_id
    _diagnose(settings, drop_id, drop)
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
    body = json.dumps(stored.draft.model_dump(mode="json"), indent=2, ensure_ascii=False)
    (target / "ticket.json").write_text(body + "\n", encoding="utf-8", newline="\n")
    return target


def _diagnose(settings: Settings, drop_id: str, drop: Path) -> None:
    ingest_stage(settings, drop_id, drop, AT)
    for stage in (link_counters_stage, spike_stage, straggler_stage, correlation_stage):
        stage(settings, drop_id)
    incident_stage(settings, drop_id, AT)
    draft_stage(settings, drop_id, AT)


if __name__ == "__main__":
    for path in write_examples(Path(sys.argv[1])):
        sys.stdout.write(f"{path}\n")
