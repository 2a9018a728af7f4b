"""Homes that tests of tickets may write to, the pages they serve, and forms as a browser sends them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.portal.app import create_app
from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.portal.ticket_edit_form import entries
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.edit_fields import fields_of
from fabric_pipeline_tests.pipeline_runs import ROOT, copy_home
from fabric_pipeline_tests.portal.serving import Answer, ask, served

DROP = "crc-multibit-lane"
INCIDENT, TICKET = "INC-8f1e83714874", "T-8f1e83714874"
EDITOR, REVIEWER = "technician-2", "reviewer-1"
REASON = "Both ends, steps and part agree with the evidence."
HERE = {"Sec-Fetch-Site": "same-origin"}


def copied(home: Settings, tmp_path: Path) -> Settings:
    """A copy of the shared home that a test may write to."""
    copy_home(home.home, tmp_path / "home")
    return Settings(root=ROOT, home=tmp_path / "home")


def without_drafts(home: Settings, tmp_path: Path) -> Settings:
    """A copy whose ledger knows the drop and its incidents, and no draft."""
    settings = copied(home, tmp_path)
    for part in settings.home.glob("ledger.sqlite*"):
        part.unlink()
    old, new = Ledger(home.ledger), Ledger(settings.ledger)
    drop = old.drop(DROP)
    new.claim_drop(drop.name, drop.path, drop.content_sha256, drop.first_seen)
    seen = old.incidents(DROP)
    new.record_incidents(DROP, [one.record for one in seen], seen[0].at)
    return settings


@contextmanager
def portal(settings: Settings, auth: Auth | None = None, dagster_url: str = "") -> Iterator[str]:
    """The portal over a home, served while the block runs."""
    with served(create_app(settings, auth, dagster_url=dagster_url)) as url:
        yield url


def post(
    url: str, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None
) -> Answer:
    """A form as a page of this portal sends it."""
    return ask(url, path, body=urlencode(form), headers=HERE | dict(headers or {}))


def edit_form(draft: TicketDraft, sha256: str, **changes: str) -> dict[str, str]:
    """The whole edit form as it is served, with these fields typed over."""
    form = {"draft_sha256": sha256, "editor": EDITOR, "reason": "measured at the rack"}
    for _, group in entries(fields_of(draft)):
        for entry in group:
            boxes = [*entry.boxes, *entry.blank, *(box for row in entry.rows for box in row)]
            form |= {box.name: box.value.replace("\n", "\r\n") for box in boxes}
            if entry.one:
                form[f"{entry.field}.listed"] = "1"
    return form | changes


def current(settings: Settings) -> tuple[TicketDraft, str]:
    """The current draft of the ticket and its hash."""
    stored = Ledger(settings.ledger).current_draft(TICKET)
    assert stored.draft is not None
    return stored.draft, stored.draft_sha256


def wait_for(what: Callable[[], bool], seconds: float = 30.0) -> None:
    """Until it is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to be so in time"
        time.sleep(0.05)
