"""Rules on link states: NVLinks that are down or slow, PCIe links below their width or speed.

Pure functions over state readings. InfiniBand, RoCE and Ethernet ports are judged elsewhere.
"""

from fabric_pipeline.detect.link_state.evaluate import evaluate_link_state
from fabric_pipeline.detect.link_state.thresholds import LIMITS, LinkStateLimits

__all__ = ["LIMITS", "LinkStateLimits", "evaluate_link_state"]
