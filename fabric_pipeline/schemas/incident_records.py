"""Table incident_records: one physical fault, or one explicit non-fault, of one drop."""

from fabric_pipeline.schemas.table import DROP, LINK_TYPE, Table, number, text, time

TABLE = Table(
    name="incident_records",
    group="diagnose",
    grain="one physical fault or explicit non-fault of one drop",
    description="Standard incident records; the whole record stands in `record` as JSON (schema in docs).",
    key=("drop", "incident_id"),
    upstream=(
        "straggler_correlations",
        "spike_detections",
        "stragglers",
        "fabric_events",
        "fabric_topology",
        "link_counters",
    ),
    columns=(
        DROP,
        text("incident_id", "Stable id over reruns", pattern="^INC-[0-9a-f]{12}$"),
        text("isolated_component", "Component id that is blamed, or none", pattern=r"\S"),
        text("far_end", "Component id of the other end"),
        LINK_TYPE,
        text("fault_type", "Kind of fault", pattern=r"\S"),
        text("error_class", "Kind of error"),
        text("class_basis", "What the error class rests on"),
        text("severity", "Severity", allowed=("INFO", "WATCH", "WARNING", "CRITICAL")),
        text(
            "ticket_priority", "Priority of a ticket", allowed=("low", "normal", "high", "urgent")
        ),
        text("role", "Role of the component", allowed=("cause", "symptom", "context")),
        text("status", "State of the incident", allowed=("open", "watch", "closed")),
        text("action_code", "Recommended action", pattern=r"\S"),
        text("summary", "The fault in one sentence", pattern=r"\S"),
        time("first_seen", "First sign", nullable=True),
        time("last_seen", "Last sign", nullable=True),
        number("degradation_pct", "Latency above baseline in percent", nullable=True),
        number("confidence", "How sure, 0 to 1", minimum=0, maximum=1),
        number("gpu_hours_lost", "GPU-hours lost so far", nullable=True, minimum=0),
        text("evidence_sha256", "Hash over the record's evidence", pattern="^[0-9a-f]{64}$"),
        text("record", "The whole record, JSON", pattern="^\\{"),
    ),
)
