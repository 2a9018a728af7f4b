"""The limits of the sweep judgement, each with where it comes from.

Ratios are of bandwidths or durations of like with like; nothing here is an absolute bandwidth, because
what a machine should reach is rarely known.
"""

from __future__ import annotations

MIB = 1024 * 1024

# A run is slow when it reaches at most this part of the faster run's bus bandwidth. Own choice: repeated
# runs on a shared fabric differ by 5 to 15 %; 20 % is outside of that.
SLOW_RUN_RATIO = 0.80
# The next smaller common size has to agree, or the deficit must be this large: one slow row alone is an
# event in time (samples trap 22).
NEIGHBOUR_RATIO = 0.90
SEVERE_RATIO = 0.50
# Below this size a collective measures launch latency, not links (nccl-tests PERFORMANCE.md).
MIN_JUDGED_BYTES = MIB

# Bus over algorithm bandwidth is fixed by operation and ranks (nccl-tests PERFORMANCE.md); printed with
# two decimals it is exact to 1 % from 1 GB/s on.
SAME_FACTOR_SPREAD = 0.03

# A cliff: everything from here to the end stays below this part of the best earlier row. A change of
# algorithm costs less and recovers with growing size (samples, eight-node runs).
CLIFF_RATIO = 0.50
CLIFF_MIN_ROWS = 2
CLIFF_MIN_BYTES = 16 * MIB

# A pair of nodes is slow at this part of the fastest pair in the same table; a node needs two slow pairs
# whose other ends are fast elsewhere.
SLOW_PAIR_RATIO = 0.80
SLOW_PAIRS_TO_NAME = 2

# Per-rank collectives. 0.75 is the relative score below which NVRx calls a rank a straggler; its 20 %
# share is raised to 30 % because a benchmark has few repetitions; 1 ms keeps launch jitter out.
LATE_SCORE = 0.75
LATE_SHARE = 0.30
LATE_MIN_US = 1000.0
LATE_MIN_GROUPS = 3
LATE_DOMINANCE = 3.0
# Ends of one collective on two ranks lie this close (the library ends it everywhere at once).
COMMON_END_US = 1000.0
COMMON_END_SHARE = 0.80

# Two communicators of equal shape: slower by this factor as a whole is contention or a slow run.
SLOW_COMMUNICATOR_FACTOR = 1.25
# Ranks of one communicator are equal when their medians lie within this part of each other.
EQUAL_RANKS_SPREAD = 0.10

# Compute of one rank against its equals. Equal GPUs differ by a few percent; 1.2 is four times that.
SLOW_COMPUTE_FACTOR = 1.20
# Microbatches of one worker: the ninth decile over the first, when the work itself is uneven.
UNEVEN_WORK_FACTOR = 1.50
UNEVEN_WORK_MIN = 20

# Rails of one table: the first rows are warm-up; a common disturbance slows half of the rails at once.
WARM_UP_ROWS = 2
RAIL_DISTURBED_FACTOR = 1.50
RAIL_COMMON_SHARE = 0.50
RAIL_SLOW_FACTOR = 2.0
RAIL_SLOW_ROWS = 3

# Nodes of a fleet test, against the median of at least three nodes.
NODE_MIN_PEERS = 3
NODE_SLOW_RATIO = 0.80
NODE_SLOW_FACTOR = 2.0  # for durations of launches and steps, which scatter more

# Ranks of an injection test.
INJECTION_SLOW_RATIO = 0.80
INJECTION_MIN_RANKS = 4

# Training steps: a lasting change for the worse.
STEP_SLOW_FACTOR = 1.50
STEP_MIN_SLOW = 5
STEP_MIN_BEFORE = 5

# RAS counts launches while they go on, so a lag of one operation is normal (NCCL manual, RAS).
RAS_LAG_OPERATIONS = 2
