"""Table ticket_drafts: the current draft revision of each ticket of a drop."""

from fabric_pipeline.schemas.table import DROP, Table, number, text, whole

TABLE = Table(
    name="ticket_drafts",
    group="dispatch",
    grain="one draft revision",
    description="Repair ticket drafts waiting for, or decided by, a person. Approval binds to draft_sha256.",
    key=("drop", "ticket_id"),
    upstream=("incident_records",),
    columns=(
        DROP,
        text("ticket_id", "Id of the ticket", pattern="^T-[0-9a-f]{12}$"),
        text("incident_id", "Incident it repairs", pattern="^INC-[0-9a-f]{12}$"),
        whole("revision", "Revision of this ticket from 1", minimum=1),
        text("draft_sha256", "Hash of the content that is approved", pattern="^[0-9a-f]{64}$"),
        text("drafter", "Who worded it", allowed=("claude", "rules")),
        text("drafter_note", "Why the rules drafter stepped in, when it did"),
        text("model", "Model name"),
        text("effort", "Effort that the model was asked for; empty when left to it"),
        text("prompt_version", "Prompt version"),
        whole("requests", "Requests that the model answered for this draft", minimum=0),
        whole("input_tokens", "Tokens in, those of the prompt cache included", minimum=0),
        whole("output_tokens", "Tokens out", minimum=0),
        whole("cache_read_tokens", "Tokens in that were read from the prompt cache", minimum=0),
        whole("cache_write_tokens", "Tokens in that were written to the prompt cache", minimum=0),
        number("cost_usd", "Cost in US dollars; empty when unknown", nullable=True, minimum=0),
        whole("failed_attempts", "Answers of the model that our checks refused", minimum=0),
        text("title", "Title of the ticket", pattern=r"\S"),
        text("priority", "Priority", allowed=("low", "normal", "high", "urgent")),
        text("component", "Component to repair", pattern=r"\S"),
        text(
            "evidence_sha256", "Hash of the evidence the draft rests on", pattern="^[0-9a-f]{64}$"
        ),
        text("draft", "The whole draft, JSON", pattern="^\\{"),
    ),
)
