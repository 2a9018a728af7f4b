"""Table quarantined_telemetry: what was read and refused, with the rule in words."""

from fabric_pipeline.schemas.table import DROP, ENTRY, EVIDENCE, Table, text

TABLE = Table(
    name="quarantined_telemetry",
    group="ingest",
    grain="one refused reading, line or file",
    description="Everything that was read and refused: accepted + quarantined = read, checked in every run.",
    key=("drop", "entry"),
    columns=(
        DROP,
        ENTRY,
        *EVIDENCE,
        text("format", "Format id of the file"),
        text("parser_version", "Version of the reader"),
        text("time_text", "Time as written"),
        text("entity_text", "Device or link as written, or the text of the line"),
        text("counter_text", "Counter as written"),
        text("value_text", "Value as written"),
        text("rule", "Why it was refused and what to do", pattern=r"\S"),
    ),
)
