"""Table collective_timings: how long each collective took, as a whole or per rank."""

from fabric_pipeline.schemas.table import (
    DROP,
    ENTRY,
    EVIDENCE,
    NODE,
    TS,
    Table,
    number,
    text,
    whole,
)

TABLE = Table(
    name="collective_timings",
    group="ingest",
    grain="one collective: run, communicator, sequence, rank or whole",
    description="Durations of collectives, training steps and compute phases as the sources state them.",
    key=("drop", "entry"),
    is_bulk=True,
    columns=(
        DROP,
        ENTRY,
        *EVIDENCE,
        text("run", "Job or benchmark run"),
        text("run_nodes", "Nodes of the run as a JSON list; [] when not stated"),
        text("communicator", "Group of ranks"),
        whole("seq", "Order within run and communicator"),
        text("op", "Operation, such as all_reduce"),
        whole("bytes", "Message size", nullable=True, minimum=0),
        whole("ranks", "Ranks taking part", nullable=True, minimum=0),
        whole(
            "rank", "Rank that measured; empty for the whole collective", nullable=True, minimum=0
        ),
        NODE,
        whole("gpu", "GPU index of the rank", nullable=True, minimum=0),
        TS,
        number(
            "duration_us",
            "Duration; empty where the source states a bandwidth alone",
            nullable=True,
            minimum=0,
        ),
        number("arrival_us", "How late this rank arrived", nullable=True),
        number("baseline_us", "Baseline the source itself gives", nullable=True, minimum=0),
        number("busbw_gbs", "Bus bandwidth in GB/s", nullable=True, minimum=0),
        text("model", "Model that is trained"),
        text("variant", "Keeps unlike rows apart, such as in_place"),
        text(
            "unit_kind",
            "What the duration is of",
            allowed=("collective", "step", "compute", "bandwidth"),
        ),
    ),
)
