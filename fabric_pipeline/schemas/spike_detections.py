"""Table spike_detections: intervals in which a link end counted more errors than it should."""

from fabric_pipeline.model.counters import BASES, ERROR_CLASSES
from fabric_pipeline.schemas.table import (
    DROP,
    FILE,
    INTERFACE,
    LANE,
    LAST_LINE,
    LINE,
    LINK_TYPE,
    NODE,
    Table,
    number,
    text,
    time,
    whole,
)

TABLE = Table(
    name="spike_detections",
    group="diagnose",
    grain="one interval of one link end and counter",
    description="Error spikes per link end and error class, with rate, expectation, surprise, peers and the rules that fired.",
    key=("drop", "node", "interface", "lane", "counter", "gpu_uuid", "scope", "spike"),
    upstream=("link_counters",),
    columns=(
        DROP,
        NODE,
        INTERFACE,
        LANE,
        LINK_TYPE,
        text("counter", "Canonical counter name", pattern=r"\S"),
        text("gpu_uuid", "GPU UUID where stated: a swapped GPU is a series of its own"),
        text("scope", "What was counted over", allowed=("link", "lane", "gpu_sum", "switch_sum")),
        text("error_class", "Kind of error", allowed=("", *ERROR_CLASSES)),
        text("class_basis", "What the error class rests on", allowed=("", *BASES)),
        whole("spike", "Number of the interval within its series from 1", minimum=1),
        time("start_ts", "Start of the interval; empty for a snapshot", nullable=True),
        time("end_ts", "End of the interval; empty for a snapshot", nullable=True),
        number(
            "events",
            "Errors counted in the interval (at least, after a reset or at a ceiling)",
            minimum=0,
        ),
        number(
            "exposure_s",
            "Observed seconds of the interval; empty for a snapshot",
            nullable=True,
            minimum=0,
        ),
        number(
            "rate_per_hour",
            "Errors per hour; empty for a snapshot: a rate is never invented",
            nullable=True,
            minimum=0,
        ),
        number("series_events", "Errors over the whole series", minimum=0),
        number(
            "series_exposure_s", "Observed seconds of the whole series", nullable=True, minimum=0
        ),
        number(
            "expected_events",
            "Errors expected in the most surprising window of the interval, from the peers and the series' own past; empty where too few for a window",
            nullable=True,
            minimum=0,
        ),
        number(
            "surprise",
            "-log10 of the chance of the errors of the most surprising window of the interval, or of the total beside its siblings",
            nullable=True,
            minimum=0,
        ),
        whole("peers", "Peer link ends compared with", minimum=0),
        number("peer_median_events", "Median errors of the peers", nullable=True, minimum=0),
        text(
            "burstiness",
            "isolated (at most one per sample), burst or empty",
            allowed=("", "isolated", "burst"),
        ),
        text("is_lower_bound", "yes when the true count is at least this", allowed=("yes", "no")),
        text("rules", "Rules that fired with value, limit and source, JSON"),
        text(
            "severity",
            "Severity from the rules alone",
            allowed=("critical", "warning", "watch", "info"),
        ),
        FILE,
        LINE,
        LAST_LINE,
        text(
            "bursts",
            "Stretches within the interval that are no chance: list of [start, end, events], JSON; times in UTC, [] when there is none",
        ),
    ),
)
