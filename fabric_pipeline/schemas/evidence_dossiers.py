"""Table evidence_dossiers: one evidence folder per incident, verifiable without our code."""

from fabric_pipeline.schemas.table import DROP, Table, text, whole

TABLE = Table(
    name="evidence_dossiers",
    group="dispatch",
    grain="one dossier",
    description="BagIt folders with the excerpts, rows, queries and hashes behind an incident.",
    key=("drop", "incident_id"),
    upstream=("incident_records", "ticket_drafts"),
    columns=(
        DROP,
        text("incident_id", "Incident", pattern="^INC-[0-9a-f]{12}$"),
        text("path", "Folder of the dossier", pattern=r"\S"),
        text("manifest_sha256", "Hash of its manifest", pattern="^[0-9a-f]{64}$"),
        whole("files", "Payload files", minimum=1),
        text("chain_head", "Head of the ledger chain when it was built"),
    ),
)
