"""The list of all tables, in the order of the data's way. A new table is one line here."""

from fabric_pipeline.schemas import (
    collective_timings,
    evidence_dossiers,
    fabric_events,
    fabric_topology,
    incident_records,
    link_counters,
    published_tickets,
    quarantined_telemetry,
    raw_telemetry,
    spike_detections,
    straggler_correlations,
    stragglers,
    ticket_drafts,
)
from fabric_pipeline.schemas.table import Table

TABLES: dict[str, Table] = {
    module.TABLE.name: module.TABLE
    for module in (
        raw_telemetry,
        quarantined_telemetry,
        collective_timings,
        fabric_events,
        fabric_topology,
        link_counters,
        spike_detections,
        stragglers,
        straggler_correlations,
        incident_records,
        ticket_drafts,
        published_tickets,
        evidence_dossiers,
    )
}
