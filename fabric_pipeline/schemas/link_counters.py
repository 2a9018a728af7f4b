"""Table link_counters: accepted readings with increments, exposure, quality and error class."""

from fabric_pipeline.model.counters import BASES, COUNTERS, ERROR_CLASSES
from fabric_pipeline.schemas.raw_telemetry import QUALITIES
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

TABLE = Table(
    name="link_counters",
    group="ingest",
    grain="one accepted reading: link end, counter, time",
    description="Accepted readings in canonical names with increments by field-guide Appendix B.",
    key=("drop", "node", "interface", "lane", "counter", "gpu_uuid", "scope", "sample"),
    upstream=("raw_telemetry",),
    is_bulk=True,
    columns=(
        DROP,
        NODE,
        INTERFACE,
        LANE,
        LINK_TYPE,
        text("counter", "Canonical counter name", allowed=tuple(COUNTERS)),
        text("kind", "cumulative or gauge", allowed=("cumulative", "gauge", "delta")),
        text(
            "scope",
            "What the value is counted over",
            allowed=("link", "lane", "gpu_sum", "switch_sum"),
        ),
        whole("sample", "Position in its series from 1", minimum=1),
        TS,
        number("value", "Value; empty when not measured", nullable=True),
        number(
            "delta",
            "Increment since the previous sample; a lower bound after a reset or at a ceiling",
            nullable=True,
            minimum=0,
        ),
        number(
            "elapsed_s",
            "Seconds since the previous sample; empty when times are unknown",
            nullable=True,
            minimum=0,
        ),
        text("quality", "Quality of this reading", allowed=QUALITIES),
        text(
            "error_class",
            "What kind of error the counter counts; empty when none",
            allowed=("", *ERROR_CLASSES),
        ),
        text("class_basis", "What the error class rests on", allowed=("", *BASES)),
        text("gpu_uuid", "GPU UUID where stated"),
        whole("socket", "CPU socket where stated", nullable=True),
        text("state", "State in words"),
        *EVIDENCE,
    ),
)
