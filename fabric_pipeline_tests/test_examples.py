"""The committed examples hold together: each dossier is whole, and ticket and sheet are those of the dossier."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.dossier_bag import check_bag
from fabric_pipeline_tests.pipeline_runs import ROOT

EXAMPLES = sorted(path for path in (ROOT / "data" / "examples").iterdir() if path.is_dir())


def test_there_are_five_faults() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_is_one_ticket_in_all_its_forms(folder: Path) -> None:
    problems, files = check_bag(folder / "dossier")
    assert problems == []
    assert files > 20
    draft = TicketDraft.model_validate_json((folder / "ticket.json").read_bytes())
    kept = json.loads((folder / "dossier" / "data" / "ticket.json").read_bytes())
    assert draft.sha256 == kept["draft_sha256"]
    assert draft.drafter == "rules"
    sheet = (folder / "sheet.html").read_text(encoding="utf-8")
    assert sheet == (folder / "dossier" / "data" / "ticket_sheet.html").read_text(encoding="utf-8")
    assert "NOT APPROVED" in sheet
    assert draft.ticket_id in (folder / "ticket.txt").read_text(encoding="utf-8")
