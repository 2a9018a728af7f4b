"""Table published_tickets: tickets that a person approved and the pipeline wrote to the outbox."""

from fabric_pipeline.schemas.table import DROP, Table, text, time

TABLE = Table(
    name="published_tickets",
    group="dispatch",
    grain="one published ticket",
    description="Exactly what left the pipeline: the approved draft hash, who approved it and where it was written.",
    key=("drop", "ticket_id", "draft_sha256"),
    upstream=("ticket_drafts",),
    columns=(
        DROP,
        text("ticket_id", "Id of the ticket", pattern="^T-[0-9a-f]{12}$"),
        text("draft_sha256", "Hash of the approved content", pattern="^[0-9a-f]{64}$"),
        text("reviewer", "Who approved it", pattern=r"\S"),
        time("published_at", "When it was written"),
        text("outbox_file", "File in the outbox", pattern=r"\S"),
    ),
)
