"""Table raw_telemetry: every reading as it stood in a file, never altered, never dropped."""

from fabric_pipeline.schemas.table import (
    DROP,
    EVIDENCE,
    INTERFACE,
    LANE,
    LINK_TYPE,
    NODE,
    TS,
    Table,
    number,
    text,
    whole,
)

QUALITIES = (
    "ok",
    "reset",
    "wrap",
    "saturated",
    "duplicate",
    "out_of_order",
    "clock_skew",
    "not_supported",
    "absent",
)

TABLE = Table(
    name="raw_telemetry",
    group="ingest",
    grain="one reading as it stood in a file",
    description="Every counter, state or level reading as written, with the reader's interpretation beside it.",
    key=("drop", "file", "line", "entity_text", "counter_text"),
    is_bulk=True,
    columns=(
        DROP,
        *EVIDENCE,
        text("format", "Format id of the file"),
        text("parser_version", "Version of the reader"),
        text("time_text", "Time as written"),
        text("entity_text", "Device or link as written; for an unreadable line its text"),
        text("counter_text", "Counter as written"),
        text("value_text", "Value as written"),
        NODE,
        INTERFACE,
        LINK_TYPE,
        LANE,
        text("counter", "Canonical counter name; empty when not in the catalogue", nullable=True),
        text("kind", "cumulative or gauge; empty when the counter is unknown"),
        text(
            "scope",
            "What the value is counted over",
            allowed=("link", "lane", "gpu_sum", "switch_sum"),
        ),
        TS,
        number("value", "Value as a number; empty when not measured", nullable=True),
        text("quality", "What the single reading says of its own quality", allowed=QUALITIES),
        text("gpu_uuid", "GPU UUID where the source states it"),
        whole("socket", "CPU socket where the source states it", nullable=True),
        text("state", "State in words where the reading is a state"),
        text(
            "refused_by",
            "Rule that refused this reading, in words; empty when accepted",
            nullable=True,
        ),
    ),
)
