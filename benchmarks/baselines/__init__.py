"""Methods that the diagnosis is measured against: simple rules, published checks, known algorithms.

Each answers from the same observed scenario as the diagnosis does. `METHODS` lists them all;
`best_parameter` tunes one on training scenarios.
"""

from benchmarks.baselines.correlation import pearson_state, z_score_straggler
from benchmarks.baselines.limits import limits, limits_straggler, limits_straggler_state
from benchmarks.baselines.method import Method, best_parameter, outcome_of
from benchmarks.baselines.published import dcgm_health, gcm_check, nvsentinel
from benchmarks.baselines.voting import latency_only, voting_007

__all__ = ["METHODS", "Method", "best_parameter", "outcome_of"]

_LIMITS_H = (500.0, 1000.0, 2000.0, 3000.0, 5000.0, 7000.0, 10_000.0, 20_000.0)
_Z_SCORES = (4.0, 6.0, 8.0, 10.0, 12.0, 20.0, 40.0)
_CORRELATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_EXCESSES = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16)
_VOTE_SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)

METHODS = (
    Method("limits", limits, _LIMITS_H, "fixed limits of dashboards"),
    Method("limits + straggler", limits_straggler, _LIMITS_H, "limits, checked by hand"),
    Method("limits + straggler + state", limits_straggler_state, _LIMITS_H, "what operators do"),
    Method("z-score + straggler", z_score_straggler, _Z_SCORES, "generic anomaly detection"),
    Method("Pearson + state", pearson_state, _CORRELATIONS, "plain correlation"),
    Method("latency only", latency_only, _EXCESSES, "slowest node, then its loudest link"),
    Method("007 voting", voting_007, _VOTE_SHARES, "Arzani et al., 007, NSDI 2018"),
    Method("DCGM health", dcgm_health, (), "NVIDIA/DCGM 72fa3fe, DcgmHealthWatch.cpp"),
    Method("gcm check", gcm_check, (), "facebookresearch/gcm 1b7bde9, check-dcgmi nvlink"),
    Method("NVSentinel", nvsentinel, (), "NVSentinel 0f60731, link-counter-detection.md"),
)
