"""One spelling for the names of collective operations.

Tools write `AllReduce`, `allreduce`, `ALLREDUCE`, `nccl:all_reduce` or `_allgather_base`; records
carry `all_reduce`. Unknown names are kept in lower case.
"""

from __future__ import annotations

import re

_KNOWN = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgatherv": "all_gather",
    "allgatherbase": "all_gather",
    "reducescatter": "reduce_scatter",
    "reducescatterbase": "reduce_scatter",
    "alltoall": "alltoall",
    "alltoallbase": "alltoall",
    "alltoallsingle": "alltoall_single",
    "alltoallv": "alltoallv",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "barrier": "barrier",
    "sendrecv": "sendrecv",
    "send": "send",
    "recv": "recv",
}
_PREFIX = re.compile(r"^(?:nccl|rccl|c10d|xccl|gloo|mpi)[:_]{1,2}", re.IGNORECASE)
_JOINTS = re.compile(r"[^a-z0-9]")


def op_name(text: str) -> str:
    """Canonical operation name, or the given one in lower case when it is not known."""
    bare = _PREFIX.sub("", text.strip())
    return _KNOWN.get(_JOINTS.sub("", bare.lower()), bare.lower()[:60])
