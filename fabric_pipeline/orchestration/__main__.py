"""`python -m fabric_pipeline.orchestration`: what the command line starts; see `launch`.

A module of this name is the one that processes started from here do not import again, so that workers on
this machine do without Dagster.
"""

import sys

from fabric_pipeline.orchestration.launch import run_to_end

if __name__ == "__main__":
    sys.exit(run_to_end(sys.argv[1:]))
