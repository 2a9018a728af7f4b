"""Table straggler_correlations: does this link's error time fit that run's slow time."""

from fabric_pipeline.schemas.table import DROP, INTERFACE, NODE, Table, number, text, whole

TABLE = Table(
    name="straggler_correlations",
    group="diagnose",
    grain="one run and one candidate: an erring link, or a place that was slow without one",
    description="Coincidence of link errors with slow collectives, against chance, for every candidate link.",
    key=("drop", "run", "node", "interface"),
    upstream=(
        "spike_detections",
        "stragglers",
        "link_counters",
        "collective_timings",
        "fabric_events",
        "fabric_topology",
    ),
    columns=(
        DROP,
        text("run", "Job"),
        text("communicator", "Group of ranks whose slow time fits best"),
        NODE,
        INTERFACE,
        text("far_end", "Component id of the other end, empty when unknown"),
        text("in_path", "Whether the run used the link's node", allowed=("yes", "no", "unknown")),
        whole("bins", "Time bins compared", minimum=0),
        whole("slow_bins", "Bins in which the run was slow", minimum=0),
        whole("error_bins", "Bins in which the link counted errors", minimum=0),
        whole("overlap_bins", "Bins with both", minimum=0),
        whole("lag_bins", "Shift at which the overlap is greatest"),
        number("overlap_share", "Share of the error bins that are slow", minimum=0, maximum=1),
        number(
            "covered_share", "Share of the slow bins that the errors cover", minimum=0, maximum=1
        ),
        number(
            "effect_pct", "Latency with errors above latency without, in percent", nullable=True
        ),
        number(
            "p_value",
            "Chance of such an overlap under circular shifts",
            nullable=True,
            minimum=0,
            maximum=1,
        ),
        number(
            "q_value",
            "p over all candidates (Benjamini-Hochberg)",
            nullable=True,
            minimum=0,
            maximum=1,
        ),
        number("score", "Evidence for this link, for ranking"),
        whole("candidate_rank", "Place among the candidates of the run from 1", minimum=1),
        text("covered_bins", "Numbers of the slow bins that the errors cover, JSON list"),
        text(
            "verdict",
            "What all runs together say of this link, or that a place was slow without an erring link",
            allowed=(
                "responsible",
                "suspect",
                "masked",
                "not_responsible",
                "not_weighed",
                "slow_place",
            ),
        ),
        number(
            "confidence",
            "Calibrated chance that the link slows the collectives that cross it",
            nullable=True,
            minimum=0,
            maximum=1,
        ),
        number("log_odds", "Evidence against chance in powers of ten", nullable=True),
        number(
            "share_slow",
            "Chance that a collective is slow while the link errs",
            nullable=True,
            minimum=0,
            maximum=1,
        ),
        number(
            "slow_anyway",
            "Share that is slow at that time in other runs, or while the link is quiet",
            nullable=True,
            minimum=0,
            maximum=1,
        ),
        whole("edges_fitting", "Starts and ends of errors with which latency moved", nullable=True),
        whole(
            "edges_visible", "Starts and ends of errors at which timing was measured", nullable=True
        ),
        number(
            "dose",
            "Rank correlation of error count and slowness while erring",
            nullable=True,
            minimum=-1,
            maximum=1,
        ),
        text("because", "Log odds that each fact adds to the confidence, JSON object"),
        text(
            "behind", "Better links over the same collectives, or places that fit alike, JSON list"
        ),
    ),
)
