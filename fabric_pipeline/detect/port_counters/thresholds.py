"""Documented limits of snapshot counters and the rule ids that use them.

The IB counts are the suggested values of rdma-core's infiniband-diags/etc/error_thresholds; they
are totals without a time span, so they raise suspicion and prove no rate. What has no published
limit is marked as project policy.
"""

from __future__ import annotations

from dataclasses import dataclass

RULE_PICTURE = "several_error_counters_together"
RULE_ALONE = "one_counter_far_above"
RULE_FLAPS = "link_downs_above_siblings"
RULE_DELTA = "errors_during_the_run"
RULE_LANE = "one_lane_far_above"
RULE_BER = "error_rate_after_correction"
RULE_DEVICE_SUM = "sum_over_all_ports"
RULE_LOSS = "packet_loss_on_the_path"
RULE_CONGESTION = "congestion_context"
RULE_UPSTREAM = "errors_marked_upstream"

# infiniband-diags/etc/error_thresholds (rdma-core 691953d); crc_phy, fec_uncorrectable and
# effective_error have no published snapshot limit and take the value of the receive errors.
ERROR_LIMITS: dict[str, float] = {
    "symbol_error": 10,
    "link_error_recovery": 10,
    "link_downed": 10,
    "rx_errors": 10,
    "local_link_integrity": 10,
    "crc_phy": 10,
    "fec_uncorrectable": 10,
    "effective_error": 10,
}
CONTEXT_LIMITS: dict[str, float] = {
    "rx_remote_physical": 100,
    "rx_relay_errors": 100,
    "tx_discards": 100,
    "tx_constraint": 100,
    "rx_constraint": 100,
    "buffer_overrun": 10,
    "vl15_dropped": 100,
    "tx_wait": 1000,
    "rx_drops": 100,
    "pause": 1000,
    "cnp": 1000,
}


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """Limits of the snapshot rules.

    `alone_factor`: how far above its limit a single counter must stand without support from
    another (policy: two orders of magnitude). `sibling_factor`, `min_siblings`: how far above the
    highest other port of its device (policy). `critical_factor`: from here a picture is critical.
    `single_down`: link downs up to this number are no evidence, as plugging in counts one (NVIDIA
    Quantum firmware release notes, known issues). `worst_ber`, `watch_ber`: error rate after
    correction that fails, and that is still watched (NVIDIA IB cluster operation guide, "List of
    Scenarios"). `lane_share`, `lane_factor`, `lane_floor`: one lane holds nearly all raw errors
    (policy; raw errors in small numbers are normal). `loss_events`, `loss_support`: packet loss
    worth a warning, and how much of it must be more than reordering; `loss_watch`: loss worth a look
    (policy; no limit published).
    `shared_ports`, `shared_share`: ports of one device alike enough to blame the device (policy).
    """

    alone_factor: float = 100.0
    sibling_factor: float = 10.0
    min_siblings: int = 3
    critical_factor: float = 100.0
    single_down: float = 1.0
    worst_ber: float = 1e-12
    watch_ber: float = 1e-15
    lane_share: float = 0.9
    lane_factor: float = 10.0
    lane_floor: float = 1e5
    loss_events: float = 1e6
    loss_support: float = 1e4
    loss_watch: float = 1e4
    shared_ports: int = 9
    shared_share: float = 0.8


LIMITS = SnapshotLimits()
