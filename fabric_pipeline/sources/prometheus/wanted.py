"""Which metrics of a monitoring server are worth fetching: those that a reader of this family takes.

Only names are looked at. What a metric means is decided in `dcgm_names`, `node_names` and `nccl_series`.
"""

from __future__ import annotations

from fabric_pipeline.sources.prometheus.dcgm_names import is_dcgm, rule_for
from fabric_pipeline.sources.prometheus.nccl_series import is_nccl
from fabric_pipeline.sources.prometheus.node_names import node_rule_for

# Beginnings of metric names, as a server's regular expression.
FAMILIES = (
    "DCGM_", "dcgm_", "node_infiniband_", "node_ethtool_", "node_pcidevice_", "node_network_",
    "node_uname_info", "nccl_",
)  # fmt: skip
# Names the host of all other series of the same instance.
HOST_NAMES = "node_uname_info"


def is_wanted(name: str) -> bool:
    """True when a reader takes a value of this metric, or the name of a host, from it."""
    if is_dcgm(name):
        return rule_for(name) is not None
    if name.startswith("node_"):
        return name == HOST_NAMES or node_rule_for(name) is not None
    return is_nccl(name)
