"""Table stragglers: intervals in which a run was slower than its baseline."""

from fabric_pipeline.schemas.table import (
    DROP,
    FILE,
    LAST_LINE,
    LINE,
    Table,
    number,
    text,
    time,
    whole,
)

TABLE = Table(
    name="stragglers",
    group="diagnose",
    grain="one slow interval of one run",
    description="Latency deviations of collectives against their baseline, and the ranks that arrived late.",
    key=("drop", "run", "communicator", "op", "interval"),
    upstream=("collective_timings",),
    columns=(
        DROP,
        text("run", "Job"),
        text("communicator", "Group of ranks"),
        text("op", "Operation"),
        whole("bytes", "Message size", nullable=True, minimum=0),
        whole(
            "interval", "Number of the interval within run, group and operation from 1", minimum=1
        ),
        time("start_ts", "Start; empty when the source has no times", nullable=True),
        time("end_ts", "End", nullable=True),
        text("kind", "What was slow", allowed=("whole_collective", "late_rank", "step")),
        text("shape", "transient, step (lasting) or drift", allowed=("transient", "step", "drift")),
        whole("collectives", "Collectives in the interval", minimum=1),
        number("latency_us", "Median duration in the interval", minimum=0),
        number("baseline_us", "Baseline duration", minimum=0),
        number("deviation_pct", "Latency above baseline in percent"),
        text(
            "baseline_source",
            "given, learnt or sister_run",
            allowed=("given", "learnt", "sister_run"),
        ),
        text("late_ranks", "Ranks that arrived late, JSON list"),
        text("late_nodes", "Nodes of the late ranks, JSON list"),
        text("nodes", "Nodes of the run, JSON list"),
        whole("gpus", "GPUs of the run", nullable=True, minimum=0),
        number("lost_s", "Seconds lost against the baseline over the interval", minimum=0),
        FILE,
        LINE,
        LAST_LINE,
    ),
)
