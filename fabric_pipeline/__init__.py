"""Fabric diagnosis pipeline for GPU training clusters.

Telemetry drops go in; a named physical link, an incident record, a reviewed repair ticket and
verifiable evidence come out. Nothing here imports a heavy package: front doors load what they need.
"""

__version__ = "0.1.0"
