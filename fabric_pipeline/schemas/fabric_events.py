"""Table fabric_events: Xid, SXid, AER, link and module events, one row an event of any number of lines."""

from fabric_pipeline.schemas.table import (
    DROP,
    ENTRY,
    EVIDENCE,
    INTERFACE,
    LANE,
    LAST_LINE,
    NODE,
    TS,
    Table,
    number,
    text,
    whole,
)

TABLE = Table(
    name="fabric_events",
    group="ingest",
    grain="one event of any number of log lines",
    description="Events of the fabric with the role that the vendor's catalogue gives such an event alone.",
    key=("drop", "entry"),
    columns=(
        DROP,
        ENTRY,
        *EVIDENCE,
        LAST_LINE,
        text("kind", "What happened, such as xid or link_down", pattern=r"\S"),
        whole("code", "Vendor code", nullable=True),
        NODE,
        INTERFACE,
        LANE,
        TS,
        text("time_text", "Time as written"),
        number("seconds", "Clock inside the file, such as dmesg seconds", nullable=True),
        text("role", "Role of such an event alone", allowed=("cause", "symptom", "context")),
        text(
            "severity",
            "Severity of such an event alone",
            allowed=("critical", "warning", "watch", "info"),
        ),
        whole("count", "Events this row stands for", minimum=1),
        text("reason", "What the event means"),
        text("text", "Log text, bounded"),
        text("details", "Further fields as JSON"),
    ),
)
