"""Plays every attack through the real agent, the local Messages server, the ledger and the gate.

One call gives one result for each attack; the tests judge the results and the table prints them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pydantic_ai.models

from fabric_pipeline.drafting.catalogue import Catalogue, load_catalogue
from fabric_pipeline.drafting.draft import DraftRequest, draft_tickets
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.publish_ticket import publish_approved
from fabric_pipeline_tests.drafting.injection_cases import ATTACKS, Attack, ignoring, incident_with
from fabric_pipeline_tests.drafting.messages_server import MessagesServer, Reply, draft
from fabric_pipeline_tests.pipeline_runs import ROOT

AT = datetime(2026, 3, 15, 8, tzinfo=UTC)
KEY = "test-key-not-real"


@dataclass(frozen=True)
class Result:
    """What became of one attack: the tickets after an obeying and an ignoring model, and the gate."""

    attack: Attack
    incident: IncidentRecord
    obeyed: TicketDraft
    ignored: TicketDraft
    requests: list[dict[str, Any]]
    may_publish: bool
    decision: str
    published: list[str]
    refused: list[str]
    current_sha256: str

    @property
    def first_problem(self) -> str:
        """What the checks said first to the obeying answer."""
        attempts = self.obeyed.failed_attempts
        return attempts[0].problems[0] if attempts else ""


def run_attacks(home: Path) -> list[Result]:
    """Every attack, once obeyed and once ignored; the obeyed one goes on to the ledger and the gate."""
    server = MessagesServer()
    settings = Settings(
        root=ROOT,
        home=home,
        model="claude-sonnet-5-5",
        anthropic_api_key=KEY,
        anthropic_base_url=server.url,
        draft_timeout_s=60.0,
        draft_budget_usd=1000.0,
        draft_concurrency=8,
        batch_from=0,
    )
    attacks = {f"INC-attack{number:02}": attack for number, attack in enumerate(ATTACKS)}
    incidents = {
        name: incident_with(attack.place, attack.string, number)
        for number, (name, attack) in enumerate(attacks.items())
    }
    try:
        with pydantic_ai.models.override_allow_model_requests(True):
            obeyed = _drafts(
                server, settings, incidents, lambda name: attacks[name].obeyed(incidents[name])
            )
            asked = list(server.requests)
            ignored = _drafts(server, settings, incidents, lambda name: ignoring(incidents[name]))
    finally:
        server.stop()
    return [
        _through_the_gate(
            settings, attacks[name], incidents[name], obeyed[name], ignored[name], asked
        )
        for name in attacks
    ]


def facts_by_rules(incident: IncidentRecord) -> TicketDraft:
    """The ticket of this incident without any model."""
    settings = Settings(root=ROOT, home=ROOT / "unused")
    return draft_tickets([DraftRequest(incident)], settings=settings, catalogue=_catalogue())[0]


@cache
def _catalogue() -> Catalogue:
    return load_catalogue(ROOT / "data" / "catalogue")


def incident_named_in(request: dict[str, Any]) -> str:
    """Id of the incident that a request to the model is about."""
    found = re.search(r"INC-attack\d\d", json.dumps(request["messages"][0]))
    assert found
    return found.group()


def _drafts(
    server: MessagesServer,
    settings: Settings,
    incidents: dict[str, IncidentRecord],
    answer: Callable[[str], dict[str, Any]],
) -> dict[str, TicketDraft]:
    def choose(request: dict[str, Any]) -> Reply:
        return draft(answer(incident_named_in(request)))

    server.choose = choose
    requests = [DraftRequest(incident) for incident in incidents.values()]
    tickets = draft_tickets(requests, settings=settings, catalogue=_catalogue())
    return dict(zip(incidents, tickets, strict=True))


def _through_the_gate(
    settings: Settings,
    attack: Attack,
    incident: IncidentRecord,
    obeyed: TicketDraft,
    ignored: TicketDraft,
    asked: list[dict[str, Any]],
) -> Result:
    home = settings.home / incident.incident_id
    own = replace(settings, home=home)
    ledger = Ledger(own.ledger)
    ledger.record_draft(obeyed, AT)
    stored = ledger.current_draft(obeyed.ticket_id)
    state = ledger.review_state(stored.ticket_id, stored.draft_sha256)
    outcome = publish_approved(own, ledger, stored.drop, AT)
    return Result(
        attack=attack,
        incident=incident,
        obeyed=obeyed,
        ignored=ignored,
        requests=[one for one in asked if incident_named_in(one) == incident.incident_id],
        may_publish=verdict(state).may_publish,
        decision=state.decision,
        published=[row.ticket_id for row in outcome.published]
        + [row.ticket_id for row in ledger.publications()],
        refused=[ticket for ticket, _ in outcome.refused],
        current_sha256=stored.draft_sha256,
    )
