"""Links from runs, assets and checks in the Dagster UI back to the page of the portal that shows the same.

Addresses only; what the pages show is `portal`'s business.
"""

from __future__ import annotations

from urllib.parse import urlencode

import dagster as dg

from fabric_pipeline.settings import Settings

# The page of each table that has one; all of them take `drop`.
PAGES = {
    "link_counters": "/matrix",
    "spike_detections": "/",
    "stragglers": "/",
    "incident_records": "/incidents",
    "ticket_drafts": "/queue",
    "published_tickets": "/queue",
    "evidence_dossiers": "/dossiers",
}


def portal_page(settings: Settings, table: str, drop_id: str) -> dict[str, dg.MetadataValue]:
    """Metadata `portal` with the address of the page for this table of this drop."""
    query = urlencode({"drop": drop_id})
    return {"portal": dg.MetadataValue.url(f"{settings.portal_address}{PAGES[table]}?{query}")}
